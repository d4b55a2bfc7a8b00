"""The demo's data sets: exact layouts, every oddity planted, nothing held out in training."""

import ast
import csv
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import soundfile
import soxr

from triptych.demo.scenes.catalogue import CLOTHO, LABELLED, Settings, catalogue
from triptych.demo.scenes.plan import divide
from triptych.demo.scenes.synthesis import synthesise

DEMO = Settings(300, 100, 100, 60, 100, 200, [3.0, 6.0], 0)
SMALL = Settings(24, 12, 12, 4, 10, 32, [1.0, 1.2], 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("audio") / "synthesised"
    synthesise(SMALL, made, workers=1)
    return made


@pytest.fixture(scope="module")
def demo():
    return catalogue(DEMO)


def table(path, encoding="utf-8"):
    with path.open(encoding=encoding, newline="") as stream:
        return list(csv.DictReader(stream))


def metadata(folder, split):
    return table(folder / "clotho" / f"clotho_metadata_{split}.csv", "iso-8859-1")


def digests(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_two_workers_write_the_same_bytes(folder, tmp_path):
    synthesise(SMALL, tmp_path / "again", workers=2)
    assert digests(tmp_path / "again") == digests(folder)


def test_a_finished_folder_is_replaced_whole_and_nothing_partial_stays(tmp_path, monkeypatch):
    target = tmp_path / "synthesised"
    target.mkdir()
    (target / "old").touch()
    monkeypatch.setattr("triptych.demo.scenes.synthesis._write_sound", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        synthesise(SMALL, target, workers=1)
    assert [path.name for path in tmp_path.rglob("*")] == ["synthesised", "old"]


def test_held_out_combinations_never_occur_in_training(demo):
    divided = divide(DEMO.seed)
    held_out = {
        pair
        for part in (divided.validation, divided.evaluation)
        for pairs in (part.together, part.in_turn)
        for first, second in pairs
        for pair in (f"{first}+{second}", f"{first}>{second}", f"{second}>{first}")
    }
    assert len(demo.trained) > 100
    assert not demo.trained & held_out
    # and what development shares with other splits is no exception
    assert not {clip.scene.combination for clip in demo.clotho["development"]} & held_out


@pytest.mark.parametrize("split", ["validation", "evaluation", "challenge"])
def test_clips_to_be_found_are_unique_and_half_of_them_seen(demo, split):
    clips = demo.clotho[split]
    assert len({clip.scene for clip in clips}) == len(clips)
    seen = sum(clip.scene.combination in demo.trained for clip in clips)
    assert abs(seen - len(clips) / 2) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_smallest_and_larger_sizes_work_for_any_seed(seed):
    catalogue(replace(SMALL, seed=seed))
    catalogue(Settings(480, 120, 120, 60, 150, 300, [3.0, 6.0], seed))


def test_a_range_the_wrong_way_round_names_the_key():
    with pytest.raises(ValueError, match=r"audio\.synthesis\.seconds is \[3, 2\]"):
        replace(SMALL, seconds=[3, 2])


def test_twenty_evaluation_recordings_leak_into_freesound(demo):
    own = {clip.sound_id: clip for clip in demo.clotho["evaluation"]}
    leaked = [clip for clip in demo.wavcaps["FreeSound"] if clip.sound_id in own]
    assert len(leaked) == 20
    for clip in leaked:
        source = own[clip.sound_id]
        assert (clip.scene, clip.seconds, clip.key) == (source.scene, source.seconds, source.key)
    for split in ("validation", "challenge", "development"):
        ids = {clip.sound_id for clip in demo.clotho[split]}
        assert sum(clip.sound_id in ids for clip in demo.wavcaps["FreeSound"]) >= 4
    names = [clip.name for clips in demo.wavcaps.values() for clip in clips]
    assert len(names) == len(set(names))


def test_a_leaked_recording_sounds_as_in_clotho(folder):
    ids = {row["sound_id"]: row["file_name"] for row in metadata(folder, "evaluation")}
    files = sorted((folder / "wavcaps/audio/FreeSound_flac").glob("*.flac"))
    leaked = [path for path in files if path.stem in ids]
    assert leaked
    for path in leaked:
        there, rate = soundfile.read(path)
        here, original = soundfile.read(folder / "clotho/evaluation" / ids[path.stem])
        assert (rate, original) == (32_000, 44_100)
        resampled = soxr.resample(here, original, rate)[: there.size]
        assert np.abs(resampled - there).max() < 0.01
        assert np.corrcoef(resampled, there)[0, 1] > 0.9999


def test_multiple_positives_follow_from_what_a_caption_mentions(folder):
    rows = table(folder / "clotho/metadata_eval.csv")
    captions = table(folder / "clotho/clotho_captions_evaluation.csv")
    owner = {row[f"caption_{i}"]: row["file_name"] for row in captions for i in range(1, 6)}
    scenes = {row["clip"]: row for row in table(folder / "scenes.csv")}
    assert len(rows) == len(owner)
    for row in rows:
        names = ast.literal_eval(row["audio_filenames"])
        assert owner[row["query"]] in names
        combinations = {scenes[f"clotho/evaluation/{name}"]["combination"] for name in names}
        assert len(combinations) == 1


def test_leak_lists_hold_what_their_real_counterparts_would(folder):
    ids = {split: {row["sound_id"] for row in metadata(folder, split)} for split in LABELLED}
    ids["challenge"] = {
        row["sound_id"]
        for row in table(folder / "clotho/retrieval_audio_metadata.csv", "iso-8859-1")
    }
    leaks = folder / "leaks"
    tested, everything = (
        json.loads((leaks / f"blacklist_exclude_{name}_ac.json").read_text())
        for name in ("test", "all")
    )
    full = table(leaks / "blacklist_clotho.full.v2.csv")
    dcase = table(leaks / "dcase2025_task6_excluded_freesound_ids.csv")
    assert set(tested["FreeSound"]) == ids["validation"] | ids["evaluation"]
    assert set(everything["FreeSound"]) == set.union(*(ids[split] for split in LABELLED))
    assert set.union(*(ids[split] for split in CLOTHO)) < {row["id"] for row in full}
    assert {row["sound_id"] for row in dcase} == ids["evaluation"] | ids["challenge"]
    videos = {
        name: {f"Y{row['youtube_id']}.wav" for row in table(folder / "audiocaps" / f"{name}.csv")}
        for name in ("train", "val", "test")
    }
    assert set(tested["AudioSet"]) == videos["val"] | videos["test"]
    assert set(everything["AudioSet"]) == set.union(*videos.values())
