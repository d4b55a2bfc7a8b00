"""Copies of the checkout, to run a tiny version of the studies in."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import warm
import yaml

from triptych.core.provenance import read_code, trees_file

ROOT = Path(__file__).parents[1]
COLD = [sys.executable]
"""The interpreter of a run to be compared with a warm one: each job in a process of its own, which
starts anew and hashes anew."""

TINY = yaml.safe_load((ROOT / ".test" / "config.yaml").read_text())
"""The study of .test, which runs every rule at its smallest, on one task."""


@dataclass(frozen=True)
class Checkout:
    """A checkout of its own, with a config overlay tiny.yaml beside config.yaml."""

    root: Path

    def snakemake(self, *arguments, config="tiny.yaml", check=True, python=warm.COMMAND, cores=2):
        """Run snakemake there, with its jobs in warm processes; stdout and stderr as one text."""
        command = [*python, "-m", "snakemake", *arguments]
        command += ["--cores", str(cores)] if cores else []
        command += ["--configfile", config] if config else []
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if check and done.returncode:
            raise AssertionError(done.stdout)
        return done.stdout

    def stale(self, *targets):
        """Names of the rules that a dry run for the targets would start, `rl` left out."""
        text = self.snakemake(*(targets or ["rl"]), "--dry-run", "--quiet", "reason")
        found = re.findall(r"^(?:local)?rule (\w+):", text, re.MULTILINE)
        return set(found) - {"rl"}

    def edit(self, path, old, new):
        """Replace a text in a file of the checkout."""
        file = self.root / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))


@cache
def parsed():
    """What planning keeps of the library's code, so that no checkout parses it all."""
    known = trees_file(tempfile.mkdtemp())
    read_code(known=known)
    return known


def copy_checkout(target):
    """A checkout of one task in a folder."""
    kept = target / ".snakemake" / "triptych"
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copy(parsed(), kept)
    names = ("Snakefile", "config.yaml", "config", "rules", "workflow", "workflow_scripts", "envs")
    names += ("profiles", "resources", "docs")
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name)  # compiled modules too, and files' times
        else:
            shutil.copy(source, target / name)
    (target / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    return Checkout(target)
