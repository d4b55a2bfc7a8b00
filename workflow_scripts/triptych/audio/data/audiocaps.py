"""AudioCaps v1 (Kim et al. 2019): ten-second excerpts of YouTube videos, in two layouts.

    original   audiocap_id,youtube_id,start_time,caption           one row a caption
    WavCaps'   file_name,caption  or  file_name,caption_1 ... 5    one row a clip, Y<id>.wav

A video occurs once in AudioCaps, so Y<id>.wav names a clip in both. Train has one caption a clip,
val and test have five. All three splits are training data here (report, section 2.4.2).
"""

import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from triptych.audio.data.sound_bytes import SUFFIXES
from triptych.audio.data.tables import Clip, Tables, make_tables, read_rows, youtube_id
from triptych.core.errors import InputError

logger = logging.getLogger(__name__)

DATASET = "audiocaps"
SPLITS = ("train", "val", "test")
ID_LETTERS = 11
EXCERPT_SECONDS, LONGEST_SECONDS = 10.0, 15.0
"""Length of an excerpt; what is longer is a whole video, from which the excerpt is cut."""
START = "start_seconds"
"""Column of the clips beside those of other data sets: where in its video an excerpt begins."""


def read_audiocaps(folder: str | Path, audio: str | Path | None = None) -> Tables:
    """Clips and captions from those of train.csv, val.csv and test.csv that are in `folder`.

    `audio` holds the sound files, whose names have the id and, where they have numbers, the start
    (`<id>_<start>`, `Y<id>_30.000_40.000`, `<id>_000030`, `Y<id>`), or AudioCaps' own number. A
    clip without one is listed too. Raises InputError for a folder without any of the files and for
    a file of neither layout.
    """
    files = {split: Path(folder) / f"{split}.csv" for split in SPLITS}
    present = {split: path for split, path in files.items() if path.exists()}
    if not present:
        raise InputError(f"{folder} has none of AudioCaps' files train.csv, val.csv and test.csv")
    if len(present) < len(SPLITS):
        logger.warning("AudioCaps in %s has only the split(s) %s", folder, ", ".join(present))
    sounds = {} if audio is None else _sound_files(Path(audio))
    clips = [clip for split, path in present.items() for clip in _clips(split, path, sounds)]
    tables = make_tables(clips, folder)
    tables.clips[START] = [clip[START] for clip, _ in clips]
    return tables


def _clips(split: str, path: Path, sounds: dict[str, str]) -> Iterator[tuple[Clip, list[str]]]:
    """The clips of a split with their captions. sounds: paths of sound files by their stems."""
    table = read_rows(path)
    columns = set(table.columns)
    numbered = sorted(column for column in columns if column.startswith("caption"))
    original = {"youtube_id", "start_time", "caption"} <= columns
    if not original and ("file_name" not in columns or not numbered):
        raise InputError(
            f"{path} has the columns {', '.join(table.columns)}; it needs AudioCaps' "
            "audiocap_id,youtube_id,start_time,caption or WavCaps' file_name,caption_1,..."
        )
    # Rows of one clip needn't stand together in the original layout.
    excerpts: dict[tuple[str, str], list[dict[str, str]]] = {}
    for line, row in zip(table.lines, table.rows, strict=True):
        name = f"Y{row['youtube_id']}.wav" if original else row["file_name"]
        video = youtube_id(name, f"{path}, line {line}")
        if not any(row[column].strip() for column in numbered):
            raise InputError(f"{path}, line {line}: its caption is empty")
        excerpts.setdefault((video, row.get("start_time", "")), []).append(row)
    by_video = _stems_by_video(sounds, {video for video, _ in excerpts})
    absent = []
    for (video, start), rows in excerpts.items():
        numbers = [row["audiocap_id"] for row in rows if "audiocap_id" in row]
        stem = _stem_of(video, start, by_video.get(video, []))
        stem = stem or next((number for number in numbers if number in sounds), None)
        name = f"Y{video}.wav"
        clip = {"dataset": DATASET, "split": split, "file_name": name, "youtube_id": video}
        clip["path"] = f"{split}/{name}" if stem is None else sounds[stem]
        clip[START] = start.strip() if _seconds(start) is not None else ""
        if stem is None:
            absent.append(f"{video} from {start or '?'} s")
        captions = [row[column] for row in rows for column in numbered]
        yield clip, [caption for caption in captions if caption.strip()]
    if absent and sounds:
        logger.warning(
            "%s: %d of %d clips have no sound file. Looked for: the video's id and the start in "
            "seconds (or no number at all) anywhere in a name, or AudioCaps' own number; the first "
            "is %s",
            path,
            len(absent),
            len(excerpts),
            absent[0],
        )


def _stems_by_video(stems: Iterable[str], videos: Collection[str]) -> dict[str, list[str]]:
    """The stems in which a video's id stands, wherever, by the id."""
    found: dict[str, list[str]] = {}
    for stem in stems:
        for place in range(len(stem) - ID_LETTERS + 1):
            if (video := stem[place : place + ID_LETTERS]) in videos:
                found.setdefault(video, []).append(stem)
    return found


def _stem_of(video: str, start: str, stems: Sequence[str]) -> str | None:
    """Of the stems with a video's id the one with the start, in s or ms, or with no number."""
    begins, plain = _seconds(start), None
    for stem in stems:
        numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", stem.replace(video, " ", 1))]
        if begins is not None and {begins, 1000 * begins} & set(numbers):
            return stem
        if not numbers or begins is None:
            plain = plain or stem
    return plain


def _seconds(start: str) -> float | None:
    return float(start) if re.fullmatch(r"\d+(\.\d*)?", start.strip()) else None


def _sound_files(folder: Path) -> dict[str, str]:
    """{stem: path relative to `folder`} of every sound file below it; the first of equal stems."""
    sounds_by_stem: dict[str, str] = {}
    for here, inner, names in os.walk(folder):
        inner.sort()
        for name in sorted(names):
            stem, suffix = os.path.splitext(name)
            if suffix.lower() in SUFFIXES:
                sounds_by_stem.setdefault(stem, Path(here, name).relative_to(folder).as_posix())
    logger.info("%d sound files below %s", len(sounds_by_stem), folder)
    return sounds_by_stem
