"""What a person gave that can't be used, told and not traced."""

import argparse


class InputError(Exception):
    """What was given cannot be used: one message with what was given, expected and to be done."""


def positive(text: str) -> int:
    """A whole number of at least 1, as argparse's `type`."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number
