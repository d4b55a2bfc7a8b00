"""The real files of Clotho, AudioCaps, WavCaps and the leak lists, held to the known counts.

They are no part of the repository: TRIPTYCH_REAL_FILES names a folder with captions/clotho,
captions/audiocaps, captions/wavcaps and captions/leaks.
"""

import os
from pathlib import Path

import pandas as pd
import pytest

from triptych.audio.data.audiocaps import read_audiocaps
from triptych.audio.data.clotho import read_clotho
from triptych.audio.data.ledger import LISTS, exclude, prove_no_leak, read_leak_lists
from triptych.audio.data.wavcaps import read_wavcaps

SPLITS = ("development", "validation", "evaluation")


def real(name):
    """A folder or file below TRIPTYCH_REAL_FILES, or skip the test."""
    path = Path(os.environ.get("TRIPTYCH_REAL_FILES", "nowhere")) / "captions" / name
    if not path.exists():
        pytest.skip("TRIPTYCH_REAL_FILES has no captions/" + name)
    return path


@pytest.fixture(scope="module")
def clotho():
    return read_clotho(real("clotho"))


@pytest.fixture(scope="module")
def lists():
    return read_leak_lists(real("leaks"))


def by_split(table, condition):
    return [int(condition[table["split"] == split].sum()) for split in SPLITS]


def test_clotho_has_3839_clips_of_development_and_1045_of_each_other_split(clotho):
    assert by_split(clotho.clips, clotho.clips["clip"] != "") == [3839, 1045, 1045]
    captions = clotho.captions.merge(clotho.clips[["clip", "split"]], on="clip")
    assert by_split(captions, captions["caption"] != "") == [19_195, 5_225, 5_225]


def test_leak_lists_have_the_known_sizes(lists):
    """Without the pseudo-id, which each of them contains."""
    assert [len(lists[name]) for name in LISTS] == [7942 - 1, 5905 - 1, 2078 - 1, 3080 - 1]


@pytest.fixture(scope="module")
def clips(clotho, lists):
    """Real Clotho, AudioCaps and SoundBible, and a FreeSound with every id that matters.

    WavCaps' real FreeSound part isn't among the files: in its place stand all listed ids and
    10 others.
    """
    sounds = sorted(set().union(*lists.values()))
    others = [str(90_000_000 + number) for number in range(10)]
    made = pd.DataFrame({"split": "FreeSound", "sound_id": [*sounds, *others], "youtube_id": ""})
    made["dataset"] = "wavcaps"
    made["clip"] = "wavcaps/FreeSound/" + made["sound_id"]
    parts = [
        clotho.clips,
        read_audiocaps(real("audiocaps")).clips,
        read_wavcaps(real("wavcaps"), ["SoundBible"]).clips,
        made,
    ]
    return pd.concat(parts, ignore_index=True).fillna("")


def test_strict_drops_the_three_known_clips_of_development_and_leaves_no_leak(clips, lists):
    ledger = exclude(clips, ["development"], lists, {})
    table = ledger.counts.set_index(["dataset", "split"])
    removed = ledger.removed[ledger.removed["dataset"] == "clotho"]
    assert set(removed["sound_id"]) == {"137692", "130603", "86163"}
    assert set(removed["split"]) == {"development"}
    assert table.loc[("clotho", "development"), "train"] == 3836
    assert table.loc[("wavcaps", "FreeSound"), "train"] == 10
    assert table["leaked"].sum() == 0
    prove_no_leak(ledger.manifest, clips, ["development"])
