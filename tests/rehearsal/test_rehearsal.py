"""The rehearsal is of the papers and what lies beyond: rules, shapes, sizes and formats."""

from types import SimpleNamespace
from typing import Any

import pytest
from run import REHEARSAL, ROOT, copy_checkout, planned_rules
from tiny_checkout import Checkout

from triptych.core.config import read_config
from triptych.scale import FILES

AMOUNTS = {
    *("seeds", "updates", "every", "episodes", "final_episodes", "repeats", "evaluations"),
    *("batches", "checkpoint_every", "log_every", "held_out", "validation", "photographs"),
    *("frames", "batch", "queries"),
    *("epochs", "rampdown_epochs", "warmup_epochs", "workers", "checkpoint_minutes"),
    *("pairs", "members", "notebook"),
}
"""What rehearsal.yaml may lower, by the last part of its name."""

OTHERS = {"scale", "device", "style.contact", "audio.main"}
OTHERS |= {"audio.corpora.as_published.precision", "rl.runs_per_job"}
"""What it may set otherwise; no processor has fp16."""


def merged(*overlays: str) -> dict[str, Any]:
    return read_config(ROOT, [ROOT / "config" / name for name in overlays])


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {path: value}
    found: dict[str, Any] = {}
    for key, below in value.items():
        found |= leaves(below, f"{path}.{key}" if path else str(key))
    return found


def warm_jobs(root, *arguments, overlays):
    """What `listed_jobs` returns, by a warm Snakemake; of each job rule and outputs."""
    jobs = Checkout(root).jobs(*arguments, "--configfile", *overlays, config=None)
    return [SimpleNamespace(rule=job["rule_name"], outputs=job["output"]) for job in jobs], []


@pytest.mark.slow
def test_the_rehearsal_runs_the_rules_of_its_scale(tmp_path, monkeypatch):
    copy_checkout(tmp_path)
    monkeypatch.setattr("run.listed_jobs", warm_jobs)
    beyond = planned_rules(tmp_path, ["all"], *FILES["beyond"])
    assert {"rl_download", "style_download_coco", "style_download_weights"} <= beyond
    assert beyond > planned_rules(tmp_path, ["all"], *FILES["paper"])
    assert planned_rules(tmp_path, ["all"], *FILES["beyond"], REHEARSAL) == beyond


def test_the_rehearsal_changes_amounts_alone() -> None:
    scale = ("paper.yaml", "beyond.yaml")
    paper, rehearsal = leaves(merged(*scale)), leaves(merged(*scale, "rehearsal.yaml"))
    assert rehearsal.keys() == paper.keys()
    changed = {path for path in paper if paper[path] != rehearsal[path]}
    assert changed, "the rehearsal lowers nothing"
    for path in changed - OTHERS:
        assert path.rpartition(".")[2] in AMOUNTS, path
        if isinstance(paper[path], list):
            assert all(each in paper[path] for each in rehearsal[path]), path
            assert 0 < len(rehearsal[path]) < len(paper[path]), path
        else:
            assert rehearsal[path] < paper[path], path
