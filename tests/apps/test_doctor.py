"""`triptych doctor`, with fake programs on PATH: what works, what won't, what to do."""

import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from triptych.apps import doctor
from triptych.apps.doctor import DRIVER, FAILS, LIMITED, PARTITIONS, WORKS
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
    write_program(tmp_path, "nvidia-smi", smi)
    write_program(tmp_path, "python", python)
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


def write_program(folder, name, text):
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


GENERATED = "partitions: {long: {max_runtime: 5760}, short: {max_runtime: 60}}"


@pytest.mark.parametrize(
    ("sinfo", "plugin", "partitions", "named"),
    [
        (None, True, GENERATED, "sbatch"),
        ("echo no daemon >&2; exit 1", True, GENERATED, "no daemon"),
        ("echo long; echo short", False, GENERATED, "plugin"),
        ("echo long; echo short", True, None, "FileNotFoundError"),
        ("echo long; echo short", True, "[]", "TypeError"),
        ("echo cpu; echo gpu", True, "sample", "sample"),
        ("echo long", True, GENERATED, "names short,"),
        ("echo long; echo short", True, GENERATED, ""),
    ],
)
def test_slurm_works_with_its_programs_the_plugin_and_partitions_that_there_are(
    tmp_path, monkeypatch, sinfo, plugin, partitions, named
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "find_spec", lambda name: name if plugin else None)
    write_program(tmp_path, "sbatch", "exit 0")
    if sinfo:
        write_program(tmp_path, "sinfo", sinfo)
    (tmp_path / PARTITIONS.parent).mkdir(parents=True)
    if partitions == "sample":
        shutil.copy(Path(__file__).parents[2] / PARTITIONS, PARTITIONS)
    elif partitions:
        PARTITIONS.write_text(partitions)
    found = doctor.slurm()
    assert (found.status == WORKS) == (not found.do) == (not named) and named in found.text


@pytest.mark.parametrize(
    ("kind", "submits", "status"),
    [("nfs4", True, WORKS), ("ext4", False, WORKS), ("ext4", True, LIMITED), ("tmpfs", 0, LIMITED)],
)
def test_results_lie_on_a_disk_that_stays_and_that_all_nodes_see(
    tmp_path, monkeypatch, kind, submits, status
):
    (tmp_path / "scratch disk").mkdir()
    (tmp_path / "results").symlink_to("scratch disk/triptych")
    mounts = tmp_path / "mounts"
    place = str(tmp_path / "scratch disk").replace(" ", r"\040")
    mounts.write_text(f"root / xfs rw 0 0\nserver {place} {kind} rw 0 0\n")
    monkeypatch.setattr(doctor, "MOUNTS", mounts)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: namedtuple("usage", "free")(10**16))
    monkeypatch.setattr(doctor.shutil, "which", lambda name: name if submits else None)
    monkeypatch.chdir(tmp_path)
    found = doctor.disk()
    assert found.status == status and kind in found.text and bool(found.do) == (status != WORKS)


def test_results_on_a_file_system_in_memory_are_noticed(monkeypatch):
    if not Path("/dev/shm").is_mount():
        pytest.skip("this system has no tmpfs at /dev/shm")
    with TemporaryDirectory(dir="/dev/shm") as folder:
        monkeypatch.chdir(folder)
        assert "tmpfs" in doctor.disk().text and doctor.disk().status != WORKS


@pytest.mark.parametrize(("megabytes", "status"), [(64, LIMITED), (8000, WORKS)])
def test_shared_memory_of_a_container_is_too_small(monkeypatch, tmp_path, megabytes, status):
    monkeypatch.setattr(doctor, "SHARED_MEMORY", tmp_path)
    usage = namedtuple("usage", "free")(megabytes * 10**6)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    assert doctor.shared_memory().status == status


def test_an_empty_contact_and_programs_that_are_missing_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "config.yaml").write_text("style: {contact: ''}\n")
    write_program(tmp_path, "conda", "exit 0")
    found = {finding.name: finding.status for finding in doctor.programs()}
    assert found == {"conda": WORKS, "apptainer": LIMITED, "cc": LIMITED}
    assert doctor.contact().status == LIMITED
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text("style: {contact: anna@example.org}\n")
    assert doctor.contact().status == WORKS
    (tmp_path / "config.yaml").write_text("style: {contact\n")
    assert doctor.contact().status == FAILS


def test_a_controller_that_does_not_answer_ends_no_check(tmp_path, monkeypatch):
    write_program(tmp_path, "sinfo", "exec /bin/sleep 20")
    write_program(tmp_path, "sbatch", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "ANSWER_SECONDS", 0.2)
    assert doctor.slurm().status == LIMITED and "0.2 seconds" in doctor.slurm().text
