"""How much faster than plain code, eager, tuned and compiled: ratios within one run."""

import logging
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pandas as pd
import torch

from benchmarks.audio.loading import FILES, SHARDS, clips_per_second
from benchmarks.audio.worker import PLAIN_SIDES, SEGMENT_SECONDS
from benchmarks.worker import Worker
from triptych.core.device import choose_device, describe_device

logger = logging.getLogger(__name__)

WORKER = "benchmarks.audio.worker"

Task = tuple[str, str, dict[str, int]]
"""What is measured, of which model, at which size."""

PLAIN = "plain"
"""plain.py: eager float32; evaluation embeds a clip once for each caption."""
OTHERS = tuple(side for side in PLAIN_SIDES if side != PLAIN)
"""The same with fused attention and each clip embedded once, in bf16, compiled, and both: they take
part in what is done without gradients."""
INFERENCE = ("forward", "embedding")


def bench(settings: dict[str, Any], device: str, threads: int) -> pd.DataFrame:
    """Run every task on every side, in turn, `rounds` times, each side in its own process.

    settings: `audio` of config.yaml. The tasks, with published sizes and random weights:
    forward (of one segment, for each of `models`), step (a training step of the audio side with
    `batch` segments and the report's patchout and masks, text embeddings given), embedding (`clips`
    clips of 15 to 30 s: `captions` times each, padded, on the plain side, once each on ours) and
    loader (one process; `files` clips).

    Columns: what, model, size, precision (for the loader the kind of shard and the files that it
    is compared with), seconds_plain and seconds_ours (median over rounds; for the loader of one
    clip), ratio (median), ratio_minimum, ratio_maximum (plain over ours within a round),
    ahead (of forward and embedding: the fastest plain side of a round over ours, median),
    clips_per_second_plain, clips_per_second (embedding and loader), device, threads. The rows of
    OTHERS, by their names under `precision`, have their own seconds in the place of ours.
    """
    chosen = choose_device(device)
    rounds = settings["rounds"]
    rows = list(compared(tasks_of(settings), settings["precisions"], rounds, chosen, threads))
    rows += _loading(settings["files"], rounds)
    table = pd.DataFrame(rows)
    table["device"], table["threads"] = describe_device(chosen), threads
    return table


def tasks_of(settings: dict[str, Any]) -> list[Task]:
    """The tasks but the loader, as `bench` describes them."""
    step, first = settings["step"], settings["models"][0]
    split = {"clips": settings["clips"], "captions": settings["captions"]}
    return [
        *(("forward", name, {"seconds": SEGMENT_SECONDS[name]}) for name in settings["models"]),
        ("step", first, step),
        ("embedding", first, split),
    ]


def compared(
    tasks: Sequence[Task],
    precisions: Sequence[str],
    rounds: int,
    device: torch.device,
    threads: int,
) -> Iterator[dict[str, Any]]:
    """Each task on every side, in turn: rows of the table, as soon as a task is measured."""
    with ExitStack() as stack:
        workers = {
            side: stack.enter_context(Worker(WORKER, side, device.type, threads=threads))
            for side in (*PLAIN_SIDES, *precisions)
        }
        for task in tasks:
            yield from _compare(task, workers, rounds)


def _compare(task: Task, workers: dict[str, Worker], rounds: int) -> list[dict[str, Any]]:
    what, model, size = task
    if what not in INFERENCE:
        workers = {side: each for side, each in workers.items() if side not in OTHERS}
    asked: dict[str, list[float | None]] = {side: [] for side in workers}
    for _ in range(rounds):
        for side, worker in workers.items():
            asked[side].append(worker.ask(task))
    measured: dict[str, list[float]] = {}
    for side, seconds in asked.items():
        known = [each for each in seconds if each is not None]
        if len(known) == rounds:
            measured[side] = known
        else:
            logger.warning("%s: %s of %s could not be measured", side, what, model)
    fastest = [
        min(of_round)
        for of_round in zip(*(measured[s] for s in PLAIN_SIDES if s in measured), strict=True)
    ]
    plain = measured.pop(PLAIN)
    rows = []
    for precision, ours in measured.items():
        row = {
            "what": what,
            "model": model,
            "size": " ".join(f"{key}={value}" for key, value in size.items()),
            "precision": precision,
            **_ratios(plain, ours),
        }
        if what in INFERENCE and precision not in OTHERS:
            row["ahead"] = _ratios(fastest, ours)["ratio"]
        if what == "embedding":
            row["clips_per_second_plain"] = round(size["clips"] / row["seconds_plain"], 3)
            row["clips_per_second"] = round(size["clips"] / row["seconds_ours"], 3)
        rows.append(row)
        logger.info("%s", row)
    return rows


def _loading(files: int, rounds: int) -> list[dict[str, Any]]:
    measured = clips_per_second(files, rounds)
    rows = []
    for kind in SHARDS:
        for suffix in FILES:
            plain, ours = measured[f"{suffix} files"], measured[f"{kind} shards"]
            rows.append(
                {
                    "what": "loader",
                    "model": "",
                    "size": f"files={files}",
                    "precision": f"{kind} shards, {suffix} files",
                    **_ratios([1 / rate for rate in plain], [1 / rate for rate in ours]),
                    "clips_per_second_plain": round(statistics.median(plain), 1),
                    "clips_per_second": round(statistics.median(ours), 1),
                }
            )
            logger.info("%s", rows[-1])
    return rows


def _ratios(plain: Sequence[float], ours: Sequence[float]) -> dict[str, Any]:
    """Medians over rounds; ratios within a round."""
    ratios = [base / own for base, own in zip(plain, ours, strict=True)]
    return {
        "seconds_plain": statistics.median(plain),
        "seconds_ours": statistics.median(ours),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_minimum": round(min(ratios), 3),
        "ratio_maximum": round(max(ratios), 3),
    }
