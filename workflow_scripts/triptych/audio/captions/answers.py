"""From the text of an answer to new captions: parsed leniently, then checked strictly.

What may be trained on is what passes `problem_of`; everything else is dropped caption by caption.
An item with three good captions of five keeps the three: the swap of Section 2.6 draws uniformly
among those that an item has.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SHORTEST_WORDS = 3

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
_INLINE = re.compile(r"(?:(?<=\s)|^)\(?(\d{1,2})[.):]\s+")
_INTRODUCTION = re.compile(
    r"^(?:sure|certainly|of course|okay|here(?: are| is|'s)|below (?:are|is)|the following|note:|"
    r"i hope|let me know|please note|captions?:|rephrased)\b|:$",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"^(?:i'm sorry|i am sorry|sorry\b|i apologi[sz]e|as an ai\b|i (?:cannot|can't|am unable))",
    re.IGNORECASE,
)

# The prompt forbids "heard" and "recorded"; their like are the other words by which a caption
# speaks of listening instead of the sound. "inaudible" (mumbling) and "record" (vinyl) say
# something about the sound and may stay.
_BANNED = re.compile(
    r"\b(?:heard|hear|hears|overheard|overhear|overhears|recorded|recording|recordings|audible|"
    r"audibly|listener|listeners)\b",
    re.IGNORECASE,
)
_DEVICE = re.compile(
    r"\b(?:microphones?|mics?|hydrophones?|dictaphones?|tascam|edirol|olympus|zoom h\d\w*|"
    r"h[1-6]n?|dr-?\d{2}|sm-?5[78]|r-?0[59])\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:\d{1,2}[:.]\d{2}|\d{1,2}\s*(?:[ap]\.?m\b|o'?clock)|(?:19|20)\d\d)", re.IGNORECASE
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
    """The new captions of one item, and what was rejected on the way if they are too few."""

    variations: tuple[str, ...]
    rejected: tuple[Rejected, ...] = ()


def parse_answer(text: str) -> list[str]:
    """The sentences of an answer, without numbering, bullets, quotes and introductions.

    Known are one sentence a line, all in one line behind "1." "2." ..., and a JSON list; numbers
    as 1. 1) (1) 1: "1 " #1 a. a) one: **1.** "Caption 1:" and bullets. Where some lines are
    numbered, the others are introductions or explanations and are dropped.
    """
    lines = [_tidy(line) for line in _lines(text)]
    lines = [line for line in lines if line and not line.startswith("```")]
    for numbering in (_NUMBERED, _BULLETED):
        numbered = [line for line in lines if numbering.match(line)]
        # A single "A. Smith ..." or "One: ..." is no numbering.
        if len(numbered) >= 2 or (numbered and len(lines) <= 2 and numbered[0][0] == "1"):
            return [_tidy(numbering.sub("", line, count=1)) for line in numbered]
    bare = [(line, match) for line in lines if (match := _BARE_NUMBER.match(line))]
    if len(bare) >= 2 and [int(match[1]) for _, match in bare] == list(range(1, len(bare) + 1)):
        return [_tidy(line[match.end() :]) for line, match in bare]
    return [line for line in lines if not _INTRODUCTION.search(line)]


def _lines(text: str) -> list[str]:
    """Split into lines; a JSON list, or a line that counts 1. 2. 3. within, is split as well."""
    text = re.sub(r"^```\w*\n|\n```$", "", text.strip())
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    if isinstance(listed, dict) and len(listed) == 1:
        listed = next(iter(listed.values()))
    if isinstance(listed, list) and all(isinstance(each, str) for each in listed):
        return listed
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


def _tidy(line: str) -> str:
    """Collapse white space, drop what can't be seen (control characters, halves of characters),
    and take off markdown's stars and quotes around the whole line."""
    line = " ".join("".join(c for c in line if c.isprintable() or c.isspace()).split())
    while len(line) > 1 and (line[0], line[-1]) in {
        ('"', '"'), ("'", "'"), ("“", "”"), ("\u2018", "\u2019"), ("*", "*"), ("`", "`"),
    }:  # fmt: skip
        line = line[1:-1].strip()
    return line


def words_of(caption: str) -> list[str]:
    """Lower-case words; "high-pitched" is one, "don't" is one."""
    return re.findall(r"[^\W_]+(?:['\u2019-][^\W_]+)*", caption.lower())


def same_words(caption: str) -> str:
    """What two captions share that differ in case and punctuation only."""
    return " ".join(words_of(caption))


def problem_of(caption: str, longest_words: int) -> str | None:
    """Why a caption may not be trained on, or None. The rules are those of the prompt.

    Names of cities, countries and persons would need a gazetteer and are not looked for.
    """
    words = words_of(caption)
    if _REFUSAL.search(caption):
        return "refusal"
    if len(words) < SHORTEST_WORDS:
        return f"too short ({len(words)} words)"
    if len(words) > longest_words:
        return f"too long ({len(words)} words)"
    for what, rule in (("banned word", _BANNED), ("device name", _DEVICE), ("time", _TIME)):
        found = rule.search(caption)
        if found:
            return f"{what} ({found[0]})"
    return None


def choose(
    answers: Sequence[tuple[str, str | None]],
    caption: str,
    count: int,
    longest_words: int,
) -> Written:
    """The first `count` good and distinct captions of one or more answers to one caption.

    `answers` holds (text, finish reason). The last line of an answer that was cut off at its
    length limit is bad. `rejected` is empty where all `count` were found; otherwise it lists every
    bad line and, first, how many are missing.
    """
    sentences: list[tuple[str, str | None]] = []
    for text, finish_reason in answers:
        lines = parse_answer(text)
        cut = len(lines) - 1 if finish_reason == "length" else None
        sentences += [(line, "cut off" if n == cut else None) for n, line in enumerate(lines)]
    good, bad = sift(sentences, caption, longest_words)
    if len(good) >= count:
        return Written(tuple(good[:count]))
    reasons = sorted({reason for _, reason in answers if reason not in ("stop", None)})
    missing = f"{len(good)} of {count} captions" + (f" ({', '.join(reasons)})" if reasons else "")
    everything = "\n".join(text for text, _ in answers)
    return Written(tuple(good), (Rejected(missing, everything), *bad))


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
