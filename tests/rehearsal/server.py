"""A local web server for the rehearsal: files of a folder, with ranges and ETags.

The Hugging Face hub's protocol needs no more than files: its lists lie at their own addresses, such
as `api/models/<repository>/tree/<revision>`, and what stands below `resolve/<revision>/` is
answered with that commit.
"""

import hashlib
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

REVISION = re.compile(r"/resolve/([0-9a-f]{40})/")


@cache
def _etag(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: Path

    def log_message(self, *_: object) -> None:
        """Say nothing: the jobs' logs tell what was asked for."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        address = unquote(urlsplit(self.path).path)
        path = (self.folder / address.lstrip("/")).resolve()
        if not path.is_relative_to(self.folder) or not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size, etag = path.stat().st_size, f'"{_etag(path)}"'
        start = self._start(etag)
        if start is not None and start >= size:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{size}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200 if start is None else 206)
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.send_header("Content-Length", str(size - (start or 0)))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", etag)
        if commit := REVISION.search(address):
            self.send_header("X-Repo-Commit", commit[1])
        self.end_headers()
        if body:
            with path.open("rb") as stream:
                stream.seek(start or 0)
                shutil.copyfileobj(stream, self.wfile, 1 << 20)

    def _start(self, etag: str) -> int | None:
        """The first byte that is asked for; None for the whole file, or when it has changed."""
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted is None or self.headers.get("If-Range", etag) != etag:
            return None
        return int(wanted[1])


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve the files below `folder` and yield the server's address, without a slash at the end.

    port: 0 for any that is free.
    """
    handler = type("Handler", (_Handler,), {"folder": folder.resolve()})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
