"""A server that speaks OpenAI's protocol, asked for one answer at a time.

What counts is what a server sends, not its status: a fault that passes is tried again under any
status, and a 200 that is no answer is one more failed attempt. A prompt that gets none, while
others do, is left out: whatever a service calls its filter. The key reaches no log, message or
file.
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
SECONDS = re.compile(r"\d+(?:\.\d+)?")
LONGEST_REASON = 300
SHORTEST_SECRET = 6
"""Characters of a key; shorter ones are placeholders, which captions may hold as words."""

FILTERED = re.compile("filter|safety|sensitive|recitation|prohibited|policy", re.IGNORECASE)
"""Finish reasons of an answer that a service's filter withholds."""
PASSING = re.compile(
    r"rate.?limit|too many|overload|\bbusy|capacity|try again|retry|temporar|time.?out|timed out|"
    r"\bloading|unavailable|upstream|throttl|warming|not ready|starting up",
    re.IGNORECASE,
)
"""Words of faults that pass, whatever their status."""
PASSING_STATUS = {408, 409, 423, 425, 429, 499}
OF_ACCOUNT = {401, 402, 404}
"""Statuses of a wrong key, an empty account, an unknown model or address."""
NO_CREDIT = re.compile(r"insufficient.?(?:quota|balance|credit|fund)", re.IGNORECASE)
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

    @property
    def withheld(self) -> bool:
        """Whether the service gave no answer to this prompt, though to others."""
        return self.finish_reason.startswith(WITHHELD)


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

    def complete(self, request: Request) -> Answer:
        """The answer to a request, without text where the service gives none. Raises ServiceError,
        and Stopped between attempts."""
        reason = fault = ""
        for attempt in range(1, self._attempts + 1):
            status, text, wait = self._send(request)
            if status == 200 and (answer := self._read(text, request)):
                self._withheld_in_a_row = 0
                return answer
            reason = self._reason(text)
            fault = f"{self.server} answered {status}: {reason}" if status else reason
            passes = status < 400 or status >= 500 or status in PASSING_STATUS
            passes = (passes or bool(PASSING.search(text))) and not NO_CREDIT.search(text)
            if not passes and (status in OF_ACCOUNT or NO_CREDIT.search(text)):
                break
            if wait > LONGEST_WAIT:
                raise ServiceError(f"{fault}. Start again after {wait:.0f} seconds (Retry-After).")
            if not passes or attempt == self._attempts:
                with self._lock:
                    self._withheld_in_a_row += 1
                    if self._withheld_in_a_row < IN_A_ROW:
                        return Answer("", f"{WITHHELD}{reason}", 0, 0, self.server)
                break
            logger.info("attempt %d of %d: %s", attempt, self._attempts, fault)
            self._pause(max(wait, min(2.0 ** (attempt - 2), 30) * random.uniform(0.7, 1)))
        raise ServiceError(
            f"{fault}. Start again later, or check {KEY_VARIABLE}, the account's credit, and "
            "audio.captions.model, base_url, timeout_seconds and parameters (null: not sent)."
        )

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
        except openai.APIConnectionError:
            return 0, f"{self.server} cannot be reached, hung up, or did not answer in time", 0.0
        wait = response.headers.get("retry-after", "")
        return response.status_code, response.text, float(wait) if SECONDS.fullmatch(wait) else 0.0

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
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
        if message.get("refusal"):
            reason = "refusal"
        if FILTERED.search(reason):
            text, reason = "", f"{WITHHELD}{reason}"
        tokens = [
            count if type(count) is int and count > 0 else round(len(of) / CHARACTERS_PER_TOKEN)
            for count, of in zip(counts, (request.prompt, text), strict=True)
        ]
        return Answer(
            self._redacted(text), self._redacted(reason), tokens[0], tokens[1], self.server
        )

    def _reason(self, text: str) -> str:
        """Return a server's own words on a fault, without markup and the key, which it may echo."""
        words = printable(re.sub(r"<[^>]*>", " ", text), "\n\r\t").split()
        return self._redacted(" ".join(words))[:LONGEST_REASON] or "nothing"

    def _redacted(self, text: str) -> str:
        """The text without the key, should a server send it back."""
        return text if len(self._key) < SHORTEST_SECRET else text.replace(self._key, "[key]")
