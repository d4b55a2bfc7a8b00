"""A server that speaks OpenAI's protocol: asked by many threads, and no secret in a log.

The openai client retries by itself (rate limits, time-outs, 5xx) and knows `Retry-After`.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import openai

from triptych.audio.captions.paid import (
    CHARACTERS_PER_TOKEN,
    Account,
    Answer,
    AnswerCache,
    Request,
)
from triptych.audio.captions.settings import KEY_VARIABLE, CaptionSettings
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

Stop = Callable[[], str | None]
"""Why to stop, or None."""


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
        limit = settings.timeout_seconds
        for name in ("openai", "httpx", "httpx2", "httpcore2"):  # whole addresses, or more
            logging.getLogger(name).setLevel(logging.WARNING)
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=settings.base_url or OFFICIAL,
            timeout=openai.Timeout(limit, connect=min(limit, 30.0), pool=None),
            max_retries=settings.attempts - 1,
        )

    def complete(self, request: Request) -> tuple[Answer, int]:
        """One answer, and how many attempts failed before; an empty one where a filter refuses.

        Raises ServiceError.
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
        if isinstance(content, list):  # of an answer in parts what is said, not what is thought
            content = "".join(part["text"] for part in content if part.get("type") == "text")
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

    def __init__(self, settings: CaptionSettings, stop: Stop) -> None:
        self._settings, self._stop = settings, stop
        self._service = Service(settings)
        self.cache, self.account = AnswerCache(settings.cache), Account(settings)
        self.answers: dict[str, Answer] = {}
        self.asked = self.cached = 0
        self._next_turn = 0.0

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

    def announce(self, missing: Sequence[Request]) -> None:
        """Say what is there, and what the rest will cost."""
        account, told = self.account, self.account.prices.told
        expected = sum(map(account.estimate, missing))
        logger.info(
            "%d answers are in the cache (%s); %d to be asked for at %s, about %s; budget %s",
            len(self.answers),
            told(account.spent),
            len(missing),
            self._service.server,
            told(expected),
            "none" if account.budget is None else told(account.budget),
        )
        if account.budget is not None and account.spent + expected > account.budget:
            logger.warning("this will probably stop at the budget (audio.captions.budget)")

    def ask(self, requests: Sequence[Request], later: Sequence[Request] = ()) -> None:
        """Put the answers to all `requests` into `answers`; `later` will follow if all goes well.

        What ends this early (ServiceError, BudgetReached, Stopped) is raised when the open requests
        have been answered and kept.
        """
        waiting = self.look_up(requests)[::-1]
        running: dict[Future[tuple[Answer, int]], Request] = {}
        failure: BaseException | None = None
        with (
            ThreadPoolExecutor(self._settings.open_requests) as pool,
            Progress("captions", len(waiting), "requests") as progress,
        ):
            while running or (waiting and failure is None):
                failure = failure or self._reason()
                room = len(running) < self._settings.open_requests
                if waiting and failure is None and room and time.monotonic() >= self._next_turn:
                    if self.account.reserve(waiting[-1]):
                        request = waiting.pop()
                        running[pool.submit(self._service.complete, request)] = request
                        pace = 60 / self._settings.requests_per_minute
                        self._next_turn = time.monotonic() + pace
                        continue
                    failure = None if running else self._budget_reached(waiting[-1])
                pause = min(0.2, max(0.001, self._next_turn - time.monotonic()))
                if not running:
                    time.sleep(pause)
                    continue
                done, _ = wait(running, timeout=pause, return_when=FIRST_COMPLETED)
                for future in done:
                    failure = self._settle(running.pop(future), future) or failure
                    progress.advance(1, f"{self.account.prices.told(self.account.spent)} spent")
        if failure is not None:
            raise self._explained(failure, [*requests, *later])

    def _reason(self) -> Stopped | None:
        reason = self._stop()
        return None if reason is None else Stopped(reason)

    def _settle(self, request: Request, future: Future[tuple[Answer, int]]) -> BaseException | None:
        """Keep an answer; what went wrong, if anything did."""
        error = future.exception()
        if error is not None:
            self.account.perhaps += self.account.estimate(request)
            self.account.open.pop(request.key, None)
            return error
        answer, failed = future.result()
        self.account.perhaps += failed * self.account.estimate(request)
        try:
            self.cache.put(request, answer)
        except OSError as full:
            return full
        self._take(request, answer)
        self.asked += 1
        return None

    def _take(self, request: Request, answer: Answer) -> None:
        self.account.charge(request, answer)
        self.answers[request.key] = answer

    def _budget_reached(self, request: Request) -> BudgetReached:
        account, told = self.account, self.account.prices.told
        return BudgetReached(
            f"The budget of {told(account.budget or 0.0)} (audio.captions.budget) does not allow "
            f"the next request: {told(account.spent + account.perhaps)} are spent and it may cost "
            f"up to {told(account.worst(request))}."
        )

    def _explained(self, failure: BaseException, requests: Sequence[Request]) -> BaseException:
        """The failure, with how much is there and how to get the rest."""
        if not isinstance(failure, ServiceError | BudgetReached):
            return failure
        account, told = self.account, self.account.prices.told
        left = [each for each in requests if each.key not in self.answers]
        text = (
            f"{failure} {len(requests) - len(left)} of {len(requests)} requests are answered and "
            f"kept in {self.cache.folder}, {len(left)} remain, about "
            f"{told(sum(map(account.estimate, left)))}. What is there is not paid for again."
        )
        if isinstance(failure, BudgetReached):
            needed = account.spent + account.perhaps + sum(map(account.worst, left))
            text += f" To go on, set audio.captions.budget to {needed:.2f} (an upper bound)."
        return type(failure)(text)
