"""How much faster than plain code, eager, tuned and compiled: ratios within one run."""

import logging
import statistics
from contextlib import ExitStack
from typing import Any

import pandas as pd

from benchmarks.audio.worker import PLAIN_SIDES, SEGMENT_SECONDS
from benchmarks.worker import Worker, ratios
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
    `batch` segments and the report's patchout and masks, text embeddings given) and embedding
    (`clips` clips of 15 to 30 s: `captions` times each, padded, on the plain side, once each on
    ours).

    Columns: what, model, size, precision, seconds_plain and seconds_ours (median over rounds),
    ratio (median), ratio_minimum, ratio_maximum (plain over ours within a round), ahead (of forward
    and embedding: the fastest plain side of a round over ours, median), clips_per_second_plain,
    clips_per_second (of embedding), device, threads. The rows of OTHERS, by their names under
    `precision`, have their own seconds in the place of ours.
    """
    chosen = choose_device(device)
    precisions, rounds = settings["precisions"], settings["rounds"]
    step, first = settings["step"], settings["models"][0]
    split = {"clips": settings["clips"], "captions": settings["captions"]}
    tasks: list[Task] = [
        *(("forward", name, {"seconds": SEGMENT_SECONDS[name]}) for name in settings["models"]),
        ("step", first, step),
        ("embedding", first, split),
    ]
    rows = []
    with ExitStack() as stack:
        workers = {
            side: stack.enter_context(Worker(WORKER, side, chosen.type, threads=threads))
            for side in (*PLAIN_SIDES, *precisions)
        }
        for task in tasks:
            rows += _compare(task, workers, rounds)
    table = pd.DataFrame(rows)
    table["device"], table["threads"] = describe_device(chosen), threads
    return table


def _compare(task: Task, workers: dict[str, Worker], rounds: int) -> list[dict[str, Any]]:
    what, model, size = task
    if what not in INFERENCE:
        workers = {side: each for side, each in workers.items() if side not in OTHERS}
    asked: dict[str, list[dict[str, Any]]] = {side: [] for side in workers}
    for _ in range(rounds):
        for side, worker in workers.items():
            asked[side].append(worker.ask(task))
    measured: dict[str, list[float]] = {}
    for side, answers in asked.items():
        if "trouble" in answers[0]:
            logger.warning("%s: %s of %s: %s", side, what, model, answers[0]["trouble"])
        else:
            measured[side] = [answer["seconds"] for answer in answers]
    fastest = [
        min(of_round)
        for of_round in zip(*(measured[s] for s in PLAIN_SIDES if s in measured), strict=True)
    ]
    plain = measured.pop(PLAIN)
    rows = []
    for precision, ours in measured.items():
        row: dict[str, Any] = {
            "what": what,
            "model": model,
            "size": " ".join(f"{key}={value}" for key, value in size.items()),
            "precision": precision,
            "seconds_plain": statistics.median(plain),
            "seconds_ours": statistics.median(ours),
            **ratios(plain, ours),
        }
        if what in INFERENCE and precision not in OTHERS:
            row["ahead"] = ratios(fastest, ours)["ratio"]
        if what == "embedding":
            row["clips_per_second_plain"] = round(size["clips"] / row["seconds_plain"], 3)
            row["clips_per_second"] = round(size["clips"] / row["seconds_ours"], 3)
        rows.append(row)
        logger.info("%s", row)
    return rows
