"""A scale is what was run: the shipped values give it, and nothing that a config says of itself."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from triptych.core.config import ConfigError, merged
from triptych.scale import FILES, nearest, neutral_keys, scale_of, shipped

ROOT = Path(__file__).parents[1]


def changed(scale: str, path: str, value: object) -> dict[str, Any]:
    """A shipped config with one value set, by its key with dots."""
    overlay: Any = value
    for key in reversed(path.split(".")):
        overlay = {key: overlay}
    return merged(shipped(scale, ROOT), overlay)


@pytest.mark.parametrize("scale", FILES)
def test_the_shipped_values_have_their_scale_whatever_they_call_it(scale: str) -> None:
    assert scale_of(shipped(scale, ROOT), ROOT) == scale
    assert scale_of(changed(scale, "scale", "custom"), ROOT) == scale


@pytest.mark.parametrize(
    ("path", "value"),
    [("rl.training.updates", 100), ("style.backbones.vgg.weights", "embedded"), ("a_new_key", 1)],
)
def test_a_config_that_says_paper_and_is_not_is_refused_by_what_differs(
    path: str, value: object
) -> None:
    config = changed("paper", path, value)
    with pytest.raises(ConfigError, match=path.replace(".", r"\.")) as refused:
        scale_of(config, ROOT)
    assert "scale: custom" in str(refused.value)
    assert scale_of({**config, "scale": "custom"}, ROOT) == "custom"
    assert scale_of({**config, "scale": "demo"}, ROOT) == "custom"


def test_the_demo_that_calls_itself_the_paper_is_refused_with_a_few_names_of_many() -> None:
    config = {**shipped("demo", ROOT), "scale": "paper"}
    with pytest.raises(ConfigError, match=r"audio\..*; and \d+ more\. Say scale: custom"):
        scale_of(config, ROOT)


def test_a_custom_config_is_nearest_to_what_it_was_laid_over() -> None:
    assert nearest(changed("demo", "rl.training.updates", 1001), ROOT) == "demo"
    assert nearest(changed("overnight", "rl.training.updates", 1001), ROOT) == "overnight"


def test_a_demo_with_another_value_is_custom() -> None:
    updates = shipped("demo", ROOT)["rl"]["training"]["updates"]
    assert scale_of(changed("demo", "rl.training.updates", updates + 1), ROOT) == "custom"
    assert scale_of(changed("demo", "rl.training.updates", float(updates)), ROOT) == "demo"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("device", "cpu"),
        ("audio.captions.prices.input", 1.0),
        ("audio.sources.audiocaps", {"source": "path", "path": "/my/audiocaps"}),
    ],
)
def test_what_changes_no_number_changes_no_scale(path: str, value: object) -> None:
    assert scale_of(changed("paper", path, value), ROOT) == "paper"


def test_every_key_that_changes_nothing_is_a_key_of_some_config() -> None:
    """So that a renamed key does not silently begin to count."""

    def of(table: Any, path: str) -> set[str]:
        if not isinstance(table, dict) or not table:
            return {path}
        return {key for name, value in table.items() for key in of(value, f"{path}.{name}")}

    keys = {key[1:] for scale in FILES for key in of(shipped(scale, ROOT), "")}
    keys.add("audio.sources.audiocaps.path")  # of a copy of one's own
    unused = [each for each in neutral_keys() if not any(fnmatchcase(key, each) for key in keys)]
    assert not unused
