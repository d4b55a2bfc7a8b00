"""Sources that break as real ones do: a host that is down, a link that is gone, a small picture."""

import json
from pathlib import Path
from urllib.parse import urlsplit

from sources import Sources, write_painting

DOWN = "http://127.0.0.1:1"
"""A host where nothing listens."""
GONE = "AUDIOCAPS.zip"
SMALL = "mountain"
DOWN_TASK, MIRRORED_TASK = "walker2d", "halfcheetah"
YIELD = 0.3
"""Share of the published captions that keep the rules."""


def break_sources(sources: Sources, served: Path) -> None:
    """Break some entries and some files that are served: one of each kind."""
    for task, task_mirror in ((DOWN_TASK, DOWN), (MIRRORED_TASK, None)):
        entry = sources["d4rl"]["files"][f"{task}_expert-v2"]
        entry["mirror"] = entry["url"] if task_mirror is None else f"{DOWN}/mirror.hdf5"
        entry["url"] = f"{DOWN}/{task}.hdf5"
    _place(sources["audio"]["mp3"]["files"][GONE], served).unlink()
    picture = sources["wikimedia"]["files"][SMALL]
    write_painting(_place(picture, served), 64, 48, seed=0)
    picture |= {"size": None, "sha256": None}
    captions = sources["audio"]["captions"]["files"]["variations.json"]
    path = _place(captions, served)
    records = json.loads(path.read_text(encoding="utf-8"))
    for record in records[round(YIELD * len(records)) :]:
        record["variations"] = [" ".join(["word"] * 40)] * 5
        record["response"] = "\n".join(record["variations"])
    path.write_text(json.dumps(records), encoding="utf-8")
    captions |= {"size": None, "md5": None, "sha256": None}


def _place(entry: Sources, served: Path) -> Path:
    return served / urlsplit(entry["url"]).path.lstrip("/")
