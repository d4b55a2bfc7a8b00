"""A server that speaks OpenAI's protocol, asked for one answer at a time.

Trouble of the service (limits, overload, time-outs, a firewall's page) says nothing of a prompt: it
closes one gate for all threads, and ends the run only where nobody is answered any more. Attempts
end for what a prompt may have caused alone: whatever a service calls its filter, and answers
without text. The key reaches no log, message or file.
"""

import hashlib
import json
import logging
import os
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import openai

from triptych.audio.captions.settings import KEY_VARIABLE, WITHHELD
from triptych.core.errors import InputError, printable, public_address
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

OFFICIAL = "https://api.openai.com/v1"
CHARACTERS_PER_TOKEN = 4.0  # OpenAI's rule of thumb for English
LONGEST_WAIT = 120.0
"""Seconds; a server that asks for more (Retry-After) is asked again by a later run."""
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)(ms|s)?)?")
"""As services write them: "3", "1.5s", "20ms", "6m0s"."""
YEAR_2001 = 978_307_200
"""Seconds; larger numbers are no durations but times, and far larger ones times in ms."""
LONGEST_REASON = 300
SHORTEST_SECRET = 6
"""Characters of a key; shorter ones are placeholders, which captions may hold as words."""

FILTERED = re.compile("filter|safety|sensitive|recitation|prohibited|policy", re.IGNORECASE)
"""Finish reasons of an answer that a service's filter withholds."""
NOT_IN_TIME = -1
"""In place of a status, where no answer came in `timeout_seconds`; 0: none for another reason."""
TIMEOUTS = {NOT_IN_TIME, 408, 499, 504, 524, 598}
TROUBLE_STATUS = {0, *TIMEOUTS, 425, 429, 502, 503, *range(520, 531), 599}
"""Statuses of a service's own trouble."""
TROUBLE = re.compile(r"rate.?limit|too many requests|throttl|overload", re.IGNORECASE)
"""Words of a service's own trouble, whatever its status."""
PASSING = re.compile(
    r"too many|\bbusy|capacity|try again|retry|temporar|time.?out|timed out|"
    r"\bloading|unavailable|upstream|warming|not ready|starting up",
    re.IGNORECASE,
)
"""Words of faults that pass, whatever their status; a caption that is echoed may have them."""
PASSING_STATUS = {409, 423}
OF_ACCOUNT = {401, 402, 404}
"""Statuses of a wrong key, an empty account, an unknown model or address."""
NO_CREDIT = re.compile(r"insufficient.?(?:quota|balance|credit|fund)", re.IGNORECASE)
REFUSAL = "refusal"
ADVICE = (
    f". Start again later, or check {KEY_VARIABLE}, the account's credit, and "
    "audio.captions.model, base_url, timeout_seconds and parameters (null: not sent; a model that "
    "thinks needs a higher max_completion_tokens)."
)
IN_A_ROW = 5
"""So many prompts that get no answer, and none between them that gets one, are no matter of single
prompts."""


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
    model: str = ""  # the one that answered, as the server names it

    @property
    def withheld(self) -> bool:
        """Whether the service gave no answer to this prompt, though to others."""
        return self.finish_reason.startswith(WITHHELD)

    @property
    def refused(self) -> bool:
        """Whether the model itself declined, in a field of its own."""
        return self.finish_reason == REFUSAL


class ServiceError(InputError):
    """The server will not answer; the message says why and what to do."""


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
        self._attempts, self._stop = settings["attempts"], stop
        self._withheld_in_a_row = 0
        # How often the gate was closed, how often since the last answer, and when it opens.
        self._closings, self._troubles, self._opens = 0, 0, 0.0
        self._lock = threading.Lock()
        self._key = key_from_environment()
        address = settings["base_url"] or OFFICIAL
        self.server = public_address(address)
        for name in ("openai", "httpx", "httpx2", "httpcore2"):  # whole addresses, or more
            logging.getLogger(name).setLevel(logging.WARNING)
        # The client's own retries know statuses alone, and a stop would wait for them.
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=address,
            timeout=settings["timeout_seconds"],
            max_retries=0,
        )

    def complete(
        self, request: Request, paid: Callable[[Answer], None] = lambda answer: None
    ) -> Answer:
        """The answer to a request, without text where the service gives none.

        paid: is told of answers without text, each a failed attempt, and may raise. Raises
        ServiceError, and Stopped between attempts.
        """
        attempts, reason = 0, ""
        while True:
            closings = self._wait_at_gate()
            status, text, wait = self._send(request)
            answer = self._read(text, request) if status == 200 else None
            if answer and (answer.text.strip() or answer.withheld or answer.refused):
                with self._lock:
                    self._troubles = self._withheld_in_a_row = 0
                return answer
            if answer:
                reason = f"an answer without text (finish reason {answer.finish_reason})"
                paid(answer)
            else:
                status = _inner_status(text) or status
                reason = self._reason(text)
            fault = f"{self.server} answered {status}: {reason}" if status > 0 else reason
            no_credit = bool(NO_CREDIT.search(text))
            passes = status < 400 or status >= 500 or status in PASSING_STATUS
            passes = (passes or bool(PASSING.search(text))) and not no_credit
            trouble = not answer and not no_credit and _is_trouble(status, text)
            if trouble and self._close_gate(closings, wait, fault, status in TIMEOUTS):
                continue
            if no_credit or (not passes and status in OF_ACCOUNT):
                raise ServiceError(fault + ADVICE)
            attempts += 1
            cut = (
                answer is not None and answer.finish_reason == "length"
            )  # as the next one would be
            if trouble or not passes or cut or attempts == self._attempts:
                with self._lock:
                    self._withheld_in_a_row += 1
                    if self._withheld_in_a_row < IN_A_ROW:
                        return Answer("", f"{WITHHELD}{reason}", 0, 0, self.server)
                raise ServiceError(fault + ADVICE)
            logger.info("attempt %d of %d: %s", attempts, self._attempts, fault)
            self._pause(max(wait, _backoff(attempts)))

    def _wait_at_gate(self) -> int:
        """Wait until requests may be sent; how often the gate was closed so far."""
        while True:
            with self._lock:
                closings, left = self._closings, self._opens - time.monotonic()
            if left > 0:
                self._pause(left)
            with self._lock:
                if closings == self._closings:
                    return closings

    def _close_gate(self, closings: int, wait: float, fault: str, late: bool) -> bool:
        """Let no thread send a request for a while, after a fault of the service itself.

        False where the prompt alone is too slow: it, or none but such, waits for its answer, and
        the server answers other questions.

        closings: before the request was sent; where the gate was closed since, it stays as it is.
        wait: seconds that the server asks for. Raises ServiceError where it asks for many, and
        where nobody was answered between so many closings as there are attempts. late: the fault is
        that the answer didn't come in time.
        """
        if wait > LONGEST_WAIT:
            raise ServiceError(f"{fault}. Start again after {wait:.0f} seconds (Retry-After).")
        with self._lock:
            if closings != self._closings:
                return True
            self._closings += 1
            self._troubles += 1
            ends = self._troubles >= self._attempts
            seconds = max(wait, _backoff(self._troubles))
            self._opens = time.monotonic() + (0.0 if ends else seconds)
        if not ends:
            logger.info("no request for %.1f s: %s", seconds, fault)
        elif not late or not self._is_alive():
            raise ServiceError(fault + ADVICE)
        return not ends

    def _is_alive(self) -> bool:
        """Whether the server answers what costs nothing, be it with an error."""
        try:
            self._client.models.with_raw_response.list()
        except openai.APIStatusError as error:
            return error.status_code not in TROUBLE_STATUS
        except openai.APIConnectionError:
            return False
        return True

    def _send(self, request: Request) -> tuple[int, str, float]:
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
            return NOT_IN_TIME, f"{self.server} did not answer in time", 0.0
        except openai.APIConnectionError:
            return 0, f"{self.server} cannot be reached, or hung up", 0.0
        # JSON is UTF-8, whatever character set a header declares.
        text = response.content.decode("utf-8-sig", "replace")
        return response.status_code, text, stated_wait(response.headers, text, time.time())

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if (reason := self._stop()) is not None:
                raise Stopped(reason)
            time.sleep(min(left, 0.2))

    def _read(self, body: str, request: Request) -> Answer | None:
        """The answer in what a server sent, or None."""
        try:
            data = json.loads(body)
            choice = data["choices"][0]
            message, reason = choice["message"], choice.get("finish_reason") or "stop"
            if data.get("error") or choice.get("error") or reason == "error":
                return None
            content = message.get("content") or ""
            if isinstance(content, list):
                content = "".join(part["text"] for part in content if part["type"] == "text")
            # JSON may hold halves of characters, which no file can.
            text = content.encode("utf-8", "replace").decode()
            usage = data.get("usage") or {}
            counts = [usage.get(f"{kind}_tokens") for kind in ("prompt", "completion")]
            model = str(data.get("model") or "")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
        if message.get("refusal"):
            reason = REFUSAL
        if FILTERED.search(reason):
            text, reason = "", f"{WITHHELD}{reason}"
        tokens = [
            count if type(count) is int and count > 0 else round(len(of) / CHARACTERS_PER_TOKEN)
            for count, of in zip(counts, (request.prompt, text), strict=True)
        ]
        return Answer(
            self._redacted(text),
            self._redacted(reason),
            tokens[0],
            tokens[1],
            self.server,
            self._redacted(model),
        )

    def _reason(self, text: str) -> str:
        """Return a server's own words on a fault, without markup and the key, which it may echo."""
        words = printable(re.sub(r"<[^>]*>", " ", text), "\n\r\t").split()
        return self._redacted(" ".join(words))[:LONGEST_REASON] or "nothing"

    def _redacted(self, text: str) -> str:
        """The text without the key, should a server send it back."""
        return text if len(self._key) < SHORTEST_SECRET else text.replace(self._key, "[key]")


def stated_wait(headers: Mapping[str, str], text: str, now: float) -> float:
    """Seconds that a server asks to wait, in any of the forms that services have, or 0.

    headers: names in lower case, or a mapping that knows no case; text: OpenRouter repeats its
    provider's headers in it; now: seconds since 1970.
    """
    headers = {name.lower(): value for name, value in {**_inner_headers(text), **headers}.items()}
    if (milliseconds := _duration(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    names = ("retry-after", "x-ratelimit-reset", "ratelimit-reset", "x-rate-limit-reset")
    for name in (*names, "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"):
        value = headers.get(name, "").strip()
        if not value:
            continue
        if (seconds := _duration(value)) is not None:
            seconds = seconds / 1000 if seconds > 1000 * YEAR_2001 else seconds
            return max(0.0, seconds - now) if seconds > YEAR_2001 else seconds
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - now)
        except ValueError:
            continue
    return 0.0


def _duration(value: str) -> float | None:
    """Seconds of a duration, or None for what is none."""
    match = DURATION.fullmatch(value.strip())
    if not match or not match[0]:
        return None
    hours, minutes, rest = (float(match[group] or 0) for group in (1, 2, 3))
    return 3600 * hours + 60 * minutes + (rest / 1000 if match[4] == "ms" else rest)


def _error_in(text: str) -> Mapping[str, Any]:
    """The error that an answer's body holds, or nothing."""
    try:
        error = json.loads(text)["error"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}
    return error if isinstance(error, dict) else {}


def _inner_headers(text: str) -> dict[str, str]:
    about = _error_in(text).get("metadata")
    headers = about.get("headers") if isinstance(about, dict) else None
    return {str(k): str(v) for k, v in headers.items()} if isinstance(headers, dict) else {}


def _inner_status(text: str) -> int:
    """The status that stands in a body, as under 200, or 0."""
    code = str(_error_in(text).get("code", ""))
    return int(code) if re.fullmatch(r"[45]\d\d", code) else 0


def _is_trouble(status: int, text: str) -> bool:
    """Whether a fault is the service's, and says nothing of the prompt."""
    page = text.lstrip()[:1] == "<" and status not in OF_ACCOUNT  # a firewall's or a proxy's
    return status in TROUBLE_STATUS or page or bool(TROUBLE.search(text))


def _backoff(times: int) -> float:
    """Seconds to wait after so many faults in a row."""
    return min(2.0 ** (times - 2), 30) * random.uniform(0.7, 1)
