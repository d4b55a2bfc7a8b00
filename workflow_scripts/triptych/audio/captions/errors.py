"""What a server's errors mean, and what a person can do about them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import openai

from triptych.audio.captions.credentials import KEY_VARIABLE, Credentials
from triptych.core.errors import InputError

NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
FILTERED = {"content_filter", "content_policy_violation"}


class ServiceError(InputError):
    """The server will not answer; the message says why and what to do."""


class FilteredError(Exception):
    """The server's content filter does not let this one prompt through."""


@dataclass(frozen=True)
class Failure:
    """A failed call: `after` is the pause that the server asks for, in seconds."""

    what: str
    fatal: bool = False
    after: float | None = None
    maybe_charged: bool = False
    timed_out: bool = False


def failure_of(
    error: Exception, server: str, model: str, timeout_seconds: float, credentials: Credentials
) -> Failure:
    """What the error of a call to `server` means.

    Raises FilteredError for a prompt that alone is the matter. Told are status codes and our own
    words, never what a server wrote, which may echo the credentials.
    """
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return Failure(
            f"{server} did not answer within {timeout_seconds:g} s "
            "(audio.captions.timeout_seconds)",
            maybe_charged=True,
            timed_out=True,
        )
    if isinstance(error, openai.APIConnectionError):
        return Failure(
            f"{server}: the connection failed or was cut (no network, wrong "
            "audio.captions.base_url, or the server is down)",
            maybe_charged=True,
        )
    if not isinstance(error, openai.APIStatusError):
        return Failure(f"{server} sent something that is no answer", maybe_charged=True)
    code, status = code_of(error), error.status_code
    if code in FILTERED:
        raise FilteredError
    # a code, rather than a message or an echo of the key
    plain = re.fullmatch(r"[a-z_]{1,40}", code) and not credentials.are_in(code)
    told = f"{server} answered {status}" + (f" ({code})" if plain else "")
    advice = advice_for(status, code, model)
    if advice is not None:
        return Failure(f"{told}: {advice}", fatal=True)
    return Failure(told, after=retry_after(error.response.headers))


def advice_for(status: int, code: str, model: str) -> str | None:
    """What to do about an error that trying again would not cure; None for the other errors."""
    if code in NO_CREDIT or status == 402:
        return "the account has no credit left. Top it up, then run again."
    if status == 401 or code == "invalid_api_key":
        return f"it does not accept the key in {KEY_VARIABLE}. Set a valid one and run again."
    if status == 403:
        return (
            f"the key in {KEY_VARIABLE} may not use the model {model}, or not from here. Allow it "
            "in the account's settings or choose another audio.captions.model."
        )
    if status == 404 or code == "model_not_found":
        return (
            f"it does not know the model {model}, or the address is wrong. Correct "
            "audio.captions.model or audio.captions.base_url."
        )
    if 400 <= status < 500 and status not in (408, 409, 425, 429):
        return (
            "it does not accept the request. Check audio.captions.parameters against what the "
            f"model {model} allows."
        )
    return None


def code_of(error: openai.APIStatusError) -> str:
    """The machine-readable code of an error, "" where the server sends none."""
    codes = (error.code, error.type)
    if any(code in NO_CREDIT for code in codes):
        return "insufficient_quota"
    return str(error.code or error.type or "")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of retry-after-ms or Retry-After (a number or a date), if the server sends one."""
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers.get(name, "")) * scale)
        except ValueError:
            continue
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
