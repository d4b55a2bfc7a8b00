"""Claims of a paper as records: what is compared, and what a run must have for that.

The same needs say before a run whether a config can test a claim (`foreseen`), and after it why
it could not (`judged`). Two verdicts decide a claim. `UNDECIDED` is one whose interval holds the
null value. `SEEN` says what a run found with substitutes for the paper's weights, data or sizes,
and in which direction; it is never counted with the two.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.core.files import write_csv

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
UNDECIDED = "undecided"
SEEN = "seen with substitutes"
NOT_TESTABLE = "not testable at this scale"
AGREES, DISAGREES, NOISY = "agrees", "disagrees", "too noisy"
"""What is seen with substitutes; too noisy where an interval holds the null value."""
ON_ITS_DATA, WITH_SUBSTITUTES, NOT = "yes", "with substitutes", "no"
"""Whether a config will decide a claim."""
ENOUGH_DATA = 0.9
"""The part of published data that must have been there: of AudioCaps' videos 7 to 8% are gone."""
REHEARSAL = "rehearsal"
"""The scale of a run on made-up inputs: no claim can be tested there."""

MOST_NAMED = 3
"""Missing things that a sentence names; of more it says how many are there."""

Facts = Mapping[str, Any]
"""What a run is like, by name: a number, a truth value, or several names."""


@dataclass(frozen=True)
class Need:
    """One thing that a run must have to test a claim.

    fact: its name among the facts of a run. what: the need in words. The fact is a number of at
    least `least`; at most `most` (of a collection: how many names it has); names, at least one, all
    `among` some; names with `every` one of some; or else true. substitute: what stands in its
    place in a run without it, where that still shows something.
    """

    fact: str
    what: str
    least: float | None = None
    most: float | None = None
    among: Collection[object] | None = None
    every: Collection[str] | None = None
    substitute: str = ""

    def met(self, found: Any) -> bool:
        """Whether a fact is as it must be."""
        if self.least is not None:
            return bool(found >= self.least)
        if self.most is not None:
            return (found if isinstance(found, int | float) else len(found)) <= self.most
        if self.among is not None:
            return bool(found) and set(found) <= set(self.among)
        return set(self.every) <= set(found) if self.every is not None else bool(found)

    def told(self, found: Any) -> str:
        """The sentence for a run whose fact is another."""
        if isinstance(found, bool):
            return f"needs {self.what}"
        if isinstance(found, int | float):
            return f"needs {self.what} ({found:,.{0 if found == round(found) else 2}f} here)"
        if self.every is None:
            return f"needs {self.what} ({', '.join(sorted(map(str, found))) or 'none'} here)"
        missing = [name for name in self.every if name not in found]
        if len(missing) > MOST_NAMED:
            return f"needs {self.what} ({len(self.every) - len(missing)} here)"
        return f"needs {self.what} (missing: {', '.join(missing)})"


@dataclass(frozen=True)
class Lacking:
    """What a run lacks to test a claim, a sentence each. replaced: for which there is something
    else, named in `substitutes`."""

    needed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    substitutes: tuple[str, ...] = ()

    @property
    def decided(self) -> str:
        """Whether the claim can be decided: ON_ITS_DATA, WITH_SUBSTITUTES or NOT."""
        if self.needed:
            return NOT
        return WITH_SUBSTITUTES if self.replaced else ON_ITS_DATA

    def text(self, most: int = 2) -> str:
        """The first few sentences, and how many more there are."""
        every = (*self.needed, *self.replaced)
        more = [f"and {len(every) - most} more"] if len(every) > most else []
        return "; ".join([*every[:most], *more])


@dataclass(frozen=True)
class Finding:
    """What comparing gave. measured, interval: the figures and their intervals as text; failures:
    parts of the claim that do not hold; unclear: parts whose interval holds the null value;
    obstacles: why it says nothing after all; partly: why it says something of a part alone."""

    measured: str
    interval: str = ""
    failures: Sequence[str] = ()
    unclear: Sequence[str] = ()
    obstacles: Sequence[str] = ()
    partly: Sequence[str] = ()


@dataclass(frozen=True)
class Claim:
    """A claim, fixed before the run that it judges. rule: when it holds, in words. needs: of a run.
    judge: compares what was measured, also where a need is not met."""

    id: str
    rule: str
    needs: Sequence[Need]
    judge: Callable[[Any], Finding]

    @property
    def criterion(self) -> str:
        """The rule and the needs, for a reader."""
        needed, replaced = (
            "; ".join(dict.fromkeys(n.what for n in self.needs if bool(n.substitute) == soft))
            for soft in (False, True)
        )
        counts = f" It counts with {replaced}; else it is {SEEN}." if replaced else ""
        return f"{self.rule}{f' Needs {needed}.' if needed else ''}{counts}"

    def lacking(self, facts: Facts, *, planned: bool = False) -> Lacking:
        """What a run with these facts lacks. planned: facts that aren't there yet may be met."""
        unmet = [
            need
            for need in self.needs
            if not (planned and need.fact not in facts) and not need.met(facts[need.fact])
        ]
        needed, replaced = (
            tuple(dict.fromkeys(n.told(facts[n.fact]) for n in unmet if bool(n.substitute) == soft))
            for soft in (False, True)
        )
        substitutes = dict.fromkeys(need.substitute for need in unmet if need.substitute)
        return Lacking(needed, replaced, tuple(substitutes))


@dataclass(frozen=True)
class Verdict:
    """What a run says about one claim: the figures behind it, their intervals (empty where none
    applies) and why, in a sentence. seen: with substitutes, the direction and what they are."""

    id: str
    verdict: str
    measured: str
    interval: str
    reason: str
    seen: str = ""


def judged(claims: Iterable[Claim], facts: Facts, run: Any) -> list[Verdict]:
    """The verdict on each claim. facts: of the run; run: what the judges compare."""
    return [verdict_of(claim, claim.lacking(facts), claim.judge(run)) for claim in claims]


def foreseen(claims: Iterable[Claim], facts: Facts) -> dict[str, Lacking]:
    """What a run that has not begun will lack, by claim. facts: as far as its config says."""
    return {claim.id: claim.lacking(facts, planned=True) for claim in claims}


def verdict_of(claim: Claim, lacking: Lacking, found: Finding) -> Verdict:
    """The verdict that follows from what a run lacks and from what it found. Failures count only
    where nothing stands in the way; what is seen with substitutes has an interval, or says why
    there is none."""

    def verdict(word: str, *reasons: str, seen: str = "") -> Verdict:
        return Verdict(claim.id, word, found.measured, found.interval, sentence(reasons), seen)

    needed = (*lacking.needed, *found.obstacles)
    replaced = (*lacking.replaced, *found.partly)
    if needed or (replaced and not found.interval):
        return verdict(NOT_TESTABLE, *needed, *replaced)
    if replaced:
        direction = DISAGREES if found.failures else NOISY if found.unclear else AGREES
        others = [*lacking.substitutes, *(["fewer cases"] if found.partly else [])]
        seen = f"{direction}, with {' and '.join(', '.join(others).rsplit(', ', 1))}"
        return verdict(SEEN, *found.failures, *found.unclear, *replaced, seen=seen)
    if found.failures:
        return verdict(NOT_REPRODUCED, *found.failures)
    if found.unclear:
        return verdict(UNDECIDED, *found.unclear)
    return verdict(REPRODUCED, "every part of the criterion holds")


def sentence(parts: Sequence[str]) -> str:
    """Parts joined as one sentence."""
    text = "; ".join(dict.fromkeys(parts))
    return text[:1].upper() + text[1:] + "."


def write_claims(verdicts: Sequence[Verdict], scale: str, path: str | Path) -> pd.DataFrame:
    """Write results/claims.csv: id, verdict, measured, interval, scale, reason, seen.

    At the scale REHEARSAL every verdict is NOT_TESTABLE.
    """
    if scale == REHEARSAL:
        reason = "This was a rehearsal: its inputs are made up."
        verdicts = [
            replace(each, verdict=NOT_TESTABLE, reason=reason, seen="") for each in verdicts
        ]
    frame = pd.DataFrame([asdict(verdict) for verdict in verdicts])
    frame.insert(4, "scale", scale)
    write_csv(frame, path)
    return frame
