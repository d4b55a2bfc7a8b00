"""Copies of the checkout in which a tiny version of a study has run once.

The whole workflow with its page is too long for a test; the demo runs it.
"""

import shutil

import pytest
from tiny_checkout import ROOT, Checkout, copy_checkout

from triptych.apps.listing import Job, needs_of


@pytest.fixture(scope="session")
def planned_in(tmp_path_factory):
    """A checkout in which nothing runs and nobody changes a file, for dry runs."""
    return copy_checkout(tmp_path_factory.mktemp("planned"))


@pytest.fixture(scope="session")
def listed():
    """All jobs of the papers' scale and beyond as Snakemake tells them, by the profile for SLURM;
    `needs` are the positions of those that a job waits for."""
    slurm = ("--executor", "local", "--workflow-profile", "profiles/slurm")
    files = ("--configfile", "config/paper.yaml", "config/beyond.yaml")
    jobs = Checkout(ROOT).jobs("all", "--forceall", *slurm, *files, config=None)
    plain = [Job(job["rule_name"], tuple(job["input"]), tuple(job["output"]), "") for job in jobs]
    return [{**job, "needs": needs} for job, needs in zip(jobs, needs_of(plain), strict=True)]


@pytest.fixture(scope="session")
def needed(listed):
    """A function: the jobs that a figure or table waits for, by its name."""

    def of(product):
        files = {f"results/figures/{product}.svg", f"results/tables/{product}.csv"}
        waiting = {number for number, job in enumerate(listed) if files & {*job["output"]}}
        found = set()
        assert waiting, product
        while waiting:
            found.add(number := waiting.pop())
            waiting |= listed[number]["needs"] - found
        return [listed[number] for number in sorted(found)]

    return of


@pytest.fixture
def fresh(tmp_path):
    """A checkout in which nothing has run."""
    return copy_checkout(tmp_path)


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory):
    """The checkout in which the offline-RL study has run; not to be changed."""
    checkout = copy_checkout(tmp_path_factory.mktemp("finished"))
    checkout.snakemake("rl")
    return checkout


@pytest.fixture
def finished(finished_once, tmp_path):
    """A copy of the finished checkout, file times kept, for a test to change."""
    shutil.copytree(finished_once.root, tmp_path / "checkout", symlinks=True)
    return Checkout(tmp_path / "checkout")
