"""From the text of an answer to new captions: parsed leniently, then checked strictly.

What may be trained on is what passes `problem_of`; everything else is dropped caption by caption,
and whole answers of which can't be told where they begin.
An item with three good captions of five keeps the three: the swap of Section 2.6 draws uniformly
among those that an item has.
"""

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from triptych.audio.captions.rules import is_thought, problem_of, words_of
from triptych.core.errors import InputError

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DASHES = "\u2013\u2014"
# Possessive, so that an answer of nothing but stars takes no minutes.
_BULLET = rf"(?:[-*•·▪>#{_DASHES}]++\s*+)?+"
_NUMBERED = re.compile(
    rf"^{_BULLET}[*_(\[]*+"
    r"(?:(?:caption|variation|sentence|version|option)\s*)?"
    rf"(?:#?\d{{1,2}}|[a-jA-J]|(?i:{'|'.join(_WORDS)}|first|second|third|fourth|fifth))"
    rf"[*_]*(?:[.):\]]+|\s+[-:{_DASHES}]|\s*[{_DASHES}])[*_]*\s*(?=\S)",
    re.IGNORECASE,
)
_BARE_NUMBER = re.compile(r"^(\d{1,2})\s+(?=\S)")
_BULLETED = re.compile(rf"^[-*•·▪{_DASHES}]\s+(?=\S)")
_FENCED = re.compile(r"^```\w*[ \t]*\n(.*?)(?:\n```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LIST_NAMES = ("captions", "variations", "sentences")
_INLINE = re.compile(r"(?:(?<=\s)|^)\(?(\d{1,2})[.):]\s+")
_INTRODUCTION = re.compile(
    r"^(?:sure|certainly|of course|okay|here(?: are| is|'s)|below (?:are|is)|the following|note:|"
    r"i hope|let me know|please note|captions?:|rephrased)\b|:$",
    re.IGNORECASE,
)


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
    """The sentences of an answer, without numbering, bullets, quotes and introductions.

    Known are one sentence a line, all in one line behind "1." "2." ..., and a JSON list; numbers
    as 1. 1) (1) 1: "1 " #1 a. a) one: **1.** "Caption 1:" and bullets. Where some lines are
    numbered, the others are introductions or explanations and are dropped. What a reasoning model
    thought is dropped before; of an answer with two numbered lists, one of which is thought too,
    nothing is left.
    """
    lines = [_tidy(line) for line in _lines(without_reasoning(text))]
    lines = [line for line in lines if line and not line.startswith("```")]
    for numbering in (_NUMBERED, _BULLETED):
        numbered = [line for line in lines if numbering.match(line)]
        # A single "A. Smith ..." or "One: ..." is no numbering.
        if len(numbered) >= 2 or (numbered and len(lines) <= 2 and numbered[0][0] == "1"):
            if numbering is _NUMBERED and _counts_twice(numbered):
                return []
            return [_tidy(numbering.sub("", line, count=1)) for line in numbered]
    bare = [(line, match) for line in lines if (match := _BARE_NUMBER.match(line))]
    if len(bare) >= 2 and [int(match[1]) for _, match in bare] == list(range(1, len(bare) + 1)):
        return [_tidy(line[match.end() :]) for line, match in bare]
    return [line for line in lines if not _INTRODUCTION.search(line)]


def _counts_twice(numbered: Sequence[str]) -> bool:
    """Whether the numbers start again; "1." before every line, as markdown allows, is one list."""
    numbers = [int(found[0]) for line in numbered if (found := re.search(r"\d{1,2}", line[:12]))]
    return any(later == 1 < earlier for earlier, later in pairwise(numbers))


def _lines(text: str) -> list[str]:
    """Split into lines; a JSON list, or a line that counts 1. 2. 3. within, is split as well."""
    fenced = _FENCED.findall(text)
    text = fenced[0].strip() if len(fenced) == 1 else text.strip()
    listed = _listed(text)
    if listed is not None:
        return [line for each in listed for line in each.splitlines()]
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) <= 2:
        starts: list[int] = []
        for match in _INLINE.finditer(text):
            if int(match[1]) == len(starts) + 1:
                starts.append(match.start())
        if len(starts) >= 2:
            ends = [*starts[1:], len(text)]
            return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    return lines


def _listed(text: str) -> list[str] | None:
    """The captions of a JSON answer: a list, or one under a name that says so; None for others."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict):
        data = next((data[name] for name in _LIST_NAMES if name in data), [])
    if not isinstance(data, list):
        return None
    return data if all(isinstance(one, str) for one in data) else []


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
    answers: Sequence[tuple[str, str | None]],
    caption: str,
    count: int,
    longest_words: int,
) -> Written:
    """The first `count` good and distinct captions of one or more answers to one caption.

    `answers` holds (text, finish reason). The last line of an answer that was cut off at its length
    limit is bad, and so are all lines beside a thought. `rejected` is empty where all `count` were
    found; otherwise it lists every bad line and, first, how many are missing.
    """
    sentences: list[tuple[str, str | None]] = []
    for text, finish_reason in answers:
        lines = parse_answer(text)
        beside = "beside a thought" if any(map(is_thought, lines)) else None
        known = [None if is_thought(line) else beside for line in lines]
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


# --- what a reasoning model thought before it answered ---

_MARK = re.compile(
    r"[<\[◁]\|?(?P<closes>/|end_(?:of_)?)?(?:(?:begin|start)_(?:of_)?)?(?:\w+:)?"
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)\b"
    r"[^<>\[\]▷]*[>\]▷]",
    re.IGNORECASE,
)
"""<think>, </think>, [THINK], <|end_of_thought|> and their kin."""
_ANSWER = re.compile(r"<(answer|response|output)>(.*?)(?:</\1>|$)", re.IGNORECASE | re.DOTALL)
_FINAL_CHANNEL = "<|channel|>final<|message|>"  # gpt-oss
_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?s>|<(?:end|start)_of_turn>", re.IGNORECASE)
_THOUGHT_HEADING = re.compile(
    r"^[\s#*_>-]*(?:(?:here(?:'s| is)|my|the|step \d+[.:])\s+)*"
    r"(?:(?:thinking|thought|reasoning|planning)(?: process)?|thoughts|analysis|"
    r"explanations?|rationale|notes?|drafts?|scratchpad|chain of thought|let'?s think[^:\n]*|"
    r"word counts?|self[- ]check)[\s*_]*(?::.*|[*_.\s]*)$",
    re.IGNORECASE | re.MULTILINE,
)


def without_reasoning(text: str) -> str:
    """An answer without the blocks that were thought before or after it.

    "" if it is nothing else, or if a heading says that some of it was thought: which lines, nobody
    can be sure.
    """
    text = html.unescape(text)
    if text.startswith("analysis") or "<unused" in text:  # channels without their marks
        return ""
    if "<|channel|>" in text:
        text = text.rpartition(_FINAL_CHANNEL)[2] if _FINAL_CHANNEL in text else ""
    if marks := list(_MARK.finditer(text)):
        last = marks[-1]
        behind = text[last.end() :].strip() if last["closes"] else ""
        text = behind or text[: marks[0].start()]
    answers = _ANSWER.findall(text)
    text = _SPECIAL.sub("\n", answers[-1][1] if answers else text).strip()
    return "" if _THOUGHT_HEADING.search(text) else text


# --- whether what is paid for is worth it ---

FIRST_ITEMS = 20
"""Captions whose answers are looked at before more is asked. Of a model whose answers are three
quarters good, fewer than ten of twenty come out good in one of 250 runs; at the prices of
config.yaml they cost about half a cent, of the seven dollars for all of Clotho."""
LATER_PARTS = 10
"""Each later part is so many times as large as all before it."""
TOLD = 4
"""Commonest faults that are told, each with an answer that has it."""
LONGEST_EXAMPLE = 100


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
    kinds: dict[str, list[str]] = {}
    for each in written:
        for bad in each.rejected[1:] or each.rejected:  # lines; where there are none, the answer
            kind = bad.problem if " captions" in bad.problem else bad.problem.split(" (", 1)[0]
            kinds.setdefault(kind, []).append(" ".join(bad.answer.split())[:LONGEST_EXAMPLE])
    commonest = sorted(kinds.items(), key=lambda kind: -len(kind[1]))[:TOLD]
    told = "; ".join(
        f"{len(texts)} x {kind}: {repr(texts[0]) if texts[0] else 'an empty answer'}"
        for kind, texts in commonest
    )
    advice = (
        "Choose another audio.captions.model or other parameters; answers that are cut off at "
        "their limit (length) want more audio.captions.thinking_tokens or max_completion_tokens. "
        f"All answers are kept in {kept_in} and not paid for again."
    )
    raise YieldTooLow(
        f"{good} of the {total} captions for the first {len(written)} are good, less than "
        f"audio.captions.least_yield ({least:.0%}) allows: the stage ends here. What was wrong: "
        f"{told}. {advice if kept_in else ''}".strip()
    )
