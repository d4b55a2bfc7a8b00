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
from triptych.audio.data.ledger import (
    CLOTHO_FULL,
    DCASE,
    LISTS,
    WAVCAPS_ALL,
    WAVCAPS_TEST,
    LeakError,
    exclude,
    prove_no_leak,
    read_leak_list,
    read_leak_lists,
)
from triptych.audio.data.tables import read_strings
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
    folder = real("clotho")
    return read_clotho(folder, folder / "multi_positive_metadata_eval.csv")


@pytest.fixture(scope="module")
def ids(clotho):
    """{split: its Freesound ids}"""
    known = clotho.clips[clotho.clips["sound_id"] != ""]
    return {split: set(known["sound_id"][known["split"] == split]) for split in SPLITS}


@pytest.fixture(scope="module")
def lists():
    folder = real("leaks")
    return {name: read_leak_list(folder / name) for name in LISTS["strict"]}


def by_split(table, condition):
    return [int(condition[table["split"] == split].sum()) for split in SPLITS]


def test_clotho_has_3839_clips_of_development_and_1045_of_each_other_split(clotho):
    assert by_split(clotho.clips, clotho.clips["clip"] != "") == [3839, 1045, 1045]
    captions = clotho.captions.merge(clotho.clips[["clip", "split"]], on="clip")
    assert by_split(captions, captions["caption"] != "") == [19_195, 5_225, 5_225]


def test_quirks_of_clotho_occur_as_often_as_known(clotho):
    clips = clotho.clips
    assert by_split(clips, clips["sound_id"] == "") == [8, 6, 5]
    assert by_split(clips, clips["file_name"].str.startswith(" ")) == [2, 1, 0]
    assert by_split(clips, clips["seconds"] == "") == [1186, 282, 306]
    keywords = clips["keywords"].str.split(";")
    assert keywords.explode().nunique() == 9031
    assert keywords[clips["split"] == "development"].str.len().mean() == pytest.approx(
        7.3, abs=0.05
    )
    assert clips["file_name"].duplicated().sum() == 4  # across splits, hence the split in the name


def test_excerpts_of_clotho_last_15_to_30_seconds(clotho):
    seconds = clotho.clips["seconds"][clotho.clips["seconds"] != ""].astype(float)
    assert seconds.min() >= 15
    assert seconds.max() <= 30


def test_splits_of_clotho_share_the_five_known_recordings(ids):
    development, validation, evaluation = (ids[split] for split in SPLITS)
    assert development & validation == {"130603", "86163"}
    assert development & evaluation == {"137692"}
    assert validation & evaluation == {"66304", "86161"}


def test_multi_positive_labels(clotho):
    labels = clotho.relevance
    assert labels["caption"].nunique() == 1037
    assert labels.groupby("caption").size().mean() == pytest.approx(3.0, abs=0.005)
    own = labels.merge(clotho.captions, on=["clip", "caption"])
    assert own["caption"].nunique() / 1037 == pytest.approx(0.956, abs=0.0005)


def rows_of_csv(name):
    table = read_strings(real("leaks") / name, ())
    return table.iloc[:, -1]


def test_leak_lists_have_the_known_sizes(lists):
    """Without the pseudo-id, which each of them contains."""
    sizes = {name: (len(item.sound_ids), len(item.youtube_ids)) for name, item in lists.items()}
    assert sizes == {
        WAVCAPS_TEST: (2078 - 1, 1451),
        WAVCAPS_ALL: (5905 - 1, 50_725),
        CLOTHO_FULL: (7942 - 1, 0),
        DCASE: (3080 - 1, 0),
    }
    for name, size in ((CLOTHO_FULL, 7942), (DCASE, 3080)):
        column = rows_of_csv(name)
        assert len(column) == size
        assert (column == "Not found").sum() == 1


def test_leak_lists_overlap_with_clotho_as_known(lists, ids):
    """The known table counts distinct ids, "Not found" being one of them in each split."""
    overlap = {
        name: [len(item.sound_ids & ids[split]) + 1 for split in SPLITS]
        for name, item in lists.items()
    }
    assert overlap == {
        WAVCAPS_TEST: [4, 1040, 1041],
        WAVCAPS_ALL: [3831, 1040, 1041],
        CLOTHO_FULL: [3831, 1040, 1041],
        DCASE: [4, 3, 1041],
    }
    assert all(ids[split] <= lists[CLOTHO_FULL].sound_ids for split in SPLITS)


def test_one_list_is_a_superset_of_all_others(lists):
    full = lists[CLOTHO_FULL].sound_ids
    assert all(item.sound_ids <= full for item in lists.values())
    clotho_and_challenge = lists[DCASE].sound_ids | lists[WAVCAPS_ALL].sound_ids
    assert clotho_and_challenge == full


def test_audiocaps_as_wavcaps_has_it():
    tables = read_audiocaps(real("audiocaps"))
    assert tables.clips["split"].value_counts().to_dict() == {
        "train": 49_274,
        "val": 494,
        "test": 957,
    }
    split = tables.captions["clip"].str.split("/").str[1]
    last = tables.captions["position"].groupby(split).max()
    assert last.to_dict() == {"train": 0, "val": 4, "test": 4}
    assert len(tables.captions) == 49_274 + 5 * (494 + 957)
    assert tables.clips["youtube_id"].is_unique


def test_wavcaps_lists_of_audiocaps_are_exactly_its_splits(lists):
    clips = read_audiocaps(real("audiocaps")).clips
    train = clips["split"] == "train"
    assert set(clips["youtube_id"]) == lists[WAVCAPS_ALL].youtube_ids
    assert set(clips["youtube_id"][~train]) == lists[WAVCAPS_TEST].youtube_ids


def test_soundbible_has_1232_records():
    tables = read_wavcaps(real("wavcaps"), ["SoundBible"])
    assert len(tables.clips) == len(tables.captions) == 1232
    assert set(tables.clips["sound_id"]) == {""}


@pytest.fixture(scope="module")
def clips(clotho, lists):
    """Real Clotho, AudioCaps and SoundBible, and a FreeSound with every id that matters.

    WavCaps' real FreeSound part isn't among the files: in its place stand all listed ids and
    10 others, and in AudioSet's all videos of AudioCaps that the lists name.
    """
    sounds = sorted(set().union(*(item.sound_ids for item in lists.values())))
    others = [str(90_000_000 + number) for number in range(10)]
    videos = sorted(lists[WAVCAPS_ALL].youtube_ids)
    freesound = pd.DataFrame({"split": "FreeSound", "sound_id": [*sounds, *others]})
    audioset = pd.DataFrame({"split": "AudioSet_SL", "youtube_id": videos})
    made = pd.concat([freesound, audioset], ignore_index=True).fillna("")
    made["dataset"] = "wavcaps"
    made["clip"] = "wavcaps/" + made["split"] + "/" + made["sound_id"] + made["youtube_id"]
    parts = [
        clotho.clips,
        read_audiocaps(real("audiocaps")).clips,
        read_wavcaps(real("wavcaps"), ["SoundBible"]).clips,
        made,
    ]
    return pd.concat(parts, ignore_index=True).fillna("")


def counts(clips, policy, splits=("development",)):
    ledger = exclude(clips, splits, policy, read_leak_lists(real("leaks"), policy))
    return ledger, ledger.counts.set_index(["dataset", "split"])


def test_strict_drops_the_three_known_clips_of_development_and_leaves_no_leak(clips):
    ledger, table = counts(clips, "strict")
    removed = ledger.removed[ledger.removed["dataset"] == "clotho"]
    assert set(removed["sound_id"]) == {"137692", "130603", "86163"}
    assert set(removed["split"]) == {"development"}
    assert table.loc[("clotho", "development"), "train"] == 3836
    assert table.loc[("wavcaps", "FreeSound"), "train"] == 10
    assert (
        table.loc[("wavcaps", "AudioSet_SL"), "train"] == 50_725
    )  # AudioCaps' videos leak nothing
    assert table.loc[("wavcaps", "AudioSet_SL"), "repeated"] == 50_725
    assert table["leaked"].sum() == 0
    prove_no_leak(ledger.manifest, clips, ["development"])


@pytest.mark.parametrize(
    ("policy", "excluded", "leaked"),
    # Leaked: ids of validation or evaluation (1039 + 1040 - 2 that both have) that no list names.
    [("none", 0, 2077), ("dcase", 3079, 1037), ("wavcaps_test", 2077, 0)],
)
def test_weaker_policies_leave_leaks(clips, policy, excluded, leaked):
    ledger, table = counts(clips, policy)
    assert table.loc[("wavcaps", "FreeSound"), "excluded"] == excluded
    assert table.loc[("wavcaps", "FreeSound"), "leaked"] == leaked
    assert table.loc[("clotho", "development"), "leaked"] == 3
    with pytest.raises(LeakError):
        prove_no_leak(ledger.manifest, clips, ["development"])


def test_training_on_all_splits_keeps_all_of_clotho(clips):
    splits = list(SPLITS)
    ledger, table = counts(clips, "strict", splits)
    assert table.loc["clotho", "train"].tolist() == [3839, 1045, 1045]
    prove_no_leak(ledger.manifest, clips, splits)
