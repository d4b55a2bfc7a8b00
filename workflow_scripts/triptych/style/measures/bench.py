"""How much faster and smaller than plain eager code: ratios within one run."""

import logging
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import pandas as pd

from triptych.core.device import choose_device, describe_device
from triptych.core.worker import Worker

logger = logging.getLogger(__name__)

WORKER = "triptych.style.measures.bench_worker"

PLAIN = "plain"
"""measures/plain.py: eager float32, one image after the other, the whole image in one pass."""

PAPER_SECONDS = {"large": 2.5, "image": 78.8}
"""On a Colab GPU: 4032 x 2480 "within 2-3 seconds", and Table I's VGG at 512."""

REPEATS = {"forward": 3, "step": 1, "closure": 1, "optimise": 1}
"""Calls of each task in a round."""


def bench(
    sizes: dict[str, Sequence[int]],
    width: int,
    precisions: Sequence[str],
    rounds: int,
    threads: int,
) -> pd.DataFrame:
    """Run each task at its `sizes` (pixels) on every side, in turn, `rounds` times.

    Columns: compared, side, size, seconds (median over rounds of the fastest call), ratio,
    ratio_minimum, ratio_maximum (plain over ours, within a round), peak_megabytes, device,
    threads. "large" is run once, 4032 x 2480: its ratio is that of the peak memory. On a GPU
    also published_seconds: what the paper took for that image and for one of Version 1.
    """
    sides = [PLAIN, *precisions]
    rows = []
    for name, chosen in sizes.items():
        for size in chosen:
            rows += compare(name, size, width, sides, rounds, threads)
    rows += large_photograph(width, threads)
    device = choose_device("auto")
    if device.type == "cuda":
        rows += beside_paper(width, precisions, threads)
    table = pd.DataFrame(rows)
    table["device"], table["threads"] = describe_device(device), threads
    return table


def compare(
    name: str, size: int, width: int, sides: Sequence[str], rounds: int, threads: int
) -> list[dict[str, Any]]:
    """One task at one size, every side in turn: rows of the table."""
    measured: dict[str, list[float]] = {side: [] for side in sides}
    with ExitStack() as stack:
        workers = {
            side: stack.enter_context(Worker(WORKER, side, threads=threads)) for side in sides
        }
        for _ in range(rounds):
            for side, worker in workers.items():
                measured[side].append(
                    min(worker.ask([name, size, width, REPEATS[name]])["seconds"])
                )
    rows = []
    for side, seconds in measured.items():
        ratios = [base / own for base, own in zip(measured[PLAIN], seconds, strict=True)]
        rows.append(
            {
                "compared": name,
                "side": side,
                "size": size,
                "seconds": statistics.median(seconds),
                "ratio": round(statistics.median(ratios), 3),
                "ratio_minimum": round(min(ratios), 3),
                "ratio_maximum": round(max(ratios), 3),
            }
        )
        logger.info("%s", rows[-1])
    return rows


def large_photograph(width: int, threads: int) -> list[dict[str, Any]]:
    """4032 x 2480 once, plain and in float32: rows whose ratio is that of the peak memory."""
    rows = []
    for side in (PLAIN, "float32"):
        with Worker(WORKER, side, threads=threads) as worker:
            answer = worker.ask(["large", 0, width, 1])
        rows.append(
            {
                "compared": "large",
                "side": side,
                "size": 4032,
                "seconds": answer["seconds"][0],
                "peak_megabytes": answer["peak_bytes"] / 1e6,
            }
        )
        logger.info("%s", rows[-1])
    for row in rows:
        row["ratio"] = round(rows[0]["peak_megabytes"] / row["peak_megabytes"], 3)
    return rows


def beside_paper(width: int, precisions: Sequence[str], threads: int) -> list[dict[str, Any]]:
    """What the paper printed seconds for: its large photograph, and an image of Version 1."""
    rows = []
    for side in precisions:
        with Worker(WORKER, side, threads=threads) as worker:
            for name, size in (("large", 4032), ("image", 512)):
                seconds = min(worker.ask([name, size, width, 3])["seconds"])
                published = PAPER_SECONDS[name]
                rows.append(
                    {
                        "compared": f"{name}, the paper's",
                        "side": side,
                        "size": size,
                        "seconds": seconds,
                        "published_seconds": published,
                        "ratio": round(published / seconds, 3),
                    }
                )
    return rows
