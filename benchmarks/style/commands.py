"""`triptych stylize` beside a command that one would take instead, each a whole process."""

import logging
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.worker import ROOT, ratios
from triptych.style.data.photographs import embedded_photographs

logger = logging.getLogger(__name__)

OURS = "triptych"


def compare_commands(
    commands: Mapping[str, Sequence[str]], sizes: Sequence[int], rounds: int, threads: int
) -> list[dict[str, Any]]:
    """Seconds of each command at each size, in turn, after one unmeasured call of each.

    commands: by name, with {photograph}, {painting} and {result} in its arguments; those that are
    not installed are left out. Rows: compared ("command"), side, size, seconds (median) and ratio
    (seconds of this command over ours, within a round: median) with ratio_minimum and
    ratio_maximum. Raises CalledProcessError where a command fails.
    """
    ours = [str(Path(sys.executable).with_name(OURS)), "stylize", "{photograph}", "--overwrite"]
    known = {OURS: [*ours, "--style", "swirls", "-o", "{result}"]}
    for name, words in commands.items():
        if shutil.which(words[0]):
            known[name] = list(words)
        else:
            logger.info("%s is not installed: no row", words[0])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            files = _files(Path(folder), size)
            took: dict[str, list[float]] = {name: [] for name in known}
            for number in range(rounds + 1):
                for name, words in known.items():
                    seconds = _seconds([word.format_map(files) for word in words], threads)
                    took[name] += [seconds] if number else []
            for name, seconds_of_rounds in took.items():
                row = {"compared": "command", "side": name, "size": size}
                row |= {"seconds": statistics.median(seconds_of_rounds)}
                rows.append(row | ratios(seconds_of_rounds, took[OURS]))
                logger.info("%s", rows[-1])
    return rows


def _files(folder: Path, size: int) -> dict[str, Path]:
    """What a command line names: a photograph of this size (pixels of its longer side)."""
    photograph = folder / f"photograph{size}.png"
    embedded_photographs()["china"].convert("RGB").resize((size, size * 2 // 3)).save(photograph)
    painting = ROOT / "resources/style/paintings/swirls.png"
    return {"photograph": photograph, "painting": painting, "result": folder / "result.png"}


def _seconds(words: Sequence[str], threads: int) -> float:
    """How long a process takes, start and imports included."""
    surroundings = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    began = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True, env=surroundings)
    return time.perf_counter() - began
