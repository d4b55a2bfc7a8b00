"""What a server's errors mean, and what a person can do about them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import openai

from triptych.core.errors import InputError

KEY_VARIABLE = "OPENAI_API_KEY"
NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
FILTERED = {"content_filter", "content_policy_violation"}


class ServiceError(InputError):
    """The server will not answer; the message says why and what to do."""


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
