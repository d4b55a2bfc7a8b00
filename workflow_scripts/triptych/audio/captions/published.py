"""New captions that come in a file, found again by file name and caption: the authors', published.

The demo's scenes bring one of their own in the same layout. Two files of the authors are known:
`clotho_gpt/variations.json` of their repository, a list of records {idx, path, caption, query,
response, variations, finish_reason, usage} as their code writes it, and `clotho_v2_gpt.json` at
huggingface.co/datasets/confit/clotho, whose layout nobody here has seen. Hence the reader knows
several spellings and nestings. `idx` depends on the order of a CSV and is not used.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from triptych.audio.captions.answers import (
    Item,
    Rejected,
    Written,
    parse_answer,
    same_words,
    sift,
)
from triptych.core.errors import InputError

_FILE = ("path", "file_name", "filename", "fname", "audio", "audio_path", "file", "name", "wav")
_CAPTION = ("caption", "original_caption", "raw_caption", "original", "text", "sentence")
_VARIATIONS = (
    "variations", "gpt_captions", "captions_gpt", "gpt", "gpt_caption", "augmented",
    "augmented_captions", "paraphrases", "rephrased", "answer", "response", "captions",
)  # fmt: skip
FEWEST_FOUND = 0.5
"""Below this share of captions that are found, the file is not the right one."""

Captions = dict[tuple[str, str], list[str]]


def read_published(path: str | os.PathLike[str]) -> Captions:
    """New captions by (file name, caption), both reduced to what does not depend on spelling.

    Raises InputError, telling what the file holds, when no record is understood.
    """
    found: Captions = {}
    try:
        data = _parsed(Path(path).read_text(encoding="utf-8-sig"))
        for file, caption, variations in _records(data):
            found.setdefault((_file_key(file), same_words(caption)), []).extend(variations)
    except (ValueError, RecursionError):
        raise InputError(
            f"{path} is neither JSON nor JSON lines; expected is the authors' variations.json or "
            "clotho_v2_gpt.json. Delete it and run again."
        ) from None
    if not found:
        raise InputError(
            f"{path} holds no records with a file name, a caption and its variations; it holds "
            f"{_outline(data)}. Known names are {', '.join(_FILE)}; {', '.join(_CAPTION)}; "
            f"{', '.join(_VARIATIONS)}."
        )
    return found


def published_captions(
    items: Sequence[Item], published: Captions, count: int, longest_words: int
) -> list[Written]:
    """For each item the first `count` good captions; those that break the rules are listed.

    Raises InputError when more than half of the items are not found.
    """
    written, missing = [], 0
    for item in items:
        variations = published.get((_file_key(item.clip), same_words(item.caption)))
        if variations is None:
            missing += 1
            written.append(Written((), (Rejected("not among the published captions", ""),)))
            continue
        sentences = [(each, None) for text in variations for each in parse_answer(text)]
        good, bad = sift(sentences, item.caption, longest_words)
        whole = len(good) >= count
        # As its authors' code trains on them: a list as it stands, a text line by line.
        listed = variations if len(variations) > 1 else parse_answer(variations[0])
        written.append(
            Written(tuple(good[:count]), () if whole else tuple(bad), tuple(listed[:count]))
        )
    if items and missing > (1 - FEWEST_FOUND) * len(items):
        raise InputError(
            f"{missing} of {len(items)} captions are not in the file of published captions, which "
            f"has {len(published)}; is it for another data set (audio.captions.backend: authors "
            "needs Clotho)?"
        )
    return written


def _parsed(text: str) -> Any:
    """JSON, or a list of the lines' JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _records(data: Any, file: str | None = None) -> Iterator[tuple[str, str, list[str]]]:
    """(file, caption, variations) of any known nesting."""
    if isinstance(data, Mapping):
        name = _first(data, _FILE, str) or file
        caption, variations = _first(data, _CAPTION, str), _variations(data)
        if name and caption and variations:
            yield name, caption, variations
            return
        columns = [_first(data, names, list) for names in (_FILE, _CAPTION)]
        if all(columns):
            lists = _first(data, _VARIATIONS, list) or []
            for one, two, three in zip(*columns, lists, strict=False):
                yield from _records({"path": one, "caption": two, "variations": three})
            return
        for key, value in data.items():
            # {file: ...}, {caption: [...]} within a file, or a wrapper such as {"data": [...]}
            if name and isinstance(value, list) and value and _strings(value):
                yield name, str(key), [str(each) for each in value]
            elif isinstance(value, Mapping | list):
                yield from _records(value, str(key) if _is_file(str(key)) else name)
    elif isinstance(data, list):
        for each in data:
            if isinstance(each, Mapping | list):
                yield from _records(each, file)


def _variations(record: Mapping[str, Any]) -> list[str]:
    """The new captions of a record: a list, a text, or a chat completion with a text in it."""
    for name in _VARIATIONS:
        value = record.get(name)
        if isinstance(value, list) and value and _strings(value):
            return [str(each) for each in value]
        if isinstance(value, str) and value.strip():
            return [value]
        if isinstance(value, Mapping):
            try:
                return [str(value["choices"][0]["message"]["content"])]
            except (KeyError, IndexError, TypeError):
                continue
    return []


def _first(record: Mapping[str, Any], names: Sequence[str], kind: type) -> Any:
    """The first of `names` that the record has with a value of that kind."""
    for name in names:
        if isinstance(record.get(name), kind) and record[name]:
            return record[name]
    return None


def _strings(values: list[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _is_file(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in (".wav", ".flac", ".mp3", ".ogg")


def _file_key(name: str) -> str:
    """A file's name without folders, case, suffix and what versions spell differently."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    stem = base.rsplit(".", 1)[0] if _is_file(base) else base
    return "".join(letter for letter in stem.lower() if letter.isalnum())


def _outline(data: Any) -> str:
    if isinstance(data, Mapping):
        return "an object with keys " + ", ".join(list(map(str, data))[:8])
    if isinstance(data, list):
        return f"a list of {len(data)}, the first {_outline(data[0]) if data else 'nothing'}"
    return type(data).__name__
