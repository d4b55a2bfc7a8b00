"""The grammar of an answer: from the text that a language model wrote to candidate captions.

    answer   = [thoughts] ( JSON list | line { newline line } )
    line     = [bullet] [numbering] caption

One form of numbering (`NUMBERINGS`) is recognised per answer, the one that most lines share. An
answer whose numbers start again holds two lists, and nobody can tell which of them is meant: it
gives no caption.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from triptych.audio.captions.rules import normalised, problem_of

_THINK, _END = (rf"[<\[\u25c1]{slash}think(?:ing)?[>\]\u25b7]" for slash in ("", "/"))
_THOUGHTS = re.compile(
    rf"{_THINK}.*?(?:{_END}|\Z)|\A(?:(?!{_THINK}).)*?{_END}", re.DOTALL | re.IGNORECASE
)
"""<think> or [THINK] to </think> or the end; from the beginning where the prompt opened it."""
_FENCE = re.compile(r"^```\w*[ \t]*$", re.MULTILINE)
_BULLET = re.compile(r"^[-*\u2022>\u2013\u2014]\s+(?=\S)")
_LIST_NAMES = ("captions", "variations", "sentences")
_QUOTES = ('""', "''", "\u201c\u201d", "\u2018\u2019", "**", "``")

_NUMBER, _LETTER, _STARS = r"#?(?P<mark>\d{1,2})", "(?P<mark>[a-j])", r"[*_]*"
_WORD = r"(?:caption|variation|sentence|version|option)\s*"
NUMBERINGS = {
    form: re.compile(rf"^{_STARS}{pattern}{_STARS}\s*(?=\S)", re.IGNORECASE)
    for form, pattern in {
        "1. or 1) or 1:": rf"{_NUMBER}{_STARS}[.):\]]+",
        "(1) or [1]": rf"[(\[]{_NUMBER}[)\]][.:]?",
        "1 -": rf"{_NUMBER}{_STARS}\s+[-:\u2013\u2014]",
        "a) or a.": rf"\(?{_LETTER}[.):]+",
        "Caption 1:": rf"{_WORD}{_NUMBER}{_STARS}\s*[.):\u2013\u2014-]+",
        "Caption a:": rf"{_WORD}{_LETTER}{_STARS}\s*[.):\u2013\u2014-]+",
    }.items()
}
"""Forms of numbering before a caption, each with the number or letter as the group `mark`."""


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
    """The new captions of one item.

    rejected: what broke a rule, where too few captions are good. unfiltered: the lines of the first
    answer as they stand there, good or bad.
    """

    variations: tuple[str, ...]
    rejected: tuple[Rejected, ...] = ()
    unfiltered: tuple[str, ...] = ()


def parse_answer(text: str) -> list[str]:
    """Candidate captions of an answer, without thoughts, bullets, numbering and quotes.

    Where some lines are numbered or bulleted, the others are dropped.
    """
    text = _THOUGHTS.sub("", text)
    lines = [line for line in map(_tidy, _json_list(text) or text.splitlines()) if line]
    lines = [line for line in lines if not line.startswith("```")]
    bare = [_BULLET.sub("", line) for line in lines]
    matches = [[pattern.match(line) for line in bare] for pattern in NUMBERINGS.values()]
    numbered = [match for match in max(matches, key=lambda row: sum(map(bool, row))) if match]
    # One numbered line among several is a caption such as "A. Smith speaks".
    if len(numbered) > 1 or (numbered and len(lines) <= 2 and numbered[0]["mark"] == "1"):
        if _counts_twice([match["mark"] for match in numbered]):
            return []
        return [_tidy(match.string[match.end() :]) for match in numbered]
    bulleted = [new for new, old in zip(bare, lines, strict=True) if new != old]
    return list(map(_tidy, bulleted)) if len(bulleted) > 1 else lines


def _counts_twice(marks: Sequence[str]) -> bool:
    """Whether the numbers start again; "1." before every line, as Markdown allows, is one list."""
    numbers = [int(mark) if mark.isdigit() else ord(mark.lower()) - 96 for mark in marks]
    return any(later == 1 < earlier for earlier, later in pairwise(numbers))


def _json_list(text: str) -> list[str]:
    """The texts of a JSON list, or of the list under a known name; [] for what is not JSON."""
    try:
        data: Any = json.loads(_FENCE.sub("", text))
    except (ValueError, RecursionError):
        return []
    if isinstance(data, dict):
        data = next((data[name] for name in _LIST_NAMES if name in data), None)
        if data is None:
            return [""]
    return [line for line in data if isinstance(line, str)] if isinstance(data, list) else []


def _tidy(line: str) -> str:
    """Collapse white space, drop invisible characters and quotes around the whole line."""
    line = " ".join("".join(c for c in line if c.isprintable() or c.isspace()).split())
    while len(line) > 1 and line[0] + line[-1] in _QUOTES:
        line = line[1:-1].strip()
    return line


def choose(
    answers: Sequence[tuple[str, str | None]], caption: str, count: int, longest_words: int
) -> Written:
    """The first `count` good and distinct captions of the answers (text, finish reason).

    The last line of an answer that was cut off is bad. If fewer are good, `rejected` begins with
    how many are missing and lists every bad line.
    """
    sentences: list[tuple[str, str | None]] = []
    for text, finish_reason in answers:
        lines: list[tuple[str, str | None]] = [(line, None) for line in parse_answer(text)]
        if lines and finish_reason == "length":
            lines[-1] = (lines[-1][0], "cut off")
        sentences += lines
    good, bad = sift(sentences, caption, longest_words)
    unfiltered = tuple(parse_answer(answers[0][0])[:count]) if answers else ()
    if len(good) >= count:
        return Written(tuple(good[:count]), unfiltered=unfiltered)
    reasons = sorted({reason for _, reason in answers if reason not in ("stop", None)})
    missing = f"{len(good)} of {count} captions" + (f" ({', '.join(reasons)})" if reasons else "")
    texts = "\n".join(text for text, _ in answers)
    return Written(tuple(good), (Rejected(missing, texts), *bad), unfiltered)


def sift(
    sentences: Iterable[tuple[str, str | None]], caption: str, longest_words: int
) -> tuple[list[str], list[Rejected]]:
    """Good sentences, each once, and bad ones.

    sentences: with a problem that is known already, or None. caption: what they rephrase; a
    repetition of it is bad.
    """
    good: list[str] = []
    bad: list[Rejected] = []
    taken = {normalised(caption)}
    for sentence, known in sentences:
        problem = known or problem_of(sentence, longest_words)
        if problem is None and normalised(sentence) in taken:
            problem = "repeats the caption or another"
        if problem is None:
            good.append(sentence)
            taken.add(normalised(sentence))
        else:
            bad.append(Rejected(problem, sentence))
    return good, bad
