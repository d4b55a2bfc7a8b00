"""What makes finished results stale, and what doesn't."""

import os
import shutil
import time
from pathlib import Path

import pytest
import yaml
from tiny_checkout import COLD, ROOT, Checkout, copy_checkout

from triptych.core.config import merged
from triptych.studies import NAMES

pytestmark = pytest.mark.slow
PAPERS = ("paper.yaml", "beyond.yaml")
REPORT = {"report_claims", "report_page", "report_manifest", *(f"{name}_claims" for name in NAMES)}


@pytest.fixture(scope="module")
def pretended(tmp_path_factory):
    """A checkout whose whole demo seems to have run; not to be changed."""
    checkout = copy_checkout(tmp_path_factory.mktemp("pretended"))
    checkout.pretend("all")
    return checkout


@pytest.fixture
def finished(pretended, tmp_path):
    """A copy of it, file times kept, for a test to change."""
    return Checkout(Path(shutil.copytree(pretended.root, tmp_path / "checkout", symlinks=True)))


HARMLESS = {
    "core/files.py": ('"""Files that are either complete or absent."""', '"""Whole files."""'),
    "core/job_lock.py": ("BEAT = 5.0", "BEAT = 4.0"),
    "core/progress.py": ("EVERY_SECONDS = 20.0", "EVERY_SECONDS = 10.0"),
    "core/training_loop.py": ('logger.info("resuming at', 'logger.info("going on at'),
    "core/device.py": ('"""Return the device', '"""The device'),
    "rl/pruning/criteria/snip.py": ('COLOUR = "#009e73"', 'COLOUR = "#009e74"'),
    "rl/training/learner.py": ("\nimport ", "\n# a comment\nimport "),
}
"""Edits of documentation, messages, looks and infrastructure, by module."""


def test_documentation_messages_looks_infrastructure_and_file_times_make_nothing_stale(finished):
    now = time.time() + 10
    for path in finished.root.rglob("*"):
        if not path.is_relative_to(finished.root / "results"):
            os.utime(path, (now, now))
    for module, (old, new) in HARMLESS.items():
        finished.edit(f"workflow_scripts/triptych/{module}", old, new)
    assert finished.jobs("all") == []


def test_a_renamed_folder_makes_nothing_stale_with_and_without_the_profile(finished):
    moved = Checkout(finished.root.rename(finished.root.with_name("elsewhere")))
    assert moved.jobs("all") == []
    assert moved.jobs("all", "--workflow-profile", "none") == []


def test_what_changes_no_number_trains_nothing_again(finished):
    overlay = finished.root / "tiny.yaml"
    config = yaml.safe_load(overlay.read_text())
    config["audio"]["stages"]["common"] |= {"workers": 2, "checkpoint_minutes": 0.5}
    config["rl"]["training"]["checkpoint_every"] = 7
    overlay.write_text(yaml.safe_dump(config))
    assert finished.stale("all") <= REPORT  # which hold the config


def reversed_keys(value):
    """A config in which the keys of tables stand in the opposite order, but for those of `vary`,
    which name runs."""
    if not isinstance(value, dict):
        return value
    return {k: value[k] if k == "vary" else reversed_keys(value[k]) for k in reversed(value)}


def test_the_order_of_sets_and_of_a_configs_keys_computes_nothing_again(tmp_path, monkeypatch):
    """Snakemake compares params as text (snakemake#2212, pypsa-earth#1745)."""
    checkout = copy_checkout(tmp_path)
    files = [yaml.safe_load((ROOT / "config" / name).read_text()) for name in PAPERS]
    own = checkout.root / "own.yaml"
    own.write_text(yaml.safe_dump(merged(*files), sort_keys=False))
    checkout.pretend("all", config="own.yaml")
    monkeypatch.setenv("PYTHONHASHSEED", "1")  # not the warm process's
    assert checkout.jobs("all", config="own.yaml", python=COLD) == []
    own.write_text(yaml.safe_dump(reversed_keys(merged(*files)), sort_keys=False))
    stale = {job["rule_name"] for job in checkout.jobs("all", config="own.yaml")}
    assert stale <= {"rl_variants", *REPORT}  # which show the variants in that order


def test_each_edit_makes_exactly_its_users_stale(finished):
    """One after the other in one study, each of which is what it was before the next."""
    overlay = finished.root / "tiny.yaml"
    text = overlay.read_text()
    finished.edit("workflow_scripts/triptych/rl/report/masks.py", "\nimport ", "\nE = 1\nimport ")
    drawn = {"rl_figure3", "rl_figure3_counts", "rl_inputs"}
    assert finished.stale() == drawn | {"rl_sensors", "rl_summary"}  # these read rl_inputs.csv
    finished.edit("workflow_scripts/triptych/rl/report/masks.py", "\nE = 1\nimport ", "\nimport ")
    finished.edit("tiny.yaml", "repeats: 2", "repeats: 3")
    assert finished.stale() == {"rl_latency", "rl_inference"}
    config = yaml.safe_load(text)
    config["rl"]["pruning"] = {"snip_batch": 77}
    overlay.write_text(yaml.safe_dump(config))
    assert {"rl_prune", "rl_train"} <= finished.stale()
    config = yaml.safe_load(text)
    mine = {"methods": ["snip", "erk"], "sparsities": [80, 95]}
    config["rl"]["sweeps"]["bcq"]["runs"]["mine"] = mine
    overlay.write_text(yaml.safe_dump(config))
    trained = [job for job in finished.jobs() if job["rule_name"] == "rl_train"]
    assert [job["wildcards"]["stack"] for job in trained] == ["bcq-mine"]
