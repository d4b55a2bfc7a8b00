"""Clotho v2.1 (Drossos, Lipping, Virtanen 2020) and the challenge's retrieval set.

The published files, all in one folder, and the quirks that they have (each has a test):

    clotho_captions_{split}.csv    file_name,caption_1 ... caption_5; UTF-8
    clotho_metadata_{split}.csv    file_name,keywords,sound_id,sound_link,start_end_samples,...;
                                   ISO-8859-1; sound_id may be "Not found", start_end_samples empty
    retrieval_audio_metadata.csv   the challenge's clips, columns as above
    retrieval_captions.csv         the challenge's queries; the one column `caption`

Some file names begin with a space, some occur in two splits, and development has 3,839 clips,
not 3,840. Copies may have further columns and may be UTF-8 throughout.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from triptych.audio.data.tables import Clip, Tables, make_tables, read_rows, sound_id
from triptych.core.errors import InputError

DATASET = "clotho"
LABELLED = ("development", "validation", "evaluation")
CHALLENGE = "challenge"
CAPTIONS = tuple(f"caption_{number}" for number in range(1, 6))
METADATA = ("file_name", "sound_id")
CHALLENGE_METADATA = "retrieval_audio_metadata.csv"
CHALLENGE_CAPTIONS = "retrieval_captions.csv"
# Where the workflow unpacks retrieval_audio.7z; the folder inside is `test`, and others renamed it.
CHALLENGE_FOLDERS = ("retrieval_audio", "test", "test_retrieval_audio", "challenge")
SAMPLE_RATE = 44_100  # of start_end_samples
START_END = re.compile(r"\s*\[\s*(\d{1,15})\s*,\s*(\d{1,15})\s*\]\s*", re.ASCII)


def read_clotho(
    folder: str | Path,
    audio: str | Path | None = None,
    splits: Collection[str] = (*LABELLED, CHALLENGE),
) -> Tables:
    """Clips, captions and queries from the files in `folder`.

    audio: the folder of a folder of WAV files a split, looked at for the name of the challenge's.
    The challenge's clips may be missing. Raises InputError for missing files or columns and for
    captions that fit no metadata.
    """
    folder = Path(folder)
    captioned = [clip for split in LABELLED if split in splits for clip in _labelled(folder, split)]
    queries = []
    challenge = (folder / CHALLENGE_METADATA, folder / CHALLENGE_CAPTIONS)
    if CHALLENGE in splits and any(path.exists() for path in challenge):
        inner = challenge_folder(folder if audio is None else audio)
        for row in read_rows(challenge[0], METADATA).rows:
            path = f"{inner}/{archived_name(row['file_name'])}"
            captioned.append((_clip(row, CHALLENGE, path, challenge[0]), []))
        queries = [row["caption"] for row in read_rows(challenge[1], ("caption",)).rows]
    return make_tables(captioned, folder, queries)


def challenge_folder(audio: str | Path) -> str:
    """The folder of the challenge's WAV files in `audio`; the workflow's if none is there yet."""
    present = (name for name in CHALLENGE_FOLDERS if (Path(audio) / name).is_dir())
    return next(present, CHALLENGE_FOLDERS[0])


def archived_name(file_name: str) -> str:
    """A file's name in the challenge's archive: `:`, which three names have, became `_`.

    >>> archived_name("Rain : Roof.wav"), archived_name("Rain: Roof.wav")
    ('Rain_Roof.wav', 'Rain_Roof.wav')
    """
    return re.sub(r" ?: ?", "_", file_name)


def _labelled(folder: Path, split: str) -> Iterator[tuple[Clip, list[str]]]:
    """The clips of a split with their captions, in the order of the captions' file, as in the
    authors' code and everybody's results.
    """
    source = folder / f"clotho_metadata_{split}.csv"
    rows = read_rows(source, METADATA).rows
    metadata = {row["file_name"]: row for row in rows}
    if len(metadata) < len(rows):
        raise InputError(f"{source} names a file twice; it may name each once")
    captions = read_rows(folder / f"clotho_captions_{split}.csv", ("file_name", *CAPTIONS)).rows
    if odd := sorted(metadata.keys() ^ {row["file_name"] for row in captions}):
        raise InputError(
            f"Clotho's captions and metadata of {split} differ in {len(odd)} clips, the first is "
            f"{odd[0]!r}; both must have the same file names, blanks at their start included"
        )
    for row in captions:
        name = row["file_name"]
        clip = _clip(metadata[name], split, f"{split}/{name}", source)
        yield clip, [row[column] for column in CAPTIONS]


def _clip(row: dict[str, str], split: str, path: str, source: Path) -> Clip:
    """A clip from its row of the metadata in `source`; path: of its WAV file."""
    words = [word.strip() for word in row.get("keywords", "").split(";")]
    return {
        "dataset": DATASET,
        "split": split,
        "file_name": row["file_name"],
        "sound_id": sound_id(row["sound_id"], f"{source}, {row['file_name']}"),
        "seconds": _seconds(row.get("start_end_samples", ""), source),
        "keywords": ";".join(filter(None, words)),
        "path": path,
    }


def _seconds(start_end: str, path: Path) -> str:
    """Length of the excerpt that Clotho cut, from "[start, end]" in samples; "" where unknown."""
    if not start_end.strip():
        return ""
    match = START_END.fullmatch(start_end)
    if match is None:
        raise InputError(
            f"{path}: start_end_samples is {start_end!r}; it may be [start, end] or nothing"
        )
    return f"{(int(match[2]) - int(match[1])) / SAMPLE_RATE:.3f}"
