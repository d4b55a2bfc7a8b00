"""What the profile for SLURM asks for, beside the jobs that there are at the papers' scale."""

import re
from pathlib import Path

import pytest
import yaml

from triptych.audio.models.sentence_encoders import FILES
from triptych.scale import BEYOND, DEMO, OVERNIGHT, shipped
from triptych.studies import workflows

ROOT = Path(__file__).parents[2]
PROFILE = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
SHORT_MINUTES = 30
LONGEST_MINUTES = 2880


def rules_with(line):
    """The rules that have a line."""
    files = (file.read_text() for file in (ROOT / "rules").glob("*.smk"))
    rules = [rule for text in files for rule in text.split("\nrule ")[1:]]
    return {rule.split(":")[0] for rule in rules if line in rule}


@pytest.fixture(scope="module")
def jobs(listed):
    """The same, with what the tests look at."""
    local = rules_with("localrule: True")
    return [
        {
            "rule": job["rule_name"],
            "local": job["rule_name"] in local,
            "needs": job["needs"],
            "output": job["output"],
            **{"gpu": 0, "runtime": None, "mem_mb": None, **job["resources"]},
        }
        for job in listed
    ]


def test_every_job_of_a_cluster_asks_for_memory_and_minutes_and_a_training_for_more(jobs):
    assert {(job["mem_mb"], job["runtime"]) for job in jobs if job["rule"] == "style_figure4"} == {
        (4000, 15)
    }
    for job in jobs:
        if not job["local"] and job["output"]:
            assert job["mem_mb"] >= 4000 and 15 <= job["runtime"] <= LONGEST_MINUTES, job
            assert job["together"] == 1, job
    (train,) = {(job["mem_mb"], job["runtime"]) for job in jobs if job["rule"] == "rl_train"}
    assert train[0] > 4000 and train[1] > 1000


def test_whatever_trains_asks_for_a_gpu(jobs):
    trains = {"rl_train", "style_train", "audio_pretrain", "audio_finetune", "style_optimize"}
    assert {job["rule"] for job in jobs if job["gpu"] == 1} >= trains
    assert not {job["rule"] for job in jobs if job["gpu"] != 1} & trains


def test_groups_are_of_short_jobs_that_ask_alike_for_a_gpu(jobs):
    gpus = {}
    for job in jobs:
        if group := PROFILE["groups"].get(job["rule"]):
            assert job["runtime"] <= SHORT_MINUTES, job
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


def test_rules_that_measure_time_get_cores_of_their_own():
    assert rules_with("threads: CORES") == PROFILE["set-threads"].keys()


def test_what_needs_the_network_runs_where_snakemake_does(jobs):
    local = {job["rule"] for job in jobs if job["local"]}
    downloads = {job["rule"] for job in jobs if re.search("download|fetch", job["rule"])}
    assert downloads and downloads <= local


@pytest.mark.slow
def test_default_resources_and_limits_of_the_command_line_leave_the_others(fresh):
    asked = ("--default-resources", "slurm_account=me", "--resources", "mem_mb=64000")
    (job,) = [j for j in fresh.jobs("rl_table1", *asked) if j["rule_name"] == "rl_prune"]
    expected = {"slurm_account": "me", "runtime": 30, "mem_mb": 6000}
    assert expected.items() <= job["resources"].items()
    said = fresh.snakemake("rl_table1", "--touch", "--resources", "mem_mb=64000")
    (provided,) = re.findall("Provided resources: .*", said)
    assert re.search(r"\bgpu\W[^0-9]*1\b", provided) and "64000" in provided


@pytest.mark.parametrize("scale", [DEMO, OVERNIGHT])
def test_what_downloads_nothing_asks_nobody(scale, sources):
    for module in workflows().values():
        assert module.Workflow(shipped(scale, ROOT), sources).downloads == {}


def test_the_first_job_asks_for_every_file_that_later_jobs_download(listed, sources):
    asked, config = set(), shipped(BEYOND, ROOT)
    for module in workflows().values():
        asked |= {*module.Workflow(config, sources).downloads}
    fetched = {"train2017"}
    for job in listed:
        match job["rule_name"], job["wildcards"]:
            case "rl_download", {"task": task}:
                fetched.add(f"{task}_expert-v2")
            case "style_download_picture" | "style_download_weights", wildcards:
                fetched.add(*wildcards.values())
            case "audio_download", {"file": file}:
                fetched.add(file)
            case "audio_download_passt", {"variant": variant}:
                fetched.add(variant)
            case "audio_download_wavcaps", {"part": part}:
                fetched.add(f"{part}.zip")
            case "audio_text_model", {"text_model": name}:
                fetched.update(f"{name}, {file}" for file in FILES)
    assert asked == fetched and len(asked) > 30
    asking = {job["wildcards"]["asked"] for job in listed if job["rule_name"] == "report_inputs"}
    assert asking == {*workflows()}
