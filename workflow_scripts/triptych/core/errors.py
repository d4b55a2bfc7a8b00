"""Errors that a user can correct, and helpers for messages and argparse."""

import argparse
import re
from urllib.parse import urlsplit

INFRASTRUCTURE = True


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


def positive(text: str) -> int:
    """Parse a whole number of at least 1, as argparse's `type`."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def natural(text: str) -> int:
    """Parse a whole number of at least 0, as argparse's `type`."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is not at least 0")
    return number


def public_address(url: str) -> str:
    """Remove user, password and query from an address: each may hold a secret."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(an invalid address)"
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
