"""Asks a server that speaks OpenAI's protocol, keeps each answer in a file of JSON lines, and stops
before a request could cost more than the budget leaves.

The openai client retries by itself (rate limits, time-outs, 5xx). No secret reaches a log.
"""

import hashlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai

from triptych.audio.captions.settings import KEY_VARIABLE, LIMITS, CaptionSettings
from triptych.core.errors import InputError, public_address
from triptych.core.progress import Progress
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

OFFICIAL = "https://api.openai.com/v1"
SHORTEST_SECRET = 6
"""Shorter ones are placeholders for servers that want none, words that a caption may hold."""
FILTERED = {"content_filter", "content_policy_violation"}
NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
WITHOUT_SCHEMA = {400, 415, 422}
"""What a server may answer that takes no JSON schema."""
_SCHEMA = {
    "type": "object",
    "properties": {"captions": {"type": "array", "items": {"type": "string"}}},
    "required": ["captions"],
    "additionalProperties": False,
}
FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "captions", "strict": True, "schema": _SCHEMA},
}
"""Leaves a model no room for introductions or notes. No part of a request's key."""

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
    """Keeps what was spent, for cached answers too, what open requests may cost, and the budget."""

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


class ServiceError(InputError):
    """The server will not answer; the message says why and what to do."""


class BudgetReached(InputError):
    """The next request might cost more than the budget leaves."""


def key_from_environment() -> str:
    """The key of the server. Raises InputError, which never shows it."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise InputError(
            "audio.captions.backend openai needs a key in the environment: export "
            f"{KEY_VARIABLE}=... (for a server that wants none, any word). It belongs in no "
            "file of this project."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"{KEY_VARIABLE} holds characters that no key has; was it copied whole?")
    return key


class Service:
    """A server, asked by several threads at once under the settings' limits."""

    def __init__(self, settings: CaptionSettings) -> None:
        self._settings = settings
        self._key = key_from_environment()
        self.server = public_address(settings.base_url or OFFICIAL)
        self._structured = "response_format" not in settings.parameters
        for name in ("openai", "httpx", "httpx2", "httpcore2"):  # whole addresses, or more
            logging.getLogger(name).setLevel(logging.WARNING)
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=settings.base_url or OFFICIAL,
            timeout=settings.timeout_seconds,
            max_retries=settings.attempts - 1,
        )

    def complete(self, request: Request) -> tuple[Answer, int]:
        """One answer, empty where a filter refuses, and how many attempts failed. Raises
        ServiceError.
        """
        extra = {"response_format": FORMAT} if self._structured else {}
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                model=request.model,
                messages=[{"role": "user", "content": request.prompt}],
                extra_body={**request.parameters, **extra},
            )
            return self._read(raw.parse(), request), raw.retries_taken
        except openai.APIStatusError as error:
            code = str(error.code or error.type or "")
            if code in FILTERED:
                return Answer("", "content_filter", 0, 0, self.server), 0
            known = NO_CREDIT | {"model_not_found", "invalid_api_key"}
            if extra and error.status_code in WITHOUT_SCHEMA and code not in known:
                logger.info("the server takes no JSON schema for its answers; asking without")
                self._structured = False
                return self.complete(request)
            raise ServiceError(self._told(error.status_code, code)) from None
        except openai.APITimeoutError:
            raise ServiceError(
                f"{self.server} did not answer within {self._settings.timeout_seconds:g} s, "
                f"{self._settings.attempts} times (audio.captions.timeout_seconds, attempts)."
            ) from None
        except openai.APIConnectionError:
            raise ServiceError(
                f"{self.server}: the connection failed or was cut (no network, wrong "
                "audio.captions.base_url, or the server is down)."
            ) from None
        except (openai.APIError, ValueError, LookupError, TypeError, AttributeError):
            raise ServiceError(f"{self.server} sent something that is no answer.") from None

    def _read(self, completion: Any, request: Request) -> Answer:
        choice = completion.choices[0]
        content, usage = choice.message.content or "", completion.usage
        # JSON may hold halves of characters, which no file can.
        text = self._redacted(content.encode("utf-8", "replace").decode())
        reason = "refusal" if choice.message.refusal else choice.finish_reason or "stop"
        told = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
        tokens = [
            number if type(number) is int and number > 0 else round(len(of) / CHARACTERS_PER_TOKEN)
            for number, of in zip(told, (request.prompt, text), strict=True)
        ]
        return Answer(text, self._redacted(str(reason)), tokens[0], tokens[1], self.server)

    def _redacted(self, text: str) -> str:
        """The text without the key, should a server send it back."""
        return text if len(self._key) < SHORTEST_SECRET else text.replace(self._key, "[key]")

    def _told(self, status: int, code: str) -> str:
        """An error in our own words: what a server writes may echo the key."""
        plain = re.fullmatch(r"[a-z_]{1,40}", code) and self._redacted(code) == code
        told = f"{self.server} answered {status}" + (f" ({code})" if plain else "")
        model = self._settings.model
        if code in NO_CREDIT or status == 402:
            return f"{told}: the account has no credit left. Top it up, then run again."
        if status == 401 or code == "invalid_api_key":
            return f"{told}: it does not accept the key in {KEY_VARIABLE}. Set a valid one."
        if status in (403, 404) or code == "model_not_found":
            return (
                f"{told}: it does not know the model {model}, or not for this key, or the address "
                "is wrong. Correct audio.captions.model or audio.captions.base_url."
            )
        if status < 500 and status not in (408, 409, 429):
            return f"{told}: check audio.captions.parameters against what {model} allows."
        return f"{told}, {self._settings.attempts} times in a row (audio.captions.attempts)."


class Asker:
    """Asks what the cache has not, within the budget, and keeps each answer as it comes."""

    def __init__(self, settings: CaptionSettings, stop: Callable[[], str | None]) -> None:
        """stop: why to stop, or None."""
        self._settings, self._stop = settings, stop
        self._service = Service(settings)
        self.cache, self.account = AnswerCache(settings.cache), Account(settings)
        self.answers: dict[str, Answer] = {}
        self.asked = self.cached = 0
        self._lock, self._next_turn = threading.Lock(), 0.0
        self._failure: BaseException | None = None

    def look_up(self, requests: Iterable[Request]) -> list[Request]:
        """Take answers from the cache; the requests that have none, each once."""
        missing: dict[str, Request] = {}
        for request in requests:
            if request.key in self.answers or request.key in missing:
                continue
            if (found := self.cache.get(request)) is None:
                missing[request.key] = request
                continue
            self._take(request, found)
            self.cached += 1
        return list(missing.values())

    def ask(self, requests: Sequence[Request], later: Sequence[Request] = ()) -> None:
        """Put the answers to all `requests` into `answers`; `later` will follow if all goes well.

        What ends this early (ServiceError, BudgetReached, Stopped) is raised when the open requests
        have been answered and kept.
        """
        waiting, self._failure = self.look_up(requests), None
        expected = sum(map(self.account.estimate, waiting))
        told = self.account.prices.told
        logger.info("%d requests, about %s", len(waiting), told(expected))
        with (
            ThreadPoolExecutor(self._settings.open_requests) as pool,
            Progress("captions", len(waiting), "requests") as progress,
        ):
            for _ in pool.map(self._ask, waiting):
                progress.advance(1, f"{told(self.account.spent)} spent")
        if self._failure is not None:
            raise self._explained(self._failure, [*requests, *later])

    def _ask(self, request: Request) -> None:
        """Ask for one answer and keep it, where nothing has ended this."""
        with self._lock:
            self._failure = self._failure or self._obstacle(request)
            if self._failure is not None:
                return
            turn = max(self._next_turn, time.monotonic())
            self._next_turn = turn + 60 / self._settings.requests_per_minute
        time.sleep(max(0.0, turn - time.monotonic()))
        try:
            answer, failed = self._service.complete(request)
        except Exception as error:
            with self._lock:
                self.account.perhaps += self.account.estimate(request)
                self.account.open.pop(request.key, None)
                self._failure = self._failure or error
            return
        with self._lock:
            self.account.perhaps += failed * self.account.estimate(request)
            try:
                self.cache.put(request, answer)
            except OSError as full:
                self._failure = full
                return
            self._take(request, answer)
            self.asked += 1

    def _take(self, request: Request, answer: Answer) -> None:
        self.account.charge(request, answer)
        self.answers[request.key] = answer

    def _obstacle(self, request: Request) -> BaseException | None:
        """Why a request may not be sent now."""
        if (reason := self._stop()) is not None:
            return Stopped(reason)
        account, told = self.account, self.account.prices.told
        if account.reserve(request):
            return None
        return BudgetReached(
            f"The budget of {told(account.budget or 0.0)} (audio.captions.budget) does not allow "
            f"the next request: {told(account.spent + account.perhaps)} are spent and it may cost "
            f"up to {told(account.worst(request))}."
        )

    def _explained(self, failure: BaseException, requests: Sequence[Request]) -> BaseException:
        """The failure, with how much is there and how to get the rest."""
        if not isinstance(failure, ServiceError | BudgetReached):
            return failure
        account = self.account
        left = [each for each in requests if each.key not in self.answers]
        text = (
            f"{failure} {len(requests) - len(left)} of {len(requests)} requests are answered and "
            f"kept in {self.cache.folder}, {len(left)} remain. What is there is not paid for again."
        )
        if isinstance(failure, BudgetReached):
            needed = account.spent + account.perhaps + sum(map(account.worst, left))
            text += f" To go on, set audio.captions.budget to {needed:.2f} (an upper bound)."
        return type(failure)(text)
