"""A server that speaks OpenAI's protocol, asked patiently: one place for limits and retries.

The credentials go nowhere but into the client.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import openai

from triptych.audio.captions.cache import Answer, Request
from triptych.audio.captions.cost import estimated_tokens
from triptych.audio.captions.credentials import Credentials
from triptych.audio.captions.errors import (
    FILTERED,
    NO_CREDIT,
    FilteredError,
    ServiceError,
    code_of,
    failure_of,
)
from triptych.audio.captions.rate_limit import Lanes, RateLimit
from triptych.core.download import public_address
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

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


class _Unstructured(Exception):
    """The server takes no schema for its answers."""


_FIELD = "response_format"
_SCHEMA = {
    "type": "object",
    "properties": {"captions": {"type": "array", "items": {"type": "string"}}},
    "required": ["captions"],
    "additionalProperties": False,
}
_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "captions", "strict": True, "schema": _SCHEMA},
}
_REFUSING = {400, 415, 422, 501}
_OTHER_CODES = FILTERED | NO_CREDIT | {"model_not_found", "invalid_api_key"}


@dataclass
class StructuredOutput:
    """Answers as JSON, which leaves a model no room for introductions or notes.

    `offered` is whether the server takes a schema, None until it was asked. The schema is no part
    of a request's digest: the captions in an answer are checked alike, and what was paid for stays
    paid for when a server learns to take one. Who sets response_format in audio.captions.parameters
    gets that, and only that.
    """

    offered: bool | None = None

    def field(self, request: Request) -> dict[str, Any]:
        """What to add to a request's body: nothing where the server refused it before."""
        return {} if self.offered is False or _FIELD in request.parameters else {_FIELD: _FORMAT}

    def refused(self, status: int, code: str) -> bool:
        """Whether an error may be about the schema, which is then asked for no more."""
        if status not in _REFUSING or code in _OTHER_CODES:
            return False
        if self.offered is not False:
            logger.info("the server takes no JSON schema for its answers; asking without")
        self.offered = False
        return True


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
        self._rate = RateLimit(self.settings.requests_per_minute, self.nap)
        self._lanes = Lanes(self.settings.open_requests, self.nap)
        self._client = openai.AsyncOpenAI(
            api_key=self._credentials.key,
            base_url=self.settings.base_url or OFFICIAL,
            # No limit on waiting in our own queue.
            timeout=openai.Timeout(limit, connect=min(limit, LONGEST_CONNECT_SECONDS), pool=None),
            default_headers=self._credentials.headers,
            max_retries=0,  # _patiently() is the one place that retries
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.close()

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
                    completion = await self._client.chat.completions.create(
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
                return await self._patiently(once, broke_off)
            except _Unstructured:
                return await self._patiently(once, broke_off)
        except FilteredError:
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

    async def _patiently(
        self, call: Callable[[], Awaitable[Answer]], broke_off: Callable[[], None]
    ) -> Answer:
        """Make a call under the limits, again after 429, 5xx, time-outs, cuts and broken answers.

        Between two attempts it waits what `Retry-After` asks (then everybody waits), otherwise
        twice as long each time. Raises ServiceError when trying again would not help.
        """
        attempt = pauses = 0
        while True:
            async with self._lanes.lane():
                await self._rate.turn()
                self.check()
                began = time.monotonic()
                try:
                    return await call()
                except (openai.APIError, ValueError, TimeoutError) as error:
                    failure = failure_of(
                        error, self.settings.server, self.settings.model,
                        self.settings.timeout_seconds, self._credentials,
                    )  # fmt: skip
            if failure.fatal:
                raise ServiceError(failure.what)
            if failure.maybe_charged:
                broke_off()
            # A time-out among many open requests is no failed attempt, but fewer are open then.
            attempt += not (failure.timed_out and self._lanes.too_slow(began))
            if attempt == self.settings.attempts:
                break
            wait = min(self.settings.backoff_seconds * 2.0**pauses, LONGEST_BACK_OFF_SECONDS)
            pauses += 1
            if failure.after is not None:
                if failure.after > LONGEST_WAIT_SECONDS:
                    raise ServiceError(
                        f"{failure.what} and asks for a pause of {failure.after:.0f} s, as with "
                        "the limit of a day; run again after it."
                    )
                self._rate.hold(failure.after)
                wait = failure.after
            logger.info("%s; again in %.1f s", failure.what, wait)
            await self.nap(wait)
        raise ServiceError(
            f"{failure.what}, {self.settings.attempts} times in a row (audio.captions.attempts)."
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
