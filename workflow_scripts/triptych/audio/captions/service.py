"""Ask a server that speaks OpenAI's protocol, keep every answer, and stay within a budget.

The openai client retries what passes by itself (rate limits, time-outs, 5xx); what is no answer is
asked for again here. The key reaches no log, message or file.
"""

import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import openai

from triptych.audio.captions.settings import KEY_VARIABLE
from triptych.core.errors import InputError, public_address
from triptych.core.progress import Progress
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

LIMITS = ("max_completion_tokens", "max_tokens")
"""Parameters of a request that limit its answer."""
OFFICIAL = "https://api.openai.com/v1"
SHORTEST_SECRET = 6
"""Characters of a key; shorter ones are placeholders, which captions may hold as words."""
FILTERED = {"content_filter", "content_policy_violation"}
CHARACTERS_PER_TOKEN = 4.0  # OpenAI's rule of thumb for English
MESSAGE_TOKENS = 8  # what chat formatting adds to a prompt
LONGEST_ANSWER = 400  # tokens assumed where no parameter limits them; five sentences: about 150


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
        text = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Answer:
    """A server's answer; tokens are as the server counts them, estimated if it does not."""

    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    server: str


class AnswerCache:
    """Answers by request, in `<folder>/answers.jsonl`."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._file = Path(folder) / "answers.jsonl"
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
        self._file.parent.mkdir(parents=True, exist_ok=True)
        record = {"request": asdict(request), "answer": asdict(answer)}
        # The line break comes first, so that half a line before it spoils nothing.
        with self._file.open("ab") as stream:
            stream.write(b"\n" + json.dumps(record, ensure_ascii=False).encode())
            stream.flush()
            os.fsync(stream.fileno())


class ServiceError(InputError):
    """The server will not answer; the message says why and what to do."""


class BudgetReached(InputError):
    """The next request might cost more than the budget leaves."""


def key_from_environment() -> str:
    """The server's key. Raises InputError, which never shows it."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(
            f"audio.captions.backend openai needs a whole key in the environment: export "
            f"{KEY_VARIABLE}=... (for a server that wants none, any word)"
        )
    return key


class Service:
    """A server that completes chats, safe to ask from several threads."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._key = key_from_environment()
        address = settings["base_url"] or OFFICIAL
        self.server = public_address(address)
        for name in ("openai", "httpx", "httpx2", "httpcore2"):  # whole addresses, or more
            logging.getLogger(name).setLevel(logging.WARNING)
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=address,
            timeout=settings["timeout_seconds"],
            max_retries=settings["attempts"] - 1,
        )

    def complete(self, request: Request) -> Answer:
        """The answer to a request, empty where a filter refuses. Raises ServiceError."""
        for _ in range(self._settings["attempts"]):
            try:
                completion = self._client.chat.completions.create(
                    model=request.model,
                    messages=[{"role": "user", "content": request.prompt}],
                    extra_body=dict(request.parameters),
                )
                return self._read(completion, request)
            except openai.APIStatusError as error:
                code = str(error.code or error.type or "")
                if code in FILTERED:
                    return Answer("", "content_filter", 0, 0, self.server)
                # What a server writes may echo the key.
                plain = code.isidentifier() and self._redacted(code) == code
                raise ServiceError(
                    f"{self.server} answered {error.status_code}{f' ({code})' if plain else ''}, "
                    f"up to {self._settings['attempts']} times: check {KEY_VARIABLE}, the "
                    "account's credit, and audio.captions.model, base_url and parameters."
                ) from None
            except openai.APIConnectionError:
                raise ServiceError(
                    f"{self.server} cannot be reached or does not answer in time "
                    "(audio.captions.base_url, timeout_seconds)."
                ) from None
            except (openai.APIError, ValueError, LookupError, TypeError, AttributeError):
                continue
        raise ServiceError(f"{self.server} sent something that is no answer.")

    def _read(self, completion: Any, request: Request) -> Answer:
        choice, usage = completion.choices[0], completion.usage
        # JSON may hold halves of characters, which no file can.
        text = (choice.message.content or "").encode("utf-8", "replace").decode()
        reason = "refusal" if choice.message.refusal else choice.finish_reason or "stop"
        counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
        tokens = [
            count if type(count) is int and count > 0 else round(len(of) / CHARACTERS_PER_TOKEN)
            for count, of in zip(counts, (request.prompt, text), strict=True)
        ]
        return Answer(
            self._redacted(text), self._redacted(reason), tokens[0], tokens[1], self.server
        )

    def _redacted(self, text: str) -> str:
        """The text without the key, should a server send it back."""
        return text if len(self._key) < SHORTEST_SECRET else text.replace(self._key, "[key]")


class Asker:
    """Ask what the cache lacks, within the budget, and keep each answer as it comes."""

    def __init__(self, settings: Mapping[str, Any], stop: Callable[[], str | None]) -> None:
        """stop: the reason to stop, or None."""
        self._settings, self._stop = settings, stop
        self._service, self._lock = Service(settings), threading.Lock()
        self.cache = AnswerCache(settings["cache"])
        self.answers: dict[str, Answer] = {}
        self.requested = self.cached = 0
        self.spent = 0.0  # the price of all answers, of this run or an earlier one
        self._reserved = 0.0  # the highest price of the requests that are open

    def ask(
        self,
        requests: Iterable[Request],
        judge: Callable[[Request, Answer], None] = lambda request, answer: None,
    ) -> None:
        """Put the answers to all requests into `answers`.

        judge: sees each answer, and may raise to end this. That error, ServiceError, BudgetReached
        or Stopped is raised once the open requests have been answered and kept.
        """
        missing: dict[str, Request] = {}
        for request in requests:
            if request.key in self.answers:
                continue
            if answer := self.cache.get(request):
                self.cached += 1
                self.spent += self._price(answer.input_tokens, answer.output_tokens)
                self.answers[request.key] = answer
                judge(request, answer)
            else:
                missing[request.key] = request
        currency, failure = self._settings["prices"]["currency"], None
        most = sum(map(self._highest_price, missing.values()))
        logger.info("%d requests, at most %.2f %s", len(missing), most, currency)
        with (
            ThreadPoolExecutor(self._settings["open_requests"]) as pool,
            Progress("captions", len(missing), "requests") as progress,
        ):
            jobs = {pool.submit(self._ask, request): request for request in missing.values()}
            for job in as_completed(jobs):
                if job.cancelled():
                    continue
                try:
                    answer = self.answers[jobs[job].key] = job.result()
                    self.requested += 1
                    if failure is None:
                        judge(jobs[job], answer)
                    progress.advance(1, f"{self.spent:.2f} {currency} spent")
                except BaseException as error:
                    failure = failure or error
                    for other in jobs:
                        other.cancel()
        if isinstance(failure, ServiceError | BudgetReached):
            remaining = sum(key not in self.answers for key in missing)
            stored = f"the answers are kept in {self._settings['cache']} and not paid for again"
            raise type(failure)(f"{failure} {remaining} requests remain; {stored}.")
        if failure:
            raise failure

    def _ask(self, request: Request) -> Answer:
        if (reason := self._stop()) is not None:
            raise Stopped(reason)
        price, budget = self._highest_price(request), self._settings["budget"]
        with self._lock:
            committed = self.spent + self._reserved
            if budget is not None and committed + price > budget:
                raise BudgetReached(
                    f"The budget of {budget:g} {self._settings['prices']['currency']} "
                    f"(audio.captions.budget) does not allow the next request: {committed:.2f} are "
                    f"spent or reserved, and it may cost {price:.2g}."
                )
            self._reserved += price
        answer = None
        try:
            answer = self._service.complete(request)
        finally:
            with self._lock:  # one step, so that nothing counts twice
                self._reserved -= price
                if answer:
                    self.spent += self._price(answer.input_tokens, answer.output_tokens)
                    self.cache.put(request, answer)
        return answer

    def _price(self, input_tokens: int, output_tokens: int) -> float:
        prices = self._settings["prices"]
        return float(input_tokens * prices["input"] + output_tokens * prices["output"]) / 1e6

    def _highest_price(self, request: Request) -> float:
        """No token is shorter than a byte."""
        limits = [request.parameters.get(name) for name in LIMITS]
        longest = min((int(limit) for limit in limits if limit is not None), default=LONGEST_ANSWER)
        return self._price(len(request.prompt.encode()) + MESSAGE_TOKENS, longest)
