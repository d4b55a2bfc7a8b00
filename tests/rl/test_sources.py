"""resources/sources.yaml names D4RL's files as d4rl itself does."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from triptych.rl.tasks.config import d4rl_file
from triptych.rl.tasks.task import SIZES

MIRROR = (
    "https://huggingface.co/datasets/imone/D4RL/resolve/9ed58d8a76c12f4c1cb5db51fa71389e703d2ec5"
)
SOURCES = Path(__file__).parents[2] / "resources" / "sources.yaml"


@pytest.fixture(scope="module")
def d4rl_files() -> dict[str, Any]:
    files: dict[str, Any] = yaml.safe_load(SOURCES.read_text())["d4rl"]["files"]
    return files


TASKS = (*SIZES, "ant")
QUALITIES = ("random", "medium", "medium-replay", "full-replay", "medium-expert", "expert")


def test_addresses_equal_d4rls(d4rl_files: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("D4RL_SUPPRESS_IMPORT_ERROR", "1")
    infos = pytest.importorskip("d4rl.infos")
    for task, quality in product(TASKS, QUALITIES):
        about = {"environment": "Ant-v4"} if task == "ant" else {}
        file = d4rl_file(task, {"source": "d4rl", "quality": quality, **about})
        entry = d4rl_files[file]
        assert entry["url"] == infos.DATASET_URLS[f"{task}-{quality}-v2"]
        assert entry["mirror"] == f"{MIRROR}/{file}.hdf5"
        assert len(entry["sha256"]) == 64
