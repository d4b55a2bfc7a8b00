"""How much faster than plain code, eager, compiled and in bf16: ratios within a run."""

import logging
import statistics
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pandas as pd

from benchmarks.style.commands import compare_commands
from benchmarks.style.films import compare_films
from benchmarks.worker import ROOT, Worker, ratios
from triptych.core.device import choose_device, choose_precision, describe_device

logger = logging.getLogger(__name__)

WORKER = "benchmarks.style.worker"

PLAIN = "plain"
"""plain.py: eager float32, one image after the other, the whole image in one pass."""

PLAIN_SIDES = (PLAIN, "compiled", "plain bf16", "compiled bf16")
"""The same by torch.compile, under autocast, and both: what one tries next."""

NOT_MEASURED = "not measured: auto is float32 on this processor"


def bench(
    sizes: dict[str, Sequence[int]],
    width: int,
    precisions: Sequence[str],
    rounds: int,
    commands: Mapping[str, Sequence[str]],
    command_sizes: Sequence[int],
    films: list[str],
    threads: int,
) -> pd.DataFrame:
    """Run each task at its `sizes` (pixels) on every side, in turn, `rounds` times.

    Columns: those of `compare`, device, threads. "command": `compare_commands`.
    "pan of ...": `compare_films`, of the shipped network's styles `films`.
    On a processor where `auto` is float32, sides in bf16 are left out: they can take fifty times as
    long.
    """
    device = choose_device("auto")
    sides = [*PLAIN_SIDES, *precisions]
    slow: list[str] = []
    if device.type == "cpu" and choose_precision("auto", device, "training") == "float32":
        slow = [side for side in sides if "bf16" in side]
    rows = []
    for name, chosen in sizes.items():
        for size in chosen:
            rows += compare(name, size, width, sides, rounds, threads, slow)
    rows += compare_commands(commands, command_sizes, rounds, threads)
    rows += compare_films(str(ROOT / "resources/style/networks/several_styles.safetensors"), films)
    table = pd.DataFrame(rows)
    table["device"], table["threads"] = describe_device(device), threads
    return table


def compare(
    name: str,
    size: int,
    width: int,
    sides: Sequence[str],
    rounds: int,
    threads: int,
    left_out: Collection[str] = (),
) -> list[dict[str, Any]]:
    """One task at one size, every side in turn: rows of the table.

    compared, side, size, seconds (median over rounds), first_seconds (of the
    call before them, in which a compiled side compiles), ratio (plain over this side, within a
    round: median) with ratio_minimum and ratio_maximum, ahead and its two likewise (the fastest
    plain side of the round over this side); of a side that can't be compiled, or is `left_out`,
    `trouble` instead.
    """
    measured: dict[str, list[dict[str, Any]]] = {
        side: [{"trouble": NOT_MEASURED}] if side in left_out else [] for side in sides
    }
    with ExitStack() as stack:
        workers = {
            side: stack.enter_context(Worker(WORKER, side, threads=threads))
            for side in sides
            if side not in left_out
        }
        for _ in range(rounds):
            for side, worker in workers.items():
                measured[side].append(worker.ask([name, size, width]))
    rows = []
    for side, answers in measured.items():
        row = {"compared": name, "side": side, "size": size}
        if "trouble" in answers[0]:
            rows.append(row | {"trouble": answers[0]["trouble"]})
        else:
            rows.append(row | _figures(answers, measured))
        logger.info("%s", rows[-1])
    return rows


def _figures(
    own: Sequence[dict[str, Any]], measured: Mapping[str, Sequence[dict[str, Any]]]
) -> dict[str, Any]:
    """A side's seconds, and its ratios to the plain sides' of the same round."""
    seconds = [answer["seconds"] for answer in own]
    figures = {"seconds": statistics.median(seconds), "first_seconds": own[0]["first_seconds"]}
    plain = {
        side: [answer["seconds"] for answer in measured[side]]
        for side in PLAIN_SIDES
        if side in measured and "trouble" not in measured[side][0]
    }
    fastest = [min(of_round) for of_round in zip(*plain.values(), strict=True)]
    return figures | ratios(plain[PLAIN], seconds) | ratios(fastest, seconds, "ahead")
