"""How fast this machine's cores are, as a step of each study's training told it.

Planning imports no PyTorch: what is timed runs in processes of its own (`gpu/calibration.py`).
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from triptych.core.cost import Processor, slow_cores
from triptych.core.provenance import LIBRARY
from triptych.plan import records

FOLDER = Path(".snakemake") / "triptych" / "calibration"
PART = 3
"""Of `make gpu`, which has these steps, too."""


def calibrate(root: Path, config: Mapping[str, Any]) -> None:
    """Time a step of each training at this config's sizes on one core: two minutes."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "triptych.gpu.calibration", json.dumps(config), str(folder)]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(LIBRARY)}, check=True)


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
