"""A server that speaks as much of the Hugging Face hub's protocol as a download of files needs."""

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REVISION = "0123456789abcdef0123456789abcdef01234567"  # pragma: allowlist secret


class Hub:
    """Repositories by name, each of files by name. The weights stand in large-file storage."""

    def __init__(self, repositories, liars=()):
        self.repositories = repositories
        self.liars = liars  # repositories whose weights aren't what their hash says
        self.asked = []
        self.authorised = []

    def listed(self, name, content):
        git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        entry = {"type": "file", "path": name, "size": len(content), "oid": git}
        if name == "model.safetensors":
            sha256 = hashlib.sha256(content).hexdigest()
            entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 130}
        return entry

    def sent(self, repository, name, content):
        lie = repository in self.liars and name == "model.safetensors"
        return b"!" + content[1:] if lie else content


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self._answer(body=False)

    def do_GET(self):
        self._answer(body=True)

    def _answer(self, body):
        hub = self.server.hub
        path = self.path.partition("?")[0].strip("/")
        hub.asked.append(path)
        hub.authorised.append(self.headers.get("Authorization"))
        for repository, files in hub.repositories.items():
            if path == f"api/models/{repository}/tree/{REVISION}":
                tree = [hub.listed(name, content) for name, content in files.items()]
                return self._send(200, json.dumps(tree).encode(), {}, body)
            place = f"{repository}/resolve/{REVISION}/"
            if path.startswith(place) and path.removeprefix(place) in files:
                name = path.removeprefix(place)
                entry = hub.listed(name, files[name])
                tag = entry.get("lfs", entry)["oid"]
                headers = {"ETag": f'"{tag}"', "X-Repo-Commit": REVISION}
                return self._send(200, hub.sent(repository, name, files[name]), headers, body)
        return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, body)

    def _send(self, code, content, headers, body):
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)


@contextmanager
def serving(hub):
    """Serve `hub` and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.hub = hub
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
