"""What makes a result stale, and what doesn't."""

import os
import re
import time

import pytest
import yaml

pytestmark = pytest.mark.slow


def test_touching_every_file_and_editing_a_comment_makes_nothing_stale(finished):
    now = time.time() + 10
    for folder in ("workflow_scripts", "rules", "envs", "profiles", "resources", "docs"):
        for path in (finished.root / folder).rglob("*"):
            os.utime(path, (now, now))
    for name in ("Snakefile", "config.yaml", "tiny.yaml"):
        os.utime(finished.root / name, (now, now))
    path = finished.root / "workflow_scripts/triptych/rl/algorithms/bcq.py"
    path.write_text(path.read_text() + "\n# a comment\n")
    assert "Nothing to be done" in finished.snakemake("rl", "--dry-run")


def test_editing_a_module_makes_exactly_its_users_stale(finished):
    finished.edit(
        "workflow_scripts/triptych/rl/report/masks.py", "\nimport ", "\nEDITED = 1\nimport "
    )
    assert finished.stale() == {"rl_draw_masks"}


def test_a_changed_parameter_reruns_what_depends_on_it(finished):
    finished.edit("tiny.yaml", "repeats: 2", "repeats: 3")
    assert finished.stale() == {"rl_latency", "rl_inference"}
    finished.edit("tiny.yaml", "updates: 100", "updates: 110")
    assert "rl_train" in finished.stale()


def test_a_sparsity_added_to_the_sweep_trains_only_the_new_runs(finished):
    overlay = yaml.safe_load((finished.root / "tiny.yaml").read_text())
    overlay["rl"]["sweeps"]["bcq"]["runs"]["paper"]["sparsities"].append(80)
    (finished.root / "tiny.yaml").write_text(yaml.safe_dump(overlay))
    text = finished.snakemake("rl", "--dry-run")
    stacks = re.findall(r"output: results/rl/\w+/narrow/([\w-]+)/masks", text)
    assert sorted(stacks) == ["bcq-sp80-1"]
