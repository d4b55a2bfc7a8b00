"""The rehearsal's tables of Clotho, AudioCaps, WavCaps, leaks and captions, and their sounds.

A handful of clips with most of the oddities that the real files have: blanks and colons in names,
recordings without id, one that two splits share, one name in two splits, videos that are gone, an
empty FLAC file, a file without record, recordings of Clotho in WavCaps. One file is damaged.
"""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

sys.path.append(str(Path(__file__).parents[1] / "audio"))

from audio_source_files import (
    CLOTHO,
    QUERIES,
    captions_of,
    record,
    write_clotho,
    write_leaks,
    write_metadata,
    write_rows,
    write_wavcaps,
)
from sound_files import header_only

CLOTHO_RATE, USUAL_RATE = 44_100, 32_000
DAMAGED = "unknown origin.wav"
CHALLENGE = {
    "Wet Road : Night.wav": "Wet Road_Night.wav",
    "gate: creak.wav": "gate_creak.wav",
    **{f"challenge {n}.wav": f"challenge {n}.wav" for n in range(9)},
}
"""Names in the challenge's table and in its archive. A submission names ten."""

VIDEOS = {
    "train": {"gone_video0": 0, "cars_in_19x": 12},
    "val": {"gone_video1": 170},
    "test": {"-dog_barks-": 20},
}
"""AudioCaps' clips: the video and the first second. Those that are gone are nowhere to be had."""

WAVCAPS = {
    "AudioSet_SL": {"Y-dog_barks-.wav": 10.0, "Y06-g5jz-OGc.wav": 0.0},
    "BBC_Sound_Effects": {"NHU05093051": 8.0},
    "FreeSound": {"521": 15.0, "511": 10.0, "90001": 45.0},
    "SoundBible": {"2219": 6.0},
}
"""Ids of the records and seconds. 521 and 511 are Clotho's, the video is AudioCaps'."""
WITHOUT_RECORD = "2220"


def write_sound(path: Path, seconds: float, rate: int, seed: int) -> None:
    """A tone that comes and goes in noise, 16 bits or MP3."""
    random = np.random.default_rng(seed)
    times = np.arange(round(seconds * rate), dtype=np.float32) / rate
    tone = np.sin(2 * np.pi * (200 + 100 * (seed % 30)) * times) * np.sin(np.pi * times) ** 2
    samples = 0.3 * tone + 0.05 * random.standard_normal(len(times), dtype=np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate)


def clotho_files(folder: Path) -> dict[str, Path]:
    """Clotho's tables in `folder`; returns a folder of sounds for each of its archives."""
    write_clotho(folder, CLOTHO, challenge=False)
    challenge = [(name, str(540 + n), "") for n, name in enumerate(CHALLENGE)]
    write_metadata(folder / "retrieval_audio_metadata.csv", challenge)
    write_rows(folder / "retrieval_captions.csv", ["caption"], [[query] for query in QUERIES])
    sounds = {f"clotho_audio_{split}.7z": folder / split for split in CLOTHO}
    for split, clips in CLOTHO.items():
        for n, (name, _, cut) in enumerate(clips):
            start, end = json.loads(cut) if cut else (0, 30 * CLOTHO_RATE)
            seconds = (end - start) / CLOTHO_RATE
            write_sound(folder / split / name, seconds, CLOTHO_RATE, 10 * len(split) + n)
    (folder / "development" / DAMAGED).write_bytes(b"RIFF")
    for n, name in enumerate(CHALLENGE.values()):
        write_sound(folder / "test" / name, 15.0, CLOTHO_RATE, n)
    return sounds | {"retrieval_audio.7z": folder / "test"}


def audiocaps_files(folder: Path, archive: Path) -> None:
    """AudioCaps' tables, and its MP3 copy, files by their videos' ids, in `archive`."""
    number = 0
    for split, clips in VIDEOS.items():
        rows = []
        for video, start in clips.items():
            for caption in captions_of(f"video {number}")[: 1 if split == "train" else 5]:
                number += 1
                rows.append([number, video, start, caption])
            if not video.startswith("gone"):
                write_sound(folder / "mp3" / f"Y{video}.mp3", 10, USUAL_RATE, number)
        header = ["audiocap_id", "youtube_id", "start_time", "caption"]
        write_rows(folder / f"{split}.csv", header, rows)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w") as packed:
        for sound in sorted((folder / "mp3").iterdir()):
            packed.write(sound, f"AUDIOCAPS/{sound.name}")


def wavcaps_files(folder: Path) -> dict[str, dict[str, Path]]:
    """WavCaps' records in `folder`; returns the recordings of each part by the names of files."""
    sounds: dict[str, dict[str, Path]] = {}
    for part, clips in WAVCAPS.items():
        records = [record(name, duration=length) for name, length in clips.items()]
        write_wavcaps(folder, part, records)
        names = {name.removesuffix(".wav"): length for name, length in clips.items()}
        if part == "SoundBible":
            names[WITHOUT_RECORD] = 5.0
        sounds[part] = {f"{name}.flac": folder / part / f"{name}.flac" for name in names}
        for n, (name, length) in enumerate(names.items()):
            path = sounds[part][f"{name}.flac"]
            if length:
                write_sound(path, length, USUAL_RATE, 7 * len(part) + n)
            else:
                header_only(path)
    return sounds


def leak_files(folder: Path) -> None:
    """The four lists of clips to leave out, each of what its authors leave out."""
    ids = {split: [number for _, number, _ in clips] for split, clips in CLOTHO.items()}
    challenge = [str(540 + n) for n in range(len(CHALLENGE))]
    tested = ids["validation"] + ids["evaluation"]
    write_leaks(
        folder,
        full=[*ids["development"], *tested, *challenge, "600001"],
        wavcaps_all=ids["development"] + tested,
        wavcaps_test=tested,
        dcase=ids["evaluation"] + challenge,
        videos=[video for split in ("val", "test") for video in VIDEOS[split]],
    )


def variations() -> list[dict[str, Any]]:
    """The authors' new captions: a record for each of the development split's; 30% keep the rules,
    as theirs may."""
    captions = [(name, each) for name, *_ in CLOTHO["development"] for each in captions_of(name)]
    records = []
    for number, (name, caption) in enumerate(captions):
        ways = ("Loudly", "Softly", "Outside", "Close by", "For a while")
        good = 1 + number % 2
        ends = ["goes on"] * good + ["is heard"] * (len(ways) - good)
        sentences = [
            f"{way} the sound of number {number} {end}."
            for way, end in zip(ways, ends, strict=True)
        ]
        path = f"/home/somebody/shared/clotho_v2/development/{name}"
        said = {"response": "\n".join(sentences), "variations": sentences}
        records.append({"idx": number, "path": path, "caption": caption, **said})
    return records


def all_captions() -> list[str]:
    """Texts for the tokenizers to know the words of."""
    names = [name for clips in CLOTHO.values() for name, *_ in clips]
    texts = [caption for name in names for caption in captions_of(name)]
    return [*texts, *QUERIES, *(text for each in variations() for text in each["variations"])]


def write_json(path: Path, content: object) -> None:
    """As Python's `json` writes by default."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
