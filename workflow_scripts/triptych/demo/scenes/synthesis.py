"""The demo's audio data: all that the study downloads at paper scale, made here from sound scenes.

    clotho/ audiocaps/ wavcaps/ leaks/ captions/    in the layouts of their sources (files.py)
    scenes.csv                                      what the clips truly hold

A few files are empty or missing on purpose, as in the real sources.
"""

import logging
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import soxr

from triptych.audio.data.shards import write_sound
from triptych.core.files import write_csv
from triptych.demo.scenes.catalogue import Catalogue, Clip, Settings, catalogue, scene_table
from triptych.demo.scenes.files import FILE_RATES, path_of, write_tables
from triptych.demo.scenes.mixing import render
from triptych.demo.scenes.signals import RATE

logger = logging.getLogger(__name__)


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
        write_tables(clips, temporary, settings.seed)
        write_csv(scene_table(clips), temporary / "scenes.csv")
        paths = {
            clip: temporary / path_of(clip)
            for groups in (clips.clotho, clips.audiocaps, clips.wavcaps)
            for members in groups.values()
            for clip in members
        }
        for parent in {path.parent for path in paths.values()}:
            parent.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(workers) as pool:
            seconds = sum(pool.map(_write_sound, paths, paths.values()))
        _break_files(clips, paths)
        if target.exists():
            shutil.rmtree(target)
        temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    logger.info("%d clips, %.1f minutes of sound in %s", len(paths), seconds / 60, target)


def _write_sound(clip: Clip, path: Path) -> float:
    """Render a clip and write it as 16-bit WAV or FLAC, by the name; its seconds."""
    rate = FILE_RATES[clip.dataset]
    samples = soxr.resample(render(clip.scene, clip.seconds, *clip.key), RATE, rate)
    write_sound(path, np.clip(samples, -1, 1), rate, path.suffix.removeprefix(".").upper())
    return clip.seconds


def _break_files(clips: Catalogue, paths: Mapping[Clip, Path]) -> None:
    """Empty and remove files, as in the real sources: the last clips of their splits, which are
    none of the planted leaks.
    """
    paths[clips.wavcaps["AudioSet_SL"][-1]].write_bytes(b"")
    paths[clips.wavcaps["BBC_Sound_Effects"][-1]].unlink()
    paths[clips.audiocaps["train"][-1]].unlink()
