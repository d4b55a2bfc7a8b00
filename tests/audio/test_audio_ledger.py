"""The leak ledger: what is left out, that it says why, and that nothing slips through."""

from collections import Counter

import audio_source_files as files
import pandas as pd
import pytest
from audio_source_files import record
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.audio.data.audiocaps import read_audiocaps
from triptych.audio.data.clotho import read_clotho
from triptych.audio.data.ledger import (
    LISTS,
    LeakError,
    exclude,
    prove_no_leak,
    read_leak_list,
    read_leak_lists,
)
from triptych.audio.data.tables import CLIP_COLUMNS
from triptych.audio.data.wavcaps import read_wavcaps
from triptych.core.errors import InputError

# 501, 502, 503: development (503 validation too); 511 validation; 521, 522 evaluation;
# 531, 532 challenge; 900 is nobody's.
FREESOUND = ["501", "511", "521", "531", "600", "900", "2219"]
TRAIN_VIDEO, TEST_VIDEO, OTHER_VIDEO = "aaaaaaaaaaa", "ttttttttttt", "ooooooooooo"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    files.write_clotho(folder / "clotho")
    files.write_wavcaps(folder, "FreeSound", [record(identifier) for identifier in FREESOUND])
    videos = (TRAIN_VIDEO, TEST_VIDEO, OTHER_VIDEO)
    files.write_wavcaps(folder, "AudioSet_SL", [record(f"Y{video}.wav") for video in videos])
    files.write_wavcaps(folder, "SoundBible", [record("521"), record("531")])
    header = ["audiocap_id", "youtube_id", "start_time", "caption"]
    files.write_rows(folder / "train.csv", header, [["1", TRAIN_VIDEO, "0", "A car."]])
    files.write_rows(folder / "test.csv", header, [["2", TEST_VIDEO, "0", "A bus."]])
    files.write_leaks(
        folder / "leaks",
        full=["501", "502", "503", "511", "521", "522", "531", "532", "600", "Not found"],
        wavcaps_all=["501", "511", "521", "Not found", "Not found"],
        wavcaps_test=["511", "521", "Not found"],
        dcase=["521", "531", "Not found"],
        videos=[TEST_VIDEO],
    )
    return folder


@pytest.fixture(scope="module")
def clips(folder):
    tables = (
        read_clotho(folder / "clotho"),
        read_audiocaps(folder),
        read_wavcaps(folder, ["FreeSound", "AudioSet_SL", "SoundBible"]),
    )
    return pd.concat([table.clips for table in tables], ignore_index=True)


def strict(folder, clips, splits=("development",), unreadable=None):
    return exclude(clips, splits, read_leak_lists(folder / "leaks"), unreadable or {})


def training(ledger, dataset, column="clip"):
    manifest = ledger.manifest
    rows = manifest[(manifest["role"] == "train") & (manifest["dataset"] == dataset)]
    return [clip.removeprefix(f"{dataset}/") for clip in rows[column]]


def freesound(ledger):
    """Ids of WavCaps' FreeSound clips that are trained on."""
    return [
        clip.removeprefix("FreeSound/").removesuffix(".flac")
        for clip in training(ledger, "wavcaps")
        if clip.startswith("FreeSound/")
    ]


def test_the_lists_are_removed_from_freesound_unless_leaks_stay(folder, clips):
    assert freesound(strict(folder, clips)) == ["900", "2219"]
    assert freesound(exclude(clips, ["development"], None, {})) == FREESOUND


def test_strict_drops_what_clothos_splits_share_from_the_one_that_is_trained_on(folder, clips):
    ledger = strict(folder, clips)
    assert "development/shared with validation.wav" not in training(ledger, "clotho")
    row = ledger.removed[ledger.removed["dataset"] == "clotho"].iloc[0]
    assert row["clip"] == "clotho/development/shared with validation.wav"
    assert row["reason"] == "protected recording"
    assert row["source"] == "clotho/validation/same recording, other excerpt.wav"
    assert (ledger.removed["dataset"] == "clotho").sum() == 1
    assert len(training(exclude(clips, ["development"], None, {}), "clotho")) == 4


def test_a_split_that_is_trained_on_protects_nothing(folder, clips):
    splits = ("development", "validation", "evaluation")
    ledger = strict(folder, clips, splits)
    assert len(training(ledger, "clotho")) == 9
    manifest = ledger.manifest
    assert set(manifest["role"]) == {"train", "challenge"}
    reasons = ledger.removed[ledger.removed["reason"] == "protected recording"]
    assert reasons["clip"].tolist() == ["wavcaps/FreeSound/531.flac"]


def test_clips_with_an_unknown_id_are_never_taken_for_one_another(folder, clips):
    """Clips of two splits and all the lists say "Not found"."""
    ledger = strict(folder, clips)
    assert "development/unknown origin.wav" in training(ledger, "clotho")
    assert "clotho/evaluation/lost.wav" in set(ledger.manifest["clip"])


def test_each_reason_has_its_row(folder, clips):
    removed = strict(folder, clips).removed
    rows = removed[removed["clip"] == "wavcaps/FreeSound/521.flac"]
    assert list(zip(rows["reason"], rows["source"], strict=True)) == [
        ("leak list", "blacklist_clotho.full.v2.csv"),
        ("leak list", "blacklist_exclude_all_ac.json"),
        ("leak list", "blacklist_exclude_test_ac.json"),
        ("leak list", "dcase2025_task6_excluded_freesound_ids.csv"),
        ("protected recording", "clotho/evaluation/tram.wav"),
    ]
    assert set(rows["sound_id"]) == {"521"}
    order = removed["clip"].map({clip: row for row, clip in enumerate(clips["clip"])})
    assert order.is_monotonic_increasing


def test_unreadable_clips_are_removed_from_every_role_and_still_protect(folder, clips):
    problems = {
        "clotho/evaluation/tram.wav": "0 samples",
        "wavcaps/FreeSound/900.flac": "no such file",
    }
    ledger = strict(folder, clips, unreadable=problems)
    assert not set(problems) & set(ledger.manifest["clip"])
    rows = ledger.removed[ledger.removed["reason"] == "unreadable"]
    assert dict(zip(rows["clip"], rows["source"], strict=True)) == problems
    assert "521" not in freesound(ledger)


def test_the_counts_add_up_and_tell_what_is_left(folder, clips):
    problems = {"wavcaps/FreeSound/521.flac": "broken", "wavcaps/FreeSound/900.flac": "broken"}
    lenient = exclude(clips, ["development"], None, problems)
    for ledger in (strict(folder, clips, unreadable=problems), lenient):
        counts = ledger.counts
        trained = counts[(counts["dataset"] != "clotho") | (counts["split"] == "development")]
        parts = trained["unreadable"] + trained["excluded"] + trained["train"]
        assert (parts == trained["listed"]).all()
        assert counts["listed"].sum() == len(clips)
    counts = exclude(clips, ["development"], None, {}).counts.set_index(["dataset", "split"])
    assert counts.loc[("wavcaps", "FreeSound"), "leaked"] == 3  # 511, 521, 531
    assert counts.loc[("clotho", "development"), "leaked"] == 1  # 503
    assert strict(folder, clips).counts["leaked"].sum() == 0


def test_the_proof_names_a_planted_leak(folder, clips):
    ledger = strict(folder, clips)
    prove_no_leak(ledger.manifest, clips, ["development"])
    planted = {"dataset": "wavcaps", "split": "FreeSound", "role": "train"}
    clip = "wavcaps/FreeSound/531.flac"
    manifest = pd.concat([ledger.manifest, pd.DataFrame([{"clip": clip, **planted}])])
    with pytest.raises(LeakError, match=r"531\.flac is clotho/challenge/Wet Road : Night\.wav"):
        prove_no_leak(manifest, clips, ["development"])


def test_the_proof_notices_a_protected_clip_itself_even_without_an_id(folder, clips):
    manifest = strict(folder, clips).manifest
    manifest = manifest.assign(
        role=manifest["role"].where(manifest["clip"] != "clotho/evaluation/lost.wav", "train")
    )
    with pytest.raises(LeakError, match=r"evaluation/lost\.wav itself"):
        prove_no_leak(manifest, clips, ["development"])


def test_a_list_is_read_in_each_layout_without_the_pseudo_id(folder):
    lists = read_leak_lists(folder / "leaks")
    assert lists["blacklist_exclude_all_ac.json"] == {"501", "511", "521"}
    assert lists["dcase2025_task6_excluded_freesound_ids.csv"] == {"521", "531"}
    assert len(lists["blacklist_clotho.full.v2.csv"]) == 9


def test_a_list_that_is_damaged_or_missing_is_refused(tmp_path):
    files.write_rows(tmp_path / "a.csv", ["sound_id"], [["521.0"]])
    with pytest.raises(InputError, match=r"'521\.0'"):
        read_leak_list(tmp_path / "a.csv")
    files.write_rows(tmp_path / "b.csv", ["number"], [["521"]])
    with pytest.raises(InputError, match="no column sound_id or id"):
        read_leak_list(tmp_path / "b.csv")
    (tmp_path / "c.json").write_text("[]")
    with pytest.raises(InputError, match="FreeSound"):
        read_leak_list(tmp_path / "c.json")
    with pytest.raises(InputError, match="is missing"):
        read_leak_lists(tmp_path)


IDS = st.sampled_from(["", "1", "2", "3", "4", "5", "6", "10", "11"])
PLACES = st.sampled_from(
    [("clotho", split) for split in ("development", "validation", "evaluation", "challenge")]
    + [("audiocaps", "train"), ("wavcaps", "FreeSound"), ("wavcaps", "SoundBible")]
)
LISTED = st.frozensets(IDS, max_size=3)


@settings(max_examples=80, deadline=None)
@given(
    placed=st.lists(st.tuples(PLACES, IDS), min_size=1, max_size=25),
    splits=st.sets(st.sampled_from(["development", "validation", "evaluation"])),
    listed=st.tuples(LISTED, LISTED, LISTED, LISTED),
    broken=st.sets(st.integers(0, 24)),
)
def test_no_protected_recording_is_ever_trained_on(placed, splits, listed, broken):
    """For whatever ids in whatever splits, and even with lists that name nothing."""
    clips = pd.DataFrame(
        [
            (f"{dataset}/{split}/{row}", dataset, split, str(row), identifier, "", "", "", "")
            for row, ((dataset, split), identifier) in enumerate(placed)
        ],
        columns=list(CLIP_COLUMNS),
    )
    leaks = {name: sounds - {""} for name, sounds in zip(LISTS, listed, strict=True)}
    unreadable = {clips["clip"][row]: "broken" for row in broken if row < len(clips)}
    ledger = exclude(clips, sorted(splits), leaks, unreadable)
    prove_no_leak(ledger.manifest, clips, sorted(splits))

    protected = {
        identifier
        for (dataset, split), identifier in placed
        if dataset == "clotho" and split not in splits and identifier
    }
    trained = ledger.manifest["clip"][ledger.manifest["role"] == "train"]
    ids = [placed[int(clip.rsplit("/", 1)[1])] for clip in trained]
    assert not protected & {identifier for _, identifier in ids}
    assert all(place[0] != "clotho" or place[1] in splits for place, _ in ids)
    # And nothing is lost: what is gone has a reason, what has none is there, once.
    gone, kept = set(ledger.removed["clip"]), Counter(ledger.manifest["clip"])
    assert gone | set(kept) == set(clips["clip"])
    assert not gone & set(kept)
    assert set(kept.values()) <= {1}
    assert not ledger.removed.duplicated(["clip", "reason", "source"]).any()
    unknown = {f"{d}/{s}/{row}" for row, ((d, s), known) in enumerate(placed) if not known}
    assert not (gone - set(unreadable)) & unknown
