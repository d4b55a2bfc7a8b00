"""What to leave out of training: the four lists that exist, with what each would hold here.

    blacklist_exclude_test_ac.json               WavCaps: Clotho's validation and evaluation,
                                                 AudioCaps' val and test
    blacklist_exclude_all_ac.json                WavCaps: all splits of both
    blacklist_clotho.full.v2.csv                 aac-datasets, the fullest: all of Clotho, the
                                                 challenge, and the test set of another challenge
    dcase2025_task6_excluded_freesound_ids.csv   DCASE: evaluation and the challenge, and nothing
                                                 of validation

"Not found" stands in all of them.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from triptych.demo.scenes.catalogue import CLOTHO, Catalogue, Clip
from triptych.demo.scenes.names import sound_ids
from triptych.demo.scenes.signals import keyed

ELSEWHERE = 10
"""Ids in the fullest list that no data set here has."""


def write_leak_lists(clips: Catalogue, folder: Path, seed: int) -> None:
    """The four files."""
    folder.mkdir(parents=True, exist_ok=True)
    tested = {
        "AudioSet": _videos([*clips.audiocaps["val"], *clips.audiocaps["test"]]),
        "FreeSound": _ids(clips, ["validation", "evaluation"]),
    }
    everything = {
        "AudioSet": _videos(clips.audiocaps["train"]) + tested["AudioSet"],
        "FreeSound": _ids(clips, ["development"]) + tested["FreeSound"],
    }
    for name, content in (("test", tested), ("all", everything)):
        path = folder / f"blacklist_exclude_{name}_ac.json"
        path.write_text(json.dumps(content, indent=4), encoding="utf-8")
    known = _ids(clips, CLOTHO)
    strangers = [
        identifier
        for identifier in sound_ids(2 * ELSEWHERE, keyed("strangers", seed))
        if identifier not in {clip.sound_id for clip in clips.wavcaps["FreeSound"]}
    ][:ELSEWHERE]
    full = list(dict.fromkeys([*known, *strangers]))
    lines = ["index,id", *(f"{index},{identifier}" for index, identifier in enumerate(full))]
    _write_lines(lines, folder / "blacklist_clotho.full.v2.csv")
    dcase = dict.fromkeys(_ids(clips, ["evaluation", "challenge"]))
    _write_lines(["sound_id", *dcase], folder / "dcase2025_task6_excluded_freesound_ids.csv")


def _ids(clips: Catalogue, splits: Sequence[str]) -> list[str]:
    return [clip.sound_id for split in splits for clip in clips.clotho[split]]


def _videos(clips: Sequence[Clip]) -> list[str]:
    return [f"Y{clip.video_id}.wav" for clip in clips]


def _write_lines(lines: Sequence[str], path: Path) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
