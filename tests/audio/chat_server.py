"""A server on this machine that speaks OpenAI's protocol, and misbehaves as it is told."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789abcdefSECRET"  # pragma: allowlist secret
GOOD = [
    "A dog barks twice near a busy road.",
    "Near a busy road, a dog gives two barks.",
    "Two barks of a dog come from beside a road.",
    "Beside the traffic a dog is barking two times.",
    "Some cars pass by while a dog barks twice.",
]


def numbered(lines: list[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


@dataclass
class Reply:
    """What is sent back: a body as JSON, or a text as it stands. wait: seconds before that."""

    status: int = 200
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0


def completion(content: Any, reason: str = "stop", tokens: int = 95, **message: Any) -> Reply:
    """A whole answer with this message."""
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": said, "finish_reason": reason}
    usage = {"prompt_tokens": 140, "completion_tokens": tokens, "total_tokens": 140 + tokens}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt"}
    return Reply(body={**about, "choices": [choice], "usage": usage})


def error(status: int, message: Any = "trouble", code: Any = None, **more: Any) -> Reply:
    """An error as OpenAI words it."""
    return Reply(status, {"error": {"message": message, "type": "error", "code": code, **more}})


@dataclass
class ChatServer:
    """What the server does, and what it saw.

    `faults` are used up one a request, then `answer(prompt, n)` gives the n-th reply to a prompt.
    """

    faults: list[Reply] = field(default_factory=list)
    answer: Callable[[str, int], Reply] = lambda prompt, n: completion(numbered(GOOD))
    delay: float = 0.0
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    authorisations: set[str] = field(default_factory=set)
    most_open: int = 0
    open: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][0]["content"] for body in self.bodies]

    def reply(self) -> Reply:
        """To the last prompt."""
        prompt = self.prompts[-1]
        return (
            self.faults.pop(0) if self.faults else self.answer(prompt, self.prompts.count(prompt))
        )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: ChatServer

    def do_POST(self) -> None:
        state = self.state
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with state.lock:
            state.open += 1
            state.most_open = max(state.most_open, state.open)
            state.authorisations.add(self.headers["Authorization"])
            state.bodies.append(body)
            reply = state.reply()
        time.sleep(state.delay + reply.wait)
        with state.lock:
            state.open -= 1
        content = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
        kind = "text/html" if content.startswith(b"<") else "application/json"
        self.send_response(reply.status)
        about = {"Content-Type": kind, "Content-Length": str(len(content))}
        for name, value in {**about, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some of the tests are about."""


@contextmanager
def serving(**behaviour: Any) -> Iterator[ChatServer]:
    state = ChatServer(**behaviour)
    with _Server(("127.0.0.1", 0), type("TheHandler", (Handler,), {"state": state})) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield state
        server.shutdown()
