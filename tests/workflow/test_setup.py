"""What `make setup` makes, keeps and refuses, on machines and with a Python that are made up."""

import mmap
import os
import shutil
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
        ["bash", ROOT / "envs" / "torch.sh", uv, ROOT / "requirements.lock", choice],
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


PYTHON = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 0
mkdir -p .venv/bin
for name in python pip uv triptych; do
  printf '#!/bin/sh\\n' > .venv/bin/$name && chmod +x .venv/bin/$name
done
touch .venv/made
"""
"""Makes an environment in which no program does anything."""


@pytest.fixture
def clone(tmp_path):
    """What make needs of a checkout, as a zip without modes unpacks it, with its .venv made."""
    folder = tmp_path / "clone"
    (folder / "envs").mkdir(parents=True)
    (folder / "workflow_scripts").symlink_to(ROOT / "workflow_scripts")
    for name in ("Makefile", "envs/venv.sh", "envs/torch.sh", "pyproject.toml"):
        shutil.copyfile(ROOT / name, folder / name)
    for name in ("requirements.lock", "requirements-cpu.lock"):
        (folder / name).write_text("uv==1\n")
    command(tmp_path / "python", PYTHON)
    assert setup(folder) == (0, "")
    return folder


def setup(folder):
    """Exit code of `make setup`, and what it says."""
    make = ["make", "setup", "TORCH=cpu", f"PYTHON={folder.parent / 'python'}"]
    done = subprocess.run(make, cwd=folder, capture_output=True, text=True)
    said = done.stderr.replace("Setting up .venv with PyTorch for processors alone, ", "")
    return done.returncode, said.replace("about 2.4 GB: as TORCH says.\n", "")


def contents(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def newer_lock(folder):
    earlier = (folder / "requirements.lock").stat().st_mtime - 10
    os.utime(folder / ".venv" / "ready", (earlier, earlier))


def test_an_environment_that_works_is_brought_up_to_date_where_it_is(clone):
    (clone / ".venv" / "made").unlink()
    assert setup(clone) == (0, "")
    newer_lock(clone)
    assert setup(clone) == (0, "")
    assert not (clone / ".venv" / "made").exists()
    (clone / ".venv" / "bin" / "python").unlink()  # its Python was uninstalled
    assert setup(clone) == (0, "")
    assert (clone / ".venv" / "made").exists()


@pytest.mark.parametrize("way", ["copied", "renamed"])
def test_a_copied_or_renamed_checkout_makes_its_own(clone, way):
    other = clone.parent / way
    (clone / ".venv" / "made").unlink()
    if way == "copied":
        shutil.copytree(clone, other, symlinks=True)
    else:
        clone.rename(other)
    assert setup(other) == (0, "")
    assert (other / ".venv" / "made").exists()
    assert (other / ".venv" / "ready").read_text().strip() == str(other)
    if way == "copied":
        assert not (clone / ".venv" / "made").exists()


@pytest.mark.parametrize("inside", [True, False])
def test_a_link_is_refused_and_what_it_leads_to_stays(clone, inside):
    other, target = clone.parent / "other", clone.parent / "shared"
    shutil.copytree(clone, other, symlinks=True, ignore=shutil.ignore_patterns(".venv"))
    target.mkdir()
    (target / "thesis.tex").touch()
    target = clone / ".venv" if inside else target
    (other / ".venv").symlink_to(target)
    before = contents(target)
    code, said = setup(other)
    assert code == 2 and "rm .venv" in said and str(target) in said
    assert contents(target) == before


def test_what_make_did_not_make_is_not_cleared(clone):
    (clone / ".venv" / "ready").unlink()
    before = contents(clone / ".venv")
    code, said = setup(clone)
    assert code == 2 and "Rename or delete it" in said
    assert contents(clone / ".venv") == before


def test_an_environment_in_use_is_not_changed(clone):
    newer_lock(clone)
    library = clone / ".venv" / "library.so"
    library.write_bytes(b"x" * mmap.PAGESIZE)
    shutil.copytree(clone, other := clone.parent / "other", symlinks=True)
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        before = contents(clone / ".venv")
        code, said = setup(clone)
        assert code == 2 and str(os.getpid()) in said.split()
        assert contents(clone / ".venv") == before
        assert setup(other) == (0, "")
    assert setup(clone) == (0, "")
    newer_lock(clone)
    locks = clone / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").touch()  # of a node whose processes are not seen here
    code, said = setup(clone)
    assert code == 2 and "--unlock" in said
    assert contents(clone / ".venv") == before
