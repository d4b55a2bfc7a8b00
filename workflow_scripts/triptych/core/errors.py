"""Errors that a person can do something about, and what argparse and messages need."""

import argparse
import re
from urllib.parse import urlsplit

INFRASTRUCTURE = True


class InputError(Exception):
    """An input that cannot be used; the message says what was given, expected and what to do."""


def told(problem: Exception) -> str:
    """The message to show: `file: reason` for system errors; for bugs the type comes first."""
    if isinstance(problem, OSError) and problem.filename and problem.strerror:
        return f"{problem.filename}: {problem.strerror}"
    kind = "" if isinstance(problem, InputError | OSError) else f"{type(problem).__name__}: "
    return f"{kind}{problem}"


def printable(text: str, kept: str = "") -> str:
    """Text that can be written anywhere: control characters, marks that turn its direction and
    bytes that are no Unicode, as names of files hold them, become escapes such as \\x1b. Characters
    in `kept` stay."""
    control = r"[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
    return re.sub(control, lambda one: one[0] if one[0] in kept else ascii(one[0])[1:-1], text)


def positive(text: str) -> int:
    """A whole number of at least 1, as argparse's `type`."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def public_address(url: str) -> str:
    """The address without user, password and query, any of which may hold a secret."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(an address that is none)"
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
