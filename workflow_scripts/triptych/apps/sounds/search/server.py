"""A local page with a search box, by the standard library: nobody but this machine is answered.

There are no uploads and no paths in addresses: a sound is asked for by its segment's number.
Another Host is refused, so that no site's name can be pointed here and its pages read this one.
"""

from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from numpy.typing import NDArray

from triptych.apps.sounds.search.index import Index, printable
from triptych.apps.sounds.search.other_formats import stream_any
from triptych.apps.sounds.search.query import Hit, Searcher, best_hits, clock
from triptych.audio.data.decoding import AudioProblem
from triptych.audio.search.pictures import mp3, render, spectrogram_png
from triptych.core.errors import InputError
from triptych.core.files import not_a_file

LOOPBACK = "127.0.0.1"
HITS = 20
LONGEST_QUERY = 1000
"""Characters."""
KEPT = 256
"""Sounds and spectrograms that are remembered: at most 30 MB."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; "
    "media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class SearchServer(ThreadingHTTPServer):
    """Answers queries to one index. Raises InputError where the port can't be had."""

    daemon_threads = True

    def __init__(self, searcher: Searcher, port: int) -> None:
        """port: 0 takes a free one."""
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"--port {port}: {error}; give another one, or 0 for a free one"
            ) from (error)
        self.searcher = searcher
        self.media = lru_cache(KEPT)(self._media)

    @property
    def address(self) -> str:
        """Of the page."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def page(self, text: str, like: str) -> str:
        """What is found for a text, or for a segment's number. Raises InputError."""
        searcher, hits = self.searcher, list[Hit]()
        query, told, problem = text, "", ""
        try:
            if like:
                vector = searcher.segment(row := _number(like))
                query = f"like {printable(searcher.index.segment(row)[0].path)}"
                hits = best_hits(searcher.index, vector, HITS)
            elif text:
                hits = best_hits(searcher.index, searcher.text(text), HITS)
            told = f"The {len(hits)} best of {searcher.index.firsts[-1]:,} segments."
        except InputError as error:
            problem = str(error)
        return render(
            "hits.html.j2",
            folder=printable(str(searcher.index.root)),
            query=query,
            told=told,
            text=text,
            longest=LONGEST_QUERY,
            problem=problem,
            shown=[self._shown(hit) for hit in hits],
        )

    def _shown(self, hit: Hit) -> dict[str, Any]:
        """A hit as the page shows it; problem: why there is no player, or ""."""
        entry, start, end = self.searcher.index.segment(hit.row)
        when = f"{end - start:.1f} s" if hit.whole else f"{clock(start)} to {clock(end)}"
        shown = {"rank": hit.rank, "score": hit.score, "row": hit.row, "when": when}
        shown |= {"name": printable(entry.path), "problem": ""}
        if not Path(hit.file).is_file():
            return shown | {"problem": "It has gone since it was indexed."}
        return shown | {"spectrogram": f"/picture/{hit.row}", "sound": f"/sound/{hit.row}"}

    def _media(self, row: int) -> tuple[bytes, bytes]:
        """PNG and MP3 of a segment. Raises InputError."""
        self.searcher.segment(row)
        waveform = heard(self.searcher.index, row)
        return spectrogram_png(waveform), mp3(waveform)


class _Handler(BaseHTTPRequestHandler):
    """GET of the page, of a sound and of a spectrogram; all else is refused."""

    server: SearchServer
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds that a connection may say nothing

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{LOOPBACK}:{port}", f"localhost:{port}"):
            return self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"another host\n")
        try:
            match address.path.split("/")[1:]:
                case [""]:
                    asked = parse_qs(address.query)
                    text, like = (asked.get(name, [""])[0].strip() for name in ("q", "like"))
                    html = self.server.page(text[:LONGEST_QUERY], like)
                    self._send(HTTPStatus.OK, "text/html; charset=utf-8", html.encode())
                case ["picture", row]:
                    self._send(HTTPStatus.OK, "image/png", self.server.media(_number(row))[0])
                case ["sound", row]:
                    self._send_range("audio/mpeg", self.server.media(_number(row))[1])
                case _:
                    self._send(HTTPStatus.NOT_FOUND, "text/plain", b"there is no such page\n")
        except InputError as problem:
            text = printable(str(problem)) + "\n"
            self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", text.encode())

    def _send_range(self, media: str, content: bytes) -> None:
        """All, or the one range that is asked for: players jump by that."""
        unit, _, span = self.headers.get("Range", "").partition("=")
        first, dash, last = span.partition("-")
        if unit != "bytes" or not dash or not first.isdecimal() or int(first) >= len(content):
            return self._send(HTTPStatus.OK, media, content, {"Accept-Ranges": "bytes"})
        end = min(int(last), len(content) - 1) if last.isdecimal() else len(content) - 1
        told = {"Content-Range": f"bytes {int(first)}-{end}/{len(content)}"}
        return self._send(HTTPStatus.PARTIAL_CONTENT, media, content[int(first) : end + 1], told)

    def _send(
        self, status: HTTPStatus, media: str, content: bytes, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        told = {"Content-Type": media, "Content-Length": str(len(content))}
        for name, value in (HEADERS | told | (more or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *said: object) -> None:
        """Nothing: the terminal is for the address and for errors."""


def heard(index: Index, row: int) -> NDArray[np.float32]:
    """The sound of a segment, float32 [n] at 32 kHz. Raises InputError where it is gone."""
    entry, start, end = index.segment(row)
    path = index.root / entry.path
    if odd := not_a_file(path):
        raise AudioProblem(f"{path}: {odd}")
    blocks = list(stream_any(path, start, end - start))
    if not blocks:
        raise AudioProblem(f"{path}: ends before {clock(start)}; run triptych index again")
    return np.concatenate(blocks)


def serve(searcher: Searcher, port: int) -> int:
    """Answer until Ctrl-C. Raises InputError where the port can't be had."""
    with SearchServer(searcher, port) as server:
        print(
            f"{server.address} searches {printable(str(searcher.index.root))}; Ctrl-C stops it",
            flush=True,
        )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InputError(f"there is no segment {text[:40]!r}")
    return int(text)
