"""The tables that every audio source becomes, and how the CSV files of the sources are read.

All values are strings: identifiers of Freesound and YouTube look like numbers and are none.
"""

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from triptych.audio.data.sound_bytes import SUFFIXES
from triptych.core.errors import InputError

CLIP_COLUMNS = (
    "clip",
    "dataset",
    "split",
    "file_name",
    "sound_id",
    "youtube_id",
    "seconds",
    "keywords",
    "path",
)
CAPTION_COLUMNS = ("clip", "position", "caption")
QUERY_COLUMNS = ("query", "caption")
# What stands in place of a Freesound id in Clotho's metadata, and in the leak lists made of them.
NO_SOUND_ID = ("", "Not found")

Clip = dict[str, str]
"""A clip's values by CLIP_COLUMNS, but for its name; what is not known may be absent."""


@dataclass(frozen=True)
class Tables:
    """A data set as read from its files.

    clips: CLIP_COLUMNS, absent values as ""; captions: CAPTION_COLUMNS; queries: QUERY_COLUMNS, the
    challenge's captions, whose clips are not published.
    """

    clips: pd.DataFrame
    captions: pd.DataFrame
    queries: pd.DataFrame


def make_tables(
    captioned: Iterable[tuple[Clip, Sequence[str]]], where: object, queries: Sequence[str] = ()
) -> Tables:
    """The tables of clips with their captions, and of the challenge's captions.

    A clip's name in all tables has its split: Clotho's share file names. Raises InputError, which
    says `where`, for a clip that is listed twice and for a blank caption.
    """
    unknown = dict.fromkeys(CLIP_COLUMNS, "")
    clips: dict[str, Clip] = {}
    captions: list[tuple[str, int, str]] = []
    for clip, texts in captioned:
        name = f"{clip['dataset']}/{clip['split']}/{clip['file_name']}"
        if name in clips:
            raise InputError(f"{where}: {name!r} is listed twice; a split may list a clip once")
        if not all(text.strip() for text in texts):
            raise InputError(f"{where}: a caption of {name!r} is empty; correct it or take it out")
        clips[name] = {**unknown, **clip, "clip": name}
        captions += [(name, position, text) for position, text in enumerate(texts)]
    return Tables(
        pd.DataFrame(list(clips.values()), columns=list(CLIP_COLUMNS)),
        pd.DataFrame(captions, columns=list(CAPTION_COLUMNS)),
        pd.DataFrame(list(enumerate(queries)), columns=list(QUERY_COLUMNS)),
    )


class Rows(NamedTuple):
    """A CSV file's rows by column, all strings, and the number of each one's (last) line."""

    columns: list[str]
    rows: list[dict[str, str]]
    lines: list[int]


def read_rows(path: str | Path, required: Sequence[str] = ()) -> Rows:
    """Read a CSV file that may have columns beyond the `required` ones; blanks are kept.

    UTF-8, UTF-16 or else ISO-8859-1, in which Clotho's metadata is published; the delimiter is the
    one of `,`, `;` and tabs that the header has most. Raises InputError for a file that is missing
    or lacks a column, and with its number for a line of more or fewer fields than the header.
    """
    try:
        content = Path(path).read_bytes()
    except (FileNotFoundError, IsADirectoryError) as error:
        what = "missing" if isinstance(error, FileNotFoundError) else "a folder"
        raise InputError(f"{path} is {what}, where a CSV file must be") from None
    text = _decoded(content).replace("\0", "")
    first = re.split(r"[\r\n]", text, maxsplit=1)[0]
    stated = re.fullmatch(r"\"?sep=(.)\"?", first)  # a spreadsheet's own line
    delimiter = stated[1] if stated else max(",;\t", key=first.count)
    lines = io.StringIO(text, newline="")
    before = int(stated is not None and bool(lines.readline()))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    found = Rows(header, [], [])
    try:
        for fields in reader:
            if not header:
                header += fields
            elif fields and len(fields) != len(header):
                raise InputError(
                    f"{path}, line {before + reader.line_num}: {len(fields)} fields, expected "
                    f"{len(header)}, as the header has: {delimiter.join(fields)[:80]!r}. A field "
                    f"with {delimiter!r} or a line break in it must stand in quotation marks; if "
                    "it is the last line, the file may have been cut: fetch it again"
                )
            elif fields:
                found.rows.append(dict(zip(header, fields, strict=True)))
                found.lines.append(before + reader.line_num)
    except csv.Error as error:
        line = before + reader.line_num
        raise InputError(f"{path}, line {line}: no table: {error}") from None
    if not header or len(set(header)) < len(header):
        raise InputError(f"{path}: its first line must name the columns, each once")
    if missing := [column for column in required if column not in header]:
        raise InputError(
            f"{path} has the columns {', '.join(header)}; it lacks {', '.join(missing)}"
        )
    return found


def _decoded(content: bytes) -> str:
    """Text by its byte order mark; without one UTF-16 has a zero in every other byte."""
    zeros = [content[start:200:2].count(0) for start in (0, 1)]
    few = len(content[:200]) / 8  # damage, which is taken out
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    if max(zeros) > few:
        return content.decode("utf-16-le" if zeros[1] > zeros[0] else "utf-16-be", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("iso-8859-1")


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """One of the project's own CSV files, all values as strings."""
    return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")


def sound_id(text: str, where: object) -> str:
    """A Freesound id as digits, "" for "Not found". Raises InputError for anything else."""
    stripped = text.strip()
    if stripped in NO_SOUND_ID:
        return ""
    if not (stripped.isascii() and stripped.isdigit()):
        raise InputError(
            f"{where}: the Freesound id is {text!r}; expected are digits, or 'Not found'. "
            "A spreadsheet may have changed the file: fetch it again."
        )
    return stripped


def youtube_id(file_name: str, where: object = "") -> str:
    """The video of a file named as WavCaps and PANNs do: Y, the id of 11 characters, a suffix.

    The id itself may begin with Y. Raises InputError where the name is of another form.
    """
    stem, suffix = os.path.splitext(file_name)
    stem = stem if suffix.lower() in SUFFIXES else file_name
    if not re.fullmatch(r"Y[\w-]{11}", stem, re.ASCII):
        begin = f"{where}: " if where else ""
        raise InputError(f"{begin}{file_name!r} isn't named Y<YouTube id of 11 characters>.wav")
    return stem[1:]
