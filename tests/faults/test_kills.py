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
def test_a_rule_that_is_killed_again_and_again_ends_with_an_unbroken_runs_bytes(workplace, rule):
    seed = os.environ["TRIPTYCH_SEED"]
    moments = random.Random(f"{seed} {rule}")
    job = workplace.job(SLOW_RULES[rule])
    assert job.rule == rule
    unbroken = workplace.unbroken(job)
    workplace.forget(job)
    for number in range(KILLS):
        within = rule in RESUMING and number == KILLS // 2
        after = workplace.kill(job, unbroken.seconds, moments, within)
        print(f"seed {seed}: killed after {after:.3f} of {unbroken.seconds:.3f} s")
    workplace.finish(job)
    assert workplace.outputs(job) == unbroken.outputs
    assert workplace.files() == unbroken.files
    if rule in RESUMING:
        assert re.search(r"resuming( at \w+|:) [1-9]", workplace.attempts(job))


@pytest.mark.parametrize("rule", RESUMING)
def test_a_training_that_is_asked_to_stop_saves_in_seconds_and_goes_on(workplace, rule):
    moments = random.Random(f"{os.environ['TRIPTYCH_SEED']} stop {rule}")
    job = workplace.job(SLOW_RULES[rule])
    unbroken = workplace.unbroken(job)
    workplace.forget(job)
    process = workplace.start(job)
    while not workplace.saved(job) and process.exitcode is None:
        time.sleep(0.002)
    time.sleep(moments.uniform(0, unbroken.seconds / 10))
    asked = time.monotonic()
    os.kill(process.pid, signal.SIGTERM)
    process.join()
    assert time.monotonic() - asked < 10
    assert process.exitcode == SAVED_EXIT_CODE
    workplace.finish(job)
    assert workplace.outputs(job) == unbroken.outputs


def test_a_run_of_snakemake_that_is_killed_with_its_jobs_ends_with_the_same_bytes(
    workplace, tmp_path
):
    seed = os.environ["TRIPTYCH_SEED"]
    moments = random.Random(f"{seed} snakemake")
    job = workplace.job(SLOW_RULES["rl_train"])
    checkout = checkout_like(workplace, tmp_path)
    for rule in ("rl_collect", "rl_train"):
        run = Run(checkout, *job.output)
        run.wait_for(f"results/logs/{rule}/*.log")
        after = moments.uniform(0, 1)
        time.sleep(after)
        run.kill()
        print(f"seed {seed}: killed {after:.3f} s into {rule}")
        checkout.snakemake("--unlock")
    checkout.snakemake(*job.output)
    made = {name: (tmp_path / name).read_bytes() for name in job.output}
    assert made == workplace.unbroken(job).outputs
    assert not list((tmp_path / "results").rglob(".partial-*"))


def test_the_second_of_two_runs_in_one_folder_says_that_it_is_locked(workplace, tmp_path):
    checkout = checkout_like(workplace, tmp_path)
    first = Run(checkout, "rl")
    first.wait_for(".snakemake/locks/*")
    with pytest.raises(AssertionError) as refused:
        checkout.snakemake(SLOW_RULES["rl_train"])  # one of those that the first one makes
    first.kill()
    for words in ("cannot be locked", str(tmp_path), "no other Snakemake process", "--unlock"):
        assert words in str(refused.value)
