"""A figure or table needs what it shows, at the papers' scale and beyond."""

from collections import Counter

import pytest

OF_VERSION_1 = {
    "style_initialisations": {"initialisations"},
    "style_figure2": {"backbones"},
    "style_figure5": {"optimizers"},
    "style_figure7": {"paintings"},
    "style_figure1": {"paintings"},  # and one network of the three
}
NETWORKS = {"style_train", "style_stylize"}


@pytest.mark.parametrize("product", OF_VERSION_1)
def test_a_figure_of_style_needs_its_own_experiment_and_network(needed, product):
    jobs = needed(product)
    optimised = [job["wildcards"] for job in jobs if job["rule_name"] == "style_optimize"]
    assert {job["experiment"] for job in optimised} == OF_VERSION_1[product]
    painted = [job["wildcards"]["painting"] for job in jobs if job["rule_name"] in NETWORKS]
    assert set(painted) == ({"great_wave"} if product == "style_figure1" else set())


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        ("rl_figure1", {"rl_train": 3, "rl_download": 3}),  # no controls
        ("rl_table1", {"rl_prune": 1, "rl_download": 1}),
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
