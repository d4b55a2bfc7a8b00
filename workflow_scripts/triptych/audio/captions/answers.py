"""Candidate captions in the answer of a language model: lines of a list, plain lines, or JSON.

A line's bullet, label, number and quotes are taken off. An answer whose numbers start again holds
two lists, and nobody can tell which of them is meant: it gives no caption. What is not understood
here, such as numbers in words, is left for `rules` to refuse.
"""

import html
import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

_THOUGHT = re.compile(
    r"[<\[\u25c1]\|?(?P<name>/?[\w:.-]*(?:think|thought|reason|reflect|analysis|scratch|details)"
    r"[\w:.-]*)(?:\s[^<>\[\]]*)?\|?[>\]\u25b7]"
    r"|<\|channel>\w*|<unused94>|(?P<end><channel\|>|<unused95>)",  # Gemma's
    re.IGNORECASE,
)
"""A tag around thoughts: <think>, </seed:think>, [THINK], <|end_of_thought|>."""
_THOUGHT_ENDS = re.compile(r"\A/|(?:\A|_)end(?:_|\Z)", re.IGNORECASE)
_ANALYSIS = re.compile(r"\A\s*(?:<\|channel\|>)?analysis(?![a-z]).*", re.DOTALL)
_FINAL = re.compile(
    r"<\|channel\|>\s*final.*?<\|message\|>|assistantfinal|assistant\s+final\b", re.DOTALL
)
"""The beginnings of harmony's channels, with its special tokens or after a server removed them."""
_REASONING = re.compile(
    r"^[\W_]*(?:(?:here(?:'s| is) (?:my|the) (?:thought|thinking) process|(?:my )?(?:reasoning|"
    r"thoughts?|thinking|analysis|drafts?|step)\b[^\n:]{0,30})[*_ ]*:|thinking\.\.\.$)",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER = re.compile(
    r"^[\W_]*(?:(?:here(?:'s| is) (?:my|the) (?:final )?(?:response|answer)|(?:the |my )?"
    r"(?:final )?(?:answers?|responses?|captions?|outputs?|results?)|final)[*_ ]*:"
    r"|done thinking\.$)",
    re.IGNORECASE | re.MULTILINE,
)
"""Headings of thoughts, and of what is meant behind them."""
_TAG = re.compile(r"<\|[^|<>]{1,40}\|>|</?[a-z][^<>]{0,60}>", re.IGNORECASE)
_THOUGHT_KEY = re.compile("think|thought|reason|analys|step|plan|note|explan|comment")

_LABEL = (
    r"(?:(?:audio|new)[ _])?"
    r"(?:caption|sentence|variation|version|description|\w*phrase|option|index|no)"
)
_MARK = re.compile(
    rf"(?P<lead>[\W_]*(?:{_LABEL}[\W_]*)?)"
    r"(?:[a-z]?(?P<number>\d{1,3})(?:\.\d{1,2}|\s*(?:/|of)\s*\d{1,2})?|"
    r"(?P<letter>[a-j]|[ivx]{1,4})(?=[\W_]*[.):-]))(?![^\W_])"
    r"(?P<sign>[\W_]*?)(?P<caption>[\"'\u201c\u201e\u00ab\u2018]?\w.*)?",
    re.IGNORECASE,
)
"""Numbering: a number, or a letter or Roman numeral with a sign behind it."""
_INLINE_MARK = re.compile(r"(?<!\S)[*(\[]*(\d{1,2})[.):\]]+[*]*\s+(?=\S)")
_BULLET = re.compile(r"(?:[^\w\s\"'\u201c\u201e\u00ab\u2018(\[]+\s+|\[[ xX]?\]\s*)+(?=\S)")
_HEADED = re.compile(rf"{_LABEL}\s*:\s*(?=\S)", re.IGNORECASE)
_STOP = re.compile(r"[.!?:][\"'\u201d\u2019)*_|\s]*\Z")
_WORD_COUNT = re.compile(r"\s*(?:[(\[]\d+(?:\s*words?)?[)\]]|\s[-\u2013\u2014]\s*\d+ words)\.?\Z")
_QUOTES = ['""', "''", "\u201c\u201d", "\u2018\u2019", "\u201e\u201c", "\u00ab\u00bb"]


def parse_answer(text: str) -> list[str]:
    """Candidate captions of an answer, without thoughts, bullets, numbering and quotes.

    Where some lines are numbered or bulleted, others go on with them or are dropped.
    """
    text = _without_thoughts(_plain(html.unescape(text)))
    text = "\n\n".join(_json_texts(text)) or text
    lines = [part for line in _TAG.sub("\n", text).splitlines() for part in _inline_list(line)]
    items = _items(["" if line.strip().startswith("```") else line for line in lines])
    return [item for item in (_tidy(_HEADED.sub("", _tidy(item), 1)) for item in items) if item]


def _plain(text: str) -> str:
    """The text with ASCII's digits, letters and blanks in place of full-width and encircled ones.

    >>> _plain("\u2460\u00a0\uff13\uff0e\uff08\u2163")
    '1)  3.(IV'
    """
    marked = [
        f"{unicodedata.normalize('NFKC', sign)}) "
        if unicodedata.decomposition(sign).startswith("<circle>")
        else sign
        for sign in text.replace("\ufe0f", "").replace("\u20e3", ")")
    ]
    return unicodedata.normalize("NFKC", "".join(marked))


def _without_thoughts(text: str) -> str:
    """Remove text between tags of thoughts, also where one of the two tags is missing."""
    if finals := list(_FINAL.finditer(text)):
        text = text[finals[-1].end() :]
    text = _ANALYSIS.sub("", text)
    reasoning = _REASONING.search(text)
    if reasoning and (meant := _ANSWER.search(text, reasoning.end())):
        text = text[meant.end() :]
    answer: list[str] = []
    inside, start = False, 0
    for tag in _THOUGHT.finditer(text):
        if ends := bool(tag["end"] or _THOUGHT_ENDS.search(tag["name"] or "")):
            answer = answer if inside else []
        elif not inside:
            answer.append(text[start : tag.start()])
        inside, start = not ends, tag.end()
    return "".join(answer) + ("" if inside else text[start:])


def _json_texts(text: str) -> list[str]:
    """The texts of all JSON values in an answer."""
    decoder, bracket = json.JSONDecoder(strict=False), re.compile(r"[\[{]")
    texts: list[str] = []
    start = 0
    while opening := bracket.search(text, start):
        try:
            value, start = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            start = opening.end()
        else:
            texts += _texts_in(value)
    return texts


def _texts_in(value: Any) -> list[str]:
    """All texts of a JSON value but an object's thoughts."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [entry for key, entry in value.items() if not _THOUGHT_KEY.search(key.lower())]
    return [text for entry in value for text in _texts_in(entry)] if isinstance(value, list) else []


def _inline_list(line: str) -> list[str]:
    """The items of a list that stands in one line, as in "1. A dog barks. 2. A bird sings."."""
    marks = list(_INLINE_MARK.finditer(line))
    counted = [int(mark[1]) for mark in marks] == list(range(1, len(marks) + 1))
    if len(marks) < 2 or not counted or line[: marks[0].start()].strip():
        return [line]
    starts = [mark.start() for mark in marks]
    return [line[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def _items(lines: Sequence[str]) -> list[str]:
    """The list's items, each with the lines that go on with it.

    A line goes on with an empty item, or with one that has no stop, if it begins in lower case or
    if the list's items have stops.
    """
    filled = {place: line.strip() for place, line in enumerate(lines) if line.strip()}
    begins = _numbered(filled)
    if begins is None:
        return []
    if not begins:
        bullets = {place: mark for place, line in filled.items() if (mark := _BULLET.match(line))}
        if len(bullets) > 1:
            begins = {place: filled[place][mark.end() :] for place, mark in bullets.items()}
    listed = bool(begins)
    begins = begins or filled
    stops = listed and any(map(_STOP.search, begins.values()))
    lower = listed or not next(iter(begins.values()), "a")[0].islower()
    items: list[str] = []
    is_open = False
    for place in range(len(lines)):
        text = filled.get(place, "")
        if not text:
            is_open = is_open and not items[-1]
        elif (
            is_open
            and not (listed and place in begins)
            and (
                not items[-1]
                or (not _STOP.search(items[-1]) and (stops or (lower and text[0].islower())))
            )
        ):
            items[-1] = f"{items[-1]} {text}".strip()
        elif is_open := place in begins:
            items.append(begins[place])
    return items


def _numbered(lines: dict[int, str]) -> dict[int, str] | None:
    """Captions of numbered lines, by place; None for two lists.

    Numbers without any sign are numbering if they count from 1: else they begin captions, such as
    "5 dogs bark".
    """
    marks = {place: mark for place, line in lines.items() if (mark := _MARK.fullmatch(_tidy(line)))}
    bare = {
        place: int(mark["number"])
        for place, mark in marks.items()
        if mark["caption"] and not re.search(r"[^\W_]|#", mark["lead"]) and not mark["sign"].strip()
    }
    if list(bare.values()) != list(range(1, len(bare) + 1)):
        marks = {place: mark for place, mark in marks.items() if place not in bare}
    numbers = [mark["number"] or mark["letter"].lower() for mark in marks.values()]
    if len(numbers) == 1 and numbers != ["1"]:
        return {}
    if len(set(numbers)) > 1 and numbers[0] in numbers[1:]:
        return None
    return {place: mark["caption"] or "" for place, mark in marks.items()}


def _tidy(line: str) -> str:
    """A line without invisible signs, marks of bold, quotes and counts of words around it."""
    symbols = (sign for sign in line if unicodedata.category(sign) != "So")  # emoji
    line = " ".join("".join(s for s in symbols if s.isprintable() or s.isspace()).split())
    before = None
    while line != before:
        before = line
        line = _WORD_COUNT.sub("", line.strip(" *_`|").rstrip(",;\\"))
        if line[:1] + line[-1:] in _QUOTES and '"' not in line[1:-1]:
            line = line[1:-1]
    return line
