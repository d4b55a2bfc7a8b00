"""How fast this machine's cores are, measured for two minutes by steps of the studies' trainings.

What `make gpu` times on a GPU is timed here on one core, in a process a step. Planning itself
imports no PyTorch.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from triptych.core.config import merged
from triptych.core.cost import Processor, slow_cores
from triptych.gpu.session import Step, run_part
from triptych.plan import records

FOLDER = Path(".snakemake") / "triptych" / "calibration"
SECONDS, LIMIT = 2.0, 60.0
"""That a step is called for, and after which its process is ended."""
TOGETHER = 120.0
"""Of all of them."""
LARGEST = 256
"""Pixels of the images that are optimised: an evaluation of larger ones takes too long."""
PART = 3
"""Of `make gpu`, which has these steps."""


def calibrate(root: Path, config: Mapping[str, Any]) -> None:
    """Time a step of each training at this config's sizes on one core of this machine."""
    audio = config["audio"]["main"][0]
    names = ["rl update", "style closure", "style training", f"audio {audio}"]
    steps = [Step(f"train {name}", LIMIT, SECONDS) for name in names]
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        deadline = time.time() + TOGETHER
        run_part(PART, steps, _smaller(config), deadline, {"device": "one core"}, folder)
    finally:
        os.environ.pop("OMP_NUM_THREADS")
        os.environ.update({"OMP_NUM_THREADS": before} if before else {})


def measured_core(root: Path) -> Processor:
    """A core of this machine, as far as it was measured; else one of a slow processor."""
    took: dict[str, float] = {}
    computed: dict[str, float] = {}
    slow = slow_cores(1)
    for row in records.read(root / FOLDER / f"part{PART}.csv"):
        if row["operations"]:
            step = row["task"]
            took[step] = took.get(step, 0.0) + float(row["seconds"])
            computed[step] = computed.get(step, 0.0) + slow.seconds(records.work_of(row), "float32")
    factors = {(step, kind): took[step] / computed[step] for step in took for kind in slow.peak}
    name = "this machine, as measured" if took else "a slow machine, assumed"
    return replace(slow, name=name, measured_on="one core" if took else "", factors=factors)


def cores(core: Processor, count: int) -> Processor:
    """So many of them: as many times as fast, which is assumed."""
    peak = {kind: count * value for kind, value in core.peak.items()}
    return replace(core, peak=peak, bandwidth=count * core.bandwidth)


def _smaller(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with images of Version 1 of at most LARGEST pixels, by settings under which random
    weights don't end it."""
    style = config["style"]
    experiments: Iterable[str] = style["experiments"]
    size = min(LARGEST, style["optimize"]["size"])
    one = {"optimize": {"size": size, "preset": "tuned"}, "timing": {"sizes": []}}
    smaller = merged(config, {"device": "cpu", "style": one})
    smaller["style"]["experiments"] = {next(iter(experiments)): {}}
    return smaller
