"""The demo's tables, in the layouts of Clotho v2.1, AudioCaps v1, WavCaps and the leak lists.

clotho/clotho_captions_{split}.csv     file_name,caption_1,...,caption_5                      UTF-8
clotho/clotho_metadata_{split}.csv     file_name,keywords,sound_id,start_end_samples     ISO-8859-1
clotho/retrieval_audio_metadata.csv    the same columns, of the challenge
clotho/retrieval_captions.csv          caption
audiocaps/{train,val,test}.csv         audiocap_id,youtube_id,start_time,caption
wavcaps/json_files/<Part>/<name>.json  {"num_captions_per_audio": 1, "data": [...]}
captions/variations.json               Clotho's captions in other words, as Primus et al. published
leaks/                                 what to leave out of training: the four lists that exist
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.core.files import write_csv
from triptych.demo.scenes.catalogue import CLOTHO, LABELLED, Catalogue, Clip
from triptych.demo.scenes.language import captions, keywords, machine_caption, paraphrases
from triptych.demo.scenes.signals import RATE, keyed

FILE_RATES = {"clotho": 44_100, "audiocaps": 44_100, "wavcaps": 32_000}
"""Samples a second of each data set's files."""

JSON_FILES = {
    "AudioSet_SL": "as_final.json",
    "BBC_Sound_Effects": "bbc_final.json",
    "FreeSound": "fsd_final.json",
    "SoundBible": "sb_final.json",
}
UNCUT = 0.27
"""Part of clips whose start_end_samples is empty, as in Clotho's validation split."""
WRONG_DURATION = 612.0
"""Seconds that the last record of FreeSound claims."""


def path_of(clip: Clip) -> str:
    """Where the sound of a clip lies in the folder of all data."""
    if clip.dataset == "audiocaps":
        return f"audiocaps/audio/{clip.video_id}_{_start(clip)}.wav"
    if clip.dataset == "wavcaps":
        return f"wavcaps/audio/{clip.split}_flac/{clip.file_name}"
    folder = "retrieval_audio" if clip.split == "challenge" else clip.split
    return f"clotho/{folder}/{clip.file_name}"


def write_tables(clips: Catalogue, folder: Path, seed: int) -> None:
    """Write all tables and lists of the clips to the folder of all data."""
    texts = {split: _captions_of(clips.clotho[split], 5, seed) for split in LABELLED}
    _write_clotho(clips.clotho, texts, folder / "clotho", seed)
    _write_variations(clips.clotho, texts, folder / "captions/variations.json", seed)
    _write_audiocaps(clips.audiocaps, folder / "audiocaps", seed)
    for part, members in clips.wavcaps.items():
        records = _wavcaps_records(part, members, seed)
        content = {"num_captions_per_audio": 1, "data": records}
        _write(json.dumps(content), folder / "wavcaps/json_files" / part / JSON_FILES[part])
    _write_leak_lists(clips, folder / "leaks", seed)


Texts = list[list[str]]
"""Captions of each clip."""


def _captions_of(clips: Sequence[Clip], count: int, seed: int) -> Texts:
    return [captions(clip.scene, count, keyed("captions", seed, clip.name)) for clip in clips]


def _write_clotho(
    splits: Mapping[str, Sequence[Clip]], texts: Mapping[str, Texts], folder: Path, seed: int
) -> None:
    for split, lines in texts.items():
        clips = splits[split]
        columns = {"file_name": [clip.file_name for clip in clips]}
        columns |= {f"caption_{i + 1}": [of_clip[i] for of_clip in lines] for i in range(5)}
        write_csv(pd.DataFrame(columns), folder / f"clotho_captions_{split}.csv")
        _write_metadata(clips, folder / f"clotho_metadata_{split}.csv", seed)
    challenge = splits["challenge"]
    queries = [of_clip[0] for of_clip in _captions_of(challenge, 1, seed)]
    order = keyed("query order", seed).permutation(len(queries))
    shuffled = pd.DataFrame({"caption": [queries[i] for i in order]})
    write_csv(shuffled, folder / "retrieval_captions.csv")
    _write_metadata(challenge, folder / "retrieval_audio_metadata.csv", seed)


def _write_metadata(clips: Sequence[Clip], path: Path, seed: int) -> None:
    rows = []
    for clip in clips:
        generator = keyed("metadata", seed, clip.name)
        end = 2 * round(clip.seconds * RATE)
        rows.append(
            {
                "file_name": clip.file_name,
                "keywords": ";".join(keywords(clip.scene, generator)),
                "sound_id": clip.sound_id,
                "start_end_samples": "" if generator.uniform() < UNCUT else f"[0, {end}]",
            }
        )
    _write(pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"), path, "iso-8859-1")


def _write_variations(
    splits: Mapping[str, Sequence[Clip]], texts: Mapping[str, Texts], path: Path, seed: int
) -> None:
    records = [
        {
            "path": f"{split}/{clip.file_name}",
            "caption": text,
            "variations": paraphrases(
                clip.scene, keyed("paraphrases", seed, clip.name, place), of_clip
            ),
        }
        for split, lines in texts.items()
        for clip, of_clip in zip(splits[split], lines, strict=True)
        for place, text in enumerate(of_clip)
    ]
    _write(json.dumps(records, indent=1) + "\n", path)


def _write_audiocaps(splits: Mapping[str, Sequence[Clip]], folder: Path, seed: int) -> None:
    """train.csv with one caption a clip, val.csv and test.csv with five, one row a caption."""
    number = 1
    for split, clips in splits.items():
        rows = []
        texts = _captions_of(clips, 1 if split == "train" else 5, seed)
        for clip, of_clip in zip(clips, texts, strict=True):
            for text in of_clip:
                rows.append((number, clip.video_id, _start(clip), text))
                number += 1
        columns = ["audiocap_id", "youtube_id", "start_time", "caption"]
        write_csv(pd.DataFrame(rows, columns=columns), folder / f"{split}.csv")


def _start(clip: Clip) -> int:
    """Where the excerpt of a clip of AudioCaps begins in its video, in seconds."""
    return 10 * int(keyed("start", clip.video_id).integers(0, 30))


def _wavcaps_records(part: str, clips: Sequence[Clip], seed: int) -> list[dict[str, Any]]:
    """Records as a part of WavCaps has them; of FreeSound's the last is too long."""
    records: list[dict[str, Any]] = []
    for clip in clips:
        generator = keyed("record", seed, clip.name)
        description = ", ".join(keywords(clip.scene, generator))
        records.append(
            {
                "id": f"Y{clip.video_id}.wav" if part == "AudioSet_SL" else clip.sound_id,
                "caption": machine_caption(clip.scene, generator),
                "description": description,
                "audio": "wav_path",
                "duration": clip.seconds,
            }
        )
    if part == "FreeSound":
        records[-1]["duration"] = WRONG_DURATION
    return records


def _write_leak_lists(clips: Catalogue, folder: Path, seed: int) -> None:
    """The four lists: WavCaps' of tested splits and of all; aac-datasets', the fullest, of all of
    Clotho, the challenge and another one's test set; DCASE's, of evaluation and the challenge."""

    def ids(*splits: str) -> list[str]:
        return [clip.sound_id for split in splits for clip in clips.clotho[split]]

    for name, of_audiocaps, of_clotho in (
        ("test", ("val", "test"), ("validation", "evaluation")),
        ("all", ("train", "val", "test"), LABELLED),
    ):
        videos = [f"Y{clip.video_id}.wav" for s in of_audiocaps for clip in clips.audiocaps[s]]
        content = {"AudioSet": videos, "FreeSound": ids(*of_clotho)}
        _write(json.dumps(content, indent=4), folder / f"blacklist_exclude_{name}_ac.json")
    full = dict.fromkeys(ids(*CLOTHO))
    lines = ["index,id", *(f"{index},{identifier}" for index, identifier in enumerate(full))]
    _write("\n".join(lines) + "\n", folder / "blacklist_clotho.full.v2.csv")
    lines = ["sound_id", *dict.fromkeys(ids("evaluation", "challenge"))]
    _write("\n".join(lines) + "\n", folder / "dcase2025_task6_excluded_freesound_ids.csv")


def _write(text: str, path: Path, encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
