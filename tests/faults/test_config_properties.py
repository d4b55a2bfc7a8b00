"""Whatever stands in a configuration, it is allowed or refused in one line that names the key."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from snakemake.utils import update_config

from triptych.audio.workflow import Workflow
from triptych.core.config import ConfigError, check_config
from triptych.rl.sweep import runs_of
from triptych.style.optimisation.experiments import experiment_runs

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "config" / "schema.yaml"
SOURCES = yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text(encoding="utf-8"))
DEMO = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
PAPER = yaml.safe_load((ROOT / "config" / "paper.yaml").read_text(encoding="utf-8"))
examples = settings(max_examples=60, derandomize=True, deadline=None, database=None)


def places(table: Any, path: tuple = ()) -> list[tuple]:
    """The path of every value, inner ones too."""
    if isinstance(table, dict):
        inner = [places(value, (*path, key)) for key, value in table.items()]
    elif isinstance(table, list):
        inner = [places(value, (*path, at)) for at, value in enumerate(table)]
    else:
        inner = []
    return [path, *(each for part in inner for each in part)]


def holder(config: dict, path: tuple) -> Any:
    for key in path[:-1]:
        config = config[key]
    return config


PLACES = [path for path in places(DEMO) if path]
KEYS = [path for path in PLACES if isinstance(path[-1], str)]
NUMBERS = [path for path in PLACES if type(holder(DEMO, path)[path[-1]]) in (int, float)]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 300),
    st.floats(),
    st.text(max_size=6),
    st.dates(),
    st.sampled_from(["all", "none", "path", "scratch", "\n", "../x", "4000.0", "1e3"]),
)
keys = st.one_of(st.text(max_size=6), st.integers(0, 3), st.sampled_from(["source", "path"]))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module", autouse=True)
def _recorded(tried):
    yield
    tried(
        "wrong input", "config: keys, types, ranges", "one message that names the key", len(REFUSED)
    )


REFUSED: list[str] = []


def judged(config: Any) -> str | None:
    """None where a configuration passes the schema and the tables of runs; else the one message.

    The tables say what they refuse by a ValueError, which the rules hand on as it is.
    """
    try:
        check_config(config, SCHEMA)
    except ConfigError as refused:
        message = str(refused)
        assert message.startswith("config: ")
    else:
        try:
            runs_of(config["rl"])
            Workflow(config, SOURCES)
            style = config["style"]
            experiment_runs(style["optimize"], style["experiments"], style["backbones"])
            return None
        except ValueError as refused:
            message = str(refused)
    assert message.isprintable() and len(message) < 2000, message
    REFUSED.append(message)
    return message


def test_both_scales_pass():
    assert judged(DEMO) is None
    both = copy.deepcopy(DEMO)
    update_config(both, copy.deepcopy(PAPER))
    assert judged(both) is None


@examples
@given(st.sampled_from(KEYS))
def test_a_key_that_is_misspelt_is_named_or_is_one_of_the_users_own_names(path):
    config = copy.deepcopy(DEMO)
    place = holder(config, path)
    place[f"{path[-1]}_"] = place.pop(path[-1])
    message = judged(config)
    # Where names are the user's own (of tasks, paintings, corpora ...) another one is allowed.
    if message is not None:
        assert str(path[-1]) in message


@examples
@given(st.sampled_from(PLACES), values)
def test_any_value_in_any_place_is_allowed_or_refused_in_a_line(path, value):
    config = copy.deepcopy(DEMO)
    holder(config, path)[path[-1]] = value
    message = judged(config)
    if message is not None:
        assert any(str(key) in message for key in path)


@examples
@given(st.sampled_from(NUMBERS), st.sampled_from([-1, math.nan, math.inf, -math.inf, True, "7"]))
def test_no_number_of_the_configuration_may_be_negative_endless_or_none(path, value):
    config = copy.deepcopy(DEMO)
    holder(config, path)[path[-1]] = value
    message = judged(config)
    assert message is not None, (path, value)
    assert str(path[-2] if isinstance(path[-1], int) else path[-1]) in message


@pytest.mark.parametrize("path", [("rl", "training", "updates"), ("style", "optimize", "size")])
def test_a_count_with_a_point_is_no_count(path):
    config = copy.deepcopy(DEMO)
    holder(config, path)[path[-1]] = 4000.0
    assert "allowed is a value of type integer" in judged(config)


@examples
@given(st.dictionaries(st.sampled_from([*DEMO, "unknown"]), values, max_size=3))
def test_an_overlay_of_any_kind_is_laid_over_and_judged(overlay):
    config = copy.deepcopy(DEMO)
    update_config(config, overlay)
    judged(config)


@examples
@given(values)
def test_a_file_that_is_no_configuration_is_refused(value):
    assert judged(value) is not None
