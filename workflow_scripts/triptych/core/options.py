"""Types of command-line options that the studies' commands share."""

import argparse


def positive(text: str) -> int:
    """A whole number of at least 1, as argparse's `type`."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number
