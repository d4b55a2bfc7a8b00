"""Claims of a paper as records: the comparison, and what a run needs for it.

The same needs tell before a run whether its config can test a claim (`predict`), and after it why
it could not (`judge`). Two verdicts decide a claim: `REPRODUCED` and `NOT_REPRODUCED`. `UNDECIDED`
has an interval that holds the null value. `SEEN` is the direction that a run found with
substitutes for the paper's weights, data or sizes; it is never counted with the two.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.core.files import write_csv

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
UNDECIDED = "undecided"
SEEN = "seen with substitutes"
NOT_TESTABLE = "not testable at this scale"
AGREES, DISAGREES, INCONCLUSIVE = "agrees", "disagrees", "too noisy"
"""Directions seen with substitutes; inconclusive where an interval holds the null value."""
DECIDES, WITH_SUBSTITUTES, NO = "yes", "with substitutes", "no"
"""Whether a config will decide a claim."""
ENOUGH_DATA = 0.9
"""Share of published data that a run needs: of AudioCaps' videos 7 to 8% are gone."""
REHEARSAL = "rehearsal"
"""Scale of a run on made-up inputs, which tests no claim."""

MOST_NAMED = 3
"""Missing things that a sentence names; of more it gives the number that is there."""

Facts = Mapping[str, Any]
"""Facts of a run by name: a number, a truth value, or several names."""


@dataclass(frozen=True)
class Need:
    """A requirement on one fact of a run.

    fact: name of the fact. what: the requirement in words. substitute: name of what a run has in
    its place, if that still shows something.
    """

    fact: str
    what: str
    substitute: str = field(default="", kw_only=True)

    def met(self, value: Any) -> bool:
        """Whether the fact's value meets the requirement."""
        raise NotImplementedError

    def message(self, value: Any) -> str:
        """The requirement and the value that does not meet it."""
        if isinstance(value, bool):
            return f"needs {self.what}"
        if isinstance(value, int | float):
            return f"needs {self.what} ({value:,.{0 if value == round(value) else 2}f} here)"
        return f"needs {self.what} ({', '.join(sorted(map(str, value))) or 'none'} here)"


@dataclass(frozen=True)
class IsTrue(Need):
    """A fact that is true, or a collection that is not empty."""

    def met(self, value: Any) -> bool:
        """Whether the value is true, or not empty."""
        return bool(value)


@dataclass(frozen=True)
class AtLeast(Need):
    """A number of at least `least`."""

    least: float

    def met(self, value: Any) -> bool:
        """Whether the number is large enough."""
        return bool(value >= self.least)


@dataclass(frozen=True)
class AtMost(Need):
    """A number, or a collection's size, of at most `most`."""

    most: float

    def met(self, value: Any) -> bool:
        """Whether the number or size is small enough."""
        return (value if isinstance(value, int | float) else len(value)) <= self.most


@dataclass(frozen=True)
class OneOf(Need):
    """One or several names, each of which is `allowed`."""

    allowed: Collection[object]

    def met(self, value: Any) -> bool:
        """Whether there is a name, and every name is allowed."""
        return bool(value) and set(value) <= set(self.allowed)


@dataclass(frozen=True)
class AllOf(Need):
    """Names with every one that is `required`."""

    required: Collection[str]

    def met(self, value: Any) -> bool:
        """Whether every required name is there."""
        return set(self.required) <= set(value)

    def message(self, value: Any) -> str:
        """The requirement and the missing names."""
        missing = [name for name in self.required if name not in value]
        if len(missing) > MOST_NAMED:
            return f"needs {self.what} ({len(self.required) - len(missing)} here)"
        return f"needs {self.what} (missing: {', '.join(missing)})"


@dataclass(frozen=True)
class Unmet:
    """Unmet needs of a claim, a sentence each. replaced: those with substitutes, which are named in
    `substitutes`."""

    needed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    substitutes: tuple[str, ...] = ()

    @property
    def decided(self) -> str:
        """Whether the claim can be decided: DECIDES, WITH_SUBSTITUTES or NO."""
        if self.needed:
            return NO
        return WITH_SUBSTITUTES if self.replaced else DECIDES

    def text(self, most: int = 2) -> str:
        """The first `most` sentences, and the number of the others."""
        every = (*self.needed, *self.replaced)
        more = [f"and {len(every) - most} more"] if len(every) > most else []
        return "; ".join([*every[:most], *more])


@dataclass
class Finding:
    """The result of a comparison, which a judge fills part by part.

    measured, interval: numbers and their intervals as text. failures: parts of the claim that do
    not hold. unclear: parts whose interval holds the null value. obstacles: why nothing can be
    concluded. partly: why only a part can be concluded. heading: what the numbers are, before them.
    """

    measured: str = ""
    interval: str = ""
    failures: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    partly: list[str] = field(default_factory=list)
    heading: str = field(default="", kw_only=True)

    def add(self, measured: str, interval: str = "") -> None:
        """Append a number, and its interval if it has one."""
        self.measured = "; ".join(filter(None, (self.measured, measured)))
        self.interval = ", ".join(filter(None, (self.interval, interval)))

    def require(self, side: int, failure: str, doubt: str) -> None:
        """Note a part of the claim where it does not hold, or may not.

        side: 1 where its interval lies on the claimed side of the null value, -1 where it lies on
        the other (`failure`), 0 where it holds the null value (`doubt`).
        """
        if side < 0:
            self.failures.append(failure)
        elif side == 0:
            self.unclear.append(doubt)


@dataclass(frozen=True)
class Claim:
    """A claim, fixed before the run that it judges. rule: when it holds, in words. needs:
    requirements on the run. judge: the comparison, also made where a need is not met."""

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

    def unmet(self, facts: Facts, *, planned: bool = False) -> Unmet:
        """The needs that these facts do not meet. planned: a missing fact counts as met."""
        unmet = [
            need
            for need in self.needs
            if not (planned and need.fact not in facts) and not need.met(facts[need.fact])
        ]

        def messages(*, has_substitute: bool) -> tuple[str, ...]:
            chosen = [need for need in unmet if bool(need.substitute) == has_substitute]
            return tuple(dict.fromkeys(need.message(facts[need.fact]) for need in chosen))

        substitutes = dict.fromkeys(need.substitute for need in unmet if need.substitute)
        return Unmet(
            messages(has_substitute=False), messages(has_substitute=True), tuple(substitutes)
        )


@dataclass(frozen=True)
class Verdict:
    """The verdict of a run on one claim: the numbers behind it, their intervals (empty if none
    applies) and the reason, a sentence. seen: the direction seen with substitutes, and their
    names."""

    id: str
    verdict: str
    measured: str
    interval: str
    reason: str
    seen: str = ""


def judge(claims: Iterable[Claim], facts: Facts, run: Any) -> list[Verdict]:
    """The verdict on each claim. facts: of the run; run: what the judges compare."""
    return [verdict_of(claim, claim.unmet(facts), claim.judge(run)) for claim in claims]


def predict(claims: Iterable[Claim], facts: Facts) -> dict[str, Unmet]:
    """The unmet needs of a run that has not begun, by claim. facts: those that its config gives."""
    return {claim.id: claim.unmet(facts, planned=True) for claim in claims}


def verdict_of(claim: Claim, unmet: Unmet, finding: Finding) -> Verdict:
    """The verdict that follows from unmet needs and a finding.

    Failures count only if every need is met. A finding with substitutes needs an interval.
    """

    def verdict(word: str, *reasons: str, seen: str = "") -> Verdict:
        measured = finding.heading + finding.measured
        return Verdict(claim.id, word, measured, finding.interval, sentence(reasons), seen)

    needed = (*unmet.needed, *finding.obstacles)
    replaced = (*unmet.replaced, *finding.partly)
    if needed or (replaced and not finding.interval):
        return verdict(NOT_TESTABLE, *needed, *replaced)
    if replaced:
        direction = DISAGREES if finding.failures else INCONCLUSIVE if finding.unclear else AGREES
        others = [*unmet.substitutes, *(["fewer cases"] if finding.partly else [])]
        seen = f"{direction}, with {' and '.join(', '.join(others).rsplit(', ', 1))}"
        return verdict(SEEN, *finding.failures, *finding.unclear, *replaced, seen=seen)
    if finding.failures:
        return verdict(NOT_REPRODUCED, *finding.failures)
    if finding.unclear:
        return verdict(UNDECIDED, *finding.unclear)
    return verdict(REPRODUCED, "every part of the criterion holds")


def sentence(parts: Sequence[str]) -> str:
    """Parts joined as one sentence."""
    text = "; ".join(dict.fromkeys(parts))
    return text[:1].upper() + text[1:] + "."


def write_claims(verdicts: Sequence[Verdict], scale: str, path: str | Path) -> pd.DataFrame:
    """Write the claims as CSV: id, verdict, measured, interval, scale, reason, seen.

    At the scale REHEARSAL every verdict is NOT_TESTABLE.
    """
    if scale == REHEARSAL:
        reason = "This was a rehearsal: its inputs are made up."
        verdicts = [
            replace(record, verdict=NOT_TESTABLE, reason=reason, seen="") for record in verdicts
        ]
    frame = pd.DataFrame([asdict(verdict) for verdict in verdicts])
    frame.insert(4, "scale", scale)
    write_csv(frame, path)
    return frame
