"""A server that speaks OpenAI's protocol, asked patiently: one place for pace, retries and errors.

The key comes from the environment (OPENAI_API_KEY) and goes nowhere but into the client: messages
here are made of status codes and our own words, never of what a server wrote, which may echo it.
"""

import asyncio
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

import openai

from triptych.audio.captions.cache import Answer, Request
from triptych.audio.captions.cost import estimated_tokens
from triptych.audio.captions.troubles import (
    FILTERED,
    KEY_VARIABLE,
    ServiceError,
    advice_for,
    code_of,
    retry_after,
)
from triptych.core.download import public_address
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

T = TypeVar("T")

OFFICIAL = "https://api.openai.com/v1"
LONGEST_BACK_OFF_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 600.0
"""A server that asks for a longer pause than this has a daily limit: better to stop and say so."""
NAP_SECONDS = 0.2
SHORTEST_SECRET = 12
"""Shorter keys are placeholders for servers that want none; they are words a caption may hold."""

_OWN_FIELDS = {"model", "messages", "n", "stream"}


class Halted(Exception):
    """Another request has failed for good, or the job is asked to stop."""


class _Malformed(ValueError):
    """A success that holds no answer."""


class _Refused(Exception):
    """The server's content filter does not let this one prompt through."""


@dataclass(frozen=True)
class ServiceSettings:
    """Which server and model, and how hard it may be asked; `base_url` None is OpenAI's."""

    model: str
    base_url: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    requests_per_minute: float = 500.0
    open_requests: int = 16
    timeout_seconds: float = 10.0
    attempts: int = 10
    backoff_seconds: float = 1.0

    def __post_init__(self) -> None:
        taken = sorted(_OWN_FIELDS & set(self.parameters))
        if taken:
            raise ValueError(
                f"audio.captions.parameters may not hold {', '.join(taken)}: model has a key of "
                "its own, and one answer at a time is asked for"
            )
        for name in ("requests_per_minute", "open_requests", "timeout_seconds", "attempts"):
            if getattr(self, name) <= 0:
                raise ValueError(
                    f"audio.captions.{name} is {getattr(self, name)}; it must be more than 0"
                )

    @property
    def server(self) -> str:
        """The address without anything secret that it may hold."""
        return public_address(self.base_url or OFFICIAL)


@dataclass(frozen=True)
class _Trouble:
    """A failed call: `after` is the pause that the server asks for, in seconds."""

    what: str
    fatal: bool = False
    after: float | None = None
    maybe_charged: bool = False


class Pace:
    """Lets callers through one by one, at most so many a minute, evenly spaced."""

    def __init__(self, requests_per_minute: float, nap: Callable[[float], Awaitable[None]]) -> None:
        self._interval = 60.0 / requests_per_minute
        self._nap = nap
        self._next = 0.0
        self._lock = asyncio.Lock()

    async def turn(self) -> None:
        """Wait for the next free place."""
        async with self._lock:
            while (wait := self._next - time.monotonic()) > 0:
                await self._nap(wait)
            # Lateness of the clock is made up for, but never by two calls at once.
            self._next = max(self._next, time.monotonic() - self._interval / 2) + self._interval

    def hold(self, seconds: float) -> None:
        """Let nobody through for a while."""
        self._next = max(self._next, time.monotonic() + seconds)


class Service:
    """An open connection to a server; use as `async with Service(settings, stop) as service`.

    `stop` says why to stop, or None; open calls are then finished and no new ones begun. The first
    error that ends the run is kept in `failure`.
    """

    def __init__(self, settings: ServiceSettings, stop: Callable[[], str | None]) -> None:
        self.settings = settings
        self.failure: BaseException | None = None
        self._stop = stop
        self._key = read_key()
        for name in ("openai", "httpx", "httpx2", "httpcore2"):  # whole addresses, or more
            logging.getLogger(name).setLevel(logging.WARNING)

    async def __aenter__(self) -> "Service":
        self._pace = Pace(self.settings.requests_per_minute, self.nap)
        self.client = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self.settings.base_url or OFFICIAL,
            timeout=self.settings.timeout_seconds,
            max_retries=0,  # patiently() is the one place that retries
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.client.close()

    def fail(self, error: BaseException) -> None:
        """End the run: whoever naps or calls next is stopped. The first error counts."""
        self.failure = self.failure or error

    def check(self) -> None:
        """Raise Halted if the run is to end."""
        reason = self._stop()
        if reason is not None:
            self.fail(Stopped(reason))
        if self.failure is not None:
            raise Halted

    async def nap(self, seconds: float) -> None:
        """Sleep, awake enough to notice that the run is to end."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.check()
            await asyncio.sleep(min(left, NAP_SECONDS))
        self.check()

    async def complete(self, request: Request, broke_off: Callable[[], None]) -> Answer:
        """Ask for one answer. `broke_off` is told of calls that may be charged in spite of failing.

        A prompt that the content filter refuses is answered by an empty text.
        """

        async def once() -> Answer:
            body = request.body()
            completion = await self.client.chat.completions.create(
                model=body.pop("model"), messages=body.pop("messages"), extra_body=body
            )
            if not isinstance(completion, openai.types.chat.ChatCompletion):
                raise _Malformed
            return self.read(completion.model_dump(), request)

        try:
            return await self.patiently(once, broke_off)
        except _Refused:
            return Answer("", "content_filter", 0, 0, self.settings.server)

    def read(self, completion: Mapping[str, Any], request: Request) -> Answer:
        """The answer in a chat completion; raises ValueError if there is none."""
        try:
            choice = completion["choices"][0]
            text = choice["message"].get("content") or ""
            finish_reason = choice.get("finish_reason") or "stop"
        except (KeyError, IndexError, TypeError, AttributeError):
            raise _Malformed from None
        told = completion.get("usage")
        usage = told if isinstance(told, Mapping) else {}
        return Answer(
            text=self.redacted(str(text)),
            finish_reason=self.redacted(str(finish_reason)),
            input_tokens=_tokens(usage.get("prompt_tokens"), request.prompt),
            output_tokens=_tokens(usage.get("completion_tokens"), str(text)),
            server=self.settings.server,
        )

    def redacted(self, text: str) -> str:
        """The text without our key, should a server send it back, and such that it can be kept.

        JSON may hold halves of characters, which no file can.
        """
        text = text.encode("utf-8", "replace").decode("utf-8")
        return text.replace(self._key, "[key]") if len(self._key) >= SHORTEST_SECRET else text

    async def patiently(
        self, call: Callable[[], Awaitable[T]], broke_off: Callable[[], None] = lambda: None
    ) -> T:
        """Make a call under the pace, again after 429, 5xx, time-outs, cuts and broken answers.

        Between two attempts it waits what `Retry-After` asks (then everybody waits), otherwise
        twice as long each time. Raises ServiceError when trying again would not help.
        """
        trouble = _Trouble("")
        for attempt in range(self.settings.attempts):
            await self._pace.turn()
            self.check()
            try:
                return await call()
            except (openai.APIError, ValueError) as error:
                trouble = self._read_trouble(error)
            if trouble.fatal:
                raise ServiceError(trouble.what)
            if trouble.maybe_charged:
                broke_off()
            wait = min(self.settings.backoff_seconds * 2.0**attempt, LONGEST_BACK_OFF_SECONDS)
            if trouble.after is not None:
                if trouble.after > LONGEST_WAIT_SECONDS:
                    raise ServiceError(
                        f"{trouble.what} and asks for a pause of {trouble.after:.0f} s, as with "
                        "the limit of a day; run again after it."
                    )
                self._pace.hold(trouble.after)
                wait = trouble.after
            if attempt + 1 < self.settings.attempts:
                logger.info("%s; again in %.1f s", trouble.what, wait)
                await self.nap(wait)
        raise ServiceError(
            f"{trouble.what}, {self.settings.attempts} times in a row (audio.captions.attempts)."
        )

    def _read_trouble(self, error: Exception) -> _Trouble:
        """What an error means. Raises _Refused for a prompt that alone is the trouble."""
        server = self.settings.server
        if isinstance(error, openai.APITimeoutError):
            limit = self.settings.timeout_seconds
            return _Trouble(f"{server} did not answer within {limit:g} s", maybe_charged=True)
        if isinstance(error, openai.APIConnectionError):
            return _Trouble(
                f"{server}: the connection failed or was cut (no network, wrong "
                "audio.captions.base_url, or the server is down)",
                maybe_charged=True,
            )
        if not isinstance(error, openai.APIStatusError):
            return _Trouble(f"{server} sent something that is no answer", maybe_charged=True)
        code, status = code_of(error), error.status_code
        if code in FILTERED:
            raise _Refused
        advice = advice_for(status, code, self.settings.model)
        told = f"{server} answered {status}" + (f" ({code})" if self._may_show(code) else "")
        if advice is not None:
            return _Trouble(f"{told}: {advice}", fatal=True)
        return _Trouble(told, after=retry_after(error.response.headers))

    def _may_show(self, code: str) -> bool:
        """Whether an error code is one, rather than a message or an echo of the key."""
        return re.fullmatch(r"[a-z_]{1,40}", code) is not None and self._key not in code


def _tokens(told: object, text: str) -> int:
    """What a server counted, or an estimate where it told no number."""
    return told if type(told) is int and told > 0 else estimated_tokens(text)


def read_key() -> str:
    """The key from the environment; raises InputError, which never shows it."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise InputError(
            "audio.captions.backend openai needs a key in the environment: export "
            f"{KEY_VARIABLE}=... (for a server that wants none, any word). It belongs in no file "
            "of this project."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"{KEY_VARIABLE} holds characters that no key has; was it copied whole?")
    return key
