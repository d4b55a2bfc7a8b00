"""The page's first screen: a row for each claim and headline number, published beside ours."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from triptych.report.claims import NOT_TESTABLE
from triptych.report.tables import DASH, MINUS, percent

LONGEST = 110
"""Letters of a cell, in whole phrases; below the claim stands the rest."""
_PHRASES = (re.compile("; "), re.compile(r", (?![^\[]*\])"))
"""What ends a phrase; a comma only where the first phrase is too long, and none in brackets."""
TOLD = 2
"""Reasons shown in a row."""
COMPARED, NOT_COMPARED = "compared", "not comparable"
"""What stands in place of a verdict beside a number that is no claim's."""


@dataclass(frozen=True)
class Headline:
    """A published number beside this run's.

    unit: behind both, with its space. claim: whose number it is, "" for a row of its own. unlike:
    why the two can't be compared, or "". points: the distance is a difference in the unit, not a
    percentage of what was published. interval: of ours, as text.
    """

    text: str
    where: str
    published: float
    ours: float
    unit: str
    digits: int
    interval: str = ""
    claim: str = ""
    unlike: str = ""
    points: bool = False

    def shown(self, value: float) -> str:
        """A number as the row shows it."""
        return DASH if value != value else f"{value:,.{self.digits}f}{self.unit}"

    def distance(self) -> str:
        """From what was published to ours."""
        if self.ours != self.ours:
            return DASH
        if self.points:
            return f"{self.ours - self.published:+.{self.digits}f}{self.unit}".replace("-", MINUS)
        return percent(100 * (self.ours / self.published - 1), 1)


@dataclass(frozen=True)
class PageClaim:
    """A claim of a paper with this run's verdict and the rule that led to it.

    published: what the paper says, in a few words. price: what it would take to test it. seen: with
    substitutes, the direction and what they are.
    """

    id: str
    claim: str
    where: str
    criterion: str
    verdict: str
    measured: Sequence[str]
    interval: str
    reason: Sequence[str]
    published: str = ""
    price: str = ""
    seen: str = ""

    @property
    def mark(self) -> str:
        """The direction that was seen with substitutes, or else the verdict."""
        return self.seen.partition(", ")[0] or self.verdict

    @property
    def instead(self) -> str:
        """With what substitutes."""
        return self.seen.partition(", ")[2]


@dataclass(frozen=True)
class Score:
    """A row. anchor: of what it is about on the page. instead: with what substitutes it was seen.
    price: where it could not be tested."""

    text: str
    where: str
    anchor: str
    published: str
    ours: str
    interval: str
    distance: str
    verdict: str
    instead: str
    price: str


def scores(claims: Iterable[PageClaim], numbers: Sequence[Headline]) -> list[Score]:
    """Claims first, with the number of theirs where there is one; then the other numbers."""
    of_claim = {entry.claim: entry for entry in numbers if entry.claim}
    rows = [_of_claim(claim, of_claim.get(claim.id)) for claim in claims]
    for entry in numbers:
        if not entry.claim:
            shown = entry.shown(entry.published), entry.shown(entry.ours), entry.interval or DASH
            verdict = NOT_COMPARED if entry.unlike else COMPARED
            row = (entry.text, entry.where, "", *shown, entry.distance(), verdict, "", entry.unlike)
            rows.append(Score(*row))
    return rows


def _of_claim(claim: PageClaim, number: Headline | None) -> Score:
    """The row of a claim; an untested one has its measurement in words."""
    measured = "; ".join(filter(None, claim.measured))
    open_ = claim.verdict == NOT_TESTABLE
    is_measured = number is not None and number.ours == number.ours and not open_
    return Score(
        text=claim.claim,
        where=claim.where,
        anchor=f"claim-{claim.id}",
        published=number.shown(number.published) if number else claim.published or DASH,
        ours=number.shown(number.ours) if number and is_measured else _short(measured) or DASH,
        interval=_short((number.interval if number else "") or claim.interval) or DASH,
        distance=number.distance() if number and is_measured else DASH,
        verdict=claim.mark,
        instead=claim.instead,
        price=f"{claim.price} {_sentences(claim.reason)}".strip() if open_ else "",
    )


def _sentences(reasons: Sequence[str]) -> str:
    """Why a claim wasn't tested, each reason a sentence; its card has those left out."""
    parts = [*filter(None, reasons)]
    sentences = [f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in parts[:TOLD]]
    left_out = [f"And {len(parts) - TOLD} more."] if len(parts) > TOLD else []
    return " ".join(sentences + left_out)


def _short(text: str) -> str:
    """Its first phrases, and how many more there are."""
    for phrase in _PHRASES:
        ends = [match.start() for match in phrase.finditer(text)] + [len(text)]
        if ends[0] <= LONGEST:
            break
    fitting = max(1, sum(end <= LONGEST for end in ends))
    more = len(ends) - fitting
    return f"{text[: ends[fitting - 1]]}{f'; and {more} more' if more else ''}"
