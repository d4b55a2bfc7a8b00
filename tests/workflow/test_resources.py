"""What jobs ask a scheduler for, at paper scale, and what the profile for SLURM makes of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm
import yaml
from test_imports import WITH_TORCH

from triptych.core.cost import Cost, Work
from triptych.plan.requests import BASE_MB, CUDA_MB, LONGEST, START_MINUTES, Requests
from triptych.plan.scale import FILES, shipped

ROOT = Path(__file__).parents[2]
PROFILE = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
SHORT_MINUTES = 30


def jobs_of(file, *configs):
    """All jobs of these configs, laid over config.yaml, and what they ask for."""
    script = Path(__file__).with_name("planned_resources.py")
    subprocess.run(
        [*warm.COMMAND, script, file, *configs], cwd=ROOT, check=True, capture_output=True
    )
    return json.loads(file.read_text())


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """All jobs of the papers' scale."""
    return jobs_of(tmp_path_factory.mktemp("planned") / "jobs.json", "config/paper.yaml")


def asks(jobs, rule, attempt=1, **wildcards):
    """The resources of the one job of a rule with these wildcards."""
    found = [
        job for job in jobs if job["rule"] == rule and wildcards.items() <= job["wildcards"].items()
    ]
    assert len(found) == 1
    return found[0]["attempts"][attempt - 1]


def pretraining(jobs, pair, **more):
    return asks(jobs, "audio_pretrain", pair=pair, corpus="leak_free", **more)


def test_every_job_says_its_memory_and_minutes(jobs):
    for job in jobs:
        for asked in job["attempts"]:
            assert 500 <= asked["mem_mb"] <= 64_000, job
            assert 10 <= asked["runtime"] <= 5760, job


def test_larger_text_models_ask_for_more_memory_and_time(jobs):
    base, large = pretraining(jobs, "passt_n-bert_base"), pretraining(jobs, "passt_n-roberta_large")
    # 302 and 51 million weights against 85 and 23, read twice, of 4 bytes each; a margin of two.
    assert large["mem_mb"] - base["mem_mb"] == pytest.approx(2 * 8 * (353 - 108), rel=0.02)
    assert large["runtime"] > 1.05 * base["runtime"]


def test_finer_patches_ask_for_more_time(jobs):
    coarse, fine = pretraining(jobs, "passt_n-bert_base"), pretraining(jobs, "passt_s-bert_base")
    assert fine["runtime"] > 1.2 * coarse["runtime"]


def test_a_second_attempt_asks_for_more(jobs):
    for job in jobs:
        first, second = job["attempts"]
        if job["rule"] in ("rl_train", "style_train", "style_optimize", "audio_finetune"):
            assert second == {
                "gpu": first["gpu"],
                "mem_mb": 2 * first["mem_mb"],
                "runtime": min(2 * first["runtime"], LONGEST),
            }


@pytest.mark.parametrize("scale", FILES)
def test_no_job_asks_for_more_than_three_times_what_is_planned_on_the_same_machine(
    scale, tmp_path, sources
):
    config = shipped(scale, ROOT)
    requests = Requests(config, sources)
    for job in jobs_of(tmp_path / "jobs.json", *FILES[scale][1:]):
        if job["rule"] != "report_manifest":  # which no cost tells but the whole plan's
            planned = requests.planned_minutes(job["wildcards"], job["threads"], job["rule"])
            asked = job["attempts"][0]["runtime"] - START_MINUTES
            assert min(planned, LONGEST - START_MINUTES) - 1 <= asked <= 3 * planned + 1, job
            on_gpu = job["attempts"][0].get("gpu", 0) > 0
            assert requests.cost(job["wildcards"], job["rule"]).work or not on_gpu, job


def test_what_computes_with_pytorch_has_a_cost(sources):
    """What takes longer without, tests/demo finds in a demo's benchmarks."""
    seconds_at_most = {*("style_cut_contents", "style_prepare_content"), "style_prepare_painting"}
    wildcards = {
        **{"task": "hopper", "networks": "narrow", "stack": "bcq-all", "experiment": "losses"},
        **{"pair": "mini_n-mini_bert", "corpus": "leak_free", "variant": "passt_n"},
        **{"painting": "mosaic", "quality": "", "finished": "dcase2025"},
    }
    requests = Requests(shipped("demo", ROOT), sources)
    for rule in WITH_TORCH - seconds_at_most:
        kind = "vgg16" if rule == "style_download_weights" else "narrow_vgg"
        assert requests.cost(wildcards | {"architecture": kind}, rule) != Cost(), rule


def test_a_rule_that_another_workflow_renames_asks_for_the_same(sources):
    requests = Requests(shipped("paper", ROOT), sources)
    wildcards = {"pair": "passt_n-bert_base", "corpus": "leak_free"}
    own = requests.minutes(wildcards, 1, 1, "audio_pretrain")
    assert requests.minutes(wildcards, 1, 1, "my_triptych_audio_pretrain") == own > 60


def test_a_step_that_took_longer_than_computed_asks_for_more(paper_config, sources, monkeypatch):
    work = Work(operations=0.5 * 989.4e12)  # an H100's second in bf16
    monkeypatch.setattr("triptych.plan.requests.cost_of", lambda *_: Cost({"bf16": work * 6000}))
    computed = Requests(paper_config, sources).planned_minutes({}, 1, "made_up")
    row = {"device": "NVIDIA H100", "task": "", "precision": "bf16", "scale": "paper"}
    row |= {"date": "2026-11-22", "seconds": "3", "operations": str(work.operations)}
    measured = Requests(paper_config, sources, [row | {"traffic": "0", "kernels": "1"}])
    assert computed == pytest.approx(100 * 989.4 / 149.7)
    assert measured.planned_minutes({}, 1, "made_up") == pytest.approx(3 * computed)


def test_cores_hold_what_a_gpu_would(paper_config, sources, monkeypatch):
    cost = Cost({"bf16": Work(1)}, memory=1e9, tensors=5e9)
    monkeypatch.setattr("triptych.plan.requests.cost_of", lambda *_: cost)
    of = {
        device: Requests(paper_config | {"device": device}, sources).megabytes({}, 1, "made_up")
        for device in ("cuda", "cpu")
    }
    assert of == {"cuda": BASE_MB + CUDA_MB + 2000, "cpu": BASE_MB + 12_000}


def test_requests_import_no_pytorch():
    program = "import sys, triptych.plan.requests as r, triptych.studies as s; "
    program += "from triptych.plan.planned import costs_of; [costs_of(n) for n in s.NAMES]; "
    program += "sys.exit('torch' in sys.modules)"
    environment = {"PYTHONPATH": str(ROOT / "workflow_scripts")}
    assert subprocess.run([sys.executable, "-c", program], env=environment).returncode == 0


def test_downloads_ask_for_time_by_size(jobs):
    small = asks(jobs, "audio_download_wavcaps", part="SoundBible")["runtime"]
    assert asks(jobs, "audio_download_wavcaps", part="FreeSound")["runtime"] > 20 * small


def test_whatever_trains_asks_for_a_gpu(jobs):
    trains = {"rl_train", "style_train", "audio_pretrain", "audio_finetune", "style_optimize"}
    for job in jobs:
        assert job["attempts"][0].get("gpu", 0) == 1 or job["rule"] not in trains


def test_groups_are_of_short_jobs_that_ask_alike_for_a_gpu(jobs):
    gpus = {}
    for job in jobs:
        if group := PROFILE["groups"].get(job["rule"]):
            first = job["attempts"][0]
            assert first["runtime"] <= SHORT_MINUTES, job
            assert gpus.setdefault(group, first.get("gpu", 0)) == first.get("gpu", 0), job
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
        rules |= set(re.findall(r"^rule (\w+):", file.read_text(), re.MULTILINE))
    for key in ("groups", "set-threads", "set-resources"):
        assert PROFILE[key].keys() <= rules
    assert set(PROFILE["groups"].values()) == PROFILE["group-components"].keys()


def test_rules_that_measure_time_get_cores_of_their_own():
    clocks = set()
    for file in (ROOT / "rules").glob("*.smk"):
        for rule in file.read_text().split("\nrule ")[1:]:
            if "threads: CORES" in rule:
                clocks.add(rule.split(":")[0])
    assert clocks == PROFILE["set-threads"].keys()


def test_what_needs_the_network_runs_where_snakemake_does(jobs):
    local = {job["rule"] for job in jobs if job["local"]}
    downloads = {job["rule"] for job in jobs if re.search("download|fetch", job["rule"])}
    assert downloads and downloads <= local
    assert PROFILE["set-resources"] == {rule: {"together": 0} for rule in PROFILE["set-resources"]}
    assert local <= PROFILE["set-resources"].keys()
