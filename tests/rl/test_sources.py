"""resources/sources.yaml names D4RL's files as d4rl itself does."""

from itertools import product
from pathlib import Path

import pytest
import yaml

from triptych.rl.tasks.config import d4rl_file
from triptych.rl.tasks.task import SIZES

MIRROR = (
    "https://huggingface.co/datasets/imone/D4RL/resolve/9ed58d8a76c12f4c1cb5db51fa71389e703d2ec5"
)
SOURCES = Path(__file__).parents[2] / "resources" / "sources.yaml"
TASKS = (*SIZES, "ant")
QUALITIES = ("random", "medium", "medium-replay", "full-replay", "medium-expert", "expert")


def test_addresses_equal_d4rls():
    infos = pytest.importorskip("d4rl.infos")
    files = yaml.safe_load(SOURCES.read_text())["d4rl"]["files"]
    for task, quality in product(TASKS, QUALITIES):
        about = {"environment": "Ant-v4"} if task == "ant" else {}
        file = d4rl_file(task, {"source": "d4rl", "quality": quality, **about})
        assert files[file]["url"] == infos.DATASET_URLS[f"{task}-{quality}-v2"]
        assert files[file]["mirror"] == f"{MIRROR}/{file}.hdf5"
        assert len(files[file]["sha256"]) == 64
