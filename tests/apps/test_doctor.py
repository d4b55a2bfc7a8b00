"""`triptych doctor`, with fake programs on PATH: what works, what won't, what to do."""

import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from triptych.apps import doctor
from triptych.apps.doctor import DRIVER, FAILS, LIMITED, WORKS
from triptych.cli import main


@pytest.mark.parametrize("name", ["a b", "it's", "a(1)", "a:b", "a&b", "grün+_-.=@%,"])
def test_a_path_that_a_shell_would_split_is_refused_before_anything_is_installed(
    tmp_path, monkeypatch, name
):
    folder = tmp_path / name
    folder.mkdir()
    root = Path(__file__).parents[2]
    for file in ("Makefile", "requirements.lock", "requirements-cpu.lock", "pyproject.toml"):
        shutil.copy(root / file, folder)
    (folder / "envs").mkdir()
    shutil.copy(root / "envs" / "venv.sh", folder / "envs")
    made = subprocess.run(
        ["make", "--no-print-directory", "setup", "PYTHON=no-such-python"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    monkeypatch.setattr(doctor.sys, "prefix", str(folder / ".venv"))
    splits = name[0] != "g"
    assert made.returncode != 0
    assert ("no-such-python" in made.stderr) != splits == (str(folder) in made.stderr)
    assert (doctor.python().status == FAILS) == splits


@pytest.mark.parametrize(("gigabytes", "status"), [(1, FAILS), (100, LIMITED), (3000, WORKS)])
def test_room_on_the_disk_is_measured_by_what_needs_it(monkeypatch, capsys, gigabytes, status):
    usage = namedtuple("usage", "free")(gigabytes * 10**9)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    monkeypatch.setenv("PATH", "")
    assert main(["doctor"]) == (status == FAILS)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if " Disk: " in line]
    assert line.startswith(status) and f" {gigabytes:,} GB free" in line


NEW, OLD = f"{DRIVER}.65.06", f"{DRIVER - 1}.99"
ABSENT = "ModuleNotFoundError: No module named 'torch'"


@pytest.mark.parametrize(
    ("driver", "error", "status", "named"),
    [
        (None, ABSENT, LIMITED, "finds none"),
        (NEW, None, WORKS, "NVIDIA A100"),
        (NEW, "no kernel", FAILS, "no kernel"),
        (NEW, ABSENT, WORKS, "PyTorch isn't"),
        (OLD, ABSENT, FAILS, f"needs driver {DRIVER} or later"),  # before anything is downloaded
        (OLD, "driver too old", FAILS, f"needs driver {DRIVER} or later"),
        (OLD, None, WORKS, "NVIDIA A100"),  # another PyTorch than the locked one
    ],
)
def test_a_gpu_works_when_pytorch_computes_on_it_or_its_driver_is_new_enough(
    tmp_path, monkeypatch, driver, error, status, named
):
    monkeypatch.setenv("PATH", str(tmp_path))
    smi = f"echo '{driver}, NVIDIA A100, 81920 MiB'" if driver else "exit 9"
    python = f'echo "{error}" >&2; exit 1' if error else "exit 0"
    for name, text in (("nvidia-smi", smi), ("python", python)):
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    monkeypatch.setattr(doctor.sys, "executable", str(tmp_path / "python"))
    found = doctor.gpu()
    assert found.status == status and named in found.text


def test_it_starts_where_snakemake_alone_is_installed():
    """As in the environment of envs/workflow.yaml, before PyTorch is downloaded."""
    absent = ["torch", "PIL", "safetensors", "scipy", "matplotlib", "h5py", "av", "tqdm"]
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); sys.argv[1:] = ['doctor']; "
    code += "import runpy; runpy.run_module('triptych.cli', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "GPU: " in done.stdout, done.stderr
