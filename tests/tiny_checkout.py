"""Copies of the checkout, to run a tiny version of the studies in."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import warm
import yaml

ROOT = Path(__file__).parents[1]
LISTED_JOBS = ROOT / "workflow_scripts/triptych/apps/listed_jobs.py"
COLD = [sys.executable]
"""The interpreter of a run to be compared with a warm one: each job in a process of its own, which
starts anew and hashes anew."""

TINY = yaml.safe_load((ROOT / ".test" / "config.yaml").read_text())
"""The study of .test, which runs every rule at its smallest, on one task."""


@dataclass(frozen=True)
class Checkout:
    """A checkout of its own, with a config overlay tiny.yaml beside config.yaml.

    python_path: folder of a user's own modules.
    """

    root: Path
    python_path: str = ""

    def snakemake(self, *arguments, config="tiny.yaml", check=True, python=warm.COMMAND, cores=2):
        """Run snakemake there, with its jobs in warm processes; stdout and stderr as one text."""
        done = self._run([*python, "-m", "snakemake", *arguments], config, cores)
        if check and done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout + done.stderr

    def jobs(self, *targets, config="tiny.yaml", python=warm.COMMAND):
        """The jobs that a run for the targets would start, as listed_jobs.py tells them."""
        with tempfile.NamedTemporaryFile() as file:
            listing = [*python, str(LISTED_JOBS), file.name, *map(str, targets or ["rl"])]
            done = self._run(listing, config, 2)
            assert not done.returncode, done.stdout + done.stderr
            jobs = [job for job in json.loads(file.read())["jobs"] if job["output"]]
        assert jobs or "Nothing to be done" in done.stdout + done.stderr
        return jobs

    def stale(self, *targets):
        """The rules of these jobs."""
        return {job["rule_name"] for job in self.jobs(*targets)}

    def pretend(self, *targets, config="tiny.yaml"):
        """Have Snakemake touch what all jobs for the targets would make, so that it records what
        each is made from, then make it, empty and of one time. Returns the jobs."""
        jobs = self.jobs(*targets, config=config)
        # It waits for 0.1 s before it touches a job's files where there are some.
        self.snakemake("--touch", "--forceall", *map(str, targets), config=config)
        made = {self.root / output for job in jobs for output in job["output"]}
        # Snakemake asks for the benchmark of a rule that is a target.
        made |= {self.root / job["benchmark"] for job in jobs if job["benchmark"]}
        for path in made:
            if path.suffix or path.name == "Snakefile":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            else:
                path.mkdir(parents=True, exist_ok=True)
        now = time.time()
        for path in made:
            os.utime(path, (now, now))
        return jobs

    def _run(self, command, config, cores):
        command += ["--cores", str(cores)] if cores else []
        command += ["--configfile", config] if config else []
        environment = {**os.environ, "PYTHONPATH": self.python_path}
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True
        )

    def edit(self, path, old, new):
        """Replace a text in a file of the checkout."""
        file = self.root / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))


def copy_checkout(target):
    """A checkout of one task in a folder."""
    target.mkdir(parents=True, exist_ok=True)
    names = ("Snakefile", "config.yaml", "config", "rules", "workflow", "workflow_scripts", "envs")
    names += ("profiles", "report", "resources", "docs")
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name)  # compiled modules too, and files' times
        else:
            shutil.copy(source, target / name)
    (target / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    return Checkout(target)


def write_module(folder, config=TINY, declared=None, prefix=None):
    """A workflow that uses this one as docs/elsewhere.md prints it, with a config of its own."""
    page = (ROOT / "docs" / "elsewhere.md").read_text()
    printed = page.partition("In your workflow's `Snakefile`:\n\n```\n")[2].partition("```")[0]
    printed = printed.replace(
        '"/path/to/triptych/Snakefile"', declared or repr(f"{ROOT}/Snakefile")
    )
    if prefix is not None:
        printed = printed.replace('prefix: "triptych"', prefix)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Snakefile").write_text(printed)
    (folder / "config").mkdir()
    (folder / "config" / "config.yaml").write_text(yaml.safe_dump(config))
    shutil.copytree(ROOT / "profiles" / "default", folder / "profiles" / "default")
    return Checkout(folder)
