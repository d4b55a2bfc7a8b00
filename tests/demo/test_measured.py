"""What docs/measured.py keeps of a demo that has run."""

import csv
import os
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
START = 1_750_000_000
JOBS = {
    "style_stylize": [{"core": 6.0, "cpu": 6.0, "wall": 7.0, "memory": 900.0, "ended": START + 20}],
    "style_time": [{"core": 9.0, "cpu": 18.0, "wall": 9.0, "memory": 800.0, "ended": START + 100}],
    "rl_train": [
        {"core": core, "cpu": core, "wall": core, "memory": 1000 + core, "ended": START + core}
        for core in (20.0, 40.0)
    ],
}


@pytest.fixture
def kept(tmp_path):
    """The script, whose files and whose run lie in a folder of this test."""
    script = runpy.run_path(str(ROOT / "docs/measured.py"))
    paths = {"COSTS": tmp_path / "costs.csv", "RUNS": tmp_path / "demo.csv"}
    for name, path in paths.items():
        path.write_bytes(script[name].read_bytes())
        script["add_run"].__globals__[name] = path
    for seconds, file in zip((11, 47), script["FIRST"].values(), strict=True):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
        os.utime(tmp_path / file, (START + seconds, START + seconds))
    script["add_run"].__globals__["began"] = lambda root: START
    return script, tmp_path


def rows(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_a_run_is_kept_once_for_each_processor_instructions_and_cores(kept):
    script, folder = kept
    about = {"processor": "Test 1", "instructions": "AVX2", "cores": "2"}
    before = len(rows(folder / "demo.csv"))
    for _ in range(2):
        script["add_run"](folder, JOBS, about)
    *_, row = rows(folder / "demo.csv")
    assert len(rows(folder / "demo.csv")) == before + 1
    assert about.items() <= row.items()
    assert row["core_seconds"] == "84" and row["seconds"] == "100"
    assert (row["first_picture_seconds"], row["first_table_seconds"]) == ("11", "47")


def test_the_demos_rows_of_the_costs_are_those_of_the_run_and_all_others_stay(kept):
    script, folder = kept
    before = rows(folder / "costs.csv")
    script["write_costs"](JOBS, "measured: here")
    after = rows(folder / "costs.csv")
    demo = {row["rule"]: row for row in after if row["scale"] == "demo"}
    assert demo.keys() == JOBS.keys()
    assert float(demo["rl_train"]["core_seconds"]) == 30 and demo["style_time"]["disk_mb"] == ""
    assert float(demo["rl_train"]["memory_mb"]) == 1040
    others = [row for row in before if row["scale"] != "demo"]
    assert [row for row in after if row["scale"] != "demo"] == others
