"""Sources that break as real ones do: a host that is down, a link that is gone, a small picture.

A yield of 30% needs no break: the synthetic captions have it (audio_tables.py).
"""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from sources import Sources, write_painting

from triptych.apps.listing import Job, needs_of
from triptych.core.files import sha256_of

DOWN = "http://127.0.0.1:1"
"""A host where nothing listens."""
GONE = "AUDIOCAPS.zip"
SMALL, WIDTH, HEIGHT = "city", 64, 48
"""Figure 8's photograph, and the pixels that it has instead of 4032x2480."""
DOWN_TASK, MIRRORED_TASK = "walker2d", "halfcheetah"

FAILED = {
    "rl_download": f"results/rl/{DOWN_TASK}/d4rl.hdf5",
    "audio_download": f"results/audio/downloads/mp3/{GONE}",
}
"""Output of each job that fails, by rule."""


def break_sources(sources: Sources, served: Path) -> None:
    """Break some entries, and a file that is served: one of each kind."""
    for task, task_mirror in ((DOWN_TASK, DOWN), (MIRRORED_TASK, None)):
        entry = sources["d4rl"]["files"][f"{task}_expert-v2"]
        entry["mirror"] = entry["url"] if task_mirror is None else f"{DOWN}/mirror.hdf5"
        entry["url"] = f"{DOWN}/{task}.hdf5"
    sources["audio"]["mp3"]["files"][GONE]["url"] += ".gone"
    picture = sources["wikimedia"]["files"][SMALL]
    path = served / urlsplit(picture["url"]).path.lstrip("/")
    write_painting(path, WIDTH, HEIGHT, seed=0)
    picture |= {"size": path.stat().st_size, "sha256": sha256_of(path)}


def lost_outputs(jobs: Sequence[Job]) -> set[tuple[str, ...]]:
    """Outputs of the jobs that fail on broken sources, and of all that need what those make."""
    needs = needs_of(jobs)
    lost = {number for number, job in enumerate(jobs) if FAILED.get(job.rule) in job.outputs}
    while more := {number for number, needed in enumerate(needs) if needed & lost} - lost:
        lost |= more
    return {jobs[number].outputs for number in lost}
