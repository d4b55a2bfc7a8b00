"""Candidate captions in the answer of a language model: JSON, a numbered list, bullets, or lines.

Labels, numbers and quotes are taken off. An answer whose numbers start again holds two lists, and
nobody can tell which of them is meant: it gives no caption. What is not understood here, such as
numbers in words, is left for `rules` to refuse.
"""

import html
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
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
_ANSWER = re.compile(
    r"<\|channel\|>\s*final.*?<\|message\|>|assistantfinal|assistant\s+final\b"
    r"|^\W*(?:(?:here(?:'s| is) )?(?:my |the )?(?:final )?(?:answers?|response)[*_ ]*:"
    r"|done thinking\.)[*_ ]*$",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
"""Beginnings of an answer behind thoughts: harmony's channels, with its special tokens or after a
server removed them, and headings."""
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
_BULLET = re.compile(r"(?:[^\w\s\"'\u201c\u201e\u00ab\u2018(\[]+\s+|\[[ xX]?\]\s*)+(?=\S)")
_HEADED = re.compile(rf"{_LABEL}\s*:\s*(?=\S)", re.IGNORECASE)
_WRAPPED = re.compile(r"(?<![.!?:\s])[ \t\r]*\n[ \t]*(?=[a-z][a-z ])")
"""A line's end behind which the sentence goes on."""
_WORD_COUNT = re.compile(r"\s*(?:[(\[]\d+(?:\s*words?)?[)\]]|\s[-\u2013\u2014]\s*\d+ words)\.?\Z")
_QUOTES = ['""', "''", "\u201c\u201d", "\u2018\u2019", "\u201e\u201c", "\u00ab\u00bb"]


def parse_answer(text: str) -> list[str]:
    """Candidate captions of an answer, without thoughts, bullets, numbering and quotes.

    Where some lines are numbered or bulleted, the others are dropped.
    """
    text = _without_thoughts(unicodedata.normalize("NFKC", html.unescape(text)))
    text = "\n".join(_json_texts(text)) or text
    text = _TAG.sub("\n", text).strip()
    text = text if text[:1].islower() else _WRAPPED.sub(" ", text)
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("```")]
    items = next(items for form in FORMS if (items := form(lines)) is not None)
    return [item for item in (_tidy(_HEADED.sub("", _tidy(item), 1)) for item in items) if item]


def _without_thoughts(text: str) -> str:
    """Remove text between tags of thoughts, also where one of the two tags is missing."""
    if answers := list(_ANSWER.finditer(text)):
        text = text[answers[-1].end() :]
    text = _ANALYSIS.sub("", text)
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


def _numbered(lines: Sequence[str]) -> list[str] | None:
    """What stands behind the numbers of a list; nothing for two lists.

    Numbers without any sign are numbering if they count from 1: else they begin captions, such as
    "5 dogs bark".
    """
    marks = [mark for line in lines if (mark := _MARK.fullmatch(_tidy(line)))]
    bare = [
        mark
        for mark in marks
        if mark["caption"] and not re.search(r"[^\W_]|#", mark["lead"]) and not mark["sign"].strip()
    ]
    if [int(mark["number"]) for mark in bare] != list(range(1, len(bare) + 1)):
        marks = [mark for mark in marks if mark not in bare]
    numbers = [mark["number"] or mark["letter"].lower() for mark in marks]
    if not numbers or (len(numbers) == 1 and numbers != ["1"]):
        return None
    if len(set(numbers)) > 1 and numbers[0] in numbers[1:]:
        return []
    return [mark["caption"] or "" for mark in marks]


def _bulleted(lines: Sequence[str]) -> list[str] | None:
    marks = [(mark, line) for line in lines if (mark := _BULLET.match(line))]
    return [line[mark.end() :] for mark, line in marks] if len(marks) > 1 else None


FORMS: tuple[Callable[[Sequence[str]], Sequence[str] | None], ...] = (_numbered, _bulleted, list)
"""Readers of an answer's lines in each form, most telling first; None from those it isn't in."""


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
