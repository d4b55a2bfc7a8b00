"""What docs/measured.py keeps of a demo that has run."""

import csv
import os
import runpy
from pathlib import Path

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


def rows(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_a_run_is_kept_once_and_its_costs_take_the_place_of_the_demos(tmp_path):
    """The script's files and its run lie in a folder of this test."""
    script = runpy.run_path(str(ROOT / "docs/measured.py"))
    own = script["add_run"].__globals__
    for name, path in {"COSTS": tmp_path / "costs.csv", "RUNS": tmp_path / "demo.csv"}.items():
        path.write_bytes(script[name].read_bytes())
        own[name] = path
    own["began"] = lambda root: START
    for seconds, file in zip((11, 47), script["FIRST"].values(), strict=True):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
        os.utime(tmp_path / file, (START + seconds, START + seconds))
    about = {"processor": "Test 1", "instructions": "AVX2", "cores": "2"}
    runs, costs = rows(own["RUNS"]), rows(own["COSTS"])
    for _ in range(2):
        script["add_run"](tmp_path, JOBS, about)
    script["write_costs"](JOBS, "measured: here")
    *others, row = rows(own["RUNS"])
    assert others == runs and about.items() <= row.items()
    assert row["core_seconds"] == "84" and row["seconds"] == "100"
    assert (row["first_picture_seconds"], row["first_table_seconds"]) == ("11", "47")
    demo = {row["rule"]: row for row in rows(own["COSTS"]) if row["scale"] == "demo"}
    assert demo.keys() == JOBS.keys()
    assert float(demo["rl_train"]["core_seconds"]) == 30 and demo["style_time"]["disk_mb"] == ""
    assert float(demo["rl_train"]["memory_mb"]) == 1040
    kept = [[row for row in of if row["scale"] != "demo"] for of in (costs, rows(own["COSTS"]))]
    assert kept[0] == kept[1]
