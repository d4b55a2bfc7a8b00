"""Write the clips of a data set, resampled, into shard files with an index.

A folder holds `index.csv` (INDEX; frames at 32 kHz), the shard files, and `problems.csv` (PROBLEMS)
with the clips that could not be used and why.
"""

import hashlib
import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from triptych.audio.data.audio_sources import AudioSource, move_folder
from triptych.audio.data.audiocaps import DATASET, EXCERPT_SECONDS, LONGEST_SECONDS, START
from triptych.audio.data.decoding import SAMPLE_RATE, AudioProblem
from triptych.audio.data.shards import KINDS, append_clip
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, clear_partial, set_aside, write_csv
from triptych.core.progress import Progress

logger = logging.getLogger(__name__)

INDEX = ["clip", "shard", "kind", "offset", "bytes", "frames"]
PROBLEMS = ["clip", "problem"]
CLIPS_A_GROUP = 128
"""Clips that one worker converts at a time, into a file of their own: what a kill loses at most."""


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
    """Convert `clips` (columns clip, path, and START) into the folder `target`, when done.

    kind: int16 or flac. A killed job goes on with the groups that `checkpoint` lacks, as long as
    `fingerprint`, the clips and the sizes of their files are the same. Clips that cannot be read
    are listed and left out. Raises InputError when none is left.
    """
    target, room = Path(target), Path(checkpoint)
    folder = _resume(room, _digest(clips, audio, kind, fingerprint))
    if not (folder / "index.csv").exists():
        _convert(clips, audio, kind, folder, threads)
        _join_groups(folder, len(clips), target)
    for group in folder.glob("*.json"):
        group.unlink()
    move_folder(folder, target)
    (room / "fingerprint").unlink()


def _digest(clips: pd.DataFrame, source: AudioSource, kind: str, fingerprint: str) -> str:
    digest = hashlib.sha256(repr((fingerprint, kind, CLIPS_A_GROUP)).encode())
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


def _convert(
    clips: pd.DataFrame, audio: AudioSource, kind: str, folder: Path, threads: int
) -> None:
    starts = clips[START] if START in clips else [""] * len(clips)
    rows = list(zip(clips["clip"], clips["path"], starts, strict=True))
    groups = {
        folder / f"{number:05d}.json": rows[first : first + CLIPS_A_GROUP]
        for number, first in enumerate(range(0, len(rows), CLIPS_A_GROUP))
    }
    waiting = {record: group for record, group in groups.items() if not record.exists()}
    done = len(rows) - sum(map(len, waiting.values()))
    with (
        Progress("clips", len(rows), "clips", done) as progress,
        # Decoder, resampler and encoder let other threads run.
        ThreadPoolExecutor(threads) as pool,
    ):
        jobs = [
            pool.submit(_convert_group, group, audio, kind, record)
            for record, group in waiting.items()
        ]
        try:
            for job in jobs:
                progress.advance(job.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _convert_group(
    clips: list[tuple[str, str, str]], audio: AudioSource, kind: str, record: Path
) -> int:
    """Write one group's shard file, then its index and problems as `record`; how many clips it
    had.
    """
    index: list[tuple[object, ...]] = []
    problems: list[tuple[str, str]] = []
    file = record.with_suffix(KINDS[kind])
    with atomic_path(file) as temporary, temporary.open("w+b") as shard:
        for clip, path, start in clips:
            offset = shard.tell()
            try:
                with audio.local(path, record.parent) as sound:
                    frames = append_clip(kind, sound, shard)
                if clip.startswith(f"{DATASET}/") and frames > LONGEST_SECONDS * SAMPLE_RATE:
                    shard.seek(offset)
                    shard.truncate()
                    frames = _append_excerpt(kind, sound, shard, path, start)
                index.append((clip, file.name, kind, offset, shard.tell() - offset, frames))
            except AudioProblem as problem:
                problems.append((clip, str(problem)))
                shard.seek(offset)
                shard.truncate()
    if not index:
        file.unlink()
    with atomic_path(record) as temporary:
        temporary.write_text(json.dumps({"index": index, "problems": problems}))
    return len(clips)


def _append_excerpt(kind: str, video: Path, shard: BinaryIO, path: str, start: str) -> int:
    """Write a clip of AudioCaps as it is cut from its whole video; its frames."""
    frames = append_clip(kind, video, shard, float(start), EXCERPT_SECONDS) if start else 0
    if not frames:
        raise AudioProblem(
            f"{path}: longer than AudioCaps' excerpts, which have {EXCERPT_SECONDS:.0f} s, and "
            + (f"over before start_time, {start} s" if start else "the table has no start_time")
        )
    logger.info("%s: a whole video, cut at %s s", path, start)
    return frames


def _join_groups(folder: Path, expected: int, target: Path) -> None:
    """The groups' records as one index and one list of problems, in the order of the clips."""
    groups = [json.loads(file.read_bytes()) for file in sorted(folder.glob("*.json"))]
    index = pd.DataFrame([row for group in groups for row in group["index"]], columns=INDEX)
    problems = [row for group in groups for row in group["problems"]]
    if expected and not len(index):
        clip, problem = problems[0]
        raise InputError(
            f"{target}: none of {expected} clips can be used. The first: {clip}: {problem}"
        )
    write_csv(pd.DataFrame(problems, columns=PROBLEMS), folder / "problems.csv")
    write_csv(index, folder / "index.csv")
    logger.info("%s: %d clips, %d could not be used", target, len(index), len(problems))
