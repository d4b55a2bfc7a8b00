"""From the text of an answer to new captions: parsed leniently, then checked strictly.

What may be trained on is what passes `problem_of`; everything else is dropped caption by caption,
and whole answers of which can't be told where they begin.
An item with three good captions of five keeps the three: the swap of Section 2.6 draws uniformly
among those that an item has.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
_LIST_NAMES = ("captions", "variations", "sentences", "answers", "answer")
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
    """The captions of a JSON answer, None where it is none: a list, or an object that holds it
    alone or under a name that says so, beside a model's thoughts for instance."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict):
        named = [data[name] for name in _LIST_NAMES if isinstance(data.get(name), list)]
        others = [value for name, value in data.items() if not names_reasoning(name)]
        data = named[0] if named else others[0] if len(others) == 1 else []
    if not isinstance(data, list):
        return None
    each = [next(iter(one.values())) if isinstance(one, dict) and len(one) == 1 else one
            for one in data]  # fmt: skip
    return each if all(isinstance(one, str) for one in each) else None


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

_NAMES = (
    r"(?:seed:|antml:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|"
    r"inner_monologue|planning|cot|chain_of_thought)"
)
_OPENING = rf"""
    <{_NAMES}(?:\s[^<>]*)?> | \[{_NAMES}\] | ◁{_NAMES}▷ | <\|?{_NAMES}\|>
  | <\|begin_of_thought\|> | <\|start_thinking\|> | <unused94>
"""
_CLOSING = rf"""
    </{_NAMES}\s*> | \[/{_NAMES}\] | ◁/{_NAMES}▷ | <\|?/{_NAMES}\|>
  | <\|end_of_thought\|> | <\|end_thinking\|> | <unused95>
"""
_MARK = re.compile(rf"(?P<open>{_OPENING})|(?P<close>{_CLOSING})", re.IGNORECASE | re.VERBOSE)
_ANSWER = re.compile(
    r"<(answer|final|final_answer|response|output|captions|solution)>(.*?)(?:</\1>|$)",
    re.IGNORECASE | re.DOTALL,
)
# gpt-oss: with its special tokens, or with these taken off by the server.
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]*<\|message\|>", re.IGNORECASE)
_BARE_CHANNEL = re.compile(r"^analysis(?=[A-Z])(?:.*assistant\s*final)?", re.DOTALL)
_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?s>|<(?:end|start)_of_turn>", re.IGNORECASE)

_HEADING = r"^[\s#*_>-]*(?:(?:here(?:'s| is)|my|the|step \d+[.:])\s+)*"
_THOUGHT_HEADING = re.compile(
    _HEADING + r"(?:(?:thinking|thought|reasoning|planning)(?: process)?|thoughts|analysis|"
    r"explanations?|rationale|notes?|drafts?|scratchpad|chain of thought|let'?s think[^:\n]*|"
    r"word counts?|self[- ]check)[\s*_]*(?::.*|[*_.\s]*)$",
    re.IGNORECASE,
)
_ANSWER_HEADING = re.compile(
    _HEADING + r"(?:(?:final|new|rephrased|resulting|five|5) )*"
    r"(?:answers?|captions?|outputs?|response|list|versions?|sentences)[\s*_]*:?[\s*_]*$",
    re.IGNORECASE,
)


def names_reasoning(name: str) -> bool:
    """Whether what stands under a name in a JSON answer is thought, not said."""
    return re.fullmatch(rf"{_NAMES}|steps|notes|plan|drafts?|rationale", name.lower()) is not None


def without_reasoning(text: str) -> str:
    """An answer without what was thought before, between or after; "" if it is nothing else."""
    if "&lt;" in text:
        text = html.unescape(text)
    channels = list(_CHANNEL.finditer(text))
    if channels:
        last = channels[-1]
        text = text[last.end() :] if last[1].lower() == "final" else ""
    text = _BARE_CHANNEL.sub("", text) if "assistant" in text else text
    text = _outside_blocks(text)
    answers = _ANSWER.findall(text)
    text = answers[-1][1] if answers else text
    return _outside_headings(_SPECIAL.sub("\n", text)).strip()


def _outside_blocks(text: str) -> str:
    """What stands in no block of thoughts.

    All before an end without a beginning is thought as well, and all after a beginning without an
    end.
    """
    kept: list[str] = []
    depth, start = 0, 0
    for mark in _MARK.finditer(text):
        if mark["open"]:
            if depth == 0:
                kept.append(text[start : mark.start()])
            depth += 1
        else:
            if depth == 0:
                kept.clear()
            depth = max(0, depth - 1)
            start = mark.end()
    return "\n".join([*kept, text[start:] if depth == 0 else ""])


def _outside_headings(text: str) -> str:
    """What stands under no heading of thoughts: neither before the last heading of an answer nor
    from a later heading of thoughts on."""
    lines = text.splitlines()
    answers = [number for number, line in enumerate(lines) if _ANSWER_HEADING.match(line)]
    if answers and any(line.strip() for line in lines[answers[-1] + 1 :]):
        lines = lines[answers[-1] + 1 :]
    for number, line in enumerate(lines):
        if _THOUGHT_HEADING.match(line):
            return "\n".join(lines[:number])
    return "\n".join(lines)


# --- whether what is paid for is worth it ---

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
