"""`triptych serve` and the page of hits: asked over HTTP, and opened in Chromium."""

import email
import email.policy
import http.client
import io
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

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
from triptych.core.errors import InputError

PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
ODD = "<i>&amp; 'odd' \x1b[31m.wav"


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
def server(searcher, tmp_path, caplog):
    (tmp_path / "kept").mkdir()
    made = SearchServer(searcher, 0, tmp_path / "kept")
    thread = threading.Thread(target=made.run, args=([made.socket],))
    thread.start()
    yield made
    made.should_exit = True
    thread.join()
    assert not caplog.text  # neither traceback nor warning


def ask(server, path, method="GET", **headers):
    """Status, headers and content."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
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
    assert server.address == f"http://127.0.0.1:{server.port}/"


def test_the_command_says_its_address_and_ends_with_ctrl_c(searcher):
    command = [sys.executable, "-m", "triptych.cli", "serve", "--index", searcher.index.root]
    ctrl_c = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    command += ["--port", "0"]
    with subprocess.Popen(command, text=True, preexec_fn=ctrl_c, **PIPES) as process:
        port = int(re.match(r"http://127\.0\.0\.1:(\d+)/ searches ", process.stdout.readline())[1])
        with socket.create_connection(("127.0.0.1", port), 30) as idle:
            idle.sendall(f"HEAD / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
            assert idle.recv(12) == b"HTTP/1.1 200"
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30) == ("\n", "") and process.returncode == 0


@pytest.mark.parametrize("port", ["taken", 99999])
def test_a_port_that_cant_be_had_is_told(server, port):
    number = server.port if port == "taken" else port
    with pytest.raises(InputError, match=f"--port {number}: .*give another one, or 0"):
        SearchServer(server.searcher, number, server.folder)


def test_a_query_is_answered_with_hits_and_times(server):
    server.searcher.caution = "Often wrong."
    status, headers, content = ask(server, "/?q=high")
    html = content.decode()
    assert "best of 5 segments. Often wrong.</p>" in html
    assert status == 200 and "default-src 'none'" in headers["Content-Security-Policy"]
    assert html.index("00:00:20 to 00:00:30") < html.index("odd")
    assert 'value="high"' in html and "<script" not in html
    assert r"&lt;i&gt;&amp;amp; &#39;odd&#39; \x1b[31m.wav" in html
    assert "<i>" not in html and "\x1b" not in html


def test_a_sound_and_its_picture_are_those_of_the_segment(server):
    status, headers, content = ask(server, "/sound/3")
    assert (status, headers["Content-Type"]) == (200, "audio/mpeg")
    heard, rate = soundfile.read(io.BytesIO(content))
    spectrum = np.abs(np.fft.rfft(heard))
    assert spectrum.argmax() * rate / len(heard) == pytest.approx(5000, abs=5)
    assert len(heard) == pytest.approx(320_000, rel=0.02)
    status, headers, picture = ask(server, "/picture/3")
    assert headers["Content-Type"] == "image/png" and Image.open(io.BytesIO(picture)).size[0] == 160


@pytest.mark.parametrize(
    ("asked", "status", "cut"),
    [
        ("bytes=10-19", 206, slice(10, 20)),
        ("bytes=10-", 206, slice(10, None)),
        ("bytes=-7", 206, slice(-7, None)),
        ("bytes=5-2", 400, None),
        ("bytes=99999999-", 416, None),
        ("bytes=" + 5000 * "9" + "-", 400, None),
    ],
)
def test_a_player_may_ask_for_a_part(server, asked, status, cut):
    whole = ask(server, "/sound/0")[2]
    told, headers, content = ask(server, "/sound/0", Range=asked)
    assert told == status
    if cut is not None:
        first, last = cut.indices(len(whole))[0], cut.indices(len(whole))[1] - 1
        assert content == whole[cut]
        assert headers["Content-Range"] == f"bytes {first}-{last}/{len(whole)}"


def test_several_parts_come_as_one_answer(server):
    whole = ask(server, "/sound/0")[2]
    status, headers, content = ask(server, "/sound/0", Range="bytes=0-9,100-119")
    assert status == 206
    head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    parts = email.message_from_bytes(head + content, policy=email.policy.HTTP).get_payload()
    assert [part.get_payload(decode=True) for part in parts] == [whole[:10], whole[100:120]]


@pytest.mark.parametrize("path", ["/?q=high", "/sound/0", "/picture/0", "/sound/99"])
def test_a_head_is_what_a_get_would_be_headed_with(server, path):
    got, head = ask(server, path), ask(server, path, "HEAD")
    assert head[0] == got[0] and head[2] == b""
    named = ("Content-Length", "Content-Type", "Content-Security-Policy", "Cache-Control")
    assert [head[1][name] for name in named] == [got[1][name] for name in named]
    assert int(head[1]["Content-Length"]) == len(got[2])


def test_a_hundred_clients_at_once_are_all_answered(server):
    with ThreadPoolExecutor(100) as clients:
        asked = [f"/?q=high{' ' * n}".replace(" ", "+") for n in range(50)]
        asked += [f"/{kind}/{n % 5}" for n in range(25) for kind in ("sound", "picture")]
        assert {status for status, *_ in clients.map(lambda path: ask(server, path), asked)} == {
            200
        }


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("GET http://[/ HTTP/1.1\r\nHost: {host}\r\n\r\n", b"404"),
        ("GET /?q=%ff%00 HTTP/1.1\r\nHost: {host}\r\n\r\n", b"200"),
        ("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n", b"405"),
        ("nonsense\r\n\r\n", b"400"),
        ("GET / HTTP/1.1\r\n\r\n", b"400"),
    ],
)
def test_an_odd_request_is_answered(server, sent, status):
    with socket.create_connection(("127.0.0.1", server.port), 30) as client:
        client.sendall(sent.format(host=f"127.0.0.1:{server.port}").encode())
        assert client.recv(100).split()[1] == status


@pytest.mark.parametrize("sent", ["", "GET /sou", "GET /sound/0 HTTP/1.1\r\nHost: {host}\r\n\r\n"])
def test_a_client_may_hang_up(server, sent):
    for _ in range(5):
        client = socket.create_connection(("127.0.0.1", server.port), 30)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # by reset
        client.sendall(sent.format(host=f"127.0.0.1:{server.port}").encode())
        client.close()
    assert ask(server, "/sound/0")[0] == 200


def test_only_the_latest_sounds_are_kept(server, monkeypatch):
    monkeypatch.setattr("triptych.apps.sounds.search.server.KEPT", 2)
    for row in (0, 1, 0, 2, 3):
        assert ask(server, f"/sound/{row}")[0] == 200
    assert {file.stem for file in server.folder.iterdir()} == {"2", "3"}


def test_more_like_this_finds_the_segment_itself_first(server):
    html = ask(server, "/?like=3")[2].decode()
    assert "like walk.wav" in html and html.index("00:00:20 to") < html.index("00:00:00 to")


def test_what_cannot_be_searched_for_is_said_on_the_page(server):
    status, _, content = ask(server, "/?like=99")
    assert status == 200 and "there is no segment 99" in content.decode()


@pytest.mark.parametrize(
    "path", ["/sound/99", "/sound/walk.wav", "/../walk.wav", "/sound/%2e%2e%2fwalk.wav", "/x/0"]
)
def test_nothing_is_served_but_segments_by_number(server, path):
    status, headers, _ = ask(server, path)
    assert status == 404 and headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", ""])
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
