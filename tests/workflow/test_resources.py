"""What the profile for SLURM asks for, beside the jobs that there are at the papers' scale."""

import re
import runpy
import subprocess
from pathlib import Path

import pytest
import warm
import yaml

from triptych.apps.plan import COSTS, read_costs, read_jobs

ROOT = Path(__file__).parents[2]
PROFILE = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
SHORT_MINUTES = 30
LONGEST_MINUTES = 5760


def rules_with(line):
    """The rules that have a line."""
    files = (file.read_text() for file in (ROOT / "rules").glob("*.smk"))
    rules = [rule for text in files for rule in text.split("\nrule ")[1:]]
    return {rule.split(":")[0] for rule in rules if line in rule}


def dry_run(*options):
    command = [*warm.COMMAND, "-m", "snakemake", "--dry-run", "--forceall", "--cores", "8"]
    command += ["--configfile", "config/paper.yaml", *options]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def jobs():
    """All jobs of the papers' scale; `needs` are the positions of those that a job waits for."""
    found = read_jobs(dry_run())
    local = rules_with("localrule: True")
    maker = {file: position for position, job in enumerate(found) for file in job.outputs}

    def needs(job):
        places = [[file, *map(str, Path(file).parents)] for file in job.inputs]
        return {maker[place] for each in places for place in each if place in maker}

    return [
        {"rule": job.rule, "local": job.rule in local, "needs": needs(job), "gpu": int(job.gpu)}
        for job in found
    ]


def asks(rule, attempt=1):
    """The megabytes and minutes of a rule's jobs, as Snakemake evaluates them."""
    said = PROFILE["default-resources"] | PROFILE["set-resources"].get(rule, {})
    return [
        eval(str(said[name]), {"attempt": attempt, "min": min}) for name in ("mem_mb", "runtime")
    ]


def test_every_job_gets_the_memory_and_minutes_of_the_profile(jobs):
    text = dry_run("--executor", "local", "--workflow-profile", "profiles/slurm")
    # Jobs of a group stand below it, farther to the right.
    said = re.findall(r"^ *(?:local)?rule (\w+):\n(?: .*\n)*? +resources: (.*)$", text, re.M)
    assert {rule for rule, _ in said} >= {job["rule"] for job in jobs}
    for rule, resources in said:
        memory, minutes = asks(rule)
        assert {f"mem_mb={memory}", f"runtime={minutes}"} <= set(resources.split(", ")), rule


def test_a_second_attempt_asks_for_more_and_none_for_longer_than_clusters_allow():
    for rule in ("style_figure4", *PROFILE["set-resources"]):
        first, second, sixth = asks(rule), asks(rule, 2), asks(rule, 6)
        assert second[0] == 2 * first[0] and second[1] == min(2 * first[1], LONGEST_MINUTES)
        assert sixth[1] <= LONGEST_MINUTES


def test_whatever_trains_asks_for_a_gpu(jobs):
    trains = {"rl_train", "style_train", "audio_pretrain", "audio_finetune", "style_optimize"}
    assert all(job["gpu"] == 1 for job in jobs if job["rule"] in trains)


def test_groups_are_of_short_jobs_that_ask_alike_for_a_gpu(jobs):
    gpus = {}
    for job in jobs:
        if group := PROFILE["groups"].get(job["rule"]):
            assert asks(job["rule"])[1] <= SHORT_MINUTES, job
            assert gpus.setdefault(group, job["gpu"]) == job["gpu"], job
            assert not job["local"], job


def test_no_job_of_a_group_waits_for_a_job_outside_that_waits_for_the_group(jobs):
    def group(position):
        return PROFILE["groups"].get(jobs[position]["rule"])

    def awaited(position, seen):
        """All groups of the jobs that a job, directly or not, waits for."""
        if position not in seen:
            needs = jobs[position]["needs"]
            seen[position] = {group(n) for n in needs} - {None}
            seen[position] |= set().union(*(awaited(n, seen) for n in needs))
        return seen[position]

    seen = {}
    for position in range(len(jobs)):
        for need in jobs[position]["needs"]:
            if group(position) and group(need) != group(position):
                assert group(position) not in awaited(need, seen), jobs[position]


def test_the_profile_names_rules_that_exist():
    rules = set()
    for file in (ROOT / "rules").glob("*.smk"):
        rules |= set(re.findall(r"^(?:rule|use rule \w+ as) (\w+)", file.read_text(), re.MULTILINE))
    for key in ("groups", "set-threads", "set-resources"):
        assert PROFILE[key].keys() <= rules
    assert set(PROFILE["groups"].values()) == PROFILE["group-components"].keys()


def test_rules_that_measure_time_get_cores_of_their_own():
    assert rules_with("threads: CORES") == PROFILE["set-threads"].keys()


def test_what_needs_the_network_runs_where_snakemake_does(jobs):
    local = {job["rule"] for job in jobs if job["local"]}
    downloads = {job["rule"] for job in jobs if re.search("download|fetch", job["rule"])}
    assert downloads and downloads <= local
    apart = {rule for rule, said in PROFILE["set-resources"].items() if said.get("together") == 0}
    assert local <= apart


SLOW = 10.0
"""Core seconds of a demo's job that make its rule slow."""


def test_every_slow_rule_of_the_demo_is_killed_by_the_fault_tests():
    killed = runpy.run_path(str(ROOT / "tests" / "faults" / "slow_rules.py"))["SLOW_RULES"]
    costs = read_costs(ROOT / COSTS, "demo")
    measured = {rule: cost for rule, cost in costs.items() if not cost.source.endswith("scale)")}
    assert len(measured) > 40
    assert {rule for rule, cost in measured.items() if cost.core_seconds > SLOW} <= killed.keys()
