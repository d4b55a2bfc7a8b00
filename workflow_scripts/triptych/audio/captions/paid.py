"""What was asked and answered, what it cost, and a budget that holds.

Answers lie in a file of JSON lines under what was asked, whatever the server's address.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.audio.captions.settings import LIMITS, CaptionSettings

CHARACTERS_PER_TOKEN = 4.0  # OpenAI's rule of thumb for English
TOKENS_PER_CAPTION = 19
MESSAGE_TOKENS = 8  # what chat formatting adds to a prompt
ASSUMED_LONGEST_ANSWER = 400  # tokens where no parameter limits them; five sentences: about 150


@dataclass(frozen=True)
class Request:
    """One message to a model. `attempt` 1 is a repair of attempt 0."""

    model: str
    parameters: Mapping[str, Any]
    prompt: str
    attempt: int = 0

    @property
    def key(self) -> str:
        """SHA-256 of everything that the answer depends on."""
        asked = json.dumps(self.record(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(asked.encode()).hexdigest()

    def record(self) -> dict[str, Any]:
        """The request as plain data."""
        return {**vars(self), "parameters": dict(self.parameters)}


@dataclass(frozen=True)
class Answer:
    """What a server answered; tokens are as the server counts them, estimated if it does not."""

    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    server: str


class AnswerCache:
    """Answers by request, in `<folder>/answers.jsonl`."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._file = self.folder / "answers.jsonl"
        self._answers: dict[str, Answer] = {}
        text = self._file.read_text("utf-8", errors="replace") if self._file.exists() else ""
        for line in text.splitlines():
            try:
                record = json.loads(line)
                self._answers[Request(**record["request"]).key] = Answer(**record["answer"])
            except (ValueError, KeyError, TypeError):
                continue  # half a line of a run that was killed

    def get(self, request: Request) -> Answer | None:
        """The answer, or None if there is none."""
        return self._answers.get(request.key)

    def put(self, request: Request, answer: Answer) -> None:
        """Keep an answer; when this returns, it survives a kill."""
        self._answers[request.key] = answer
        self.folder.mkdir(parents=True, exist_ok=True)
        record = {"request": request.record(), "answer": vars(answer)}
        # The line break comes first, so that half a line before it spoils nothing.
        line = "\n" + json.dumps(record, ensure_ascii=False)
        with self._file.open("ab") as stream:
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())


class Account:
    """Keeps what was spent, what open requests may still cost, and the budget.

    Cached answers count as spent: the budget is for the captions that are asked for, however many
    runs it takes, so starting again is not a new budget.
    """

    def __init__(self, settings: CaptionSettings) -> None:
        self._settings, self.prices, self.budget = settings, settings.prices, settings.budget
        self.input_tokens = self.output_tokens = 0
        self.spent = 0.0  # the price of all answers so far, in this run or an earlier one
        self.perhaps = 0.0  # attempts that broke off may have been charged all the same
        self.open: dict[str, float] = {}  # the worst case of each request that is open

    def estimate(self, request: Request) -> float:
        """The expected price of one request."""
        settings = self._settings
        answer = TOKENS_PER_CAPTION * settings.variations + settings.thinking_tokens
        asked = len(request.prompt) / CHARACTERS_PER_TOKEN + MESSAGE_TOKENS
        return self.prices.of(asked, answer)

    def worst(self, request: Request) -> float:
        """The highest price of one request: no token is shorter than a byte."""
        limits = [request.parameters.get(name) for name in LIMITS]
        told = [int(limit) for limit in limits if limit is not None]
        longest = min(told, default=ASSUMED_LONGEST_ANSWER + self._settings.thinking_tokens)
        return self.prices.of(len(request.prompt.encode()) + MESSAGE_TOKENS, longest)

    def reserve(self, request: Request) -> bool:
        """Set the worst case of a request aside; False if the budget does not allow it now."""
        worst = self.worst(request)
        committed = self.spent + self.perhaps + sum(self.open.values())
        if self.budget is not None and committed + worst > self.budget:
            return False
        self.open[request.key] = worst
        return True

    def charge(self, request: Request, answer: Answer) -> None:
        """Count an answer, in place of its reservation if it has one."""
        self.open.pop(request.key, None)
        self.spent += self.prices.of(answer.input_tokens, answer.output_tokens)
        self.input_tokens += answer.input_tokens
        self.output_tokens += answer.output_tokens
