"""A training shared by two of SLURM's tasks does what one process does, stopped or not.

The rule audio_pretrain, on a corpus of a few seconds and the smallest model, submitted by the
profile. SLURM's one node runs both tasks, on CPUs.
"""

import json
import os
import re
import subprocess
import sys
import time
from copy import deepcopy
from pathlib import Path

import pandas as pd
import pytest
import yaml
from safetensors.torch import load_file
from test_cluster import HERE, ROOT, cluster, environment  # noqa: F401
from tiny_checkout import copy_checkout
from torch.testing import assert_close

MODEL = "results/audio/models/mini_n-mini_bert/leak_free/pretrained"
ATTEMPTS = "results/checkpoints/audio_pretrain/mini_n-mini_bert-leak_free/attempts.log"
CONFIG = {
    "device": "cpu",
    "audio": {
        "sources": {"audiocaps": {"source": "none"}, "wavcaps": {"source": "none"}},
        "stages": {
            "common": {"batch": 4, "patchout": False, "longest_seconds": 0.5},
            "pretraining": {"epochs": 100, "learning_rate": 1e-4},
        },
    },
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The workflow with a tiny corpus, as the rules before the training leave it."""
    root = copy_checkout(tmp_path_factory.mktemp("processes")).root
    sys.path.append(str(ROOT / "tests" / "audio"))
    import tiny_corpus

    made = tiny_corpus.write(root / "made")
    audio = root / "results" / "audio"
    for name, place in (
        ("manifest.csv", "corpora/leak_free/manifest.csv"),
        ("captions.csv", "data/clotho/captions.csv"),
        ("queries.csv", "data/clotho/queries.csv"),
        ("shards", "shards/clotho"),
        ("text", "text/mini_bert"),
    ):
        (audio / place).parent.mkdir(parents=True, exist_ok=True)
        (made / name).rename(audio / place)
    return root


def train(root, processes, *arguments):
    """A started run of the training in a checkout, its output in run.log there."""
    config = deepcopy(CONFIG)
    config["audio"]["stages"]["common"]["devices"] = processes
    (root / "tiny.yaml").write_text(yaml.safe_dump(config))
    with (root / "run.log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", MODEL, "--configfile", "tiny.yaml", *arguments],
            cwd=root,
            env=environment(root),
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def on_slurm(root, processes):
    return train(
        root,
        processes,
        *("--allowed-rules", "audio_pretrain"),
        *("--workflow-profile", "profiles/slurm"),
        *("--slurm-partition-config", HERE / "partitions.yaml"),
        *("--slurm-init-seconds-before-status-checks", "2"),
        *("--set-resources", "audio_pretrain:mem_mb=4000"),
    )


def said(root):
    file = root / ATTEMPTS
    return file.read_text() if file.exists() else ""


def interrupt(running, root):
    """Ask the job's tasks to stop when they have trained for a while."""
    while running.poll() is None:
        if "epoch 3:" in said(root):
            ids = subprocess.check_output(["squeue", "-h", "-t", "R", "-o", "%i"], text=True)
            assert len(ids.split()) == 1
            subprocess.run(["scancel", "--signal=TERM", *ids.split()], check=True)
            return
        time.sleep(0.1)


@pytest.mark.slow
def test_two_tasks_train_as_one_process_does_and_go_on_where_they_were_stopped(
    cluster,  # noqa: F811
    checkout,
    request,
):
    running = on_slurm(checkout, 2)
    try:
        interrupt(running, checkout)
        assert running.wait() == 0, (checkout / "run.log").read_text()
    finally:
        running.terminate()
    words = said(checkout)
    # Whichever of the two SLURM's signal reaches first stops the other; the first process writes.
    assert re.search("stopped by (SIGTERM|another process) after saving", words)
    assert "resuming at step" in words
    assert words.count("epoch 2:") == 1  # of the two, one speaks
    (checkout / MODEL).rename(checkout / "two")

    assert train(checkout, 1, "--cores", "1", "--force").wait() == 0, (
        checkout / "run.log"
    ).read_text()
    one, two = checkout / MODEL, checkout / "two"
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (two, one))
    for name, weights in theirs.items():
        assert_close(ours[name], weights, rtol=1e-4, atol=1e-5)
    histories = [pd.read_csv(folder / "history.csv")["train_loss"] for folder in (two, one)]
    pd.testing.assert_series_equal(*histories, rtol=1e-4)
    record(request.config.getoption("--reliability"))


def record(folder):
    """A line in the folder that --reliability names."""
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        line = {"kind": "cluster", "subject": "audio_pretrain in two tasks: SIGTERM", "times": 1}
        line["outcome"] = "resumed, equal to one process to 1e-5"
        with (Path(folder) / f"{os.getpid()}.jsonl").open("a") as stream:
            stream.write(json.dumps(line) + "\n")
