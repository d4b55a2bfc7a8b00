"""Errors that a user can correct, and helpers for messages and argparse."""

import argparse
import math
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from urllib.parse import urlsplit

INFRASTRUCTURE = True

CUTOFF = 0.7
"""Least similarity of a name that is suggested: --limit is not --like (0.62)."""


class InputError(Exception):
    """An unusable input; the message says what was given, what is expected and what to do."""


class ConfigError(ValueError):
    """A configuration that is not allowed."""


def error_message(problem: Exception) -> str:
    """Message of an error: `file: reason` for system errors; bugs begin with their type."""
    if isinstance(problem, OSError) and problem.filename and problem.strerror:
        return f"{problem.filename}: {problem.strerror}"
    kind = "" if isinstance(problem, InputError | OSError) else f"{type(problem).__name__}: "
    return f"{kind}{problem}"


def reason(error: Exception) -> str:
    """Message of a library's error, without the name of its file."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def printable(text: str, allowed: str = "") -> str:
    """Escape control characters, marks of writing direction and bytes that are no Unicode, as in
    names of files, as \\x1b. Characters in `allowed` stay."""
    control = r"[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
    return re.sub(control, lambda one: one[0] if one[0] in allowed else ascii(one[0])[1:-1], text)


def meant(given: Iterable[str], known: Iterable[str]) -> str:
    """The end of a message: the names that resemble those given, whatever their capitals."""
    names = {name.lower(): name for name in known}
    near = (get_close_matches(text.lower(), names, 1, CUTOFF) for text in given)
    return "".join(f"; maybe you meant {names[name]}?" for found in near for name in found)


def positive(text: str) -> int:
    """Parse a whole number of at least 1, as argparse's `type`."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """Parse a whole number of at least 0, as argparse's `type`."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least {least}")
    return number


def between(least: float, most: float) -> Callable[[str], float]:
    """Return the argparse type of a number from `least` to `most`."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least:g} to {most:g}")
        return value

    return number


def public_address(url: str) -> str:
    """Remove user, password and query from an address: each may hold a secret."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(an invalid address)"
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
