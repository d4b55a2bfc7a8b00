"""python tests/reader.py ARGUMENT...: `triptych` for whoever types what the pages print.

Runs what takes seconds where the files, styles and models that it names are there; parses the rest.
"""

import re
import sys
from itertools import pairwise
from pathlib import Path

from triptych.cli import _parser, main

SECONDS = ("stylize", "index", "search", "init")
PAINTINGS = Path(__file__).parents[1] / "resources/style/paintings"


def runs(given: list[str]) -> bool:
    """Whether to run a command whole."""
    after = dict(pairwise(given))
    files = [each for each in given[1:] if re.search(r"\.(jpg|mp4|wav)$", each)]
    named = [each for each in files if each != after.get("-o")]
    named += [after["--model"]] if "--model" in after else []
    styles = re.findall(r"[a-z_]+", after.get("--style", ""))
    return (
        given[0] in SECONDS
        and "--optimize" not in given
        and all(Path(each).exists() for each in named)
        and all((PAINTINGS / f"{each}.png").exists() for each in styles)
    )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    _parser().parse_args(arguments)
    sys.exit(main(arguments) if runs(arguments) else 0)
