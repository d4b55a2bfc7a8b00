"""`python -m benchmarks` at its smallest, and the processes that it asks."""

import subprocess
from pathlib import Path

import pandas as pd
import pytest
import warm
import yaml

from benchmarks.worker import Worker

ROOT = Path(__file__).parents[2]
TINY = {"stacks": [2], "precisions": ["float32"], "pruned": [1]}
SETTINGS = {"rl": {"task": "hopper", "seconds": 0.05, "rounds": 1, "cpu": TINY, "cuda": TINY}}


def test_a_study_is_measured_against_plain_code(tmp_path):
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(SETTINGS))
    command = [*warm.COMMAND, "-m", "benchmarks", "rl", "--config", tmp_path / "tiny.yaml"]
    subprocess.run([*command, "--output", tmp_path], cwd=ROOT, check=True)
    table = pd.read_csv(tmp_path / "rl.csv")
    assert set(zip(table["compared"], table["algorithm"], strict=True)) == {
        ("one network at a time", "BCQ"),
        *(("stacked", name) for name in ("BCQ", "BC")),
        *(("pruned", name) for name in ("BCQ", "BC")),
    }
    assert table["ratio"][0] == 1 and (table["updates_per_second"] > 0).all()


def test_a_side_answers_each_task_with_its_seconds_until_it_ends():
    with Worker("benchmarks.style.worker", "plain", threads=1) as worker:
        answers = [worker.ask(["forward", size, 4]) for size in (16, 32)]
        assert all(each["seconds"] > 0 and each["first_seconds"] > 0 for each in answers)
        assert answers[0]["peak_bytes"] > 1e7
        with pytest.raises(RuntimeError, match="fly"):
            worker.ask(["fly", 16, 4])
