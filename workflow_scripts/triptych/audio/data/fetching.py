"""AudioCaps' sound from YouTube, by the commands yt-dlp and ffmpeg that a person installs.

Some videos are gone, more each year: those are listed. What fails for another reason (no network,
a rate limit, "confirm you're not a bot") is tried again by the next run, and many such failures in
a row end this one, since going on would only make a block last longer.
"""

import errno
import logging
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from triptych.audio.data.audiocaps import DATASET
from triptych.audio.data.decoding import SAMPLE_RATE, AudioProblem, read_audio
from triptych.audio.data.folders import move_folder
from triptych.audio.data.shard_files import to_int16, write_sound
from triptych.audio.data.tables import clip_id, read_strings
from triptych.core.errors import InputError
from triptych.core.files import PARTIAL, atomic_path, clear_partial, write_csv
from triptych.core.progress import Progress

logger = logging.getLogger(__name__)

CLIP_SECONDS = 10
COMMANDS = ("yt-dlp", "ffmpeg")
TIMEOUT_SECONDS = 300
FAILURES_IN_A_ROW = 20
ADDRESS = "https://www.youtube.com/watch?v="
VIDEO = re.compile(r"[\w-]{11}", re.ASCII)
GONE = (
    "video unavailable",
    "video is unavailable",
    "video is not available",
    "video is no longer available",
    "private video",
    "video is private",
    "has been removed",
    "has been terminated",
    "confirm your age",
    "members-only",
    "not made this video available in your country",
)
"""What yt-dlp says of videos that no later attempt will bring."""
PASSING = ("try again later", "rate-limited", "not a bot")
"""What it says beside those words when the video itself is not to blame."""


@dataclass(frozen=True)
class Excerpt:
    """Ten seconds of a video: the clip's name in the tables, the video's id, the first second."""

    clip: str
    video: str
    start: int

    @property
    def name(self) -> str:
        """Of its file, without suffix: a video may have several."""
        return f"{self.video}_{self.start}"


class _Failed(Exception):
    """This attempt brought nothing; another one might."""


class _Gone(Exception):
    """The video isn't there any more, or this part of it isn't."""


def read_excerpts(files: Sequence[str | Path]) -> list[Excerpt]:
    """The clips of AudioCaps' files {split}.csv, each once. Raises InputError for other files."""
    excerpts: dict[Excerpt, None] = {}
    for file in files:
        table = read_strings(file, ("youtube_id", "start_time"))
        for video, start in zip(table["youtube_id"], table["start_time"], strict=True):
            if not VIDEO.fullmatch(video) or not start.isdigit():
                raise InputError(
                    f"{file}: a clip is {video!r} from second {start!r} on; expected a YouTube id "
                    "of eleven characters and a whole number"
                )
            clip = clip_id(DATASET, Path(file).stem, f"Y{video}.wav")
            excerpts[Excerpt(clip, video, int(start))] = None
    return list(excerpts)


def fetch_youtube(
    excerpts: Sequence[Excerpt],
    target: str | os.PathLike[str],
    checkpoint: str | os.PathLike[str],
    connections: int,
) -> None:
    """Fetch each excerpt into the folder `target` as `{youtube_id}_{start}.flac`, mono at 32 kHz.

    Those that cannot be had are listed in its `problems.csv` (clip, problem). The folder appears
    when each was tried; till then what came, and which videos are gone, is kept in `checkpoint`.
    `connections` are open at a time. Raises InputError when a command is missing, and after many
    failures in a row.
    """
    missing = [command for command in COMMANDS if shutil.which(command) is None]
    if missing:
        raise InputError(
            f"AudioCaps from YouTube needs {' and '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed here: install with conda or "
            "your system's packages, or give a folder that you have (audio.sources.audiocaps: path)"
        )
    room = Path(checkpoint) / "clips"
    room.mkdir(parents=True, exist_ok=True)
    clear_partial(room)
    waiting = [
        clip
        for clip in excerpts
        if not _sound_of(room, clip).exists() and not _problem_of(room, clip).exists()
    ]
    failures = _fetch_all(waiting, len(excerpts), room, connections)
    _finish(excerpts, failures, room, Path(target))


def _sound_of(room: Path, clip: Excerpt) -> Path:
    return room / f"{clip.name}.flac"


def _problem_of(room: Path, clip: Excerpt) -> Path:
    return room / f"{clip.name}.problem"


def _fetch_all(waiting: list[Excerpt], total: int, room: Path, connections: int) -> dict[str, str]:
    """Try each clip once; why those failed that another attempt may bring, by clip."""
    failures: dict[str, str] = {}
    in_a_row = 0
    stop = threading.Event()
    with (
        Progress("AudioCaps", total, "clips", total - len(waiting)) as progress,
        ThreadPoolExecutor(connections) as pool,
    ):
        jobs = {pool.submit(_fetch, clip, room, stop): clip for clip in waiting}
        try:
            for job in as_completed(jobs):
                clip = jobs[job]
                try:
                    job.result()
                    in_a_row = 0
                except _Failed as failure:
                    failures[clip.clip] = str(failure)
                    in_a_row += 1
                    logger.warning("%s: %s", clip.name, failure)
                    if in_a_row >= FAILURES_IN_A_ROW:
                        raise InputError(
                            f"{in_a_row} clips in a row could not be fetched, the last because: "
                            f"{failure}. What came is kept: run again later, and see "
                            "https://github.com/yt-dlp/yt-dlp/wiki/FAQ on cookies and limits "
                            "(yt-dlp reads your own configuration file)."
                        ) from None
                progress.advance()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return failures


def _fetch(clip: Excerpt, room: Path, stop: threading.Event) -> None:
    """Write the clip's sound, or why it is gone. Raises _Failed for what may pass."""
    if stop.is_set():
        return
    with tempfile.TemporaryDirectory(dir=room, prefix=PARTIAL) as work:
        try:
            samples = read_audio(_download(clip, Path(work)), 0, CLIP_SECONDS)
        except (_Gone, AudioProblem) as problem:
            with atomic_path(_problem_of(room, clip)) as temporary:
                temporary.write_text(str(problem), encoding="utf-8")
            return
    with atomic_path(_sound_of(room, clip)) as temporary:
        write_sound(temporary, to_int16(samples), SAMPLE_RATE, "FLAC")


def _download(clip: Excerpt, folder: Path) -> Path:
    """The window of the video's best sound track, as yt-dlp and ffmpeg write it."""
    command = [
        COMMANDS[0],
        "--no-playlist",
        "--no-progress",
        "--quiet",
        "--format=bestaudio/best",
        "--extract-audio",
        "--audio-format=flac",
        f"--download-sections=*{clip.start}-{clip.start + CLIP_SECONDS}",
        f"--output={folder / 'sound.%(ext)s'}",
        "--",
        ADDRESS + clip.video,
    ]
    try:
        run = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise _Failed(f"no answer within {TIMEOUT_SECONDS} seconds") from None
    found = [file for file in folder.iterdir() if file.suffix == ".flac"]
    if run.returncode == 0 and found:
        return found[0]
    if os.strerror(errno.ENOSPC) in run.stderr:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder.parent))
    if run.returncode < 0:
        raise _Failed(f"it was ended by signal {-run.returncode}")
    lines = [line for line in run.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    message = errors[-1].removeprefix("ERROR: ") if errors else "it wrote no file and said nothing"
    lower = message.lower()
    if any(words in lower for words in GONE) and not any(words in lower for words in PASSING):
        raise _Gone(message)
    raise _Failed(message)


def _finish(wanted: Sequence[Excerpt], failures: dict[str, str], room: Path, target: Path) -> None:
    problems = []
    for clip in wanted:
        mark = _problem_of(room, clip)
        if mark.exists():
            problems.append((clip.clip, mark.read_text(encoding="utf-8")))
        elif clip.clip in failures:
            problems.append((clip.clip, failures[clip.clip]))
    if len(problems) == len(wanted):
        raise InputError(
            f"none of the {len(wanted)} clips of AudioCaps could be fetched, the first because: "
            f"{problems[0][1] if problems else 'there are none'}"
        )
    logger.info("AudioCaps: %d clips, %d could not be had", len(wanted), len(problems))
    write_csv(pd.DataFrame(problems, columns=["clip", "problem"]), room / "problems.csv")
    for clip in wanted:
        _problem_of(room, clip).unlink(missing_ok=True)
    move_folder(room, target)
