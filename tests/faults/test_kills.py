"""Rules that are killed at random moments, and run again, end with an unbroken run's bytes."""

import os
import random
import re
import signal
import time

import pytest
from killing import Workplace
from slow_rules import RESUMING, SLOW_RULES
from whole_runs import Run, checkout_like

from triptych.core.stopping import SAVED_EXIT_CODE

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("TRIPTYCH_KILLS", "1"))
"""How often a rule is killed, and where 1, those alone that resume: `make faults` says 3."""


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    return Workplace(tmp_path_factory.mktemp("killed"), list(SLOW_RULES.values()))


@pytest.mark.parametrize("rule", SLOW_RULES if KILLS > 1 else RESUMING)
def test_a_rule_that_is_stopped_and_killed_ends_with_an_unbroken_runs_bytes(workplace, rule):
    """A training is asked to stop first, and saves."""
    seed = os.environ["TRIPTYCH_SEED"]
    moments = random.Random(f"{seed} {rule}")
    job = workplace.job(SLOW_RULES[rule])
    assert job.rule == rule
    unbroken = workplace.unbroken(job)
    workplace.forget(job)
    if rule in RESUMING:
        process = workplace.start(job)
        workplace.wait_for_states(job, process, 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == SAVED_EXIT_CODE
    for number in range(KILLS):
        within = rule in RESUMING and number == KILLS // 2
        after = workplace.kill(job, unbroken.seconds, moments, within)
        print(f"seed {seed}: killed after {after:.3f} of {unbroken.seconds:.3f} s")
    workplace.finish(job)
    assert workplace.outputs(job) == unbroken.outputs
    assert workplace.files() == unbroken.files
    if rule in RESUMING:
        assert re.search(r"resuming( at \w+|:) [1-9]", workplace.attempts(job))


def test_a_run_of_snakemake_locks_its_folder_and_killed_with_its_jobs_ends_with_the_same_bytes(
    workplace, tmp_path
):
    seed = os.environ["TRIPTYCH_SEED"]
    moments = random.Random(f"{seed} snakemake")
    job = workplace.job(SLOW_RULES["rl_train"])
    checkout = checkout_like(workplace, tmp_path)
    run = Run(checkout, "rl")
    run.wait_for(".snakemake/locks/*")
    with pytest.raises(AssertionError) as refused:
        checkout.snakemake(*job.output)
    for words in ("cannot be locked", str(tmp_path), "no other Snakemake process", "--unlock"):
        assert words in str(refused.value)
    run.wait_for("results/logs/rl_train/*.log")
    after = moments.uniform(0, 1)
    time.sleep(after)
    run.kill()
    print(f"seed {seed}: killed {after:.3f} s into rl_train")
    checkout.snakemake("--unlock")
    checkout.snakemake(*job.output)
    made = {name: (tmp_path / name).read_bytes() for name in job.output}
    assert made == workplace.unbroken(job).outputs
    assert not list((tmp_path / "results").rglob(".partial-*"))
