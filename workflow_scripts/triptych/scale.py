"""The scale of a run: which of the shipped configs its values are, whatever `scale:` says.

A run is of a scale when every value that can change a number equals the shipped one. The digest of
those values is kept here, since an edit of config/paper.yaml must not go on being called the
paper's. tests/test_scale.py says what to write here after the shipped files have changed.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from triptych.core.config import ConfigError, read_config
from triptych.studies import workflows

DEMO, OVERNIGHT, EVENING, PAPER = "demo", "overnight", "evening", "paper"
CUSTOM, REHEARSAL = "custom", "rehearsal"
FILES = {
    DEMO: (),
    OVERNIGHT: ("config/overnight.yaml",),
    EVENING: ("config/paper.yaml", "config/evening.yaml"),
    PAPER: ("config/paper.yaml",),
    REHEARSAL: ("config/paper.yaml", "config/rehearsal.yaml"),
}
"""The shipped overlays that make a scale, each laid over those before it; smaller scales first."""

DIGESTS = {
    DEMO: "8b00c4b39407f578",  # pragma: allowlist secret
    OVERNIGHT: "ef7460001e85a929",  # pragma: allowlist secret
    EVENING: "b2fd40ff9cb34b40",  # pragma: allowlist secret
    PAPER: "d7bb302b41e2c114",  # pragma: allowlist secret
    REHEARSAL: "e97672555eea1a7d",  # pragma: allowlist secret
}

SHARED = ("base", "scale", "device")
"""Keys of no study whose values change no number; each study's stand in its `workflow`."""


def scale_of(config: Mapping[str, Any], root: Path) -> str:
    """The scale that this config's values are; CUSTOM where they are no shipped one's.

    REHEARSAL alone is taken from `scale:`, since no value shows that inputs are made up. Raises
    ConfigError for a config that says PAPER and is not, naming values that differ.
    """
    if config["scale"] == REHEARSAL:
        return REHEARSAL
    digest = values_digest(config)
    found = next((name for name, known in DIGESTS.items() if known == digest), CUSTOM)
    if config["scale"] == PAPER != found:
        raise ConfigError(_refusal(config, root))
    return found


def values_digest(config: Mapping[str, Any]) -> str:
    """Digest of the values that can change a number."""
    return hashlib.sha256(json.dumps(_values(config), sort_keys=True).encode()).hexdigest()[:16]


def shipped(scale: str, root: Path) -> dict[str, Any]:
    """The config of a scale, as its files in `root` have it."""
    return read_config(root, [root / name for name in FILES[scale]])


def larger_than(scale: str) -> list[str]:
    """The shipped scales larger than a run's, the smallest first; all of them for a run of none."""
    names = [name for name in FILES if name != REHEARSAL]
    return names[names.index(scale) + 1 :] if scale in names else names


def nearest(config: Mapping[str, Any], root: Path) -> str:
    """The shipped scale with which a config shares the most values; not the rehearsal."""
    given = set(map(repr, _values(config).items()))

    def shared(scale: str) -> int:
        return len(given & set(map(repr, _values(shipped(scale, root)).items())))

    return max(larger_than(CUSTOM), key=shared)


def _values(config: Mapping[str, Any]) -> dict[str, Any]:
    """Each value that can change a number, by its key with dots."""
    neutral = changes_nothing()
    alike = {key: same for each in workflows().values() for key, same in each.COUNT_AS_ONE.items()}
    return {
        key: min(alike[key]) if value in alike.get(key, ()) else value
        for key, value in _leaves(config, "")
        if not any(fnmatchcase(key, pattern) for pattern in neutral)
    }


def changes_nothing() -> list[str]:
    """Patterns of the keys whose values change no number, of all studies."""
    return [*SHARED, *(key for each in workflows().values() for key in each.CHANGES_NOTHING)]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Values by their keys with dots, in one spelling: 4 and 4.0 are one number."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    else:
        yield path, _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _refusal(config: Mapping[str, Any], root: Path) -> str:
    given, papers = _values(config), _values(shipped(PAPER, root))
    parts = [
        f"{key} is {given.get(key, 'missing')!r}, there {papers.get(key, 'missing')!r}"
        for key in sorted(given.keys() | papers.keys())
        if (key in given, given.get(key)) != (key in papers, papers.get(key))
    ]
    if len(parts) > 4:
        parts[4:] = [f"and {len(parts) - 4} more"]
    told = "; ".join(parts) or "config/paper.yaml itself was edited"
    return (
        f"config: scale is 'paper', but the values are not the paper's: {told}. "
        "Say scale: custom (--config scale=custom)"
    )
