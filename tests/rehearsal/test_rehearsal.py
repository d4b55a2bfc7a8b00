"""The rehearsal is of the papers and what lies beyond: rules, shapes, sizes and formats."""

from functools import reduce
from operator import getitem
from types import SimpleNamespace

import pytest
from run import REHEARSAL, ROOT, copy_checkout, planned_rules
from tiny_checkout import Checkout

from triptych.core.config import read_config
from triptych.scale import FILES

SCALES = (FILES["beyond"], (*FILES["beyond"], REHEARSAL))
SHAPES = (
    *("rl.widths", "rl.training.batch", "style.network", "style.losses", "style.contents"),
    *("style.optimize.size", "style.training.schedule.size", "audio.audio_models"),
    *("audio.text_models", "audio.model", "audio.stages.common.longest_seconds"),
)


def warm_jobs(root, *arguments, overlays):
    """What `listed_jobs` returns, by a warm Snakemake; of each job the rule alone."""
    jobs = Checkout(root).jobs(*arguments, "--configfile", *overlays, config=None)
    return [SimpleNamespace(rule=job["rule_name"]) for job in jobs], []


@pytest.mark.slow
def test_the_rehearsal_runs_the_rules_of_its_scale(tmp_path, monkeypatch):
    copy_checkout(tmp_path)
    monkeypatch.setattr("run.listed_jobs", warm_jobs)
    beyond = planned_rules(tmp_path, ["all"], *FILES["beyond"])
    assert {"rl_download", "style_download_coco", "style_download_weights"} <= beyond
    assert beyond > planned_rules(tmp_path, ["all"], *FILES["paper"])
    assert planned_rules(tmp_path, ["all"], *FILES["beyond"], REHEARSAL) == beyond


@pytest.mark.parametrize("key", SHAPES)
def test_the_rehearsal_has_the_papers_networks_and_shapes(key: str) -> None:
    paper, rehearsal = (read_config(ROOT, [ROOT / name for name in names]) for names in SCALES)
    assert reduce(getitem, key.split("."), paper) == reduce(getitem, key.split("."), rehearsal)
