"""Snakemake that is killed alone, edits while it runs: never two writers, never another's code."""

import itertools
import os
import random
import re
import subprocess
import threading
import time

import pytest
from killing import Workplace
from slow_rules import SLOW_RULES
from whole_runs import Run, checkout_like

pytestmark = pytest.mark.slow

TRAINED = SLOW_RULES["rl_train"]
JOURNAL = """    def save(self, state: dict[str, Any]) -> None:
        import time
        with open("journal", "a") as journal:
            print(os.getpid(), file=journal)
        time.sleep(0.02)
"""
EDITED = "workflow_scripts/triptych/rl/acting/evaluation.py"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    return Workplace(tmp_path_factory.mktemp("owned"), [TRAINED])


TIMES = int(os.environ.get("TRIPTYCH_MOMENTS", "1"))
"""How many random moments are tried: `make faults` says 30."""


def bytes_of(root, job):
    return {name: (root / name).read_bytes() for name in job.output}


def test_jobs_of_a_snakemake_that_was_killed_alone_and_of_the_next_never_write_together(
    workplace, tmp_path
):
    """Each save notes who saves: whoever has begun to, is alone until it has ended."""
    seed = os.environ["TRIPTYCH_SEED"]
    moments = random.Random(f"{seed} orphans")
    job = workplace.job(TRAINED)
    checkout = checkout_like(workplace, tmp_path)
    checkout.edit("workflow_scripts/triptych/core/job_lock.py", "BEAT = 5.0", "BEAT = 0.5")
    signature = "    def save(self, state: dict[str, Any]) -> None:\n"
    checkout.edit("workflow_scripts/triptych/core/checkpoint.py", signature, JOURNAL)
    checkout.edit("tiny.yaml", "updates: 300", "updates: 1500")
    journal = tmp_path / "journal"
    for _ in range(TIMES):
        run = Run(checkout, TRAINED)
        before = journal.read_text() if journal.exists() else ""
        while not journal.exists() or journal.read_text() == before:
            time.sleep(0.01)
            if run.ended():
                break
        after = moments.uniform(0, 2)
        time.sleep(after)
        run.kill_alone()
        print(f"seed {seed}: Snakemake killed {after:.3f} s into its training")
        checkout.snakemake("--unlock")
        if (tmp_path / TRAINED).exists():  # it had just ended
            (tmp_path / TRAINED).unlink()
    checkout.snakemake(TRAINED)
    writers = [pid for pid, _ in itertools.groupby(journal.read_text().split())]
    assert len(writers) == len(set(writers)) > 1
    alone = checkout_like(workplace, tmp_path / "alone")
    alone.edit("tiny.yaml", "updates: 300", "updates: 1500")
    alone.snakemake(TRAINED)
    assert bytes_of(tmp_path, job) == bytes_of(alone.root, job)
    assert not list((tmp_path / "results").rglob(".partial-*"))


def started(checkout):
    """A started run, and the list in which it leaves what it said."""
    said = []
    run = threading.Thread(target=lambda: said.append(checkout.snakemake(TRAINED, check=False)))
    run.start()
    return run, said


def git(root, *arguments):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def changes(root):
    """Ways in which people change code while a run goes on: {name: (begin, end)}."""
    file = root / EDITED
    text = file.read_text()
    other = text.replace("STEPS_DRAWN = 100", "STEPS_DRAWN = 101")  # draws other noise
    assert other != text
    git(root, "init", "-b", "main")
    (root / ".gitignore").write_text("results\n.snakemake\n__pycache__\nprinted.log\n")
    git(root, "add", "-A")
    git(root, "commit", "-m", "as it is")
    git(root, "checkout", "-b", "other")
    file.write_text(other)
    git(root, "commit", "-am", "another")
    git(root, "checkout", "main")

    def stashed():
        git(root, "stash", "push", EDITED)

    return {
        "an edit": (lambda: file.write_text(other), lambda: file.write_text(text)),
        "another branch": (
            lambda: git(root, "checkout", "other"),
            lambda: git(root, "checkout", "main"),
        ),
        "git stash": (stashed, lambda: git(root, "stash", "pop")),
    }


def test_code_that_changes_while_a_run_goes_on_changes_no_result(workplace, tmp_path):
    """The code is changed at one random moment and is again what it was at another."""
    seed = os.environ["TRIPTYCH_SEED"]
    moments = random.Random(f"{seed} edits")
    job = workplace.job(TRAINED)
    checkout = checkout_like(workplace, tmp_path)
    ways = changes(tmp_path)
    file = tmp_path / EDITED
    references = {}
    for number in range(TIMES):
        way = list(ways)[number % len(ways)]
        begin, end = ways[way]
        if way == "git stash":  # what is stashed is what the run was planned with
            ways["an edit"][0]()
        planned = file.read_text()
        for name in job.output:
            (tmp_path / name).unlink(missing_ok=True)
        run, said = started(checkout)
        first, second = moments.uniform(0, 6), moments.uniform(0, 3)
        time.sleep(first)
        begin()
        time.sleep(second)
        end()
        run.join()
        print(f"seed {seed}: {way} after {first:.3f} s, for {second:.3f} s")
        failed = re.search(r"failed: CodeChanged: (\S+) was changed", said[0])
        assert failed is None or failed[1] == EDITED, said[0]
        assert file.read_text() == planned
        checkout.snakemake(TRAINED)
        if planned not in references:
            alone = checkout_like(workplace, tmp_path / f"alone{number}")
            (alone.root / EDITED).write_text(planned)
            alone.snakemake(TRAINED)
            references[planned] = bytes_of(alone.root, job)
        assert bytes_of(tmp_path, job) == references[planned], said[0]
        if way == "git stash":
            ways["an edit"][1]()
