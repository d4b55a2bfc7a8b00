"""Scenes measured once: what the small model's audio side makes of them before it learns."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from triptych.audio.models.statistics import MEASURED, measure
from triptych.core.progress import Progress
from triptych.core.stopping import Stopped
from triptych.demo.everyday.mixing import Mixer

TOGETHER = 128
"""Scenes that are mixed and measured at a time."""


def write_measured(
    folder: str | os.PathLike[str],
    mixer: Mixer,
    scenes: int,
    seed: int,
    made_for: str = "",
    asked: Callable[[], str | None] = lambda: None,
) -> None:
    """Write `folder`: measured.npy [scenes, MEASURED] float16, kinds.npy [scenes, 3], done.json.

    scenes: rounded up to a multiple of TOGETHER; fewer are the first of more. A kind of -1 is none.
    A killed attempt goes on; made_for: a fingerprint, another one's scenes are measured anew;
    asked: why to stop, or None. Raises Stopped.
    """
    folder, batches = Path(folder), -(-scenes // TOGETHER)
    folder.mkdir(parents=True, exist_ok=True)
    path, kinds_path, done = (folder / n for n in ("measured.npy", "kinds.npy", "done.json"))
    described = {"made_for": made_for, "seed": seed, "batches": batches}
    began = json.loads(done.read_text()) if done.exists() else {}
    if {**began, "made": 0} != {**described, "made": 0}:
        began = {**described, "made": 0}
        size = batches * TOGETHER
        np.lib.format.open_memmap(path, "w+", np.float16, (size, MEASURED)).flush()
        np.lib.format.open_memmap(kinds_path, "w+", np.int16, (size, 3)).flush()
    measured, kinds = (np.lib.format.open_memmap(each, "r+") for each in (path, kinds_path))
    with Progress("scenes measured", batches, "batches", done=began["made"]) as progress:
        for batch in range(began["made"], batches):
            if reason := asked():
                raise Stopped(reason)
            rows = slice(batch * TOGETHER, (batch + 1) * TOGETHER)
            made = mixer.training(seed, batch, TOGETHER)
            measured[rows] = measure(made.mel).half().numpy()
            kinds[rows] = [[*each, -1, -1][:3] for each in made.kinds]
            if batch % 10 == 9 or batch + 1 == batches:
                measured.flush()
                kinds.flush()
                done.write_text(json.dumps({**began, "made": batch + 1}))
            progress.advance(1)


class Measured:
    """What `write_measured` wrote."""

    def __init__(self, folder: str | os.PathLike[str], scenes: int) -> None:
        """scenes: how many of them are looked at."""
        self.numbers = torch.from_numpy(np.load(Path(folder) / "measured.npy")[:scenes])
        rows = np.load(Path(folder) / "kinds.npy")[:scenes].tolist()
        self.kinds = [[one for one in row if one >= 0] for row in rows]
