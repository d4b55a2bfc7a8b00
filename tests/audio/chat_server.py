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


def completion(message: dict[str, Any], tokens: int = 95) -> dict[str, Any]:
    """A whole answer with this message."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 140, "completion_tokens": tokens, "total_tokens": 140 + tokens}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt"}
    return {**about, "choices": [choice], "usage": usage}


@dataclass
class ChatServer:
    """What the server does, and what it saw.

    `faults` are used up one a request, then `answer(prompt)` gives the text.
    """

    faults: list[Callable[["Handler"], None]] = field(default_factory=list)
    answer: Callable[[str], str] = lambda prompt: numbered(GOOD)
    tokens: int = 95
    delay: float = 0.0
    port: int = 0
    prompts: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    authorisations: set[str] = field(default_factory=set)
    most_open: int = 0
    open: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: ChatServer

    def do_POST(self) -> None:
        state = self.state
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        prompt = body["messages"][0]["content"]
        with state.lock:
            state.open += 1
            state.most_open = max(state.most_open, state.open)
            state.authorisations.add(self.headers.get("Authorization", ""))
            state.times.append(time.monotonic())
            state.prompts.append(prompt)
            state.bodies.append(body)
            fault = state.faults.pop(0) if state.faults else None
        try:
            time.sleep(state.delay)
            if fault is not None:
                fault(self)
            else:
                self.send(200, completion({"content": state.answer(prompt)}, state.tokens))
        finally:
            with state.lock:
                state.open -= 1

    def send(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
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
    server = _Server(("127.0.0.1", 0), type("TheHandler", (Handler,), {"state": state}))
    state.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


def error(status: int, code: str | None = None) -> Callable[[Handler], None]:
    """An error as OpenAI words it, which echoes the key."""

    def fault(handler: Handler) -> None:
        message = f"Trouble with your key: {KEY}. You sent {handler.headers.get('Authorization')}"
        about = {"message": message, "type": "error", "param": KEY, "code": code}
        handler.send(status, {"error": about})

    return fault


def replying(message: dict[str, Any]) -> Callable[[Handler], None]:
    return lambda handler: handler.send(200, completion(message))


def silence(handler: Handler) -> None:
    time.sleep(1)
    handler.close_connection = True
