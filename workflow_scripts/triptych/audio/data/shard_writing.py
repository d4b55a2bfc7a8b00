"""Write the clips of a data set, resampled, into shard files with an index.

A folder holds `index.csv` (INDEX; frames at 32 kHz), the shard files, and `problems.csv` (PROBLEMS)
with the clips that could not be used and why.
"""

import hashlib
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pandas as pd

from triptych.audio.data.audio_sources import AudioSource, move_folder
from triptych.audio.data.decoding import AudioProblem
from triptych.audio.data.shard_files import KINDS, append_clip
from triptych.audio.data.tables import read_table
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, clear_partial, set_aside, write_csv
from triptych.core.progress import Progress

logger = logging.getLogger(__name__)

INDEX = ["clip", "shard", "kind", "offset", "bytes", "frames"]
PROBLEMS = ["clip", "problem"]
CLIPS_A_GROUP = 128
"""Clips that one worker converts at a time, into files of their own: what a kill loses at most."""
SHARD_BYTES = 1 << 30
"""A shard file that has come to this size is closed; its last clip may reach beyond."""


def write_shards(
    clips: pd.DataFrame,
    audio: AudioSource,
    target: str | os.PathLike[str],
    kind: str,
    *,
    checkpoint: str | os.PathLike[str],
    fingerprint: str = "",
    threads: int = 1,
) -> None:
    """Convert `clips` (columns clip, path) into the folder `target`, which appears when done.

    kind: int16 or flac. A killed job goes on with the groups that `checkpoint` lacks, as long as
    `fingerprint`, the clips and the sizes of their files are the same. Clips that cannot be read
    are listed and left out. Raises InputError when none is left.
    """
    target, room = Path(target), Path(checkpoint)
    folder = _resume(room, _digest(clips, audio, kind, fingerprint))
    if not (folder / "index.csv").exists():
        _convert_groups(clips, partial(_convert_group, audio, kind, folder), folder, threads)
        _join_groups(folder, len(clips), target)
    for part in (*folder.glob("[0-9]*.csv"), *folder.glob("[0-9]*.problems")):
        part.unlink()
    move_folder(folder, target)
    (room / "fingerprint").unlink()


def _digest(clips: pd.DataFrame, source: AudioSource, kind: str, fingerprint: str) -> str:
    digest = hashlib.sha256(repr((fingerprint, kind, CLIPS_A_GROUP, SHARD_BYTES)).encode())
    for clip, path in zip(clips["clip"], clips["path"], strict=True):
        digest.update(repr((clip, path, source.state(path))).encode())
    return digest.hexdigest()


def _resume(room: Path, fingerprint: str) -> Path:
    """The folder of unfinished shards; those of other clips, settings or code are moved aside."""
    mark, folder = room / "fingerprint", room / "shards"
    if folder.exists() and not (mark.exists() and mark.read_text() == fingerprint):
        aside = set_aside(room, [folder])
        logger.warning("unfinished shards of other clips, settings or code are kept in %s", aside)
    folder.mkdir(parents=True, exist_ok=True)
    clear_partial(folder)
    with atomic_path(mark) as temporary:
        temporary.write_text(fingerprint)
    return folder


def _convert_groups(
    clips: pd.DataFrame,
    convert: Callable[[int, list[tuple[str, str]]], int],
    folder: Path,
    threads: int,
) -> None:
    """Convert the groups that have no index in `folder` yet."""
    rows = list(zip(clips["clip"], clips["path"], strict=True))
    groups = enumerate(range(0, len(rows), CLIPS_A_GROUP))
    waiting = {
        number: rows[first : first + CLIPS_A_GROUP]
        for number, first in groups
        if not _index_of(folder, number).exists()
    }
    done = len(rows) - sum(map(len, waiting.values()))
    with (
        Progress("clips", len(rows), "clips", done) as progress,
        # Decoder, resampler and encoder let other threads run.
        ThreadPoolExecutor(threads) as pool,
    ):
        jobs = [pool.submit(convert, number, group) for number, group in waiting.items()]
        try:
            for job in jobs:
                progress.advance(job.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _index_of(folder: Path, number: int) -> Path:
    """The file that says that a group is finished: the last one that its worker writes."""
    return folder / f"{number:05d}.csv"


def _convert_group(
    audio: AudioSource, kind: str, folder: Path, number: int, clips: list[tuple[str, str]]
) -> int:
    """Write one group's shard files, problems and index; how many clips it had."""
    index: list[tuple[object, ...]] = []
    problems: list[tuple[str, str]] = []
    waiting, part = list(reversed(clips)), 0
    while waiting:
        name = f"{number:05d}-{part:02d}{KINDS[kind]}"
        with atomic_path(folder / name) as temporary, temporary.open("w+b") as shard:
            while waiting and shard.tell() < SHARD_BYTES:
                clip, path = waiting.pop()
                offset = shard.tell()
                try:
                    with audio.local(path, folder) as sound:
                        frames = append_clip(kind, sound, shard)
                except AudioProblem as problem:
                    problems.append((clip, str(problem)))
                    shard.seek(offset)
                    shard.truncate()
                    continue
                index.append((clip, name, kind, offset, shard.tell() - offset, frames))
        part += 1
    write_csv(pd.DataFrame(problems, columns=PROBLEMS), folder / f"{number:05d}.problems")
    write_csv(pd.DataFrame(index, columns=INDEX), _index_of(folder, number))
    return len(clips)


def _join_groups(folder: Path, expected: int, target: Path) -> None:
    """The groups' tables as one index and one list of problems, in the order of the clips."""
    parts = sorted(folder.glob("[0-9]*.csv"))
    lists = [part.with_suffix(".problems") for part in parts]
    index, problems = (
        pd.concat(
            [pd.DataFrame(columns=columns, dtype=str), *map(read_table, files)], ignore_index=True
        )
        for files, columns in ((parts, INDEX), (lists, PROBLEMS))
    )
    if expected and not len(index):
        raise InputError(
            f"{target}: none of {expected} clips can be used. The first: "
            f"{problems['clip'][0]}: {problems['problem'][0]}"
        )
    used = set(index["shard"])
    for shard in folder.glob("[0-9]*-*"):
        if shard.name not in used:  # all of its clips were unreadable
            shard.unlink()
    write_csv(problems, folder / "problems.csv")
    write_csv(index, folder / "index.csv")
    logger.info("%s: %d clips, %d could not be used", target, len(index), len(problems))
