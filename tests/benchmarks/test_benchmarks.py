"""`python -m benchmarks` at its smallest, and the processes that it asks."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from benchmarks.worker import Worker

ROOT = Path(__file__).parents[2]
TINY = {"stacks": [2], "precisions": ["float32"]}
SETTINGS = {"rl": {"task": "hopper", "seconds": 0.05, "rounds": 1, "cpu": TINY, "cuda": TINY}}


def test_a_study_is_measured_against_plain_code(tmp_path):
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(SETTINGS))
    command = [sys.executable, "-m", "benchmarks", "rl", "--config", tmp_path / "tiny.yaml"]
    subprocess.run([*command, "--output", tmp_path], cwd=ROOT, check=True)
    table = pd.read_csv(tmp_path / "rl.csv")
    assert table["compared"].tolist() == ["one network at a time", "stacked"]
    assert table["ratio"][0] == 1 and (table["updates_per_second"] > 0).all()


DOUBLES = """
import json, os, sys
for line in sys.stdin:
    task = json.loads(line)
    if task == "die":
        sys.exit(1)
    print(json.dumps([2 * task, os.environ["OMP_NUM_THREADS"], *sys.argv[1:]]), flush=True)
"""


def test_each_task_is_answered_by_one_process_with_its_threads_until_it_ends(tmp_path, monkeypatch):
    (tmp_path / "doubles.py").write_text(DOUBLES)
    monkeypatch.chdir(tmp_path)
    with Worker("doubles", "plain", threads=3) as worker:
        assert [worker.ask(number) for number in (1, 2.5)] == [[2, "3", "plain"], [5, "3", "plain"]]
        with pytest.raises(RuntimeError, match="die"):
            worker.ask("die")
