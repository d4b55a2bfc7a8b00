"""Two minutes of a step of each training on one core: `python -m` this module, CONFIG FOLDER.

CONFIG is the whole config as JSON. What is measured is written to FOLDER, as a part of `make gpu`
is; `triptych plan --calibrate` runs it, and plans take a core's speed from there.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triptych.core.config import merged
from triptych.gpu.session import Step, run_part
from triptych.plan.calibration import PART

SECONDS, LIMIT = 2.0, 60.0
"""That a step is called for, and after which its process is ended."""
TOGETHER = 120.0
"""Of all of them."""
LARGEST = 256
"""Pixels of the image that is optimised: an evaluation of a larger one takes too long."""


def main(config: str, folder: str) -> None:
    """Time the steps at this config's sizes."""
    known = json.loads(config)
    names = ["rl update", "style closure", "style training", f"audio {known['audio']['main'][0]}"]
    steps = [Step(f"train {name}", LIMIT, SECONDS) for name in names]
    os.environ["OMP_NUM_THREADS"] = "1"
    deadline = time.time() + TOGETHER
    run_part(PART, steps, smaller(known), deadline, {"device": "one core"}, Path(folder))


def smaller(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with one image of Version 1, of at most LARGEST pixels, by settings under which
    random weights don't end it, and on no GPU."""
    size = min(LARGEST, config["style"]["optimize"]["size"])
    one = {"optimize": {"size": size, "preset": "tuned"}, "timing": {"sizes": []}}
    found = merged(config, {"device": "cpu", "style": one})
    found["style"]["experiments"] = {"one": {}}
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
