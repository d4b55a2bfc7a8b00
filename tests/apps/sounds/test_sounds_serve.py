"""`triptych serve` and the page of hits: asked over HTTP, and opened in Chromium."""

import base64
import http.client
import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest
import soundfile
from browser import CHROMIUM, WITHOUT, browsing
from PIL import Image
from small_sounds import PitchModel, tone, write_sound, write_words

from triptych.apps.sounds.search.index import NAME, write_index
from triptych.apps.sounds.search.indexing import update_index
from triptych.apps.sounds.search.query import Searcher, best_hits, partly_shown
from triptych.apps.sounds.search.server import CONNECTIONS, SearchServer
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
def server(searcher, caplog):
    made = SearchServer(searcher, 0)
    assert made.socket.getsockname()[0] == "127.0.0.1"
    thread = threading.Thread(target=made.run, args=([made.socket],))
    thread.start()
    yield made
    made.should_exit = True
    thread.join()
    assert not caplog.text  # neither traceback nor warning


def ask(server, path, method="GET", **headers):
    """Status, headers and content; the server's own cookie is sent unless there is another."""
    token = server.address.partition("?token=")[2]
    headers = {"Cookie": f"triptych-{token[:8]}={token}"} | headers
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, content


def test_the_command_says_its_address_and_ends_with_ctrl_c(searcher):
    command = [sys.executable, "-m", "triptych.cli", "serve", "--index", searcher.index.root]
    ctrl_c = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    command += ["--port", "0"]
    with subprocess.Popen(command, text=True, preexec_fn=ctrl_c, **PIPES) as process:
        address = re.match(
            r"http://127\.0\.0\.1:(\d+)(/\?token=[\w-]{43}) searches ", process.stdout.readline()
        )
        port = int(address[1])
        with socket.create_connection(("127.0.0.1", port), 30) as idle:
            idle.sendall(f"HEAD {address[2]} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
            assert idle.recv(12) == b"HTTP/1.1 200"
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30) == ("\n", "") and process.returncode == 0


@pytest.mark.parametrize("port", ["taken", 99999])
def test_a_port_that_cant_be_had_is_told(server, port):
    number = server.port if port == "taken" else port
    with pytest.raises(InputError, match=f"--port {number}: .*give another one, or 0"):
        SearchServer(server.searcher, number)


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


def test_a_hits_sound_and_picture_are_those_of_the_segment(server):
    html = ask(server, "/?q=high")[2].decode()
    media = re.findall(r'src="data:(image/png|audio/mpeg);base64,([^"]+)"', html)
    (_, picture), (_, sound) = media[:2]
    heard, rate = soundfile.read(io.BytesIO(base64.b64decode(sound)))
    spectrum = np.abs(np.fft.rfft(heard))
    assert spectrum.argmax() * rate / len(heard) == pytest.approx(5000, abs=5)
    assert len(heard) == pytest.approx(320_000, rel=0.02)
    assert Image.open(io.BytesIO(base64.b64decode(picture))).size[0] == 160


def test_the_page_without_a_query_counts_what_can_be_found(server):
    html = ask(server, "/")[2].decode()
    assert "5 segments." in html and "best of" not in html


def test_what_a_page_leaves_out_of_a_file_and_a_foreign_query_are_told(server, monkeypatch):
    monkeypatch.setattr("triptych.apps.sounds.search.server.best_hits", partial(best_hits, each=1))
    monkeypatch.setattr(
        "triptych.apps.sounds.search.server.partly_shown", partial(partly_shown, each=1)
    )
    html = ask(server, "/?q=ein+low")[2].decode()
    assert "walk.wav: 1 of 4 segments shown" in html and "English" in html
    assert "English" not in ask(server, "/?q=low")[2].decode()


def test_a_hit_opens_its_whole_recording_at_its_time_part_by_part(server):
    html = ask(server, "/?q=high")[2].decode()
    address, start = re.search(r'href="(/recording/\d+)#t=([\d.]+)"', html).groups()
    content = (server.searcher.index.root / "walk.wav").read_bytes()
    status, headers, whole = ask(server, address)
    assert (status, float(start), whole == content) == (200, 20, True)
    assert headers["Content-Type"].startswith("audio/")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    status, _, part = ask(server, address, Range="bytes=1000-1999")
    assert status == 206 and part == content[1000:2000]
    assert ask(server, "/recording/99")[0] == 404
    assert ask(server, address, Cookie="")[0] == 403
    (server.searcher.index.root / "walk.wav").write_bytes(content[:-2])
    assert ask(server, address)[0] == 404


@pytest.mark.parametrize("path", ["/walk.wav", "/../walk.wav", "/%2e%2e%2fwalk.wav"])
def test_nothing_is_served_but_the_page(server, path):
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", ""])
def test_another_host_is_refused(server, host):
    assert ask(server, "/", Host=host)[0] == 400


@pytest.mark.parametrize(
    "path", ["/", "/?q=high", "/?like=3", "/?token=x&q=high", "/?token=%C3%A9"]
)
@pytest.mark.parametrize("cookie", ["", "triptych-{token:.8}=x", "triptych-1={token}"])
def test_who_does_not_know_the_token_is_refused(server, path, cookie):
    token = server.address.partition("?token=")[2]
    status, headers, content = ask(server, path, Cookie=cookie.format(token=token))
    assert status == 403 and b"<" not in content and "Set-Cookie" not in headers


def test_the_tokens_address_opens_the_page_and_its_cookie_the_next(server):
    path = server.address.partition(str(server.port))[2]
    status, headers, _ = ask(server, path + "&q=high", Cookie="")
    assert status == 200
    cookie, *rules = headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict"} <= set(rules)
    assert b"00:00:20" in ask(server, "/?q=high", Cookie=f"other=1; {cookie}")[2]
    assert SearchServer(server.searcher, 0).address.partition("=")[2] not in cookie


def test_the_empty_page_does_not_wait_for_queries(server, monkeypatch):
    release, texts = threading.Event(), []

    def slow(text):
        texts.append(text)
        assert release.wait(30)
        raise InputError("late")

    monkeypatch.setattr(server.searcher, "text", slow)
    with ThreadPoolExecutor(60) as pool:
        queries = [pool.submit(ask, server, f"/?q={number}") for number in range(60)]
        while not texts:
            time.sleep(0.01)
        assert ask(server, "/")[0] == 200 and not any(query.done() for query in queries)
        assert len(texts) == 1
        release.set()
        assert all(query.result()[0] == 200 for query in queries)


def test_who_asks_nothing_takes_nobodys_place(server):
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with ExitStack() as stack:
        for number in range(3 * CONNECTIONS):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 30))
            half.sendall(b"GET / HT" if number % 2 else b"")
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: ask(server, "/")[0], range(1000)))
        assert answers == [200] * 1000
        assert len(server.server_state.connections) <= CONNECTIONS
        if files:
            ours = 3 * CONNECTIONS
            assert len(os.listdir("/proc/self/fd")) - files - ours <= CONNECTIONS + 10


def test_a_connection_without_a_request_ends(server, monkeypatch):
    monkeypatch.setattr("triptych.apps.sounds.search.server.REQUEST_SECONDS", 0.1)
    with socket.create_connection(("127.0.0.1", server.port), 30) as half:
        half.sendall(b"GET / HTTP/1.1\r\n")
        assert half.recv(1) == b""


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
        recording = browser.value("document.querySelector('.clip .length a').href")
        browser.open(recording)
        browser.wait("document.querySelector('video').readyState >= 1")
        video = "(video => [video.duration, video.currentTime])(document.querySelector('video'))"
        assert browser.value(video) == pytest.approx([40, 20], abs=1)
        browser.open(server.address + "&q=high")
        browser.wait("document.querySelector('.alike') && document.readyState == 'complete'")
        browser.value("document.querySelector('.alike').click()")
        browser.wait("location.search.startsWith('?like=') && document.readyState == 'complete'")
        assert browser.value("document.querySelector('h1').innerText") == "like walk.wav"
        widths = browser.value("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1]


def test_a_file_that_was_replaced_or_has_gone_does_not_play_under_its_old_embedding(
    server, searcher
):
    path = searcher.index.root / ODD
    kept = path.read_bytes()
    path.write_bytes(kept)  # touched: it plays
    assert ask(server, "/?q=middle")[2].decode().count("<audio") == 3
    path.write_bytes(kept[:-2] + bytes(2))
    html = ask(server, "/?q=middle")[2].decode()
    assert "changed since it was indexed" in html and html.count("<audio") == 2
    path.unlink()
    html = ask(server, "/?q=middle")[2].decode()
    assert "no such file" in html and html.count("<audio") == 2
