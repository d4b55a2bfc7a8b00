"""A local page with a search box, by Starlette and uvicorn: nobody but this machine is answered.

There are no uploads and no paths in addresses: a sound is asked for by its segment's number.
Another Host is refused, so that no site's name can be pointed here and its pages read this one.
"""

import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

import numpy as np
import uvicorn
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triptych.apps.sounds.search.index import Index
from triptych.apps.sounds.search.query import Hit, Searcher, best_hits, clock
from triptych.audio.data.decoding import readable, stream_audio
from triptych.audio.search.pictures import mp3, render, spectrogram_png
from triptych.core.errors import InputError, printable

LOOPBACK = "127.0.0.1"
HITS = 20
LONGEST_QUERY = 1000
"""Characters."""
KEPT = 256
"""Sounds and spectrograms that are kept as files: at most 30 MB."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; "
    "media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Refuses requests that name another host or port, and gives every answer HEADERS."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app, self.hosts = app, (f"{LOOPBACK}:{port}", f"localhost:{port}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        known = Headers(scope=scope).get("host") in self.hosts
        answer = self.app if known else PlainTextResponse("another host\n", 421)
        await answer(scope, receive, send_guarded)


class SearchServer(uvicorn.Server):
    """Answers queries to one index. Raises InputError where the port can't be had."""

    def __init__(self, searcher: Searcher, port: int, folder: Path) -> None:
        """port: 0 takes a free one. folder: where sounds and spectrograms are kept."""
        try:
            self.socket = socket.create_server((LOOPBACK, port))
        except (OSError, OverflowError) as error:
            message = f"--port {port}: {error}; give another one, or 0 for a free one"
            raise InputError(message) from error
        self.port = self.socket.getsockname()[1]
        self.searcher, self.folder = searcher, folder
        self._made: dict[int, dict[str, Path]] = {}
        self._one = Lock()  # models and decoders work for one request at a time
        app = Starlette(
            routes=[
                Route("/", self._found),
                *(Route(f"/{kind}/{{row}}", self._media) for kind in ("picture", "sound")),
            ],
            middleware=[Middleware(Guard, port=self.port)],
            exception_handlers={InputError: _not_found},
        )
        # The terminal is for the address and for errors.
        quiet: dict[str, Any] = {"log_config": None, "log_level": "error", "access_log": False}
        quiet |= {"timeout_graceful_shutdown": 1}
        super().__init__(uvicorn.Config(app, http="h11", ws="none", lifespan="off", **quiet))

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.port}/"

    def _found(self, request: Request) -> Response:
        text, like = (request.query_params.get(name, "").strip() for name in ("q", "like"))
        with self._one:
            return HTMLResponse(self._page(text[:LONGEST_QUERY], like))

    def _media(self, request: Request) -> Response:
        kind, text = request.scope["path"].split("/")[1:]
        self.searcher.segment(row := _number(text))
        with self._one:
            self._made[row] = self._made.pop(row, {}) or self._make(row)  # the newest is last
            if len(self._made) > KEPT:
                for file in self._made.pop(next(iter(self._made))).values():
                    file.unlink()
            return FileResponse(self._made[row][kind])

    def _page(self, text: str, like: str) -> str:
        """The page with the hits for a text, or for a segment's number."""
        searcher, hits = self.searcher, list[Hit]()
        query, summary, problem = text, "", ""
        try:
            if like:
                vector = searcher.segment(row := _number(like))
                query = f"like {printable(searcher.index.segment(row)[0].path)}"
                hits = best_hits(searcher.index, vector, HITS)
            elif text:
                hits = best_hits(searcher.index, searcher.text(text), HITS)
            summary = f"The {len(hits)} best of {searcher.index.firsts[-1]:,} segments."
        except InputError as error:
            problem = printable(str(error))
        return render(
            "hits.html.j2",
            folder=printable(str(searcher.index.root)),
            query=query,
            told=f"{summary} {searcher.caution}".strip(),
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

    def _make(self, row: int) -> dict[str, Path]:
        """Files of a segment's spectrogram and sound. Raises InputError."""
        waveform = heard(self.searcher.index, row)
        files = {"picture": self.folder / f"{row}.png", "sound": self.folder / f"{row}.mp3"}
        files["picture"].write_bytes(spectrogram_png(waveform))
        files["sound"].write_bytes(mp3(waveform))
        return files


def heard(index: Index, row: int) -> NDArray[np.float32]:
    """The sound of a segment, float32 [n] at 32 kHz. Raises InputError where it is gone."""
    entry, start, end = index.segment(row)
    path, problems = index.root / entry.path, list[str]()
    blocks = list(readable(stream_audio(path, start, end - start), problems))
    if not blocks:
        raise InputError(*problems or [f"{path}: ends before {clock(start)}; index again"])
    return np.concatenate(blocks)


def serve(searcher: Searcher, port: int) -> int:
    """Answer until Ctrl-C. Raises InputError where the port can't be had."""
    with TemporaryDirectory(prefix="triptych-") as folder:
        server = SearchServer(searcher, port, Path(folder))
        print(f"{server.address} searches {searcher.index.root}; Ctrl-C stops it", flush=True)
        try:
            server.run(sockets=[server.socket])
        except KeyboardInterrupt:
            print()
    return 0


def _not_found(request: Request, problem: Exception) -> Response:
    return PlainTextResponse(f"{printable(str(problem))}\n", 404)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InputError(f"there is no segment {text[:40]!r}")
    return int(text)
