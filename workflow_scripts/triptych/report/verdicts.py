"""Claims of a paper and their verdicts, whatever the study.

A verdict is one of four words. What is measured is shown with every verdict, also where the
run could not test the claim. Two of them decide it; `SEEN` says what a run found
on other data than the paper's, and is never counted with those two.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pandas as pd

from triptych.core.files import write_csv

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
SEEN = "seen on other data"
NOT_TESTABLE = "not testable at this scale"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, SEEN, NOT_TESTABLE)
ON_ITS_DATA, ON_OTHER_DATA, NOT = "yes", "on other data", "no"
"""Whether a config will decide a claim."""
ENOUGH_DATA = 0.9
"""The part of published data that must have been there: of AudioCaps' videos 7 to 8% are gone."""

REHEARSAL = "rehearsal"
"""The scale of a run on made-up inputs: no claim can be tested there."""


@dataclass(frozen=True)
class Verdict:
    """What a run says about one claim.

    measured: the figures behind it, as text. interval: the intervals behind it, as text
    (empty where none applies). reason: why this verdict, in one or two sentences. wanting: what
    keeps it from counting, whatever was measured: obstacles, and in what its data aren't the
    paper's.
    """

    id: str
    verdict: str
    measured: str
    interval: str
    reason: str
    wanting: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"claim {self.id}: a verdict is one of {VERDICTS}, not {self.verdict}")


def decide(
    claim: str,
    *,
    obstacles: Sequence[str],
    failures: Sequence[str],
    measured: str,
    interval: str,
    other_data: Sequence[str] = (),
) -> Verdict:
    """The verdict that follows from what stands in the way and from what failed.

    obstacles: why this run cannot test the claim (any one is enough). failures: parts of the
    criterion that do not hold (counted only where nothing stands in the way). other_data: which
    of its data are whole but not the paper's; what is then seen has a direction and an interval.
    """
    wanting = (*obstacles, *other_data)
    if obstacles or (other_data and not interval):
        return Verdict(claim, NOT_TESTABLE, measured, interval, sentence(wanting), wanting)
    if other_data:
        direction = "as the paper says" if not failures else "otherwise than the paper says"
        reasons = sentence([f"{direction}, on other data", *other_data, *failures])
        return Verdict(claim, SEEN, measured, interval, reasons, wanting)
    if failures:
        return Verdict(claim, NOT_REPRODUCED, measured, interval, sentence(failures))
    return Verdict(claim, REPRODUCED, measured, interval, "Every part of the criterion holds.")


def few_data(found: float, published: float, what: str) -> list[str]:
    """Whether less than ENOUGH_DATA of something published was there, as an obstacle."""
    if found >= ENOUGH_DATA * published:
        return []
    return [f"{found:,.0f} of the {published:,.0f} published {what} were there"]


def other_precision(used: Iterable[str], allowed: Sequence[str]) -> list[str]:
    """Which precisions are not among those that a claim allows; `auto` names none, so isn't."""
    other = sorted({str(name) for name in used} - set(allowed))
    if not other:
        return []
    return [f"the precision was {', '.join(other)}, not {' or '.join(allowed)}"]


def sentence(parts: Sequence[str]) -> str:
    """Parts joined as one sentence."""
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + "."


def write_claims(verdicts: Sequence[Verdict], scale: str, path: str | Path) -> pd.DataFrame:
    """Write results/claims.csv: id, verdict, measured, interval, scale, reason.

    At the scale REHEARSAL every verdict is NOT_TESTABLE.
    """
    if scale == REHEARSAL:
        reason = "This was a rehearsal: its inputs are made up."
        verdicts = [replace(each, verdict=NOT_TESTABLE, reason=reason) for each in verdicts]
    frame = pd.DataFrame([asdict(verdict) for verdict in verdicts]).drop(columns="wanting")
    frame.insert(4, "scale", scale)
    write_csv(frame, path)
    return frame
