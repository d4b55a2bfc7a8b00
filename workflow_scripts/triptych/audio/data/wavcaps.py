"""WavCaps (Mei et al. 2023): 403,050 clips from four sources, with captions made by ChatGPT.

A file of JSON a source, `json_files/{part}/{FILES[part]}`: `{"data": [{"id", "caption", "duration",
...}, ...]}`. The audio is FLAC of 32 kHz in one zip file (of many parts) a source. What the records
don't name is not listed.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triptych.audio.data.tables import Clip, Tables, make_tables, sound_id, youtube_id
from triptych.core.errors import InputError

logger = logging.getLogger(__name__)

DATASET = "wavcaps"
FILES = {
    "AudioSet_SL": "as_final.json",
    "BBC_Sound_Effects": "bbc_final.json",
    "FreeSound": "fsd_final.json",
    "SoundBible": "sb_final.json",
}
# Where a file lies inside the archives, whose paths are those of the authors' computer.
ARCHIVED = "mnt/fast/nobackup/scratch4weeks/xm00178/WavCaps/data/waveforms/{part}_flac"
FOLDERS = (ARCHIVED, "{part}_flac", "Audio/{part}", "{part}")


def read_wavcaps(
    folder: str | Path, parts: Sequence[str] = tuple(FILES), audio: str | Path | None = None
) -> Tables:
    """Clips and captions of the named parts; the JSON files lie in `folder` as above, or flat.

    `audio` is the folder with the unpacked recordings; without it, paths are those inside the
    archives. Only FreeSound's clips get a sound_id and only AudioSet's a youtube_id. Raises
    InputError for an unknown part, a missing file, or a record without id or caption.
    """
    captioned: list[tuple[Clip, list[str]]] = []
    for part in parts:
        path = _json_file(Path(folder), part)
        inner = _layout(None if audio is None else Path(audio), part)
        for record in _records(path):
            name = str(record["id"]).removesuffix(".wav")  # AudioSet's are names of WAV files
            clip = {
                "dataset": DATASET,
                "split": part,
                "file_name": f"{name}.flac",
                "sound_id": sound_id(name, path) if part == "FreeSound" else "",
                "youtube_id": youtube_id(name) if part == "AudioSet_SL" else "",
                "path": f"{inner}/{name}.flac",
            }
            captioned.append((clip, [record["caption"]]))
    return make_tables(captioned, folder)


def _json_file(folder: Path, part: str) -> Path:
    places = (f"json_files/{part}/{FILES[part]}", f"{part}/{FILES[part]}", FILES[part])
    for place in places:
        if (folder / place).exists():
            return folder / place
    raise InputError(
        f"WavCaps' records of {part} are missing: {folder} has none of {', '.join(places)}"
    )


def _records(path: Path) -> list[dict[str, Any]]:
    """The records with an id each, of those with one id the first. The largest file has 147 MB."""
    with path.open(encoding="utf-8-sig") as stream:
        try:
            records = json.load(stream)["data"]
            if not isinstance(records, list):
                raise TypeError(f"data is a {type(records).__name__}")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f'{path} isn\'t {{"data": [...]}} in JSON ({error}); a few lines that begin with '
                "'version https://git-lfs' stand for a file that was not fetched"
            ) from None
    by_id: dict[str, dict[str, Any]] = {}
    for record in records:
        fields = record if isinstance(record, dict) else {}
        if not isinstance(fields.get("id"), str | int) or not isinstance(
            fields.get("caption"), str
        ):
            raise InputError(
                f"{path}: a record is {str(record)[:200]}; expected are an id and a text as "
                "caption (the files *_pretrain.json are of another kind)"
            )
        by_id.setdefault(str(record["id"]), record)
    if len(by_id) < len(records):
        logger.warning("%s: %d records repeat an id", path, len(records) - len(by_id))
    return list(by_id.values())


def _layout(audio: Path | None, part: str) -> str:
    """The folder below `audio` of a part's recordings; the archives' by default."""
    candidates = [folder.format(part=part) for folder in FOLDERS]
    present = (folder for folder in candidates if audio and (audio / folder).is_dir())
    return next(present, candidates[0])
