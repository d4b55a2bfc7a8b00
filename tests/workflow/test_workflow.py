"""The workflow's front door: targets, scales, messages."""

import json
import re

import pytest
import yaml
from tiny_checkout import COLD


def test_the_targets_read_like_a_table_of_contents(fresh):
    text = fresh.snakemake("--list-target-rules", config=None)
    listed = set(re.findall(r"^(?:\x1b\[\d+m)?(\w+)", text, re.MULTILINE))
    products = {path.stem for path in (fresh.root / "resources" / "captions").glob("*.rst")}
    assert len(products) > 25 and {"all", "rl", "style", "audio"} <= listed
    assert products - listed <= {"rl_criteria"}  # drawn where a config has further ones
    assert "rl_figure3 (Figure 3: weights kept by layer.)" in text


@pytest.mark.parametrize("config", [None, "config/paper.yaml", "tiny.yaml"])
def test_every_scale_has_a_dag(fresh, config):
    text = fresh.snakemake("--dry-run", config=config)
    assert "rl_train" in text
    assert "style_train" in text


def test_a_small_study_that_calls_itself_the_papers_is_refused(fresh):
    text = fresh.snakemake("--dry-run", "--config", "scale=paper", check=False)
    assert "the values are not the paper's" in text and "Say scale: custom" in text


def test_the_paper_scale_trains_the_runs_of_a_task_and_sparsity_in_one_job_from_downloads(fresh):
    text = fresh.snakemake("--dry-run", config="config/paper.yaml")
    counts = dict(re.findall(r"^(rl_\w+)\s+(\d+)$", text, re.MULTILINE))
    assert counts["rl_train"] == "24"  # dense, and seven sparsities
    assert counts["rl_download"] == "6"  # each task's, and medium data for other masks
    assert "rl_collect" not in counts


def test_the_paper_scale_trains_on_coco_with_imagenet_weights(fresh):
    text = fresh.snakemake("--dry-run", config="config/paper.yaml")
    counts = dict(re.findall(r"^(style_\w+)\s+(\d+)$", text, re.MULTILINE))
    assert counts["style_download_weights"] == "3"
    assert counts["style_download_coco"] == "1"
    assert counts["style_train"] == "3"
    assert counts["style_download_picture"] == "5"  # three paintings, two photographs


def test_a_wrong_value_gets_one_message_before_any_job(fresh):
    overlay = {"rl": {"training": {"updates": "many"}}}
    (fresh.root / "wrong.yaml").write_text(yaml.safe_dump(overlay))
    text = fresh.snakemake("--dry-run", config="wrong.yaml", check=False)
    assert "rl.training.updates is 'many' (str); allowed is a value of type integer" in text
    assert text.count("updates") == 1
    assert "Traceback" not in text


@pytest.mark.parametrize("file", ["config.yaml", "tiny.yaml", "rules/rl.smk"])
def test_a_clusters_job_fails_when_what_it_reads_again_has_changed(fresh, monkeypatch, file):
    """A job on a cluster is a Snakemake of its own, told of the plan by an environment variable."""
    fresh.snakemake("--dry-run")
    (plan,) = (fresh.root / ".snakemake/triptych/plans").iterdir()
    monkeypatch.setenv("TRIPTYCH_PLAN", str(plan))
    remote = ("rl", "--mode", "remote", "--dry-run")
    assert "rl_train" in fresh.snakemake(*remote)
    with (fresh.root / file).open("a") as stream:
        stream.write("\n# edited\n")
    said = fresh.snakemake(*remote, check=False)
    assert f"{fresh.root / file} was changed after Snakemake had read it" in said
    assert "Traceback" not in said


def test_a_stack_that_the_config_does_not_make_is_refused_by_name(fresh):
    said = fresh.snakemake(
        "results/rl/hopper/narrow/bcq-sp80-1/scores.csv", "--dry-run", check=False
    )
    assert "make a stack 'bcq-sp80-1': with this config" in said and "sp95-1" in said


@pytest.mark.slow
def test_a_users_file_that_lacks_a_key_fails_by_name_and_loses_nothing(fresh):
    import h5py
    import numpy as np

    with h5py.File(fresh.root / "mine.hdf5", "w") as file:
        file["observations"] = np.zeros((50, 11), np.float32)
        file["actions"] = np.zeros((50, 3), np.float32)
    overlay = yaml.safe_load((fresh.root / "tiny.yaml").read_text())
    overlay["rl"]["tasks"] = {"hopper": {"source": "path", "path": "mine.hdf5"}}
    (fresh.root / "mine.yaml").write_text(yaml.safe_dump(overlay))
    text = fresh.snakemake("results/rl/hopper/dataset.csv", config="mine.yaml", check=False)
    assert "mine.hdf5: rewards: expected" in text
    log = (fresh.root / "results/logs/rl_prepare/hopper.log").read_text()
    assert "Traceback" in log


@pytest.mark.slow
def test_every_job_has_a_log_a_benchmark_and_provenance_under_its_rules_name(finished_once):
    results = finished_once.root / "results"
    rules = {path.name for path in (results / "provenance").iterdir()}
    assert {"rl_collect", "rl_train", "rl_draw_masks"} <= rules
    for rule in rules:
        names = {path.stem for path in (results / "provenance" / rule).iterdir()}
        assert names == {path.stem for path in (results / "logs" / rule).iterdir()}
        assert names == {path.stem for path in (results / "benchmarks" / rule).iterdir()}
        for path in (results / "provenance" / rule).iterdir():
            assert json.loads(path.read_text())["code_digest"]


@pytest.mark.slow
def test_two_runs_of_one_config_make_the_same_files(finished_once, fresh):
    targets = ["rl_figure1", "rl_figure3", "rl_table1"]
    fresh.snakemake(*targets, python=COLD)
    for folder in ("tables", "figures"):
        for path in (fresh.root / "results" / folder).iterdir():
            twin = finished_once.root / "results" / folder / path.name
            assert path.read_bytes() == twin.read_bytes(), path
    for path in (fresh.root / "results" / "rl").rglob("*.safetensors"):
        twin = finished_once.root / path.relative_to(fresh.root)
        assert path.read_bytes() == twin.read_bytes(), path


@pytest.mark.slow
def test_snakemakes_own_report_can_be_made(finished):
    finished.snakemake("rl", "--report", "snakemake-report.html", cores=None)
    assert (finished.root / "snakemake-report.html").stat().st_size > 500_000


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (["rl", "--dag"], "rl_train"),
        (["rl", "--rulegraph"], "rl_train"),
        (["rl", "--summary"], "results/tables/rl_table1.csv"),
        (["--lint"], "in a good condition"),
    ],
)
def test_snakemake_draws_lists_and_lints_without_being_told_of_cores(fresh, asked, answer):
    assert answer in fresh.snakemake(*asked, cores=None)


@pytest.mark.slow
def test_bc_alone_trains_only_the_vae_and_all_products_are_made(fresh):
    overlay = yaml.safe_load((fresh.root / "tiny.yaml").read_text())
    overlay["rl"]["sweeps"]["bcq"] |= {
        **{"algorithms": ["BC"], "runs": {"paper": {"sparsities": [95]}, "raw": None}}
    }
    (fresh.root / "bc.yaml").write_text(yaml.safe_dump(overlay))
    fresh.snakemake("rl", config="bc.yaml")
    losses = next((fresh.root / "results" / "rl").rglob("losses.csv")).read_text()
    assert "vae_loss" in losses
    assert "critic_loss" not in losses
