"""The grammar of an answer: from the text that a language model wrote to candidate captions.

    answer   = { thought } ( JSON | list )
    list     = item { newline item }            one form of numbering, or bullets, or neither
    item     = [bullet] [[label] mark [closing]] caption { newline continuation }

A mark is a number, letter, Roman numeral or word (`COUNTERS`), bare or with any signs after it. An
answer whose marks start again holds two lists, and nobody can tell which of them is meant: it gives
no caption. What the grammar does not understand is left for `rules` to refuse.
"""

import ast
import html
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

_THOUGHT = re.compile(
    r"[<\[\u25c1]\|?\s*(?P<name>/?\s*[\w:.-]*(?:think|thought|reason|reflect|analysis|scratch|cot|"
    r"monologue|inner_prefix|inner_suffix|internal|draft|plan|details)[\w:.-]*)(?:\s[^<>\[\]]*)?\|?[>\]\u25b7]",
    re.IGNORECASE,
)
"""A tag around thoughts: <think>, </seed:think>, [THINK], <|end_of_thought|>, <|START_THINKING|>"""
_THOUGHT_ENDS = re.compile(r"\A/|(?:\A|_)end(?:_|\Z)|suffix", re.IGNORECASE)
_HIDDEN = re.compile(
    r"<\|channel>.*?(?:<channel\|>|\Z)|<unused94>.*?(?:<unused95>|\Z)"  # Gemma's
    r"|\A\s*(?:<\|start\|>assistant)?(?:<\|channel\|>)?(?:analysis|commentary)(?![a-z]).*",
    re.DOTALL,
)
"""Channels that are not for the reader."""
_FINAL = re.compile(
    r"(?:<\|channel\|>\s*final|assistantfinal|assistant\s+final\b)"
    r"\s*(?:<\|constrain\|>)?\s*(?:json\b)?\s*(?:<\|message\|>)?"
    r"|^[ *#_-]*(?i:(?:here is )?(?:my |the )?(?:final )?(?:answer|output|response)|final \w+)"
    r"[ *_:]*$",
    re.MULTILINE,
)
"""What begins harmony's last channel, with its special tokens or after a server removed them, or an
answer under a heading. Thoughts stand before the last of these."""
_INLINE_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|span|code|mark|small)(?:\s[^<>]*)?>", re.IGNORECASE
)
_TAG = re.compile(r"<\|[^|<>]{1,40}\|>|</?[a-z][^<>]{0,60}>", re.IGNORECASE)

_NO_CAPTION_KEY = re.compile("think|thought|reason|analys|step|plan|note|explan|comment|keyw|tags")
_CAPTION_KEY = re.compile("caption|variation|sentence|phras|text|description")

_COUNTED = """
    one two three four five six seven eight nine ten
    first second third fourth fifth sixth seventh eighth ninth tenth
"""
COUNTERS = {
    "letter": list("abcdefghij"),
    "roman": ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"],
    "word": _COUNTED.split()[:10],
    "ordinal": _COUNTED.split()[10:],
}
"""What counts captions, beside numbers."""
_LABELS = ("(?P<label>)", r"(?P<label>[^\W\d_]+(?:[ _.-]+[^\W\d_]+){0,3}?\.?)(?:[\W_]+?|(?=\d))")
_AFTER = (
    r"(?:st|nd|rd|th|[\u00ba\u00aa\u00b0])?(?:\.\d{1,2})?(?:\s*(?:/|of)\s*\d{1,2})?(?![^\W_])[\"']?"
    r"(?P<closing>(?:[^\w\"'\u201c\u201e\u00ab\u2018\u2026]|_)*)(?P<caption>.*)"
)
_MARKS = [
    (counter, re.compile(rf"(?P<lead>[\W_]*){label}(?P<mark>{marks}){_AFTER}", re.IGNORECASE))
    for label in _LABELS
    for counter, marks in [
        ("number", r"\d{1,3}"),
        *(
            (name, "|".join(sorted(texts, key=len, reverse=True)))
            for name, texts in COUNTERS.items()
        ),
    ]
]
_INLINE_MARK = re.compile(r"(?<!\S)[*(\[]*(\d{1,2})[.):\]]+[*]*\s+(?=\S)")
_BULLET = re.compile(r"(?:[^\w\s\"'\u201c\u201e\u00ab\u2018(\[]+\s+|\[[ xX]?\]\s*)+(?=\S)")
_HEADED = re.compile(
    r"(?:\w+ )?(?:caption|sentence|variation|version|description|\w*phrase|option)\s*:\s*(?=\S)",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.!?:\u2026][\"'\u201d\u2019)*_|\s]*\Z")
_WORD_COUNT = re.compile(
    r"\s*(?:[(\[](?:\D{0,14}\s)?\d+(?:\s*words?)?[)\]]|"
    r"\s[-\u2013\u2014]\s*\d+ words|\s\|\s*\d+)\.?\Z"
)
_QUOTES = ['""', "''", "\u201c\u201d", "\u2018\u2019", "\u201e\u201c", "\u201e\u201d"]
_QUOTES += ["\u00ab\u00bb", "\u2039\u203a", "\u300c\u300d", "\u300e\u300f"]


class Mark(NamedTuple):
    """The numbering of a line. form: counter, label and whether a sign closes it."""

    form: tuple[str, str, bool]
    value: int
    caption: str


def parse_answer(text: str) -> list[str]:
    """Candidate captions of an answer, without thoughts, bullets, numbering and quotes.

    Where some lines are numbered or bulleted, others go on with them or are dropped.
    """
    text = _without_thoughts("".join(map(_plain, html.unescape(text))))
    if (texts := _json_texts(text)) is not None:
        text = "\n\n".join(texts)
    text = _TAG.sub("\n", _INLINE_TAG.sub("", text))
    lines = [part for line in text.splitlines() for part in _inline_list(line)]
    lines = ["" if line.strip().startswith("```") else line for line in lines]
    captions = _captions_by_line(lines)
    items = [] if captions is None else _joined(lines, captions)
    return [item for item in (_tidy(_HEADED.sub("", _tidy(item), 1)) for item in items) if item]


def _without_thoughts(text: str) -> str:
    """Remove text between tags of thoughts, also where one of the two tags is missing."""
    if finals := list(_FINAL.finditer(text)):
        text = text[finals[-1].end() :]
    text = _HIDDEN.sub("", text)
    kept: list[str] = []
    inside, start = False, 0
    for tag in _THOUGHT.finditer(text):
        if ends := bool(_THOUGHT_ENDS.search(tag["name"])):
            kept = kept if inside else []
        elif not inside:
            kept.append(text[start : tag.start()])
        inside, start = not ends, tag.end()
    return "".join(kept) + ("" if inside else text[start:])


def _json_texts(text: str) -> list[str] | None:
    """The texts of all JSON values in an answer, or None where there are none."""
    texts: list[str] = []
    found, end = False, 0
    for bracket in islice(re.finditer(r"[\[{]", text), 500):
        if (start := bracket.start()) < end:
            continue
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
        except (ValueError, RecursionError):
            close = text.rfind({"[": "]", "{": "}"}[bracket[0]]) + 1
            try:  # single quotes, or a comma at the end
                value = ast.literal_eval(text[start:close])
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                continue
            end = close
        texts += _texts_in(value)
        found = found or isinstance(value, dict) or bool(_texts_in(value))
    return texts if found else None


def _texts_in(value: Any) -> list[str]:
    """All texts of a JSON value; of an object, those under names of captions if it has such."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        entries = {str(key).lower(): entry for key, entry in value.items()}
        others = [entry for key, entry in entries.items() if not _NO_CAPTION_KEY.search(key)]
        value = [entry for key, entry in entries.items() if _CAPTION_KEY.search(key)] or others
    return [text for entry in value for text in _texts_in(entry)] if isinstance(value, list) else []


def _plain(char: str) -> str:
    """A sign as ASCII has it, where it is a digit, encircled, full-width or a blank.

    >>> "".join(map(_plain, "\u2460\u2777\u00a0\uff13\uff0e\uff08\u2163 \u00bd"))
    '1) 2)  3.(4 \u00bd'
    """
    if char.isascii():
        return char
    name, folded = unicodedata.name(char, ""), unicodedata.normalize("NFKC", char)
    if name.startswith("FULLWIDTH") or unicodedata.category(char) == "Zs":
        return folded
    value = unicodedata.numeric(char, 0.5)
    text = str(int(value)) if value == int(value) else folded.strip("().")
    if re.search("CIRCLED|PARENTHESIZED|FULL STOP", name) and text.isascii() and text.isalnum():
        return f"{text}) "
    return {"\u20e3": ") ", "\ufe0f": ""}.get(char, text if value == int(value) else char)


def _inline_list(line: str) -> list[str]:
    """The items of a list that stands in one line, as in "1. A dog barks. 2. A bird sings."."""
    marks = list(_INLINE_MARK.finditer(line))
    numbers = [int(mark[1]) for mark in marks]
    if (
        len(marks) < 2
        or numbers != list(range(1, len(marks) + 1))
        or line[: marks[0].start()].strip()
    ):
        return [line]
    starts = [mark.start() for mark in marks]
    return [line[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def _captions_by_line(lines: Sequence[str]) -> dict[int, str] | None:
    """The captions that begin in lines, by the lines' numbers; None for two numbered lists."""
    found: dict[tuple[str, str, bool], dict[int, Mark]] = {}
    for number, line in enumerate(lines):
        for mark in _marks_of(line):
            found.setdefault(mark.form, {})[number] = mark
    filled = {number: line for number, line in enumerate(lines) if line.strip()}
    counted = [_counting(form, marks) for form, marks in found.items()]
    lists = [marks for marks in counted if _is_list(marks, len(filled))]
    if lists:
        marks = max(lists, key=len)
        values = [mark.value for mark in marks.values()]
        twice = any(later <= values[0] < earlier for earlier, later in pairwise(values))
        return None if twice else {number: mark.caption for number, mark in marks.items()}
    bulleted = {
        number: line.strip()[bullet.end() :]
        for number, line in filled.items()
        if (bullet := _BULLET.match(line.strip()))
    }
    return bulleted if len(bulleted) > 1 else {**filled}


def _marks_of(line: str) -> Iterator[Mark]:
    """Every way in which a line may be numbered."""
    for counter, pattern in _MARKS:
        match = pattern.match(_tidy(line))
        if match is None:
            continue
        closing, caption = match["closing"], match["caption"]
        closed = bool(closing.strip()) or "#" in match["lead"] or not caption
        if counter == "number" and closing.strip() == closing and caption[:1].isdigit():
            continue  # 7:30
        named = bool(match["label"]) or counter in ("word", "ordinal")  # may begin a caption
        if (closed or not named) and (closing or not caption):
            text = match["mark"].lower()
            value = int(text) if counter == "number" else COUNTERS[counter].index(text) + 1
            yield Mark((counter, match["label"].lower(), closed), value, caption)


def _counting(form: tuple[str, str, bool], marks: dict[int, Mark]) -> dict[int, Mark]:
    """Marks that count on, or begin again; all numbers with a sign, as Markdown allows "1." alone.

    Others begin captions, such as "5 dogs bark", or a closing "I hope this helps".
    """
    if form == ("number", "", True):
        return marks
    kept: dict[int, Mark] = {}
    first = next(iter(marks.values())).value
    previous = first - 1
    following = [*[mark.value for mark in marks.values()][1:], None]
    for (number, mark), after in zip(marks.items(), following, strict=True):
        if mark.value == previous + 1 or (mark.value, after) == (first, first + 1):
            kept[number], previous = mark, mark.value
    return kept


def _is_list(marks: dict[int, Mark], lines: int) -> bool:
    values = [mark.value for mark in marks.values()]
    form = next(iter(marks.values())).form
    if form == ("number", "", True):
        return len(values) > 1 or (values == [1] and lines <= 2)
    return len(values) > 1 and values[0] in (0, 1)


def _joined(lines: Sequence[str], captions: dict[int, str]) -> list[str]:
    """Captions with the lines that go on with them.

    A line goes on with an empty caption, or with one that has no stop, if it is indented or begins
    in lower case, or if the others of a numbered list have stops.
    """
    first = min(captions, default=0)
    plain = all(lines[number] == caption for number, caption in captions.items())
    stops = not plain and any(map(_STOP.search, captions.values()))
    lower = not plain or (bool(captions) and not captions[first].strip()[:1].islower())
    margin = min((_indent(lines[number]) for number in captions), default=0)
    items: list[str] = []
    is_open = False
    for number, line in enumerate(lines):
        text = line.strip()
        begins = (lower and (text[:1].islower() or text[:1].isdigit())) or _indent(line) > margin
        if not text:
            is_open = is_open and not items[-1]
        elif (
            is_open
            and (plain or number not in captions)
            and (not items[-1] or (not _STOP.search(items[-1]) and (begins or stops)))
        ):
            items[-1] = f"{items[-1]} {text}".strip()
        elif is_open := number in captions:
            items.append(captions[number].strip())
    return items


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _tidy(line: str) -> str:
    """A line without invisible signs, marks of bold, quotes and counts of words around it."""
    symbols = (c for c in line if unicodedata.category(c) != "So")  # emoji
    line = " ".join("".join(c for c in symbols if c.isprintable() or c.isspace()).split())
    before = None
    while line != before:
        before = line
        line = _WORD_COUNT.sub("", line.strip(" *_`|").rstrip(",;\\"))
        if line[:1] + line[-1:] in _QUOTES and '"' not in line[1:-1]:
            line = line[1:-1]
    return line
