"""The plan of a run: Snakemake's jobs, what a job costs, the time of all of them."""

import csv
import re
from pathlib import Path

import pytest

from triptych.apps.listing import Job
from triptych.apps.plan import (
    COSTS,
    Cost,
    measured,
    page,
    read_costs,
    wall_seconds,
)
from triptych.cli import main
from triptych.scale import FILES, REHEARSAL

ROOT = Path(__file__).parents[2]
DOWNLOAD = Job("rl_download", (), ("results/data.hdf5",), "results/benchmarks/rl_download/data.tsv")
TRAIN = Job(
    "rl_train",
    ("results/data.hdf5",),
    ("results/one/masks.safetensors", "results/one/scores.csv"),
    "results/benchmarks/rl_train/one.tsv",
    threads=4,
    gpu=True,
)
TIMED = Job("rl_latency", ("results/one/scores.csv",), ("results/page.html",), "", threads=1000)
JOBS = [DOWNLOAD, TRAIN, TIMED]


def test_jobs_wait_for_their_inputs_for_cores_for_gpus_and_for_the_line():
    costs = [Cost(download_mb=500), Cost(core_seconds=400, gpu_hours=0.1), Cost(core_seconds=30)]
    assert wall_seconds(JOBS, costs, cores=8, gpus=1) == 10 + 360 + 30
    assert wall_seconds(JOBS, costs, cores=1, gpus=1) == 10 + 400 + 30
    many = [Job("rl_train", (), (str(n),), "", gpu=True) for n in range(10)]
    on_gpu = [Cost(gpu_hours=1.0)] * 10
    assert wall_seconds(many, on_gpu, cores=16, gpus=1) == 10 * 3600
    assert wall_seconds(many, on_gpu, cores=16, gpus=5) == 2 * 3600
    assert wall_seconds(many, [Cost(core_seconds=60)] * 10, cores=2, gpus=0) == 300


def test_the_page_has_a_row_for_each_rule_and_says_how_it_is_known():
    costs = [
        Cost(download_mb=5e5, disk_mb=2e6, source="estimated"),
        Cost(core_seconds=7200, gpu_hours=3, memory_mb=9000, source="measured"),
        Cost(source="unknown"),
    ]
    lines = page(JOBS, costs, "paper", 8, 1).splitlines()
    assert re.split(r"  +", lines[1]) == ["rl_train", "1", "2.00", "3.00", "9,000", "measured"]
    assert "500 GB" in lines[2] and "2,000 GB" in lines[2] and lines[2].endswith("estimated")
    assert lines[-1] == "Scale paper: about 5.78 h on 8 cores and 1 GPU."


def test_what_has_finished_with_this_config_counts_by_its_own_benchmark(tmp_path, monkeypatch):
    for job in (DOWNLOAD, TRAIN):
        file = tmp_path / job.benchmark
        file.parent.mkdir(parents=True)
        file.write_text("s\tmax_rss\n12.5\t700\n")
    record = tmp_path / TRAIN.benchmark.replace("benchmarks", "provenance")
    record.parent.mkdir(parents=True)
    record.with_suffix(".json").write_text('{"attempts": [100.5, 20.0, 12.4]}')
    left = [DOWNLOAD], []  # it must run again
    monkeypatch.setattr("triptych.apps.plan.listed_jobs", lambda *_, **__: left)
    assert dict(measured(tmp_path, JOBS, [])) == {1: {"s": "133.0", "max_rss": "700"}}


@pytest.mark.parametrize("scale", FILES)
def test_the_table_has_a_cost_for_every_rule_of_every_shipped_scale(scale):
    texts = [file.read_text() for file in (ROOT / "rules").glob("*.smk")]
    rules = {f"{path.parent.name}_{path.stem}" for path in ROOT.glob("workflow_scripts/*/*.py")}
    rules |= {rule for text in texts for rule in re.findall(r"^use rule \w+ as (\w+)", text, re.M)}
    with (ROOT / COSTS).open(encoding="utf-8", newline="") as lines:
        assert {row["scale"] for row in csv.DictReader(lines)} == set(FILES) - {REHEARSAL}
    costs = read_costs(ROOT / COSTS, scale)
    assert costs.keys() <= rules
    assert costs["rl_train"].core_seconds > 0 and costs["rl_train"].source


@pytest.mark.slow
def test_the_command_knows_every_rule_of_the_papers_graph(warm_python, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["plan", "--configfile", "config/paper.yaml", "--cores", "8"]) == 0
    said = capsys.readouterr().out
    assert "unknown" not in said and f"\n{'all':<10}" in said and "Scale paper: about" in said
    (hours,) = re.findall(r"about ([\d.]+) h on 8 cores and 1 GPU", said)
    (beyond,) = re.findall(r"With config/beyond\.yaml: .*, (\d+) GPU h,", said)
    assert 30 < float(hours) < int(beyond) / 2
    (line,) = re.findall(r"rl-ours-shuffled: no\..*", said)
    assert "config/beyond.yaml" in line
