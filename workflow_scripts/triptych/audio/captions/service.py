"""Ask a server that speaks OpenAI's protocol, keep every answer, and stay within a budget.

What counts is what a server sends, not its status: a fault that passes is tried again under any
status, and a 200 that is no answer is one more failed attempt. A flagged prompt is an answer
without captions, whatever a service calls it: by known words, or because others are answered. The
key reaches no log, message or file.
"""

import hashlib
import json
import logging
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import openai

from triptych.audio.captions.settings import KEY_VARIABLE
from triptych.core.errors import InputError, printable, public_address
from triptych.core.progress import Progress
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

LIMITS = ("max_completion_tokens", "max_tokens")
"""Parameters of a request that limit its answer."""
OFFICIAL = "https://api.openai.com/v1"
SHORTEST_SECRET = 6
"""Characters of a key; shorter ones are placeholders, which captions may hold as words."""
CHARACTERS_PER_TOKEN = 4.0  # OpenAI's rule of thumb for English
MESSAGE_TOKENS = 8  # what chat formatting adds to a prompt
LONGEST_ANSWER = 400  # tokens assumed where no parameter limits them; five sentences: about 150
LONGEST_WAIT = 120.0
"""Seconds; a server that asks for more (Retry-After) is asked again by a later run."""
LONGEST_REASON = 300

FLAGGED = re.compile(
    r"content.?filter|content.?policy|content exists risk|invalid.prompt|data.?inspection|"
    r"inappropriate|moderation|flagged|safety|sensitive|responsible.?ai|high.risk|block.?reason|"
    r"prohibited.content|guardrail|unsafe|harmful|censor|recitation|"
    r"violat\w+ (?:\w+ ){0,3}(?:usage|policy|policies|guidelines)|"
    r'"filtered":\s*true|\u654f\u611f|\u8fdd\u89c4',
    re.IGNORECASE,
)
"""What services call a prompt or answer that their filter refuses."""
ACCOUNT = re.compile(
    r"(?:account|organi[sz]ation|api.?key) (?:\w+ ){0,3}(?:flagged|blocked|banned|suspend|violat)|"
    r"insufficient.?(?:quota|balance|credit|fund)|(?:out of|no more) credit|overdue|arrears",
    re.IGNORECASE,
)
"""Faults of an account, which neither pass nor belong to one prompt."""
PASSING = re.compile(
    r"rate.?limit|too many|overload|\bbusy|capacity|try again|retry|temporar|time.?out|timed out|"
    r"\bloading|unavailable|upstream|throttl|warming|not ready|starting up",
    re.IGNORECASE,
)
PASSING_STATUS = {408, 409, 423, 425, 429, 499}
OF_PROMPT = {400, 403, 413, 422, 451}
"""Statuses under which a service may refuse one prompt in words of its own."""
IN_A_ROW = 5
"""So many such refusals without an answer between them are no matter of single prompts."""


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

    @property
    def flagged(self) -> bool:
        """Whether a filter refused the prompt or the answer."""
        return self.finish_reason.startswith("flagged")


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

    def __init__(self, settings: Mapping[str, Any], stop: Callable[[], str | None]) -> None:
        """stop: the reason to stop, or None."""
        self._attempts, self._timeout = settings["attempts"], settings["timeout_seconds"]
        self._stop = stop
        self._refused_in_a_row = 0
        self._lock = threading.Lock()
        self._key = key_from_environment()
        address = settings["base_url"] or OFFICIAL
        self.server = public_address(address)
        for name in ("openai", "httpx", "httpx2", "httpcore2"):  # whole addresses, or more
            logging.getLogger(name).setLevel(logging.WARNING)
        self._client = openai.OpenAI(
            api_key=self._key, base_url=address, timeout=self._timeout, max_retries=0
        )

    def complete(self, request: Request) -> Answer:
        """The answer to a request, without text where a filter refuses. Raises ServiceError, and
        Stopped between attempts."""
        fault = ""
        for attempt in range(1, self._attempts + 1):
            status, text, wait = self._send(request)
            if 200 <= status < 300:
                try:
                    answer = self._read(json.loads(text), request)
                    self._refused_in_a_row = 0
                    return answer
                except (ValueError, LookupError, TypeError, AttributeError):
                    pass  # what was sent says why
            # The prompt and a caption that was cut off may hold any word.
            text = _decoded(text).replace(json.dumps(request.prompt, ensure_ascii=False)[1:-1], "")
            reason = self._reason(text)
            account = status in (401, 402) or ACCOUNT.search(text)
            flagged = FLAGGED.search(text) and not (status < 300 and '"role"' in text)
            if flagged and not account:
                return Answer("", f"flagged: {reason}", 0, 0, self.server)
            answered = f"answered {status}{' without an answer' if status < 300 else ''}: "
            fault = f"{self.server} {answered if status else ''}{reason}"
            passes = status < 300 or status >= 500 or status in PASSING_STATUS
            refused = account or not (passes or PASSING.search(text))
            # Some filters leave nothing but an empty list of choices.
            empty = attempt == self._attempts and re.search(r'"choices": (?:\[\]|null)', text)
            if (status in OF_PROMPT and refused and not account) or empty:
                with self._lock:
                    self._refused_in_a_row += 1
                    several = self._refused_in_a_row >= IN_A_ROW
                if not several:
                    return Answer("", f"flagged: {reason}", 0, 0, self.server)
            if refused:
                raise ServiceError(
                    f"{fault}. Check {KEY_VARIABLE}, the account's credit, and "
                    "audio.captions.model, base_url and parameters (null: not sent)."
                )
            if (wait or 0) > LONGEST_WAIT:
                raise ServiceError(
                    f"{fault}. It asks to wait for {wait:.0f} seconds (Retry-After): start again "
                    "after them."
                )
            logger.info("attempt %d of %d: %s", attempt, self._attempts, fault)
            if attempt < self._attempts:
                self._pause(max(wait or 0, min(2.0 ** (attempt - 2), 30) * random.uniform(0.7, 1)))
        raise ServiceError(
            f"{fault}. That was attempt {self._attempts} of {self._attempts} "
            "(audio.captions.attempts): start again later, or check base_url and timeout_seconds."
        )

    def _send(self, request: Request) -> tuple[int, str, float | None]:
        """Status (0: no answer), text, and seconds that the server asks to wait."""
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                model=request.model,
                messages=[{"role": "user", "content": request.prompt}],
                extra_body=dict(request.parameters),
            )
            response = raw.http_response
        except openai.APIStatusError as error:
            response = error.response
        except openai.APITimeoutError:
            return 0, f"did not answer within {self._timeout:g} seconds", None
        except openai.APIConnectionError:
            return 0, "cannot be reached, or hung up", None
        return response.status_code, response.text, _seconds(response.headers.get("retry-after"))

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if (reason := self._stop()) is not None:
                raise Stopped(reason)
            time.sleep(min(left, 0.2))

    def _read(self, data: dict[str, Any], request: Request) -> Answer:
        """The answer in what a server sent. Raises what reading something else raises."""
        choice = data["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason") or "stop"
        if data.get("error") or choice.get("error") or reason == "error":
            raise ValueError("an error in place of an answer")
        content = message.get("content") or ""
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part["type"] == "text")
        # JSON may hold halves of characters, which no file can.
        text = content.encode("utf-8", "replace").decode()
        if message.get("refusal"):
            reason = "refusal"
        if FLAGGED.search(reason):
            text, reason = "", f"flagged: {reason}"
        usage = data.get("usage") or {}
        tokens = [
            count if type(count) is int and count > 0 else round(len(of) / CHARACTERS_PER_TOKEN)
            for count, of in (
                (usage.get("prompt_tokens"), request.prompt),
                (usage.get("completion_tokens"), text),
            )
        ]
        return Answer(
            self._redacted(text), self._redacted(reason), tokens[0], tokens[1], self.server
        )

    def _reason(self, text: str) -> str:
        """Return a server's own words on a fault, without the key, which it may echo."""
        try:
            data = json.loads(text)
            error = data.get("error") or (data.get("choices") or [data])[0].get("error") or data
            if isinstance(error, dict):
                said, code = error.get("message") or error.get("detail"), error.get("code")
                code = code or error.get("type")
                text = f"{said or text}{f' ({code})' if code else ''}"
            else:
                text = str(error)
        except (ValueError, AttributeError, LookupError, TypeError):
            text = re.sub(r"<[^>]*>", " ", text)
        short = " ".join(self._redacted(printable(text, "\n\r\t")).split())[:LONGEST_REASON]
        return short or "nothing"

    def _redacted(self, text: str) -> str:
        """The text without the key, should a server send it back."""
        return text if len(self._key) < SHORTEST_SECRET else text.replace(self._key, "[key]")


def _decoded(text: str) -> str:
    """JSON without escapes of letters; other text as it stands."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _seconds(retry_after: str | None) -> float | None:
    """The wait that a header Retry-After asks for, in seconds or as a date; None for no wait."""
    try:
        return max(0.0, float(retry_after or ""))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after or "").timestamp() - time.time())
    except ValueError:
        return None


class Asker:
    """Ask what the cache lacks, within the budget, and keep each answer as it comes."""

    def __init__(self, settings: Mapping[str, Any], stop: Callable[[], str | None]) -> None:
        """stop: the reason to stop, or None."""
        self._settings, self._stop = settings, stop
        self._service, self._lock = Service(settings, stop), threading.Lock()
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
            if committed + price > budget:
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
                if answer and answer.input_tokens:  # a refusal costs nothing and may pass
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
