"""Answers that were paid for, kept on disk under what was asked.

One small file an answer, `<folder>/ab/ab12...json`, named by the SHA-256 of model, parameters,
prompt and number of the attempt. A file appears whole (written beside, synced, renamed), so a
killed run leaves no half answer, and two jobs that write the same one at once don't disturb each
other; nothing is ever appended to, which network file systems do badly.

The server's address is not part of the key: an answer stays paid for when the same model is
reached through another address. As two servers may call different models by one name, each record
tells its server, and the stage says when answers of another one are used.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from triptych.core.files import atomic_path


@dataclass(frozen=True)
class Request:
    """One message to a model. `attempt` 1 is a repair of attempt 0."""

    model: str
    parameters: Mapping[str, Any]
    prompt: str
    attempt: int = 0

    @cached_property
    def key(self) -> str:
        """SHA-256 of everything that the answer depends on."""
        asked = json.dumps(self.record(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(asked.encode()).hexdigest()

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "model": self.model,
            "parameters": dict(self.parameters),
            "prompt": self.prompt,
            "attempt": self.attempt,
        }

    def body(self) -> dict[str, Any]:
        """The body of a chat completion: one user message and no system message."""
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": self.prompt}],
            **self.parameters,
        }


@dataclass(frozen=True)
class Answer:
    """What a server answered; tokens are as the server counts them, estimated if it does not."""

    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    server: str


class AnswerCache:
    """Answers by request, in a folder that several runs and jobs may share."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def get(self, request: Request) -> Answer | None:
        """The answer, or None if there is none or its file is damaged."""
        try:
            record = json.loads(self._path(request).read_text(encoding="utf-8"))
            if record["request"] != request.record():
                return None
            return Answer(**record["answer"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, request: Request, answer: Answer) -> None:
        """Keep an answer; when this returns, it survives a kill."""
        record = {"request": request.record(), "answer": vars(answer)}
        with atomic_path(self._path(request)) as temporary:
            text = json.dumps(record, ensure_ascii=False, indent=1)
            temporary.write_text(text + "\n", encoding="utf-8")

    def _path(self, request: Request) -> Path:
        return self.folder / request.key[:2] / f"{request.key}.json"
