"""`triptych serve` and the page of hits: asked over HTTP, and opened in Chromium."""

import http.client
import io
import threading

import numpy as np
import pytest
import soundfile
from browser import CHROMIUM, WITHOUT, browsing
from PIL import Image
from small_sounds import PitchModel, tone, write_sound, write_words

from triptych.apps.sounds.search.index import NAME, write_index
from triptych.apps.sounds.search.indexing import update_index
from triptych.apps.sounds.search.query import Searcher
from triptych.apps.sounds.search.server import SearchServer

ODD = "<i>&amp; 'odd'.wav"


@pytest.fixture
def searcher(tmp_path) -> Searcher:
    root = tmp_path / "sounds"
    root.mkdir()
    long = [tone("low", 20, 32000), tone("high", 10, 32000), tone("low", 10, 32000)]
    soundfile.write(root / "walk.wav", np.concatenate(long), 32000)
    write_sound(root / ODD, "middle", 2.0)
    index, _ = update_index(root, None, ("/m", "abc", 10.0), PitchModel, lambda index: None)
    write_index(index, root / NAME)
    write_words("abc", root / "triptych-index.text")
    return Searcher(root)


@pytest.fixture
def server(searcher):
    with SearchServer(searcher, 0) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, method="GET", **headers):
    """Status, headers and content."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, content


def test_it_listens_on_loopback_alone(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/"


def test_a_query_is_answered_with_hits_and_times(server):
    status, headers, content = ask(server, "/?q=high")
    html = content.decode()
    assert status == 200 and "default-src 'none'" in headers["Content-Security-Policy"]
    assert html.index("00:00:20 to 00:00:30") < html.index("odd")
    assert 'value="high"' in html and "<script" not in html
    assert "&lt;i&gt;&amp;amp; &#39;odd&#39;.wav" in html and "<i>" not in html


def test_a_sound_and_its_picture_are_those_of_the_segment(server):
    status, headers, content = ask(server, "/sound/3")
    assert (status, headers["Content-Type"]) == (200, "audio/mpeg")
    heard, rate = soundfile.read(io.BytesIO(content))
    spectrum = np.abs(np.fft.rfft(heard))
    assert spectrum.argmax() * rate / len(heard) == pytest.approx(5000, abs=5)
    assert len(heard) == pytest.approx(320_000, rel=0.02)
    status, headers, picture = ask(server, "/picture/3")
    assert headers["Content-Type"] == "image/png" and Image.open(io.BytesIO(picture)).size[0] == 160


def test_a_player_may_ask_for_a_part(server):
    whole = ask(server, "/sound/0")[2]
    status, headers, content = ask(server, "/sound/0", Range="bytes=10-19")
    assert status == 206 and content == whole[10:20]
    assert headers["Content-Range"] == f"bytes 10-19/{len(whole)}"


def test_more_like_this_finds_the_segment_itself_first(server):
    html = ask(server, "/?like=3")[2].decode()
    assert "like walk.wav" in html and html.index("00:00:20 to") < html.index("00:00:00 to")


def test_what_cannot_be_searched_for_is_said_on_the_page(server):
    status, _, content = ask(server, "/?like=99")
    assert status == 200 and "there is no segment 99" in content.decode()


@pytest.mark.parametrize("path", ["/sound/99", "/sound/walk.wav", "/../walk.wav"])
def test_nothing_is_served_but_segments_by_number(server, path):
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", ""])
def test_another_host_is_refused(server, host):
    assert ask(server, "/", Host=host)[0] == 421


LOADED = "[...document.images].every(one => one.complete && one.naturalWidth == 160)"
PLAYED = """new Promise(done => {
  const player = document.querySelector("audio");
  player.onended = () => done([player.duration, player.currentTime]);
  player.onerror = () => done(player.error.message);
  player.play().then(() => { player.currentTime = player.duration - 0.5; });
})"""
NAMES = "[...document.querySelectorAll('.clip .name')].map(one => one.innerText)"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)
def test_in_a_browser_a_query_is_typed_and_its_hit_is_seen_and_heard(server, tmp_path):
    with browsing(tmp_path / "profile") as browser:
        browser.open(server.address)
        browser.wait("document.activeElement.name == 'q'")  # by autofocus, after it is complete
        browser.write("high")
        browser.wait("location.search == '?q=high' && document.readyState == 'complete'")
        assert browser.value(NAMES)[0] == "walk.wav 00:00:20 to 00:00:30"
        browser.wait(LOADED)
        duration, reached = browser.value(PLAYED)
        assert duration == pytest.approx(10, abs=0.2) and reached == pytest.approx(
            duration, abs=0.1
        )
        browser.value("document.querySelector('.more').click()")
        browser.wait("location.search.startsWith('?like=') && document.readyState == 'complete'")
        assert browser.value("document.querySelector('h1').innerText") == "like walk.wav"
        widths = browser.value("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1]


def test_files_that_have_gone_are_told(server, searcher):
    (searcher.index.root / ODD).unlink()
    html = ask(server, "/?q=middle")[2].decode()
    assert "has gone since" in html and html.count("<audio") == 2
