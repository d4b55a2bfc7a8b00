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

FULL, ALL, TEST, DCASE = LISTS
DEVELOPMENT = ["development"]
LEFT_OUT = {
    "clotho/development/shared with validation.wav": [
        "clotho/validation/same recording, other excerpt.wav"
    ],
    "wavcaps/FreeSound/501.flac": [FULL, ALL],
    "wavcaps/FreeSound/511.flac": [FULL, ALL, TEST, "clotho/validation/Harbour, gulls.wav"],
    "wavcaps/FreeSound/521.flac": [FULL, ALL, TEST, DCASE, "clotho/evaluation/tram.wav"],
    "wavcaps/FreeSound/531.flac": [FULL, DCASE, "clotho/challenge/Wet Road : Night.wav"],
    "wavcaps/FreeSound/600.flac": [FULL],
}
"""By what, of a model that trains on Clotho's development split."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sources that share recordings; SoundBible's numbers are no Freesound ids."""
    folder = tmp_path_factory.mktemp("sources")
    files.write_clotho(folder / "clotho")
    sounds = ["501", "511", "521", "531", "600", "900", "2219"]
    files.write_wavcaps(folder, "FreeSound", [record(identifier) for identifier in sounds])
    files.write_wavcaps(folder, "SoundBible", [record("521"), record("531")])
    files.write_wavcaps(folder, "AudioSet_SL", [record("Yttttttttttt.wav")])
    header = ["audiocap_id", "youtube_id", "start_time", "caption"]
    files.write_rows(folder / "test.csv", header, [["2", "ttttttttttt", "0", "A bus."]])
    files.write_leaks(
        folder / "leaks",
        full=["501", "502", "503", "511", "521", "522", "531", "532", "600", "Not found"],
        wavcaps_all=["501", "511", "521", "Not found", "Not found"],
        wavcaps_test=["511", "521", "Not found"],
        dcase=["521", "531", "Not found"],
        videos=["ttttttttttt"],
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


@pytest.fixture(scope="module")
def lists(folder):
    return read_leak_lists(folder / "leaks")


def left_out(ledger):
    return {clip: list(rows["source"]) for clip, rows in ledger.removed.groupby("clip", sort=False)}


def test_strict_leaves_out_what_is_listed_or_protected_and_says_by_what(clips, lists):
    """Clips whose id is "Not found" are never taken for one another."""
    ledger = exclude(clips, DEVELOPMENT, lists, {})
    assert left_out(ledger) == LEFT_OUT
    assert list(left_out(ledger)) == [clip for clip in clips["clip"] if clip in LEFT_OUT]
    by_list = ledger.removed["source"].isin(LISTS)
    assert (ledger.removed["reason"] == "leak list").equals(by_list)
    assert set(ledger.manifest["clip"]) == set(clips["clip"]) - set(LEFT_OUT)


def test_leaks_that_stay_are_counted(clips, lists):
    lenient = exclude(clips, DEVELOPMENT, None, {})
    assert lenient.removed.empty and lenient.manifest["clip"].equals(clips["clip"])
    leaked = lenient.counts.set_index(["dataset", "split"])["leaked"]
    assert leaked[leaked > 0].to_dict() == {
        ("clotho", "development"): 1,
        ("wavcaps", "FreeSound"): 3,
    }
    assert exclude(clips, DEVELOPMENT, lists, {}).counts["leaked"].sum() == 0


def test_a_split_that_is_trained_on_protects_nothing(clips, lists):
    ledger = exclude(clips, ["development", "validation", "evaluation"], lists, {})
    roles = ledger.manifest[ledger.manifest["dataset"] == "clotho"]["role"]
    assert roles.value_counts().to_dict() == {"train": 9, "challenge": 2}
    protected = ledger.removed[ledger.removed["reason"] == "protected recording"]
    assert protected["clip"].tolist() == ["wavcaps/FreeSound/531.flac"]


def test_unreadable_clips_are_removed_from_every_role_and_still_protect(clips):
    problems = {
        "clotho/evaluation/tram.wav": "0 samples",
        "wavcaps/FreeSound/900.flac": "no such file",
    }
    ledger = exclude(clips, DEVELOPMENT, {}, problems)
    assert not set(problems) & set(ledger.manifest["clip"])
    rows = ledger.removed[ledger.removed["reason"] == "unreadable"]
    assert dict(zip(rows["clip"], rows["source"], strict=True)) == problems
    assert "wavcaps/FreeSound/521.flac" in left_out(ledger)


@pytest.mark.parametrize(
    ("planted", "says"),
    [
        ("wavcaps/FreeSound/531.flac", r"531\.flac is clotho/challenge/Wet Road : Night\.wav"),
        ("clotho/evaluation/lost.wav", r"evaluation/lost\.wav itself"),  # which has no id
    ],
)
def test_the_proof_names_a_planted_leak(clips, lists, planted, says):
    manifest = exclude(clips, DEVELOPMENT, lists, {}).manifest
    prove_no_leak(manifest, clips, DEVELOPMENT)
    manifest = pd.concat([manifest, pd.DataFrame([{"clip": planted, "role": "train"}])])
    with pytest.raises(LeakError, match=says):
        prove_no_leak(manifest, clips, DEVELOPMENT)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "sound_id\n521.0\n", r"'521\.0'"),
        ("b.csv", "number\n521\n", "no column sound_id or id"),
        ("c.json", "[]", "FreeSound"),
        ("d.csv", None, "is missing"),
    ],
)
def test_a_list_that_is_damaged_or_missing_is_refused(tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=says):
        read_leak_list(tmp_path / name)


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

    trained = clips[clips["clip"].isin(ledger.manifest.query("role == 'train'")["clip"])]
    serving = (clips["dataset"] == "clotho") & ~clips["split"].isin(splits)
    assert not set(trained["clip"]) & set(clips["clip"][serving])
    assert not set(trained["sound_id"]) & set(clips["sound_id"][serving]) - {""}
    # And nothing is lost: what is gone has a reason, what has none is there, once.
    gone, kept = set(ledger.removed["clip"]), Counter(ledger.manifest["clip"])
    assert gone | set(kept) == set(clips["clip"]) and not gone & set(kept)
    assert set(kept.values()) <= {1}
    assert not ledger.removed.duplicated(["clip", "reason", "source"]).any()
    assert not (gone - set(unreadable)) & set(clips["clip"][clips["sound_id"] == ""])
    counts = ledger.counts
    assert counts["listed"].sum() == len(clips) and counts["train"].sum() == len(trained)
    assert counts["unreadable"].sum() == len(unreadable)
    assert (counts["unreadable"] + counts["excluded"]).sum() == len(gone)
