"""Which PyTorch `make setup` takes by itself, on machines that a PATH makes up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = """#!/bin/sh
case "$*" in *"--dry-run"*"--torch-backend cpu torch=="*) exit {code};; esac
exit 3
"""


def command(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def chosen(folder, uv, choice="auto", card=False):
    """What envs/torch.sh prints: the choice, and why."""
    command(folder / "nvidia-smi", f"#!/bin/sh\nexit {0 if card else 9}\n")
    done = subprocess.run(
        [ROOT / "envs" / "torch.sh", uv, ROOT / "requirements.lock", choice],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "HTTPS_PROXY": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    ("card", "choice", "answers", "expected"),
    [
        (False, "auto", True, "cpu"),
        (False, "auto", False, "cuda"),
        (True, "auto", True, "cuda"),
        (True, "cpu", False, "cpu"),
        (False, "cuda", True, "cuda"),
    ],
)
def test_pytorch_is_without_cuda_where_no_card_is_and_its_index_answers(
    tmp_path, card, choice, answers, expected
):
    uv = command(tmp_path / "uv", UV.format(code=0 if answers else 1))
    found, why = chosen(tmp_path, uv, choice, card)
    assert found == expected
    assert ("about 2.4 GB" in why) == (expected == "cpu")


def test_an_index_that_cannot_be_reached_does_not_answer(tmp_path):
    uv = Path(sys.executable).with_name("uv")
    assert chosen(tmp_path, uv)[0] == "cuda"
