"""A server on this machine that misbehaves in the ways that real ones do."""

import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

Fault = Callable[["Handler"], None]


@dataclass
class Behaviour:
    """What the server has, and what it does to whom.

    `faults` are used up one a request, then `always` follows, or else the file is served. They fall
    on addresses that have `disturbed` in them.
    """

    content: bytes = b""
    """What lies at every address, unless there are `files`, by their paths."""
    files: dict[str, bytes] = field(default_factory=dict)
    etag: str | None = '"one"'
    last_modified: str | None = None
    ranges: bool = True
    tells_length: bool = True
    faults: list[Fault] = field(default_factory=list)
    always: Fault | None = None
    disturbed: str = ""
    requests: list[dict[str, str]] = field(default_factory=list)
    played: int = 0
    """How many faults were played."""

    def behave(self) -> None:
        """Serve every file from now on."""
        self.faults, self.always = [], None
        self.ranges = self.tells_length = True

    def found(self, path: str) -> tuple[bytes | None, str | None]:
        """Content and ETag of what lies at an address; (None, None) if nothing does."""
        if not self.files:
            return self.content, self.etag
        content = self.files.get(path)
        return content, None if content is None else f'"{zlib.crc32(content)}"'


class Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        here = self.behaviour
        here.requests.append({**self.headers, "path": self.path})
        self.close_connection = True
        fault = None
        if here.disturbed in self.path:
            fault = here.faults.pop(0) if here.faults else here.always
        try:
            if fault is None:
                self.serve()
            else:
                here.played += 1
                fault(self)
        except ConnectionError:
            pass  # the other side hung up first

    def serve(
        self,
        cut_after: float | None = None,
        change: Callable[[bytes], bytes] = bytes,
        told: float = 1.0,
        pieces: int = 1,
        pause: float = 0.0,
        chunked: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        """Send the file, or the rest of it.

        Cut after some bytes (or a share of them, where `cut_after` is below 1), `change`d, with a
        told length of `told` times the true one, in `pieces` with pauses (in which `meanwhile`
        happens), `chunked`.
        """
        here, start = self.behaviour, 0
        content, etag = here.found(unquote(self.path.partition("?")[0]))
        if content is None:
            return status(404)(self)
        content = change(content)
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        if wanted and here.ranges and condition in (None, etag, here.last_modified):
            start = int(wanted[1])
        if start and start >= len(content):
            return status(416, Content_Range=f"bytes */{len(content)}")(self)
        body = content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif here.tells_length:
            self.send_header("Content-Length", str(round(told * len(body))))
        if etag:
            self.send_header("ETag", etag)
        if here.last_modified:
            self.send_header("Last-Modified", here.last_modified)
        self.send_header("Connection", "close")
        self.end_headers()
        kept = len(body) if cut_after is None else cut_after
        kept = round(kept * len(body)) if 0 < kept < 1 else int(kept)
        step = max(1, -(-len(body) // pieces))
        for first in range(0, kept, step):
            piece = body[first : min(first + step, kept)]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            if pause:
                threading.Event().wait(pause)
            if meanwhile is not None:
                meanwhile()
        if chunked and cut_after is None:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *arguments: Any) -> None:
        pass


def cut(after: float, **settings: Any) -> Fault:
    """Break off after so many bytes, or that share of them."""
    return lambda handler: handler.serve(cut_after=after, **settings)


def served(**settings: Any) -> Fault:
    """Send the file in an unusual way (the settings of `Handler.serve`)."""
    return lambda handler: handler.serve(**settings)


def flipped(content: bytes) -> bytes:
    """The content with one bit in its middle changed."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def answer(code: int, body: bytes, **headers: str) -> Fault:
    def send(handler: Handler) -> None:
        handler.send_response(code)
        for name, value in {**headers, "Content_Length": str(len(body))}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(body)

    return send


def status(code: int, **headers: str) -> Fault:
    return answer(code, b"", **headers)


def login_page(handler: Handler) -> None:
    """What comes instead of a file when one must log in or agree to terms."""
    body = b"<!DOCTYPE html><html><title>Sign in</title><form></form></html>"
    answer(200, body, Content_Type="text/html; charset=utf-8")(handler)


def redirect(host: str = "127.0.0.1", code: int = 302) -> Fault:
    """To the same file under another address of `host`."""

    def send(handler: Handler) -> None:
        port = handler.server.server_address[1]
        place = f"http://{host}:{port}{handler.path.partition('?')[0]}?moved"
        status(code, Location=place)(handler)

    return send


def wrong_start(handler: Handler) -> None:
    """Promise a rest, and send the file from its first byte on."""
    content, _ = handler.behaviour.found(handler.path)
    assert content
    span = f"bytes 0-{len(content) - 1}/{len(content)}"
    answer(206, content, Content_Range=span)(handler)


def silent(seconds: float) -> Fault:
    """Say nothing for so long, then hang up."""
    return lambda handler: threading.Event().wait(seconds) and None


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[str]:
    """Serve and yield the server's address."""
    handler = type("BoundHandler", (Handler,), {"behaviour": behaviour})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
