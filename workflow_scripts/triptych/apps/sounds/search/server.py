"""A local page with a search box, by Starlette and uvicorn, for who knows the token in its address.

There are no uploads and no paths in addresses; segments and spectrograms are part of the page,
whole recordings are named by a segment's number.
Another Host is refused, so that no site's name can be pointed here and its pages read this one.
The token keeps out other users of this machine; a cookie holds it once the page is open.
"""

import asyncio
import mimetypes
import secrets
import socket
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from triptych.apps.sounds.search.index import Entry, Index
from triptych.apps.sounds.search.query import Hit, Searcher, best_hits, clock, partly_shown
from triptych.audio.data.decoding import readable, stream_audio
from triptych.audio.search.pictures import addresses, render
from triptych.core.errors import InputError, printable
from triptych.core.files import sha256_of

LOOPBACK = "127.0.0.1"
HITS = 20
LONGEST_QUERY = 1000
"""Characters."""
CONNECTIONS = 80
"""Kept open at once. Programs may open 256 files where nobody asked for more (macOS)."""
REQUEST_SECONDS = 20.0
"""In which a connection's first request must be there."""
WITHOUT_TOKEN = "Open the address that triptych serve printed, with its token."
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "media-src data: 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Connection(H11Protocol):
    """A connection that ends when no request comes, or when a new one needs its place."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for it: the longest open one without a request goes."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self.loop.call_later(REQUEST_SECONDS, self._end_if_new)
        others = [other for other in self.connections if isinstance(other, Connection)]
        idle = [other for other in others if other is not self and other.is_idle()]
        if len(others) > CONNECTIONS and idle:
            min(idle, key=lambda other: other.since).transport.abort()

    def is_idle(self) -> bool:
        """Whether it is open and nobody waits for an answer."""
        waits = self.cycle is not None and not self.cycle.response_complete
        return not waits and not self.transport.is_closing()

    def _end_if_new(self) -> None:
        if self.cycle is None:
            self.transport.abort()


class SearchServer(uvicorn.Server):
    """Answers queries to one index. Raises InputError where the port can't be had."""

    def __init__(self, searcher: Searcher, port: int) -> None:
        """port: 0 takes a free one."""
        try:
            self.socket = socket.create_server((LOOPBACK, port))
        except (OSError, OverflowError) as error:
            message = f"--port {port}: {error}; give another one, or 0 for a free one"
            raise InputError(message) from error
        self.port = self.socket.getsockname()[1]
        self.searcher = searcher
        self._token = secrets.token_urlsafe()
        self._cookie = f"triptych-{self._token[:8]}"  # browsers send one port's cookies to all
        self._one = asyncio.Lock()  # models and decoders work for one request at a time
        guard = Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"])
        routes = [Route("/", self._answer), Route("/recording/{row:int}", self._recording)]
        app = Starlette(routes=routes, middleware=[guard])
        # The terminal is for the address and for errors.
        quiet: dict[str, Any] = {"log_config": None, "log_level": "error", "access_log": False}
        quiet |= {"timeout_graceful_shutdown": 1, "lifespan": "off", "ws": "none"}
        # A backlog of one has asyncio accept one connection at a time, and count it.
        limits: dict[str, Any] = {"limit_concurrency": 2 * CONNECTIONS, "backlog": 1}
        super().__init__(uvicorn.Config(app, loop="asyncio", http=Connection, **quiet, **limits))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer; the system keeps connections that wait to be accepted."""
        await super().startup(sockets)
        self.socket.listen()

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/?token={self._token}"

    async def _answer(self, request: Request) -> Response:
        if not self._is_known(request):
            return PlainTextResponse(WITHOUT_TOKEN, 403, headers=HEADERS)
        text, like = (request.query_params.get(name, "").strip() for name in ("q", "like"))
        if text or like:
            async with self._one:
                left = await request.is_disconnected()  # while others were answered
                asked = (text[:LONGEST_QUERY], like)
                page = "" if left else await run_in_threadpool(self._page, *asked)
        else:
            page = self._page("", "")
        answer = HTMLResponse(page, headers=HEADERS)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return answer

    def _is_known(self, request: Request) -> bool:
        given = (request.query_params.get("token", ""), request.cookies.get(self._cookie, ""))
        return any(secrets.compare_digest(one.encode(), self._token.encode()) for one in given)

    async def _recording(self, request: Request) -> Response:
        """The file of a segment as it is, of which browsers ask for the parts that they play."""
        if not self._is_known(request):
            return PlainTextResponse(WITHOUT_TOKEN, 403, headers=HEADERS)
        try:
            self.searcher.segment(row := request.path_params["row"])
            path = await run_in_threadpool(recording, self.searcher.index, row)
        except InputError as error:
            return PlainTextResponse(printable(str(error)), 404, headers=HEADERS)
        kind = mimetypes.guess_type(path.name)[0] or ""
        media = kind if kind.startswith(("audio/", "video/")) else "application/octet-stream"
        return FileResponse(path, media_type=media, headers=HEADERS)

    def _page(self, text: str, like: str) -> str:
        """The page with the hits for a text, or for a segment's number."""
        searcher, hits = self.searcher, list[Hit]()
        segments = f"{searcher.index.firsts[-1]:,} segments"
        query, summary, remarks, problem = text, f"{segments}.", list[str](), ""
        try:
            if like:
                vector = searcher.segment(row := _number(like))
                query = f"like {printable(searcher.index.segment(row)[0].path)}"
                hits = best_hits(searcher.index, vector, HITS)
            elif text:
                hits = best_hits(searcher.index, searcher.text(text), HITS)
                remarks += filter(None, [searcher.doubt(text)])
            if query:
                summary = f"The {len(hits)} best of {segments}."
            remarks += partly_shown(hits)
        except InputError as error:
            problem = printable(str(error))
        return render(
            "hits.html.j2",
            folder=printable(str(searcher.index.root)),
            query=query,
            told=[f"{summary} {searcher.caution}".strip(), *remarks],
            text=text,
            longest=LONGEST_QUERY,
            problem=problem,
            shown=[self._shown(hit) for hit in hits],
        )

    def _shown(self, hit: Hit) -> dict[str, Any]:
        """A hit as the page shows it; problem: why there is no player, or ""."""
        entry, start, end = self.searcher.index.segment(hit.row)
        when = f"{end - start:.1f} s" if hit.segments == 1 else f"{clock(start)} to {clock(end)}"
        shown = {"rank": hit.rank, "score": hit.score, "row": hit.row, "when": when}
        shown |= {"name": printable(entry.path), "start": start, "problem": ""}
        try:
            spectrogram, sound = addresses(heard(self.searcher.index, hit.row))
        except InputError as error:
            return shown | {"problem": printable(str(error))}
        return shown | {"spectrogram": spectrogram, "sound": sound}


def heard(index: Index, row: int) -> NDArray[np.float32]:
    """The sound of a segment, float32 [n] at 32 kHz. Raises InputError where it is gone."""
    _, start, end = index.segment(row)
    path, problems = recording(index, row), list[str]()
    blocks = list(readable(stream_audio(path, start, end - start), problems))
    if not blocks:
        raise InputError(*problems or [f"{path}: ends before {clock(start)}; index again"])
    return np.concatenate(blocks)


def recording(index: Index, row: int) -> Path:
    """The file of a segment. Raises InputError where it is gone or another one."""
    entry, _, _ = index.segment(row)
    path = index.root / entry.path
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; index again")
    if _is_replaced(path, entry):
        raise InputError(f"{path}: changed since it was indexed; index again")
    return path


def _is_replaced(path: Path, entry: Entry) -> bool:
    """Whether a file is another one than the index knows; a touched or moved one isn't."""
    try:
        about = path.stat()
        if (about.st_size, about.st_mtime_ns) == (entry.size, entry.modified_ns):
            return False
        return about.st_size != entry.size or sha256_of(path) != (entry.sha256 or sha256_of(path))
    except OSError:
        return False  # reading it will tell


def serve(searcher: Searcher, port: int) -> int:
    """Answer until Ctrl-C. Raises InputError where the port can't be had."""
    server = SearchServer(searcher, port)
    print(f"{server.address} searches {searcher.index.root}; Ctrl-C stops it", flush=True)
    try:
        server.run(sockets=[server.socket])
    except KeyboardInterrupt:
        print()
    return 0


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InputError(f"there is no segment {text[:40]!r}")
    return int(text)
