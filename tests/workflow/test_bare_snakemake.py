"""Planning needs nothing but Snakemake: an environment with what it brings and nothing else."""

import json
import re
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tiny_checkout import write_module

ROOT = Path(__file__).parents[2]
BEYOND = ["config/paper.yaml", "config/beyond.yaml"]
OLDEST = re.search(r'min_version\("([\d.]+)"\)', (ROOT / "Snakefile").read_text())[1]
OURS = ("numpy", "pandas", "torch", "scipy", "matplotlib", "triptych")
"""Which this library needs, and Snakemake does not."""
PROGRAM = "import sys; from snakemake.cli import main; main(sys.argv[1:])"
CONDA = """#!/bin/sh
case "$*" in
  *"info --json"*) echo '{"conda_prefix": "/opt", "platform": "linux-64"}';;
  *--version*) echo "conda 25.1.0";;
  *config*) echo '{"get": {"channel_priority": "strict"}}';;
esac
"""
"""What Snakemake asks conda before it plans; no environment is built by a dry run."""


def closure(name):
    """The names of a distribution and of all that it requires."""
    found, waiting = set(), [name]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            needed = map(Requirement, distribution(name).requires or [])
            waiting += [r.name for r in needed if not r.marker or r.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of an environment that holds links to what `pip install snakemake` brings."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in closure("snakemake"):
        files = distribution(name).files or []
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(distribution(name).locate_file(top))
    assert not [name for name in OURS if (packages / name).exists()]
    conda = folder / "bin" / "conda"
    conda.write_text(CONDA)
    conda.chmod(0o755)
    return folder / "bin" / "python"


def planned(python, folder, *arguments, program=PROGRAM):
    """What a dry run prints that is carried out in a folder of its own."""
    there = ["--snakefile", ROOT / "Snakefile", "--directory", folder, "--dry-run", "--cores", "8"]
    done = subprocess.run(
        [python, "-c", program, *map(str, (*there, *arguments))],
        cwd=folder,
        env={"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(("names", "conda"), [([], []), (BEYOND, ["--use-conda"])])
def test_a_strangers_snakemake_plans_each_scale(python, tmp_path, names, conda):
    overlays = [ROOT / name for name in names]
    code, said = planned(python, tmp_path, *conda, *(["--configfile", *overlays] * bool(overlays)))
    assert code == 0, said
    assert len(re.findall(r"^(?:local)?rule \w+:", said, re.MULTILINE)) > 50


def test_an_older_snakemake_is_told_so_in_a_sentence(python, tmp_path):
    older = f"import snakemake.common as c; c.__version__ = '9.19.0'\n{PROGRAM}"
    code, said = planned(python, tmp_path, program=older)
    assert code == 1
    assert OLDEST in said and "9.19.0" in said and "Traceback" not in said


@pytest.mark.long  # installs two environments from the package index
@pytest.mark.parametrize("version", [f"=={OLDEST}", f">={OLDEST},<10"])
def test_the_oldest_and_the_newest_snakemake_run_it_as_a_module(tmp_path, version):
    uv = Path(sys.executable).with_name("uv")
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run(
        [uv, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True
    )
    install = [uv, "pip", "install", "--quiet", "--upgrade", "--python", python]
    subprocess.run([*install, f"snakemake{version}"], check=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "zz_others.pth").write_text("\n".join(others))  # for the jobs, after its own
    study = tmp_path / "study"
    write_module(study)
    library = str(ROOT / "workflow_scripts")
    bare = {"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": library}

    for command in (["triptych.cli", "plan"], ["snakemake", "--cores", "2", "triptych_rl_table1"]):
        command = [python, "-P", "-m", *command]
        done = subprocess.run(command, cwd=study, env=bare, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    results = study / "triptych" / "results"
    records = [*(results / "provenance").glob("rl_*/**/*.json")]
    assert records and (results / "tables" / "rl_table1.csv").is_file()
    for path in records:
        record = json.loads(path.read_text())
        assert record["rule"] == path.relative_to(results).parts[1]
        assert version.startswith(">=") or record["packages"]["snakemake"] == OLDEST
