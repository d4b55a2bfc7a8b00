"""Which PyTorch `make setup` takes by itself, on machines that a PATH makes up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.apps.doctor import DRIVER

ROOT = Path(__file__).parents[2]
UV = """#!/bin/sh
case "$*" in *"--dry-run"*"--torch-backend cpu torch=="*) exit {code};; esac
exit 3
"""


def command(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def chosen(folder, uv, choice="auto", driver=None):
    """What envs/torch.sh prints: the choice, or "" where it refuses, and why."""
    says = f"echo {driver}" if driver else "exit 9"
    command(folder / "nvidia-smi", f"#!/bin/sh\n{says}\n")
    done = subprocess.run(
        [ROOT / "envs" / "torch.sh", uv, ROOT / "requirements.lock", choice],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "HTTPS_PROXY": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1)
    return done.stdout.strip(), done.stderr


NEW, OLD = f"{DRIVER}.65.06", f"{DRIVER - 1}.65.06"
"""Drivers that run the locked CUDA, and do not."""


@pytest.mark.parametrize(
    ("driver", "choice", "answers", "expected"),
    [
        (None, "auto", True, "cpu"),
        (None, "auto", False, "cuda"),
        (NEW, "auto", True, "cuda"),
        (NEW, "cpu", False, "cpu"),
        (None, "cuda", True, "cuda"),
        (OLD, "auto", True, "cpu"),
        (OLD, "auto", False, "cuda"),
        (OLD, "cuda", True, ""),
    ],
)
def test_pytorch_is_without_cuda_where_no_card_is_and_its_index_answers(
    tmp_path, driver, choice, answers, expected
):
    uv = command(tmp_path / "uv", UV.format(code=0 if answers else 1))
    found, why = chosen(tmp_path, uv, choice, driver)
    assert found == expected
    assert ("about 2.4 GB" in why) == (expected == "cpu")
    assert (OLD in why and str(DRIVER) in why) == (driver == OLD)


def test_an_index_that_cannot_be_reached_does_not_answer(tmp_path):
    uv = Path(sys.executable).with_name("uv")
    assert chosen(tmp_path, uv)[0] == "cuda"
