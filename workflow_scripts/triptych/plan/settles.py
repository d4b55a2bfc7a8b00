"""Which claims a run will decide, from its config alone, and the least change that decides another.

The judge of each study's claims is asked about the files that the config promises
(`<study>/promised.py`), so that what a claim needs stands in the claims' own code alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from triptych.core.config import ConfigError, merged
from triptych.report.verdicts import NOT, NOT_TESTABLE, ON_ITS_DATA, ON_OTHER_DATA, Verdict
from triptych.studies import NAMES

Config = Mapping[str, Any]
DEPTH = 3
"""Keys below each other by which a change is told; what lies deeper changes together."""
TRIED = 4
"""Claims of a study for which the least change is looked for."""
TOLD = 2
"""Reasons that a table has room for."""


@dataclass(frozen=True)
class Change:
    """Values of one config that another one lacks, by their keys with dots, and the claims that
    they decide."""

    values: Mapping[str, Any]
    claims: tuple[str, ...]

    def overlay(self) -> dict[str, Any]:
        """What a file would say to be laid over the config."""
        found: dict[str, Any] = {}
        for path, value in self.values.items():
            found = merged(found, _nested(path.split("."), value))
        return found


def foreseen(config: Config, sources: Config, study: str) -> dict[str, Verdict]:
    """A study's verdicts by claim; how they come out means nothing, but for whether they do.

    Raises ConfigError where the study's values don't allow each other.
    """
    wing = import_module(f"triptych.{study}.workflow").Workflow(config, sources)
    judge = import_module(f"triptych.{study}.promised")
    return {verdict.id: verdict for verdict in judge.foreseen(wing, config["device"] == "cuda")}


def all_foreseen(config: Config, sources: Config) -> dict[str, Verdict]:
    """Those of all studies."""
    return {
        claim: verdict
        for study in NAMES
        for claim, verdict in foreseen(config, sources, study).items()
    }


def decided(verdict: Verdict) -> str:
    """Whether the run will decide it: ON_ITS_DATA, ON_OTHER_DATA or NOT."""
    if verdict.verdict == NOT_TESTABLE:
        return NOT
    return ON_OTHER_DATA if verdict.wanting else ON_ITS_DATA


def phrase(verdict: Verdict) -> str:
    """Why it isn't decided, or on which other data."""
    told = "; ".join(verdict.wanting[:TOLD])
    more = len(verdict.wanting) - TOLD
    return told + (f"; and {more} more" if more > 0 else "")


def least_changes(config: Config, donors: Sequence[Config], sources: Config) -> list[Change]:
    """For the claims that a config leaves open and that lack least, a few of each study: the values
    of the first donor that decides it without which it would stay open.

    Claims that the same values decide share a Change.
    """
    found: dict[tuple[str, ...], tuple[dict[str, Any], list[str]]] = {}
    for study in NAMES:
        for claim, values in _changes_of(study, config, donors, sources):
            found.setdefault(tuple(values), (values, []))[1].append(claim)
    return [Change(values, tuple(claims)) for values, claims in found.values()]


def _changes_of(
    study: str, config: Config, donors: Sequence[Config], sources: Config
) -> Iterator[tuple[str, dict[str, Any]]]:
    verdicts = foreseen(config, sources, study)
    still = [claim for claim, verdict in verdicts.items() if decided(verdict) == NOT]
    still = sorted(still, key=lambda claim: len(verdicts[claim].wanting))
    told = 0
    for donor in donors:
        judge = _Judge(config, donor, sources, study)
        able = judge.decided(frozenset(judge.values))
        for claim in [each for each in still if each in able][: TRIED - told]:
            yield claim, {path: judge.values[path] for path in judge.least(claim)}
            told += 1
        still = [each for each in still if each not in able]


class _Judge:
    """What a study's judge says of a config with some of a donor's values, remembered.

    values: those in which the donor differs, of the study and of what all share
    """

    def __init__(self, config: Config, donor: Config, sources: Config, study: str) -> None:
        self._config, self._sources, self._study = config, sources, study
        self.values: dict[str, Any] = {}
        for key in ("device", study):
            self.values |= _different(config.get(key), donor.get(key), key)
        self._known: dict[frozenset[str], set[str]] = {}

    def decided(self, paths: frozenset[str]) -> set[str]:
        """Claims that are decided with these values; none where they don't fit together."""
        if paths not in self._known:
            overlay = Change({path: self.values[path] for path in sorted(paths)}, ()).overlay()
            try:
                verdicts = foreseen(merged(self._config, overlay), self._sources, self._study)
            except (ConfigError, KeyError, ValueError):
                verdicts = {}
            self._known[paths] = {c for c, v in verdicts.items() if decided(v) != NOT}
        return self._known[paths]

    def least(self, claim: str) -> list[str]:
        """Values none of which can be left out: whole sections are tried first."""
        kept = list(self.values)
        sections = dict.fromkeys(".".join(path.split(".")[:2]) for path in kept)
        for part in (*sections, *kept):
            rest = [path for path in kept if path != part and not path.startswith(f"{part}.")]
            if len(rest) < len(kept) and claim in self.decided(frozenset(rest)):
                kept = rest
        return kept


def _different(one: Any, other: Any, path: str) -> dict[str, Any]:
    """The other's values that differ, told by at most DEPTH keys; what lies deeper is one value."""
    if one == other:
        return {}
    both = isinstance(one, Mapping) and isinstance(other, Mapping)
    if not both or path.count(".") + 1 >= DEPTH:
        return {path: other}
    return {
        name: value
        for key in other
        for name, value in _different(one.get(key), other[key], f"{path}.{key}").items()
    }


def _nested(keys: Sequence[str], value: Any) -> Any:
    return {keys[0]: _nested(keys[1:], value)} if keys else value
