"""The scale of a run: which of the shipped configs its values equal, whatever `scale:` says."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from triptych.core.config import ConfigError, read_config
from triptych.studies import workflows

DEMO, OVERNIGHT, EVENING, PAPER, BEYOND = "demo", "overnight", "evening", "paper", "beyond"
CUSTOM, REHEARSAL = "custom", "rehearsal"
FILES = {
    DEMO: (),
    OVERNIGHT: ("config/overnight.yaml",),
    EVENING: ("config/paper.yaml", "config/evening.yaml"),
    PAPER: ("config/paper.yaml",),
    BEYOND: ("config/paper.yaml", "config/beyond.yaml"),
    REHEARSAL: ("config/paper.yaml", "config/beyond.yaml", "config/rehearsal.yaml"),
}
"""Files of each scale, each laid over those before it; smaller scales first."""

SHARED = ("base", "scale", "device", "resume")
"""Keys of no study whose values change no number; each study's stand in its `workflow`."""


def scale_of(config: Mapping[str, Any], root: Path) -> str:
    """The scale whose files in `root` have this config's values; CUSTOM if none has.

    REHEARSAL alone is taken from `scale:`, since no value shows that inputs are made up. Raises
    ConfigError for a config that says PAPER and is not, naming values that differ.
    """
    if config["scale"] == REHEARSAL:
        return REHEARSAL
    values = _values(config)
    scale = next((name for name in FILES if _shipped(name, root) == values), CUSTOM)
    if config["scale"] == PAPER != scale:
        raise ConfigError(_refusal(values, _shipped(PAPER, root)))
    return scale


def shipped(scale: str, root: Path) -> dict[str, Any]:
    """The config of a scale, from its files in `root`."""
    return read_config(root, [root / name for name in FILES[scale]])


def nearest(config: Mapping[str, Any], root: Path) -> str:
    """The shipped scale with which a config shares the most values, REHEARSAL excepted."""
    values = set(map(repr, _values(config).items()))

    def shared(scale: str) -> int:
        return len(values & set(map(repr, _shipped(scale, root).items())))

    return max((name for name in FILES if name != REHEARSAL), key=shared)


@cache
def _shipped(scale: str, root: Path) -> dict[str, Any]:
    """The values of a scale that can change a number, by key."""
    return _values(shipped(scale, root))


def _values(config: Mapping[str, Any]) -> dict[str, Any]:
    """The values that can change a number, by keys such as rl.training.batch."""
    neutral = neutral_keys()
    alike = {
        key: same for study in workflows().values() for key, same in study.EQUIVALENT_VALUES.items()
    }
    return {
        key: min(alike[key]) if value in alike.get(key, ()) else value
        for key, value in _leaves(config, "")
        if not any(fnmatchcase(key, pattern) for pattern in neutral)
    }


def neutral_keys() -> list[str]:
    """Patterns of the keys whose values change no number, of all studies."""
    return [*SHARED, *(key for study in workflows().values() for key in study.NEUTRAL_KEYS)]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Values by key; 4 and 4.0 compare as equal."""
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from _leaves(entry, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _refusal(given: Mapping[str, Any], papers: Mapping[str, Any]) -> str:
    parts = [
        f"{key} is {given.get(key, 'missing')!r}, there {papers.get(key, 'missing')!r}"
        for key in sorted(given.keys() | papers.keys())
        if (key in given, given.get(key)) != (key in papers, papers.get(key))
    ]
    if len(parts) > 4:
        parts[4:] = [f"and {len(parts) - 4} more"]
    return (
        f"config: scale is 'paper', but the values are not the paper's: {'; '.join(parts)}. "
        "Say scale: custom (--config scale=custom)"
    )
