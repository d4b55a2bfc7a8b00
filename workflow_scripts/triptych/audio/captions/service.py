"""A server that speaks OpenAI's protocol: one message, and its answer or what went wrong.

The key reaches no log, message or file.
"""

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import openai

from triptych.audio.captions.settings import KEY_VARIABLE
from triptych.core.errors import InputError, printable, public_address

OFFICIAL = "https://api.openai.com/v1"
CHARACTERS_PER_TOKEN = 4.0  # OpenAI's rule of thumb for English
LONGEST_REASON = 300
SHORTEST_SECRET = 6
"""Characters of a key; shorter ones are placeholders, which captions may hold as words."""

FILTERED = re.compile("filter|safety|sensitive|recitation|prohibited|policy", re.IGNORECASE)
"""Finish reasons of an answer that a service's filter withholds."""
TIMEOUTS = {408, 499, 504, 524, 598}
TROUBLE_STATUS = {409, 423, 424, 425, 429, 502, 503, *range(520, 531), 599}
"""Statuses of a service's own trouble."""
TROUBLE = re.compile(
    r"rate.?limit|too many requests|throttl|overload|healthy upstream", re.IGNORECASE
)
"""Words of a service's own trouble, whatever its status."""
OF_ACCOUNT = {401, 402, 404}
"""Statuses of a wrong key, an empty account, an unknown model or address."""
NO_CREDIT = re.compile(r"insufficient.?(?:quota|balance|credit|fund)", re.IGNORECASE)


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
    def missing(self) -> bool:
        """Whether there is no text: nothing was written, or a filter withholds it."""
        return not self.text.strip()


Kind = Literal["trouble", "late", "account", "prompt", "unknown"]
"""Kind of a fault: the service's own trouble, which says nothing of the prompt (late: no answer in
time); of the account, so that no prompt will be answered; of the prompt, or unknown, which may
pass."""


@dataclass(frozen=True)
class Fault:
    """What came in place of an answer. wait: seconds that the server asks for."""

    reason: str
    kind: Kind
    wait: float


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
        """settings: audio.captions of the config."""
        self._key = key_from_environment()
        address = settings["base_url"] or OFFICIAL
        self.server = public_address(address)
        for name in ("openai", "httpx", "httpx2", "httpcore2"):  # whole addresses, or more
            logging.getLogger(name).setLevel(logging.WARNING)
        # The client's own retries know statuses alone, and no thread of what another was told.
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=address,
            timeout=settings["timeout_seconds"],
            max_retries=0,
        )

    def complete(self, request: Request) -> Answer | Fault:
        """Send a request once."""
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
            return Fault(f"{self.server} did not answer in time", "late", 0.0)
        except openai.APIConnectionError:
            return Fault(f"{self.server} cannot be reached, or hung up", "trouble", 0.0)
        # JSON is UTF-8, whatever character set a header declares.
        text, status = response.content.decode("utf-8-sig", "replace"), response.status_code
        if status == 200 and (answer := self._read(text, request)):
            return answer
        status = _inner_status(text) or status
        # Without markup and the key, which a server may echo.
        words = printable(re.sub(r"<[^>]*>", " ", text), "\n\r\t").split()
        reason = self._redacted(" ".join(words))[:LONGEST_REASON] or "nothing"
        return Fault(
            f"{self.server} answered {status}: {reason}",
            _kind(status, text),
            stated_wait(response.headers, time.time()),
        )

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
            reason = "refusal"
        if FILTERED.search(reason):
            text = ""
        tokens = [
            count if type(count) is int and count > 0 else round(len(of) / CHARACTERS_PER_TOKEN)
            for count, of in zip(counts, (request.prompt, text), strict=True)
        ]
        texts = [self._redacted(value) for value in (text, reason, model)]
        return Answer(texts[0], texts[1], tokens[0], tokens[1], self.server, texts[2])

    def _redacted(self, text: str) -> str:
        """The text without the key, should a server send it back."""
        return text if len(self._key) < SHORTEST_SECRET else text.replace(self._key, "[key]")


def stated_wait(headers: Mapping[str, str], now: float) -> float:
    """Seconds that a server asks to wait, or 0. now: seconds since 1970."""
    with suppress(KeyError, ValueError):
        return float(headers["retry-after-ms"]) / 1000
    value = headers.get("retry-after", "")
    with suppress(ValueError):
        return float(value)
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    return 0.0


def _kind(status: int, text: str) -> Kind:
    if NO_CREDIT.search(text):
        return "account"
    if status in TIMEOUTS:
        return "late"
    page = text.lstrip()[:1] == "<" and status not in OF_ACCOUNT  # a firewall's or a proxy's
    if status in TROUBLE_STATUS or page or TROUBLE.search(text):
        return "trouble"
    if status in OF_ACCOUNT:
        return "account"
    return "prompt" if 400 <= status < 500 else "unknown"


def _inner_status(text: str) -> int:
    """The status that stands in a body, as under 200, or 0."""
    with suppress(ValueError, LookupError, TypeError, RecursionError):
        if re.fullmatch(r"[45]\d\d", code := str(json.loads(text)["error"]["code"])):
            return int(code)
    return 0
