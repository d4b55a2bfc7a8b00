"""Claims of a paper: judges of a run's tables, and what they need of its config.

A claim is a function of tables; its docstring is the rule. Its needs are a function of the config
alone, the same before a run (`predict`) and after it (`judge`); what only a run can know its judge
finds. Two verdicts decide a claim: `REPRODUCED` and `NOT_REPRODUCED`. `UNDECIDED` has an interval
that holds the null value. `SEEN` is the direction that a run found with substitutes for the paper's
weights, data or sizes; it is never counted with the two.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
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


@dataclass(frozen=True)
class Need:
    """A requirement of a claim, met or not.

    what: the requirement in words. here: the value in its place, in words. substitute: name of
    what a run has instead, if that still shows something.
    """

    what: str
    met: bool
    here: str = ""
    substitute: str = ""

    @property
    def message(self) -> str:
        """The requirement, and the value in its place."""
        return f"needs {self.what}{self.here and f' ({self.here})'}"


def at_least(what: str, value: float, least: float, substitute: str = "") -> Need:
    """Need a number of at least `least`."""
    digits = 0 if value == round(value) else 2
    return Need(what, bool(value >= least), f"{value:,.{digits}f} here", substitute)


def one_of(
    what: str, names: Iterable[object], allowed: Collection[object], substitute: str = ""
) -> Need:
    """Need one or several names, each of which is `allowed`."""
    found = set(names)
    return Need(what, bool(found) and found <= set(allowed), _listed(found), substitute)


def no(what: str, names: Iterable[object], substitute: str = "") -> Need:
    """Need an empty list of names."""
    found = set(names)
    return Need(what, not found, _listed(found), substitute)


def all_of(
    what: str, names: Collection[str], required: Collection[str], substitute: str = ""
) -> Need:
    """Need names with every one that is `required`."""
    missing = [name for name in required if name not in names]
    here = f"missing: {', '.join(missing)}"
    if len(missing) > MOST_NAMED:
        here = f"{len(required) - len(missing)} here"
    return Need(what, not missing, here, substitute)


def _listed(names: Collection[object]) -> str:
    return f"{', '.join(sorted(map(str, names))) or 'none'} here"


@dataclass(frozen=True)
class Unmet:
    """Unmet needs of a claim, a sentence each. replaced: those with substitutes, which are named in
    `substitutes`."""

    needed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    substitutes: tuple[str, ...] = ()

    @classmethod
    def of(cls, needs: Iterable[Need]) -> "Unmet":
        """The unmet ones among needs."""
        unmet = [need for need in needs if not need.met]
        return cls(
            tuple(dict.fromkeys(need.message for need in unmet if not need.substitute)),
            tuple(dict.fromkeys(need.message for need in unmet if need.substitute)),
            tuple(dict.fromkeys(need.substitute for need in unmet if need.substitute)),
        )

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
    concluded. partly: why only a part can be concluded. needs: those of the claim of which the run
    knows more than its config. heading: what the numbers are, before them.
    """

    measured: str = ""
    interval: str = ""
    failures: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    partly: list[str] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list, kw_only=True)
    heading: str = field(default="", kw_only=True)

    def add(self, measured: str, interval: str = "") -> None:
        """Append a number, and its interval if it has one."""
        self.measured = "; ".join(filter(None, (self.measured, measured)))
        self.interval = ", ".join(filter(None, (self.interval, interval)))

    def expect(self, holds: bool, failure: str) -> None:
        """Note a part of the claim that does not hold."""
        if not holds:
            self.failures.append(failure)

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
    """A claim, fixed before the run that it judges. rule: when it holds, in words. needs: those of
    a study's Workflow. judge: the comparison of tables, also made where a need is not met."""

    id: str
    rule: str
    needs: Callable[[Any], Iterable[Need]]
    judge: Callable[[Any], Finding]

    def criterion(self, plan: Any) -> str:
        """The rule and the needs, for a reader. plan: a Workflow of the study, any."""
        needs = [*self.needs(plan)]
        needed, replaced = (
            "; ".join(dict.fromkeys(n.what for n in needs if bool(n.substitute) == soft))
            for soft in (False, True)
        )
        counts = f" It counts with {replaced}; else it is {SEEN}." if replaced else ""
        return f"{self.rule}{f' Needs {needed}.' if needed else ''}{counts}"


def claim(
    name: str, needs: Callable[[Any], Iterable[Need]]
) -> Callable[[Callable[[Any], Finding]], Claim]:
    """Make a claim of a judge, whose docstring is the rule: {NAME} in it is a constant of its
    module, so that a bound stands once."""

    def made(judge: Callable[[Any], Finding]) -> Claim:
        constants: dict[str, Any] = getattr(judge, "__globals__", {})
        rule = " ".join((judge.__doc__ or "").split()).format_map(constants)
        return Claim(name, rule, needs, judge)

    return made


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


def predict(claims: Iterable[Claim], plan: Any) -> dict[str, Unmet]:
    """The unmet needs of each claim, by its name. plan: the Workflow of a run's config."""
    return {claim.id: Unmet.of(claim.needs(plan)) for claim in claims}


def judge(claims: Iterable[Claim], plan: Any, tables: Any) -> list[Verdict]:
    """The verdict on each claim. plan: the Workflow of the run's config; tables: what it found."""
    verdicts = []
    for each in claims:
        finding = each.judge(tables)
        unmet = Unmet.of(_answered(each.needs(plan), finding.needs))
        verdicts.append(verdict_of(each.id, unmet, finding))
    return verdicts


def _answered(needs: Iterable[Need], found: Iterable[Need]) -> Iterable[Need]:
    """Needs of a config, in place of which stands what the run found of them, if it did."""
    left = list(found)
    for need in needs:
        answer = next((each for each in left if each.what == need.what), need)
        if answer is not need:
            left.remove(answer)
        yield replace(answer, substitute=need.substitute)


def verdict_of(name: str, unmet: Unmet, finding: Finding) -> Verdict:
    """The verdict that follows from unmet needs and a finding.

    Failures count only if every need is met. A finding with substitutes needs an interval.
    """

    def verdict(word: str, *reasons: str, seen: str = "") -> Verdict:
        measured = finding.heading + finding.measured
        return Verdict(name, word, measured, finding.interval, sentence(reasons), seen)

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
