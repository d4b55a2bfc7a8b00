"""The demo's AudioCaps and WavCaps: tables as in AudioCaps v1 and in the four parts of WavCaps.

audiocaps/{train,val,test}.csv          audiocap_id,youtube_id,start_time,caption
audiocaps/audio/                        {youtube_id}_{start_time}.wav, 44.1 kHz
wavcaps/json_files/<Part>/<name>.json   {"num_captions_per_audio": 1, "data": [...]}
wavcaps/audio/<Part>_flac/              <id>.flac, 32 kHz
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.core.files import write_csv
from triptych.demo.scenes.catalogue import Clip
from triptych.demo.scenes.clotho_files import captions_of
from triptych.demo.scenes.language import keywords, machine_caption
from triptych.demo.scenes.names import author, file_names, sound_link
from triptych.demo.scenes.signals import keyed

WAVCAPS_RATE = 32_000
JSON_FILES = {
    "AudioSet_SL": "as_final.json",
    "BBC_Sound_Effects": "bbc_final.json",
    "FreeSound": "fsd_final.json",
    "SoundBible": "sb_final.json",
}
WRONG_DURATION = 612.0
"""Seconds that the last record of FreeSound claims."""


def write_audiocaps_tables(splits: dict[str, list[Clip]], folder: Path, seed: int) -> None:
    """train.csv with one caption a clip, val.csv and test.csv with five, one row a caption."""
    number = 1
    for split, clips in splits.items():
        rows = []
        captions = captions_of(clips, 1 if split == "train" else 5, False, seed)
        for clip, own in zip(clips, captions, strict=True):
            for caption in own:
                rows.append((number, clip.video_id, _start(clip), caption.text))
                number += 1
        columns = ["audiocap_id", "youtube_id", "start_time", "caption"]
        write_csv(pd.DataFrame(rows, columns=columns), folder / f"{split}.csv")


def audiocaps_path(clip: Clip) -> str:
    """Where the sound of a clip lies in the folder of the tables."""
    return f"audio/{clip.video_id}_{_start(clip)}.wav"


def _start(clip: Clip) -> int:
    """Where the excerpt begins in its video, in seconds."""
    return 10 * int(keyed("start", clip.video_id).integers(0, 30))


def write_wavcaps_tables(parts: dict[str, list[Clip]], folder: Path, seed: int) -> None:
    """One JSON file a part, with a caption of one line a clip."""
    for part, clips in parts.items():
        records = _records(part, clips, seed)
        if part == "FreeSound":
            records[-1]["duration"] = WRONG_DURATION
        path = folder / "json_files" / part / JSON_FILES[part]
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"num_captions_per_audio": 1, "data": records}
        path.write_text(json.dumps(content), encoding="utf-8")


def wavcaps_path(clip: Clip) -> str:
    """Where the sound of a clip lies in the folder of the tables."""
    return f"audio/{clip.split}_flac/{clip.file_name}"


def _records(part: str, clips: Sequence[Clip], seed: int) -> list[dict[str, Any]]:
    titles = file_names([clip.scene for clip in clips], keyed("titles", seed, part))
    records = []
    for clip, file_name in zip(clips, titles, strict=True):
        generator = keyed("record", seed, clip.name)
        uploader, tags = author(generator), keywords(clip.scene, generator)
        title = file_name.removesuffix(".wav")
        record: dict[str, Any] = {
            "id": f"Y{clip.video_id}.wav" if part == "AudioSet_SL" else clip.sound_id,
            "caption": machine_caption(clip.scene, generator),
            "audio": "wav_path",
            "duration": clip.seconds,
        }
        href = f"{clip.sound_id}-{title.replace(' ', '-')}.html"
        if part == "FreeSound":
            record |= {
                "file_name": file_name,
                "href": f"/people/{uploader}/sounds/{clip.sound_id}/",
                "tags": tags,
                "description": f"{title}. {', '.join(tags)}.",
                "author": uploader,
                "download_link": f"{sound_link(clip.sound_id, uploader)}/download/",
            }
        elif part == "BBC_Sound_Effects":
            record |= {
                "description": f"{title}: {', '.join(tags)}.",
                "category": [tags[0].capitalize()],
                "download_link": f"https://sound-effects-media.bbcrewind.co.uk/zip/{clip.sound_id}",
            }
        elif part == "SoundBible":
            record |= {
                "title": title,
                "description": f"{title}: {', '.join(tags)}.",
                "author": uploader,
                "href": href,
                "download_link": f"http://soundbible.com/grab.php?id={clip.sound_id}&type=wav",
            }
        records.append(record)
    return records
