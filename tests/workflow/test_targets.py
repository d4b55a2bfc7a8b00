"""A figure or table needs what it shows, at the papers' scale and beyond."""

from collections import Counter

import pytest


def wildcard(jobs, rule, name):
    """Values of a wildcard in the jobs of a rule."""
    return {job["wildcards"][name] for job in jobs if job["rule_name"] == rule}


@pytest.mark.parametrize(
    ("product", "experiment"),
    [
        ("style_initialisations", "initialisations"),
        ("style_figure2", "backbones"),
        ("style_figure5", "optimizers"),
        ("style_figure7", "paintings"),
    ],
)
def test_a_figure_of_version_1_needs_its_own_experiment(needed, product, experiment):
    jobs = needed(product)
    assert wildcard(jobs, "style_optimize", "experiment") == {experiment}
    networks = {"style_download_coco", "style_train", "style_stylize"}
    assert not networks & {job["rule_name"] for job in jobs}


def test_figure_1_needs_one_network_of_the_three(needed):
    jobs = needed("style_figure1")
    assert wildcard(jobs, "style_optimize", "experiment") == {"paintings"}
    for rule in ("style_train", "style_stylize"):
        assert wildcard(jobs, rule, "painting") == {"great_wave"}


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        ("rl_figure1", {"rl_train": 3, "rl_download": 3}),  # no controls
        ("rl_figure2_curves", {"rl_train": 3, "rl_download": 3}),
        ("rl_table1", {"rl_prune": 1, "rl_download": 1}),
        ("rl_figure3", {"rl_prune": 3, "rl_download": 3}),
        ("rl_variants", {"rl_train": 12, "rl_download": 3}),
        ("audio_table1", {"audio_caption": 1}),
        ("audio_figure2", {"audio_pretrain": 1, "audio_finetune": 1}),
    ],
)
def test_a_figure_or_table_waits_for_the_runs_that_it_shows(needed, product, expected):
    counts = Counter(job["rule_name"] for job in needed(product))
    assert {rule: counts[rule] for rule in expected} == expected
    trained = {"rl_train", "rl_prune", "audio_pretrain", "audio_finetune"}
    assert not trained & counts.keys() - expected.keys()
