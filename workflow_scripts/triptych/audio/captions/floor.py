"""A floor under the share of good captions: what is paid for must be worth it."""

from collections import Counter
from collections.abc import Iterator, Sequence

from triptych.audio.captions.answers import Rejected, Written
from triptych.core.errors import InputError

FIRST_ITEMS = 20
"""Captions whose answers are looked at before more is asked. Of a model whose answers are three
quarters good, fewer than ten of twenty come out good in one of 250 runs; at the prices of
config.yaml they cost about half a cent, of the seven dollars for all of Clotho."""
LATER_PARTS = 10
"""Each later part is so many times as large as all before it."""
EXAMPLES = 3
LONGEST_EXAMPLE = 100

_ADVICE = (
    (
        "length",
        "Answers are cut off at their limit: give a reasoning model more room by "
        "audio.captions.thinking_tokens, another by max_completion_tokens in "
        "audio.captions.parameters.",
    ),
    ("refusal", "The model refuses: choose another audio.captions.model."),
)


class YieldTooLow(InputError):
    """Too few of the captions that were asked for are good."""


def parts_of(count: int) -> list[range]:
    """Growing parts of `count` items, each asked for once those before have proved worth it."""
    ends = [min(FIRST_ITEMS, count)]
    while ends[-1] < count:
        ends.append(min(ends[-1] * (1 + LATER_PARTS), count))
    return [range(*pair) for pair in zip([0, *ends], ends, strict=False)]


def check_yield(written: Sequence[Written], wanted: int, least: float, kept_in: str = "") -> None:
    """Raise YieldTooLow, telling what was wrong, if too few captions are good.

    That is less than the share `least`, where `wanted` are asked for an item. `kept_in` names the
    cache in which the answers remain, where there is one.
    """
    good, total = sum(len(each.variations) for each in written), wanted * len(written)
    if good >= least * total:
        return
    problems = [bad for each in written for bad in _worst(each)]
    counts = Counter(_kind(bad.problem) for bad in problems)
    told = "; ".join(f"{count} x {kind}" for kind, count in counts.most_common(6))
    advice = [text for sign, text in _ADVICE if any(sign in bad.problem for bad in problems)]
    if kept_in:
        advice += [
            "Otherwise choose another audio.captions.model, or other parameters.",
            f"All answers are kept in {kept_in} and not paid for again; to have the same asked "
            "anew, name another audio.captions.cache.",
        ]
    raise YieldTooLow(
        f"{good} of the {total} captions for the first {len(written)} are good, less than "
        f"audio.captions.least_yield ({least:.0%}) allows: the stage ends here. What was wrong: "
        f"{told}. For example: {'; '.join(_examples(problems))}. {' '.join(advice)}".strip()
    )


def _worst(written: Written) -> Sequence[Rejected]:
    """The lines that were bad; where an answer has none, the answer."""
    return written.rejected[1:] or written.rejected


def _kind(problem: str) -> str:
    """ "too long (31 words)" -> "too long"; what an answer lacks says why in its brackets."""
    return problem if " captions" in problem else problem.split(" (", 1)[0]


def _examples(problems: Sequence[Rejected]) -> Iterator[str]:
    """One answer for each of the commonest problems."""
    for kind, _ in Counter(_kind(bad.problem) for bad in problems).most_common(EXAMPLES):
        bad = next(bad for bad in problems if _kind(bad.problem) == kind)
        text = " ".join(bad.answer.split())
        short = text if len(text) <= LONGEST_EXAMPLE else text[:LONGEST_EXAMPLE] + "..."
        yield f"{kind}: {short!r}" if text else f"{kind}: an empty answer"
