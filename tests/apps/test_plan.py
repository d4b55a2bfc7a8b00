"""The plan of a run: Snakemake's jobs, what a job costs, the time of all of them."""

import re
from pathlib import Path

import pytest

from triptych.apps.listing import Job
from triptych.apps.plan import Cost, wall_seconds
from triptych.cli import main

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
    costs = {
        "rl_download": Cost(download_mb=500),
        "rl_train": Cost(core_seconds=400, gpu_hours=0.1),
        "rl_latency": Cost(core_seconds=30),
    }
    assert wall_seconds(JOBS, costs, cores=8, gpus=1) == 10 + 360 + 30
    assert wall_seconds(JOBS, costs, cores=1, gpus=1) == 10 + 400 + 30
    many = [Job("rl_train", (), (str(n),), "", gpu=True) for n in range(10)]
    on_gpu = {"rl_train": Cost(gpu_hours=1.0)}
    assert wall_seconds(many, on_gpu, cores=16, gpus=1) == 10 * 3600
    assert wall_seconds(many, on_gpu, cores=16, gpus=5) == 2 * 3600
    assert wall_seconds(many, {"rl_train": Cost(core_seconds=60)}, cores=2, gpus=0) == 300


@pytest.mark.slow
def test_the_command_knows_every_rule_of_the_papers_graph(warm_python, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["plan", "--configfile", "config/paper.yaml", "--cores", "8"]) == 0
    said = capsys.readouterr().out
    assert "unknown" not in said and f"\n{'all':<10}" in said and "Scale paper: about" in said
    (hours,) = re.findall(r"about ([\d.]+) h on 8 cores and 1 GPU", said)
    assert float(hours) > 30
    assert "rl-ours-shuffled: no. " in said
