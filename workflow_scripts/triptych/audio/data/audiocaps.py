"""AudioCaps v1 (Kim et al. 2019): ten-second excerpts of YouTube videos, in two layouts.

    original   audiocap_id,youtube_id,start_time,caption           one row a caption
    WavCaps'   file_name,caption  or  file_name,caption_1 ... 5    one row a clip, Y<id>.wav

A video occurs once in AudioCaps, so Y<id>.wav names a clip in both. Train has one caption a clip,
val and test have five. All three splits are training data here (report, section 2.4.2).
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from triptych.audio.data.sound_bytes import SUFFIXES
from triptych.audio.data.tables import Clip, Tables, make_tables, read_rows, youtube_id
from triptych.core.errors import InputError

logger = logging.getLogger(__name__)

DATASET = "audiocaps"
SPLITS = ("train", "val", "test")


def read_audiocaps(folder: str | Path, audio: str | Path | None = None) -> Tables:
    """Clips and captions from those of train.csv, val.csv and test.csv that are in `folder`.

    `audio` holds the sound files, named `<id>_<start>`, `Y<id>`, `<id>` or by AudioCaps' own
    number. A clip without one is listed too. Raises InputError for a folder without any of the
    files and for a file of neither layout.
    """
    files = {split: Path(folder) / f"{split}.csv" for split in SPLITS}
    present = {split: path for split, path in files.items() if path.exists()}
    if not present:
        raise InputError(f"{folder} has none of AudioCaps' files train.csv, val.csv and test.csv")
    if len(present) < len(SPLITS):
        logger.warning("AudioCaps in %s has only the split(s) %s", folder, ", ".join(present))
    sounds = {} if audio is None else _sound_files(Path(audio))
    return make_tables(
        (clip for split, path in present.items() for clip in _clips(split, path, sounds)), folder
    )


def _clips(split: str, path: Path, sounds: dict[str, str]) -> Iterator[tuple[Clip, list[str]]]:
    """The clips of a split with their captions. sounds: paths of sound files by their stems."""
    table = read_rows(path)
    columns = set(table.columns)
    numbered = sorted(column for column in columns if column.startswith("caption"))
    original = {"youtube_id", "start_time", "caption"} <= columns
    if not original and ("file_name" not in columns or not numbered):
        raise InputError(
            f"{path} has the columns {', '.join(table.columns)}; expected is AudioCaps' "
            "audiocap_id,youtube_id,start_time,caption or WavCaps' file_name,caption_1,..."
        )
    # Rows of one clip needn't stand together in the original layout.
    excerpts: dict[tuple[str, str], list[dict[str, str]]] = {}
    for line, row in zip(table.lines, table.rows, strict=True):
        name = f"Y{row['youtube_id']}.wav" if original else row["file_name"]
        video = youtube_id(name, f"{path}, line {line}")
        if not all(row[column].strip() for column in numbered):
            raise InputError(f"{path}, line {line}: its caption is empty")
        excerpts.setdefault((video, row.get("start_time", "")), []).append(row)
    for (video, start), rows in excerpts.items():
        stems = [f"{video}_{start}", f"Y{video}_{start}", f"Y{video}", video]
        stems += [row["audiocap_id"] for row in rows if "audiocap_id" in row]
        name = f"Y{video}.wav"
        clip = {"dataset": DATASET, "split": split, "file_name": name, "youtube_id": video}
        clip["path"] = next((sounds[stem] for stem in stems if stem in sounds), f"{split}/{name}")
        yield clip, [row[column] for row in rows for column in numbered]


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
