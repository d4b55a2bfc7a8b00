"""Snakemake that is killed alone, edits while it runs: never two writers, never another's code."""

import itertools
import os
import random
import re
import time

import pytest
from killing import Workplace
from slow_rules import SLOW_RULES
from whole_runs import Run, checkout_like

pytestmark = pytest.mark.slow

TRAINED = SLOW_RULES["rl_train"]
TIMES = int(os.environ.get("TRIPTYCH_MOMENTS", "1"))
"""How many random moments are tried: `make faults` says 30."""
JOURNAL = """    def save(self, state: dict[str, Any]) -> None:
        import time
        with open("journal", "a") as journal:
            print(os.getpid(), file=journal)
        time.sleep(0.02)
"""
EDITED = "workflow_scripts/triptych/rl/acting/evaluation.py"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """Where the training's bytes come from that nobody disturbs."""
    longer = {"rl": {"training": {"updates": 1500}}}
    return Workplace(tmp_path_factory.mktemp("owned"), [TRAINED], longer)


def same(workplace, root):
    """Whether a checkout has what the undisturbed training made, and nothing half-written."""
    made = workplace.unbroken(workplace.job(TRAINED)).outputs
    assert {name: (root / name).read_bytes() for name in made} == made
    assert not list((root / "results").rglob(".partial-*"))


def test_jobs_of_a_snakemake_that_was_killed_alone_and_of_the_next_never_write_together(
    workplace, tmp_path
):
    """Each save notes who saves: whoever has begun to, is alone until it has ended."""
    seed = os.environ["TRIPTYCH_SEED"]
    moments = random.Random(f"{seed} orphans")
    checkout = checkout_like(workplace, tmp_path)
    checkout.edit("workflow_scripts/triptych/core/job_lock.py", "BEAT = 5.0", "BEAT = 0.5")
    signature = "    def save(self, state: dict[str, Any]) -> None:\n"
    checkout.edit("workflow_scripts/triptych/core/checkpoint.py", signature, JOURNAL)
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
    same(workplace, tmp_path)


def test_a_job_that_starts_after_an_edit_fails_by_the_modules_name(workplace, tmp_path):
    """The edit is made once the job before it has begun, and taken back for the next run."""
    checkout, file = checkout_like(workplace, tmp_path), tmp_path / EDITED
    text = file.read_text()
    run = Run(checkout, TRAINED)
    run.wait_for("results/logs/rl_collect/*.log")
    file.write_text(text.replace("STEPS_DRAWN = 100", "STEPS_DRAWN = 101"))
    assert file.read_text() != text
    failed = re.search(r"failed: CodeChanged: (\S+) changed", run.printed())
    assert failed and failed[1] == EDITED
    assert not (tmp_path / TRAINED).exists()
    file.write_text(text)
    checkout.snakemake(TRAINED)
    same(workplace, tmp_path)
