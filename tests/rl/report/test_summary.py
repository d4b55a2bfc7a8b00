"""The first screen of offline RL: shares where the dense policies learned."""

import pandas as pd

from rl.summary import summary
from triptych.rl.tasks.task import NORMALISED

SIZES = pd.DataFrame(
    {"method": method, "format": form, "value": value}
    for method, form, value in (("dense", "dense", 1.0), ("snip", "coo", 0.25))
    for _ in ("actor", "critic", "vae")
)
BEHAVIOUR = {"hopper": 80.0, "walker2d": 90.0}
POLICIES = pd.DataFrame(
    {"task": task, "score_normalised_mean": score, "source": "collected"}
    for task, score in BEHAVIOUR.items()
)


def rl_scores(walker):
    """Table rows of two algorithms on two tasks, one of them also as a mean over tasks and in its
    own unit."""
    return pd.DataFrame(
        {"algorithm": algorithm, "task": task, "method": method, "sparsity_percent": level}
        | {"value": share * dense, "low": share * dense - 1, "high": share * dense + 1}
        | {"ratio_to_dense": share, "ratio_low": share - 0.1, "ratio_high": share + 0.1}
        | {"unit": "return" if task == "own" else NORMALISED}
        for algorithm in ("BCQ", "BC")
        for method, level, share in (("dense", 0, 1.0), ("snip", 95, 0.75), ("grasp", 95, 0.25))
        for task, dense in (("hopper", 80), ("walker2d", walker), ("own", 1), ("all tasks", 40))
    )


def test_offline_rl_shows_shares_where_the_dense_policies_learned():
    shown = summary(SIZES, rl_scores(30), POLICIES, None, observations="normalised", updates=7)
    assert "0.75 [0.65, 0.85] on Hopper" in shown.sentence and "Walker2d" not in shown.sentence
    assert [value for value, _ in shown.numbers] == ["75%", "4.00×"]  # noqa: RUF001
    assert "Walker2d (30 of 90)" in shown.limits and "Hopper" not in shown.limits
    assert [(bar.group, bar.value, bar.strong) for bar in shown.bars.bars] == [
        ("Hopper", 80.0, False),
        ("Hopper", 60.0, True),
        ("Walker2d", 30.0, False),
        ("Walker2d", 22.5, True),
    ]


def test_offline_rl_that_learned_nothing_shows_no_share():
    scores = rl_scores(30)
    nothing = scores[scores["task"] != "hopper"]
    shown = summary(SIZES, nothing, POLICIES, None, observations="normalised", updates=7)
    assert [value for value, _ in shown.numbers] == ["4.00×"]  # noqa: RUF001
    assert "%" not in shown.sentence and "0.75" not in shown.sentence
    own = scores[scores["unit"] != NORMALISED]
    assert not summary(SIZES, own, POLICIES, None, observations="raw", updates=7).bars.bars


def test_offline_rl_shows_both_kinds_of_observations_from_runs_by_seed():
    sensors = pd.DataFrame(
        {"task": task, "observations": seen, "method": method, "sparsity_percent": level}
        | {"seed": seed, "value": value + seed, "unit": NORMALISED, "name": None}
        for task, method, level, seen, value in (
            *(("hopper", "dense", 0, "raw", 90), ("hopper", "snip", 95, "raw", 9)),
            *(("walker2d", "dense", 0, "raw", 20), ("walker2d", "snip", 95, "raw", 4)),
            ("hopper", "dense", 0, "normalised", 1),
        )
        for seed in (-1, 0, 1)
    )
    shown = summary(SIZES, rl_scores(90), POLICIES, sensors, observations="normalised", updates=7)
    assert [value for value, _ in shown.numbers] == ["75%", "6", "4.00×"]  # noqa: RUF001
    assert "0.10 [" in shown.sentence and "Walker2d (20 of 90)" in shown.limits
    hopper = [bar for bar in shown.bars.bars if bar.group == "Hopper"]
    assert [bar.value for bar in hopper] == [80.0, 60.0, 90.0, 9.0]
    assert len({bar.label for bar in hopper}) == 4
