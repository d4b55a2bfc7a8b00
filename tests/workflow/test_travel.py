"""The workflow away from its checkout: in a folder of one's own, as a module, from a wheel."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import warm
import yaml
from tiny_checkout import COLD, ROOT, copy_checkout, write_module

from triptych.apps.init import begin
from triptych.core.config import check_config, completed, merged, read_config

pytestmark = pytest.mark.slow

TARGET = "results/rl/hopper/narrow/measured-paper/sizes.csv"
"""The numbers of Table 1, from shipped experts: two jobs, of which one has paths in its params."""
SMALL = {
    "rl": {
        "tasks": {"walker2d": None, "halfcheetah": None},
        "collect": {"transitions": 1000},
        "mask_statistics": {
            "widths": "narrow",
            "seeds": [0],
            "runs": {"paper": {"sparsities": [95]}},
        },
    }
}
"""Laid over the demo: of these jobs, as little as there can be."""
PREFIX = "results/here"


def snakemake(folder, *arguments, python=warm.COMMAND, environment=None, before=None):
    """Run snakemake in a folder: stdout and stderr as one text."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*python, "-m", "snakemake", "--cores", "2", *arguments],
        cwd=folder,
        env={**kept, **(environment or {})},
        preexec_fn=before,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def planned(text):
    """The jobs of a dry run: rule, input and output of each, by the names that a checkout has."""
    text = text.replace(".snakemake/triptych/shipped/", "").replace(f"{PREFIX}/", "")
    text = text.replace("rule triptych_", "rule ")
    jobs = re.findall(r"^(?:local)?rule (\w+):\n((?:    (?:input|output): .*\n)*)", text, re.M)
    assert len(jobs) > 50
    return sorted(jobs)


def results(folder):
    """What a run of TARGET made, timings and records left out."""
    made = [path for path in (folder / "results" / "rl").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in made}


def state(folder):
    """Every file and folder, when it was changed, and how many bytes it has."""
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A checkout in which nothing runs, and into which nobody may write."""
    folder = tmp_path_factory.mktemp("source")
    copy_checkout(folder)
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    yield folder
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The checkout that runs in its own folder: the demo's jobs, and what those of TARGET made."""
    checkout = copy_checkout(tmp_path_factory.mktemp("reference"))
    (checkout.root / "small.yaml").write_text(yaml.safe_dump(SMALL))
    jobs = checkout.snakemake("--dry-run", config="small.yaml")
    checkout.snakemake(TARGET, config="small.yaml")
    found = results(checkout.root)
    assert TARGET in found and len(found) == 7
    return planned(jobs), found


@pytest.fixture(scope="module")
def installed(source, tmp_path_factory):
    """A virtual environment with the wheel, and all other packages of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    copied = folder / "checkout"
    shutil.copytree(source, copied)
    for path in [copied, *copied.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copied)
    build = "from setuptools import build_meta; build_meta.build_wheel('..')"
    subprocess.run([sys.executable, "-c", build], cwd=copied, check=True, capture_output=True)
    (wheel,) = folder.glob("triptych-*.whl")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    uv = [Path(sys.executable).with_name("uv"), "pip", "install", "--quiet", "--offline"]
    subprocess.run([*uv, "--no-deps", "--python", python, wheel], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "zz_others.pth").write_text("\n".join(others))
    return packages


def may_not_override():
    """Take from root, in a process that begins, the right to write where modes forbid it."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def test_a_folder_of_ones_own_needs_nothing_but_a_readable_checkout(source, reference, tmp_path):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(SMALL))
    write = f"open({str(source / 'new')!r}, 'w')"
    tried = subprocess.run([*COLD, "-c", write], preexec_fn=may_not_override, capture_output=True)
    assert b"PermissionError" in tried.stderr
    before = state(source)
    there = ["--snakefile", source / "Snakefile", "--directory", tmp_path]
    snakemake(ROOT.parent, TARGET, *there, python=COLD, before=may_not_override)
    assert results(tmp_path) == reference[1]
    assert state(source) == before
    assert planned(snakemake(ROOT.parent, "--dry-run", "--forceall", *there)) == reference[0]
    assert {path.name for path in tmp_path.iterdir()} == {".snakemake", "config.yaml", "results"}


def test_as_the_printed_module_everything_made_lies_below_the_prefix(source, reference, tmp_path):
    """A prefix that contains results/, which is not where another run lies."""
    declared = repr(str(source / "Snakefile"))
    study = write_module(tmp_path, SMALL, declared, f'prefix: "{PREFIX}"')
    snakemake(tmp_path, f"{PREFIX}/{TARGET}")
    assert results(tmp_path / PREFIX) == reference[1]
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["here"]
    records = [*(tmp_path / PREFIX / "results" / "provenance").glob("*/*")]
    rules = {json.loads(path.read_text())["rule"] for path in records if path.is_file()}
    assert rules == {path.parent.name for path in records} == {"rl_collect", "rl_prune"}
    assert planned(snakemake(tmp_path, "--dry-run", "--forceall")) == reference[0]
    # Paths of a user's config are found from the working directory.
    (tmp_path / "mine.hdf5").touch()
    own = merged(SMALL, {"rl": {"tasks": {"hopper": {"source": "path", "path": "mine.hdf5"}}}})
    (tmp_path / "config" / "config.yaml").write_text(yaml.safe_dump(own))
    text = snakemake(tmp_path, "--dry-run", f"{PREFIX}/results/rl/hopper/dataset.csv")
    assert "input: mine.hdf5\n" in text
    # One at which there is nothing is refused, though all that is made of it is there, for which
    # Snakemake leaves errors aside; unless another rule makes it.
    (tmp_path / "mine.hdf5").unlink()
    (tmp_path / "used").touch()
    rule = "\nrule {}:\n    input: {}\n    output: '{}'\n    shell: 'touch {{output}}'\n"
    with (tmp_path / "Snakefile").open("a") as file:
        file.write(rule.format("last", repr(f"{PREFIX}/{TARGET}"), "used"))
        file.flush()
        said = study.snakemake("--dry-run", "used", config=None, check=False)
        assert "rl.tasks.hopper.path is 'mine.hdf5'" in said and "Nothing" not in said
        file.write(rule.format("first", "[]", "mine.hdf5"))
    assert "rule first:" in snakemake(tmp_path, "--dry-run", "used")
    for replaced in ("results/", "results/tables/"):
        other = f'replace_prefix: {{"{replaced}": "out/"}}'
        study = write_module(tmp_path / replaced, SMALL, declared, other)
        said = study.snakemake("--dry-run", config=None, check=False)
        assert "replace_prefix" in said and "Traceback" not in said


@pytest.mark.parametrize("place", ["github", "gitfile"])
def test_what_snakedeploy_writes_runs_from_a_repository(reference, tmp_path, place):
    """Its module names github(...); what Snakemake would clone is put where it keeps clones. As in
    a hook, git's variables name another repository (Vundle#807)."""
    clones = tmp_path / "cache/snakemake/snakemake/source-cache/snakemake-git-cache"
    repository = clones / "github.com/someone/triptych"
    copy_checkout(repository)
    who = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "All"], ["tag", "v1"]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    named = "someone/triptych" if place == "github" else repository
    declared = f'{place}("{named}", path="workflow/Snakefile", tag="v1")'
    study = tmp_path / "study"
    write_module(study, SMALL, declared, prefix="")
    subprocess.run(["git", "init", "-q", tmp_path / "hooked"], check=True)
    found = {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "GIT_DIR": str(tmp_path / "hooked" / ".git"),
    }
    text = snakemake(study, "--dry-run", environment=found)
    assert len(list((study / ".snakemake/triptych/source").iterdir())) == 1
    assert planned(text) == reference[0]


def test_the_wheel_begins_a_study_and_runs_it(installed, source, reference, tmp_path):
    study = tmp_path / "my-study"
    triptych = installed.parents[2] / "bin" / "triptych"
    subprocess.run([triptych, "init", study], cwd=tmp_path, check=True, capture_output=True)
    written = {str(p.relative_to(study)) for p in study.rglob("*") if p.is_file()}
    profiles = {"default/config.yaml", "slurm/config.yaml", "slurm/partitions.yaml"}
    assert written == {"Snakefile", "config.yaml"} | {f"profiles/{name}" for name in profiles}
    (study / "config.yaml").write_text(yaml.safe_dump(SMALL))
    found = {
        "PYTHONPATH": str(installed / "triptych_workflow/workflow_scripts")
    }  # by the .pth file, if it weren't warm
    snakemake(study, TARGET, environment=found)
    assert results(study) == reference[1]
    # A checkout of the same code takes the place of the wheel.
    checkout = ("--dry-run", "--snakefile", source / "Snakefile")
    assert "Nothing to be done" in snakemake(study, TARGET, *checkout)
    text = snakemake(study, "--dry-run", "--forceall", environment=found)
    assert planned(text) == reference[0]


def test_a_study_begins_with_the_demo_and_what_its_config_proposes_is_allowed(
    source, tmp_path, monkeypatch
):
    monkeypatch.setattr("triptych.core.provenance.SOURCE", source)  # which is read-only
    begin(tmp_path / "study")
    for path in (tmp_path / "study").rglob("*"):
        assert path.stat().st_mode & 0o200, path
    text = (tmp_path / "study" / "config.yaml").read_text()
    demo = read_config(ROOT)
    assert completed(yaml.safe_load(text), ROOT) == demo
    _, _, proposals = text.partition("# rl:")
    own = yaml.safe_load("rl:" + re.sub(r"(?m)^# ?", "", proposals))
    proposed = completed(own, ROOT)
    assert set(proposed["rl"]["tasks"]) == {"hopper", "halfcheetah", "mine"}
    assert "mine" in proposed["style"]["paintings"]
    check_config(proposed, ROOT / "config" / "schema.yaml")
