"""Errors that a person can do something about, and what argparse and messages need."""

import argparse
from urllib.parse import urlsplit


class InputError(Exception):
    """What was given cannot be used: one message with what was given, expected and to be done."""


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
