"""The demo's audio data: all that the study downloads at paper scale, made here from sound scenes.

    clotho/ audiocaps/ wavcaps/ leaks/    in the layouts of their sources (clotho_files,
                                          other_files, leak_lists)
    captions/variations.json              Clotho's captions in other words (paraphrases)
    scenes.csv                            what the clips truly hold

A few files are broken on purpose, as real ones are: an AudioSet recording of no bytes and one
without samples, SoundBible recordings that no record names, a BBC and an AudioCaps clip whose file
is missing.
"""

import logging
import os
import shutil
import struct
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soxr

from triptych.audio.data.shard_files import write_sound
from triptych.core.files import write_csv
from triptych.demo.scenes.catalogue import Catalogue, Clip, Settings, catalogue, scene_table
from triptych.demo.scenes.clotho_files import (
    FILE_RATE,
    clotho_captions,
    clotho_path,
    write_clotho_tables,
)
from triptych.demo.scenes.leak_lists import write_leak_lists
from triptych.demo.scenes.mixing import render
from triptych.demo.scenes.other_files import (
    WAVCAPS_RATE,
    audiocaps_path,
    wavcaps_path,
    write_audiocaps_tables,
    write_wavcaps_tables,
)
from triptych.demo.scenes.paraphrases import write_paraphrases
from triptych.demo.scenes.signals import RATE

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Sound:
    clip: Clip
    path: Path
    rate: int


def synthesise(settings: Settings, folder: str | os.PathLike[str], workers: int) -> None:
    """Write everything to `folder`, which is replaced whole or not at all.

    The bytes are a function of the settings, whatever the number of worker threads.
    Raises ValueError for settings that no data set can be made of.
    """
    clips = catalogue(settings)
    target = Path(folder)
    temporary = target.with_name(f".partial-{target.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        captions = clotho_captions(clips.clotho, settings.seed)
        write_clotho_tables(clips.clotho, captions, temporary / "clotho", settings.seed)
        published = temporary / "captions/variations.json"
        write_paraphrases(clips.clotho, captions, published, settings.seed)
        write_audiocaps_tables(clips.audiocaps, temporary / "audiocaps", settings.seed)
        write_wavcaps_tables(clips.wavcaps, temporary / "wavcaps", settings.seed)
        write_leak_lists(clips, temporary / "leaks", settings.seed)
        write_csv(scene_table(clips), temporary / "scenes.csv")
        sounds = list(_sounds(clips, temporary))
        for parent in {sound.path.parent for sound in sounds}:
            parent.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(workers) as pool:
            seconds = sum(pool.map(_write_sound, sounds))
        _break_files(clips, temporary)
        if target.exists():
            shutil.rmtree(target)
        temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    logger.info("%d clips, %.1f minutes of sound in %s", len(sounds), seconds / 60, target)


def _sounds(clips: Catalogue, folder: Path) -> Iterable[_Sound]:
    for dataset, groups, place, rate in (
        ("clotho", clips.clotho, clotho_path, FILE_RATE),
        ("audiocaps", clips.audiocaps, audiocaps_path, FILE_RATE),
        ("wavcaps", clips.wavcaps, wavcaps_path, WAVCAPS_RATE),
    ):
        for members in groups.values():
            for clip in members:
                yield _Sound(clip, folder / dataset / place(clip), rate)


def _write_sound(sound: _Sound) -> float:
    """Render a clip and write it as 16-bit WAV or FLAC, by the name; returns its seconds."""
    clip = sound.clip
    samples = soxr.resample(render(clip.scene, clip.seconds, *clip.key), RATE, sound.rate)
    kind = sound.path.suffix.removeprefix(".").upper()
    write_sound(sound.path, np.clip(samples, -1, 1), sound.rate, kind)
    return clip.seconds


def _break_files(clips: Catalogue, folder: Path) -> None:
    """Break, remove and add the files that are broken, missing and too many in the real sources.

    The last clips of their splits, so that none of the planted leaks is among them.
    """
    wavcaps = {
        part: [folder / "wavcaps" / wavcaps_path(clip) for clip in members]
        for part, members in clips.wavcaps.items()
    }
    wavcaps["AudioSet_SL"][-1].write_bytes(b"")
    wavcaps["AudioSet_SL"][-2].write_bytes(_flac_without_samples())
    wavcaps["BBC_Sound_Effects"][-1].unlink()
    (folder / "audiocaps" / audiocaps_path(clips.audiocaps["train"][-1])).unlink()
    for place, number in enumerate(("9001", "9002")):
        recording = wavcaps["SoundBible"][place]
        shutil.copyfile(recording, recording.with_name(f"{number}.flac"))


def _flac_without_samples() -> bytes:
    """The header of a FLAC stream (mono, 16 bit) after which nothing comes.

    By hand, since libsndfile writes no header before the first sample. Fields of STREAMINFO
    (RFC 9639, section 8.2): block sizes, frame sizes, then rate, channels - 1, bits - 1 and
    samples in 20 + 3 + 5 + 36 bits, then a checksum.
    """
    described = WAVCAPS_RATE << 44 | 0 << 41 | 15 << 36 | 0
    info = struct.pack(">HH6xQ16x", 4096, 4096, described)
    return b"fLaC" + struct.pack(">I", 0x80 << 24 | len(info)) + info
