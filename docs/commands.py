"""docs/commands.md: every command of `triptych` with its options, as its parser prints them.

`make docs` writes it anew; tests/test_docs.py looks whether it is still true.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

os.environ["COLUMNS"] = "100"  # to which argparse folds

from triptych.cli import _parser

PAGE = Path(__file__).with_name("commands.md")


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers that do something, in the order of the help."""
    within = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for action in within:
        for each in action.choices.values():
            yield from commands(each)
    if not within:
        yield parser


def page() -> str:
    """The whole page, in Markdown."""
    parts = ["# Commands\n\nWhat each prints with `--help`. Written by `make docs`.\n"]
    for each in commands(_parser()):
        parts.append(f"## {each.prog}\n\n```text\n{each.format_help().strip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
