"""A server that speaks OpenAI's protocol, asked patiently: one place for pace, retries and errors.

What it is asked with (keys.py) goes nowhere but into the client: messages here are made of status
codes and our own words, never of what a server wrote, which may echo it.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

import openai

from triptych.audio.captions.cache import Answer, Request
from triptych.audio.captions.cost import estimated_tokens
from triptych.audio.captions.keys import Credentials
from triptych.audio.captions.pace import Lanes, Pace
from triptych.audio.captions.structure import StructuredOutput
from triptych.audio.captions.troubles import (
    FILTERED,
    ServiceError,
    advice_for,
    code_of,
    retry_after,
)
from triptych.core.download import public_address
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

T = TypeVar("T")

OFFICIAL = "https://api.openai.com/v1"
LONGEST_BACK_OFF_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 600.0
"""A server that asks for a longer pause than this has a daily limit: better to stop and say so."""
LONGEST_CONNECT_SECONDS = 30.0
NAP_SECONDS = 0.2
_OWN_FIELDS = {"model", "messages", "n", "stream"}


class Halted(Exception):
    """Another request has failed for good, or the job is asked to stop."""


class _Malformed(ValueError):
    """A success that holds no answer."""


class _Refused(Exception):
    """The server's content filter does not let this one prompt through."""


class _Unstructured(Exception):
    """The server takes no schema for its answers."""


@dataclass(frozen=True)
class ServiceSettings:
    """Which server and model, and how hard it may be asked; `base_url` None is OpenAI's.

    `timeout_seconds` is for one answer, from sending the request to having read the answer.
    """

    model: str
    base_url: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    requests_per_minute: float = 500.0
    open_requests: int = 16
    timeout_seconds: float = 120.0
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
    timed_out: bool = False


class Service:
    """An open connection to a server; use as `async with Service(settings, stop) as service`.

    `stop` says why to stop, or None; open calls are then finished and no new ones begun. The first
    error that ends the run is kept in `failure`.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        stop: Callable[[], str | None],
        structure: StructuredOutput | None = None,
    ) -> None:
        self.settings = settings
        self.structure = structure or StructuredOutput(offered=False)
        self.failure: BaseException | None = None
        self._stop = stop
        self._credentials = Credentials.from_environment()
        for name in ("openai", "httpx", "httpx2", "httpcore2"):  # whole addresses, or more
            logging.getLogger(name).setLevel(logging.WARNING)

    async def __aenter__(self) -> "Service":
        limit = self.settings.timeout_seconds
        self._pace = Pace(self.settings.requests_per_minute, self.nap)
        self._lanes = Lanes(self.settings.open_requests, self.nap)
        self.client = openai.AsyncOpenAI(
            api_key=self._credentials.key,
            base_url=self.settings.base_url or OFFICIAL,
            # No limit on waiting in our own queue.
            timeout=openai.Timeout(limit, connect=min(limit, LONGEST_CONNECT_SECONDS), pool=None),
            default_headers=self._credentials.headers,
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
            field = self.structure.field(request)
            body = request.body() | field
            try:
                # httpx's limit is for each pause between two bytes, and some servers send blanks.
                async with asyncio.timeout(self.settings.timeout_seconds):
                    completion = await self.client.chat.completions.create(
                        model=body.pop("model"), messages=body.pop("messages"), extra_body=body
                    )
            except openai.APIStatusError as error:
                if field and self.structure.refused(error.status_code, code_of(error)):
                    raise _Unstructured from None
                raise
            if field:
                self.structure.offered = True
            if not isinstance(completion, openai.types.chat.ChatCompletion):
                raise _Malformed
            return self.read(completion.model_dump(warnings=False), request)

        try:
            try:
                return await self.patiently(once, broke_off)
            except _Unstructured:
                return await self.patiently(once, broke_off)
        except _Refused:
            return Answer("", "content_filter", 0, 0, self.settings.server)

    def read(self, completion: Mapping[str, Any], request: Request) -> Answer:
        """The answer in a chat completion; raises ValueError if there is none."""
        try:
            choice = completion["choices"][0]
            message = choice["message"]
            text = _text_of(message.get("content"))
            finish_reason = choice.get("finish_reason") or "stop"
            if message.get("refusal"):
                finish_reason = "refusal"
        except (KeyError, IndexError, TypeError, AttributeError):
            raise _Malformed from None
        told = completion.get("usage")
        usage = told if isinstance(told, Mapping) else {}
        return Answer(
            text=self.redacted(text),
            finish_reason=self.redacted(str(finish_reason)),
            input_tokens=_tokens(usage.get("prompt_tokens"), request.prompt),
            output_tokens=_tokens(usage.get("completion_tokens"), text),
            server=self.settings.server,
        )

    def redacted(self, text: str) -> str:
        """The text without our key, should a server send it back, and such that it can be kept.

        JSON may hold halves of characters, which no file can.
        """
        return self._credentials.redacted(text.encode("utf-8", "replace").decode("utf-8"))

    async def patiently(
        self, call: Callable[[], Awaitable[T]], broke_off: Callable[[], None] = lambda: None
    ) -> T:
        """Make a call under the pace, again after 429, 5xx, time-outs, cuts and broken answers.

        Between two attempts it waits what `Retry-After` asks (then everybody waits), otherwise
        twice as long each time. Raises ServiceError when trying again would not help.
        """
        attempt = pauses = 0
        while True:
            async with self._lanes.lane():
                await self._pace.turn()
                self.check()
                began = time.monotonic()
                try:
                    return await call()
                except (openai.APIError, ValueError, TimeoutError) as error:
                    trouble = self._read_trouble(error)
            if trouble.fatal:
                raise ServiceError(trouble.what)
            if trouble.maybe_charged:
                broke_off()
            # A time-out among many open requests is no failed attempt, but fewer are open then.
            attempt += not (trouble.timed_out and self._lanes.too_slow(began))
            if attempt == self.settings.attempts:
                break
            wait = min(self.settings.backoff_seconds * 2.0**pauses, LONGEST_BACK_OFF_SECONDS)
            pauses += 1
            if trouble.after is not None:
                if trouble.after > LONGEST_WAIT_SECONDS:
                    raise ServiceError(
                        f"{trouble.what} and asks for a pause of {trouble.after:.0f} s, as with "
                        "the limit of a day; run again after it."
                    )
                self._pace.hold(trouble.after)
                wait = trouble.after
            logger.info("%s; again in %.1f s", trouble.what, wait)
            await self.nap(wait)
        raise ServiceError(
            f"{trouble.what}, {self.settings.attempts} times in a row (audio.captions.attempts)."
        )

    def _read_trouble(self, error: Exception) -> _Trouble:
        """What an error means. Raises _Refused for a prompt that alone is the trouble."""
        server = self.settings.server
        if isinstance(error, openai.APITimeoutError | TimeoutError):
            limit = self.settings.timeout_seconds
            return _Trouble(
                f"{server} did not answer within {limit:g} s (audio.captions.timeout_seconds)",
                maybe_charged=True,
                timed_out=True,
            )
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
        return re.fullmatch(r"[a-z_]{1,40}", code) is not None and not (
            self._credentials.are_in(code)
        )


def _tokens(told: object, text: str) -> int:
    """What a server counted, or an estimate where it told no number."""
    return told if type(told) is int and told > 0 else estimated_tokens(text)


def _text_of(content: object) -> str:
    """The text of an answer; of one in parts those that are text, not those that are thoughts."""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, Mapping)]
        return "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")
    return str(content or "")
