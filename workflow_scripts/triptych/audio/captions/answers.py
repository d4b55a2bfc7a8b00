"""From the text of an answer to new captions: parsed leniently, then checked strictly.

A caption in which `problem_of` finds something is dropped. So is a whole answer with two numbered
lists, since nobody can tell which of them is meant.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from triptych.audio.captions.rules import problem_of, words_of
from triptych.core.errors import InputError

# Possessive, so that an answer of nothing but stars takes no minutes.
_BULLET = r"(?:[-*\u2022>#\u2013\u2014]++\s*+)?+"
_NUMBERED = re.compile(
    rf"^{_BULLET}[*_(\[]*+(?:(?:caption|variation|sentence|version|option)\s*)?"
    r"(?:#?\d{1,2}|[a-jA-J])[*_]*(?:[.):\]]+|\s+[-:\u2013\u2014])[*_]*\s*(?=\S)",
    re.IGNORECASE,
)
_BULLETED = re.compile(r"^[-*\u2022\u2013\u2014]\s+(?=\S)")
_FENCED = re.compile(r"^```\w*[ \t]*\n(.*?)(?:\n```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LIST_NAMES = ("captions", "variations", "sentences")
_INTRODUCTION = re.compile(
    r"^(?:sure|certainly|of course|okay|here(?: are| is|'s)|below (?:are|is)|the following|note:|"
    r"i hope|let me know|please note|captions?:|rephrased)\b|:$",
    re.IGNORECASE,
)
_OPENS, _CLOSES = (rf"[<\[\u25c1]{slash}think(?:ing)?[>\]\u25b7]" for slash in ("", "/"))
_THOUGHT = re.compile(
    rf"{_OPENS}.*?(?:{_CLOSES}|\Z)|\A(?:(?!{_OPENS}).)*?{_CLOSES}", re.DOTALL | re.IGNORECASE
)
"""<think> or [THINK] to </think> or the end; from the beginning where the prompt opened it."""


@dataclass(frozen=True)
class Item:
    """A caption to be rephrased: `position` is its number (0..4) at its clip."""

    clip: str
    position: int
    caption: str
    keywords: tuple[str, ...]


@dataclass(frozen=True)
class Rejected:
    """A text that is not trained on, and why."""

    problem: str
    answer: str


@dataclass(frozen=True)
class Written:
    """The new captions of one item, and what was rejected on the way if they are too few.

    unfiltered: what the first answer says, as it stands there, good or bad.
    """

    variations: tuple[str, ...]
    rejected: tuple[Rejected, ...] = ()
    unfiltered: tuple[str, ...] = ()


def parse_answer(text: str) -> list[str]:
    """The sentences of an answer, without thoughts, numbering, bullets, quotes and introductions.

    Known are one sentence a line and a JSON list. Where some lines are numbered, the others are
    dropped. Of an answer with two numbered lists, one of which was thought, nothing is left.
    """
    lines = [_tidy(line) for line in _lines(_THOUGHT.sub("", text))]
    lines = [line for line in lines if line and not line.startswith("```")]
    for numbering in (_NUMBERED, _BULLETED):
        numbered = [line for line in lines if numbering.match(line)]
        # A single "A. Smith ..." is no numbering.
        if len(numbered) >= 2 or (numbered and len(lines) <= 2 and numbered[0][0] == "1"):
            if numbering is _NUMBERED and _counts_twice(numbered):
                return []
            return [_tidy(numbering.sub("", line, count=1)) for line in numbered]
    return [line for line in lines if not _INTRODUCTION.search(line)]


def _counts_twice(numbered: Sequence[str]) -> bool:
    """Whether the numbers start again; "1." before every line, as markdown allows, is one list."""
    numbers = [int(found[0]) for line in numbered if (found := re.search(r"\d{1,2}", line[:12]))]
    return any(later == 1 < earlier for earlier, later in pairwise(numbers))


def _lines(text: str) -> list[str]:
    """The lines of a text, or the captions of a JSON answer: a list, or one under a known name."""
    fenced = _FENCED.findall(text)
    text = fenced[0] if len(fenced) == 1 else text
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text.splitlines()
    if isinstance(data, dict):
        data = next((data[name] for name in _LIST_NAMES if name in data), [])
    listed = isinstance(data, list) and all(isinstance(one, str) for one in data)
    return [line for each in data for line in each.splitlines()] if listed else []


def _tidy(line: str) -> str:
    """Collapse white space, drop what can't be seen (control characters, halves of characters),
    and take off markdown's stars and quotes around the whole line."""
    line = " ".join("".join(c for c in line if c.isprintable() or c.isspace()).split())
    while len(line) > 1 and (line[0], line[-1]) in {
        ('"', '"'), ("'", "'"), ("“", "”"), ("\u2018", "\u2019"), ("*", "*"), ("`", "`"),
    }:  # fmt: skip
        line = line[1:-1].strip()
    return line


def same_words(caption: str) -> str:
    """What two captions share that differ in case and punctuation only."""
    return " ".join(words_of(caption))


def choose(
    answers: Sequence[tuple[str, str | None]], caption: str, count: int, longest_words: int
) -> Written:
    """The first `count` good and distinct captions of the `answers` (text, finish reason) to one
    caption.

    The last line of an answer that was cut off is bad. Where fewer were found, `rejected` lists how
    many are missing and every bad line.
    """
    sentences: list[tuple[str, str | None]] = []
    for text, finish_reason in answers:
        lines = parse_answer(text)
        known: list[str | None] = [None] * len(lines)
        if lines and finish_reason == "length":
            known[-1] = "cut off"
        sentences += zip(lines, known, strict=True)
    good, bad = sift(sentences, caption, longest_words)
    first = tuple(parse_answer(answers[0][0])[:count]) if answers else ()
    if len(good) >= count:
        return Written(tuple(good[:count]), unfiltered=first)
    reasons = sorted({reason for _, reason in answers if reason not in ("stop", None)})
    missing = f"{len(good)} of {count} captions" + (f" ({', '.join(reasons)})" if reasons else "")
    everything = "\n".join(text for text, _ in answers)
    return Written(tuple(good), (Rejected(missing, everything), *bad), first)


def sift(
    sentences: Iterable[tuple[str, str | None]], caption: str, longest_words: int
) -> tuple[list[str], list[Rejected]]:
    """Good sentences, each once, and bad ones; `sentences` may bring their own problem along."""
    good: list[str] = []
    bad: list[Rejected] = []
    seen = {same_words(caption)}
    for sentence, known in sentences:
        problem = known or problem_of(sentence, longest_words)
        if problem is None and same_words(sentence) in seen:
            problem = "repeats the caption or another"
        if problem is None:
            good.append(sentence)
            seen.add(same_words(sentence))
        else:
            bad.append(Rejected(problem, sentence))
    return good, bad


FIRST_ITEMS = 20
"""Captions whose answers are looked at before more is asked."""
LATER_PARTS = 10
"""Each later part is so many times as large as all before it."""
TOLD, LONGEST_EXAMPLE = 4, 100
"""Faults that are told, each with the first letters of what has it."""


class YieldTooLow(InputError):
    """Too few of the captions that were asked for are good."""


def parts_of(count: int) -> list[range]:
    """Growing parts of `count` items, each asked for once those before have proved worth it."""
    ends = [min(FIRST_ITEMS, count)]
    while ends[-1] < count:
        ends.append(min(ends[-1] * (1 + LATER_PARTS), count))
    return [range(*pair) for pair in zip([0, *ends], ends, strict=False)]


def check_yield(written: Sequence[Written], wanted: int, least: float, kept_in: str = "") -> None:
    """Raise YieldTooLow, telling what was wrong, if fewer than the share `least` of `wanted`
    captions an item are good. `kept_in` names the cache in which the answers remain, where there is
    one.
    """
    good, total = sum(len(each.variations) for each in written), wanted * len(written)
    if good >= least * total:
        return
    # Lines; where there are none, the answer.
    wrong = [bad for each in written for bad in each.rejected[1:] or each.rejected]
    told = "; ".join(
        f"{bad.problem}: "
        f"{repr(bad.answer[:LONGEST_EXAMPLE]) if bad.answer.strip() else 'an empty answer'}"
        for bad in wrong[:TOLD]
    )
    advice = (
        " Choose another audio.captions.model or other parameters; answers that are cut off at "
        "their limit (length) want more audio.captions.thinking_tokens or max_completion_tokens. "
        f"All answers are kept in {kept_in} and not paid for again."
    )
    raise YieldTooLow(
        f"{good} of the {total} captions for the first {len(written)} are good, less than "
        f"audio.captions.least_yield ({least:.0%}) allows. What was wrong: {told}."
        f"{advice if kept_in else ''}"
    )
