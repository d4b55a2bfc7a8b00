"""The tables that every audio source becomes, and how the CSV files of the sources are read.

All values are strings: identifiers of Freesound and YouTube look like numbers and are none.
"""

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

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


@dataclass(frozen=True)
class Tables:
    """A data set as read from its files: clips (CLIP_COLUMNS), captions (CAPTION_COLUMNS), and the
    challenge's captions, whose clips are not published.
    """

    clips: pd.DataFrame
    captions: pd.DataFrame
    queries: pd.DataFrame = field(default_factory=lambda: empty_table(QUERY_COLUMNS))


def empty_table(columns: Sequence[str]) -> pd.DataFrame:
    """No rows of strings under these columns."""
    return pd.DataFrame({column: pd.Series(dtype=str) for column in columns})


def clip_id(dataset: str, split: str, file_name: str) -> str:
    """The name of a clip in all tables. The split is needed: Clotho's splits share file names."""
    return f"{dataset}/{split}/{file_name}"


def clip_table(clips: Iterable[dict[str, str]], where: object) -> pd.DataFrame:
    """The rows as a table with a name each, absent values as "". Raises InputError on a repeat."""
    table = pd.DataFrame(list(clips))
    for column in CLIP_COLUMNS:
        if column not in table:
            table[column] = ""
    columns = (table["dataset"], table["split"], table["file_name"])
    table["clip"] = [clip_id(*row) for row in zip(*columns, strict=True)]
    repeated = table["clip"][table["clip"].duplicated()].tolist()
    if repeated:
        raise InputError(
            f"{where}: {len(repeated)} clips are listed twice, the first is {repeated[0]!r}; "
            "expected is each file name once in a split"
        )
    return table.loc[:, list(CLIP_COLUMNS)].fillna("")


def caption_table(captions: Iterable[tuple[str, int, str]], where: object) -> pd.DataFrame:
    """(clip, position, caption) as a table. Raises InputError where a caption is blank."""
    table = pd.DataFrame(list(captions), columns=list(CAPTION_COLUMNS))
    blank = table["clip"][table["caption"].str.strip() == ""].tolist()
    if blank:
        raise InputError(
            f"{where}: {len(blank)} captions are empty, the first is of {blank[0]!r}; "
            "correct the file or take that clip out of it"
        )
    return table


def read_strings(path: str | Path, required: Sequence[str]) -> pd.DataFrame:
    """A CSV file as strings, blanks kept, columns beyond the `required` ones too.

    Raises InputError for a file that is missing, broken (with the line), or lacks a column.
    """
    header, rows = read_rows(path)
    if missing := [column for column in required if column not in header]:
        raise InputError(
            f"{path} has the columns {', '.join(header)}; expected is also {', '.join(missing)}"
        )
    return pd.DataFrame([row for _, row in rows], columns=header, dtype=str)


def read_rows(path: str | Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The columns of a CSV file, and each row with the number of its (last) line.

    UTF-8, UTF-16 or else ISO-8859-1, in which Clotho's metadata is published; the delimiter is the
    one of `,`, `;` and tabs that the header has most. Raises InputError for a file that is missing,
    and with its number for a line of more or fewer fields than the header.
    """
    try:
        content = Path(path).read_bytes()
    except (FileNotFoundError, IsADirectoryError) as error:
        what = "missing" if isinstance(error, FileNotFoundError) else "a folder"
        raise InputError(f"{path} is {what}; expected is a CSV file there") from None
    text = _decoded(content)
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        for fields in reader:
            if not header:
                header = fields
            elif fields and len(fields) != len(header):
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(fields)} fields, expected "
                    f"{len(header)}, as the header has: {delimiter.join(fields)[:80]!r}. A field "
                    f"with {delimiter!r} or a line break in it must stand in quotation marks; if "
                    "it is the last line, the file may have been cut: fetch it again"
                )
            elif fields:
                rows.append((reader.line_num, dict(zip(header, fields, strict=True))))
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: no table: {error}") from None
    if not header or len(set(header)) < len(header):
        raise InputError(f"{path}: its first line must name the columns, each once")
    return header, rows


def _decoded(content: bytes) -> str:
    """Text by its byte order mark; without one UTF-16 has a zero in every other byte."""
    zeros = [content[start:200:2].count(0) for start in (0, 1)]
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    if any(zeros):
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
    stem = file_name.removesuffix(".wav")
    if not re.fullmatch(r"Y[\w-]{11}", stem, re.ASCII):
        begin = f"{where}: " if where else ""
        raise InputError(f"{begin}{file_name!r} isn't named Y<YouTube id of 11 characters>.wav")
    return stem[1:]
