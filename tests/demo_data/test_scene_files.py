"""The demo's data sets: exact layouts, every oddity planted, nothing held out in training."""

import ast
import csv
import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import soundfile
import soxr
from scene_measures import share

from triptych.audio.captions.answers import Item
from triptych.audio.captions.stage import published_captions, read_published
from triptych.demo.scenes.catalogue import CLOTHO, LABELLED, Settings, catalogue
from triptych.demo.scenes.plan import divide, scenes_to_find, training_scenes
from triptych.demo.scenes.signals import keyed
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


def own_training_clips(made):
    groups = [made.clotho["development"], *made.audiocaps.values(), *made.wavcaps.values()]
    return [clip for clips in groups for clip in clips if clip.is_own]


def digests(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_two_workers_write_the_same_bytes(folder, tmp_path):
    synthesise(SMALL, tmp_path / "again", workers=2)
    assert digests(tmp_path / "again") == digests(folder)


def test_another_seed_gives_other_sounds_and_words(folder, tmp_path):
    other = catalogue(replace(SMALL, seed=1))
    assert {clip.scene for clip in other.clotho["evaluation"]} != {
        clip.scene for clip in catalogue(SMALL).clotho["evaluation"]
    }


def test_a_finished_folder_is_replaced_whole_and_nothing_partial_stays(tmp_path, monkeypatch):
    target = tmp_path / "synthesised"
    target.mkdir()
    (target / "old").touch()
    monkeypatch.setattr("triptych.demo.scenes.synthesis._write_sound", lambda sound: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        synthesise(SMALL, target, workers=1)
    assert [path.name for path in tmp_path.rglob("*")] == ["synthesised", "old"]


def test_every_split_has_as_many_clips_as_asked(demo):
    assert {split: len(clips) for split, clips in demo.clotho.items()} == {
        "development": 300,
        "validation": 100,
        "evaluation": 100,
        "challenge": 60,
    }
    assert sum(map(len, demo.audiocaps.values())) == 100
    assert sum(map(len, demo.wavcaps.values())) == 200


def test_held_out_combinations_never_occur_in_training(demo):
    divided = divide(DEMO.seed)
    held_out = {
        pair
        for part in (divided.validation, divided.evaluation)
        for pairs in (part.together, part.in_turn)
        for first, second in pairs
        for pair in (f"{first}+{second}", f"{first}>{second}", f"{second}>{first}")
    }
    training = own_training_clips(demo)
    assert len(training) > 500
    assert not {clip.scene.combination for clip in training} & held_out
    # and what development shares with other splits is no exception
    assert not {clip.scene.combination for clip in demo.clotho["development"]} & held_out


def test_a_quarter_of_all_combinations_is_held_out_from_every_class_alike():
    divided = divide(0)
    parts = (divided.training, divided.validation, divided.evaluation)
    together, in_turn = ([len(getattr(p, name)) for p in parts] for name in ("together", "in_turn"))
    assert (sum(together), sum(in_turn)) == (160, 120)
    assert 1 - together[0] / 160 == pytest.approx(0.25, abs=0.02)
    assert 1 - in_turn[0] / 120 == pytest.approx(0.25, abs=0.02)
    kept = Counter(name for pair in divided.training.together for name in pair)
    assert min(kept.values()) >= 0.6 * 10 and len(kept) == 26


def test_validation_and_evaluation_hold_out_different_combinations(demo):
    unseen = {
        split: {clip.scene.combination for clip in demo.clotho[split]} - demo.trained
        for split in ("validation", "evaluation", "challenge")
    }
    assert all(unseen.values())
    assert not unseen["validation"] & (unseen["evaluation"] | unseen["challenge"])


@pytest.mark.parametrize("split", ["validation", "evaluation", "challenge"])
def test_clips_to_be_found_are_unique_and_half_of_them_seen(demo, split):
    clips = demo.clotho[split]
    assert len({clip.scene for clip in clips}) == len(clips)
    seen = sum(clip.scene.combination in demo.trained for clip in clips)
    assert abs(seen - len(clips) / 2) <= 1


@pytest.mark.parametrize("split", ["validation", "evaluation", "challenge"])
def test_every_two_sounds_in_turn_are_there_in_both_orders(demo, split):
    scenes = {clip.scene for clip in demo.clotho[split]}
    in_turn = [scene for scene in scenes if scene.relation == "then"]
    assert len(in_turn) > len(scenes) / 3
    assert all(scene.swapped() in scenes for scene in in_turn)


@pytest.mark.parametrize("split", ["validation", "evaluation"])
def test_every_class_is_to_be_found_and_none_far_more_than_others(demo, split):
    uses = Counter(name for clip in demo.clotho[split] for name in clip.scene.events)
    assert len(uses) == 26
    assert max(uses.values()) < 2.5 * sum(uses.values()) / 26


@pytest.mark.parametrize("seed", range(5))
def test_smallest_and_larger_sizes_work_for_any_seed(seed):
    catalogue(replace(SMALL, seed=seed))
    catalogue(Settings(480, 120, 120, 60, 150, 300, [3.0, 6.0], seed))


def test_more_clips_than_there_are_scenes_is_an_error_that_says_so():
    divided = divide(0)
    trained = training_scenes(300, divided.training, keyed("training"))
    with pytest.raises(ValueError, match="make the split smaller"):
        scenes_to_find(20_000, trained, divided.evaluation, keyed("tested"))


def test_settings_out_of_range_name_the_key():
    with pytest.raises(ValueError, match=r"audio\.synthesis\.evaluation is 3"):
        replace(SMALL, evaluation=3)
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


def test_videos_leak_into_audioset(folder):
    audiocaps = {
        row["youtube_id"]
        for name in ("train", "val", "test")
        for row in table(folder / "audiocaps" / f"{name}.csv")
    }
    content = json.loads((folder / "wavcaps/json_files/AudioSet_SL/as_final.json").read_text())
    ids = {record["id"][1:-4] for record in content["data"]}
    assert 0 < len(ids & audiocaps) < len(ids)


def test_splits_of_clotho_share_recordings_as_the_real_ones_do(folder):
    sounds = {
        split: {r["sound_id"]: r["file_name"] for r in metadata(folder, split)}
        for split in LABELLED
    }
    shared = {
        (one, other): (sounds[one].keys() & sounds[other].keys()) - {"Not found"}
        for one, other in (
            ("development", "validation"),
            ("development", "evaluation"),
            ("validation", "evaluation"),
        )
    }
    assert all(len(ids) == 1 for ids in shared.values())
    for (one, other), ids in shared.items():
        bytes_ = [
            (folder / "clotho" / split / sounds[split][next(iter(ids))]).read_bytes()
            for split in (one, other)
        ]
        assert bytes_[0] == bytes_[1]


def test_sound_files_are_as_in_the_real_sets(folder):
    for pattern, rate, form in (
        ("clotho/*/*.wav", 44_100, "WAV"),
        ("audiocaps/audio/*.wav", 44_100, "WAV"),
        ("wavcaps/audio/FreeSound_flac/*.flac", 32_000, "FLAC"),
    ):
        paths = list(folder.glob(pattern))
        assert paths
        for path in paths:
            info = soundfile.info(path)
            assert (info.samplerate, info.channels) == (rate, 1)
            assert (info.format, info.subtype) == (form, "PCM_16")
            assert 1.0 <= info.duration <= 1.2
            sound, _ = soundfile.read(path)
            assert np.abs(sound).max() > 0.005


def test_files_are_resampled_without_images(folder):
    path = next((folder / "clotho/development").glob("*.wav"))
    sound, _ = soundfile.read(path)
    # scene_measures counts at 22.05 kHz: half of what is there belongs to a rate of 44.1 kHz
    assert share(sound, 11_025 / 2 + 200, 11_025) < 1e-3


def test_clotho_tables_have_their_columns_and_fit_the_files(folder):
    for split in LABELLED:
        captions = table(folder / "clotho" / f"clotho_captions_{split}.csv")
        assert list(captions[0]) == ["file_name", *(f"caption_{i}" for i in range(1, 6))]
        rows = metadata(folder, split)
        assert list(rows[0]) == [
            "file_name",
            "keywords",
            "sound_id",
            "sound_link",
            "start_end_samples",
            "manufacturer",
            "license",
        ]
        names = {path.name for path in (folder / "clotho" / split).iterdir()}
        assert names == {row["file_name"] for row in rows}
        assert names == {row["file_name"] for row in captions}
        texts = [row[f"caption_{i}"].lower() for row in captions for i in range(1, 6)]
        assert len(texts) == len(set(texts))


def test_every_caption_of_clotho_comes_with_five_others_that_are_no_caption(folder):
    rows = {split: table(folder / f"clotho/clotho_captions_{split}.csv") for split in LABELLED}
    items = [
        Item(f"clotho/{split}/{row['file_name']}", i, row[f"caption_{i + 1}"], ())
        for split in LABELLED
        for row in rows[split]
        for i in range(5)
    ]
    known = {item.caption.lower().rstrip(".") for item in items}
    published = read_published(folder / "captions/variations.json")
    for written in published_captions(items, published, 5, 20):
        assert len(written.variations) == 5 and not written.rejected
        assert not known & {text.lower().rstrip(".") for text in written.variations}


def test_an_excerpt_is_as_long_as_its_file(folder):
    for row in metadata(folder, "development"):
        if row["start_end_samples"]:
            start, end = ast.literal_eval(row["start_end_samples"])
            path = folder / "clotho/development" / row["file_name"]
            assert end - start == soundfile.info(path).frames


def test_metadata_is_in_latin_letters_that_are_no_utf8(folder):
    for split in LABELLED:
        raw = (folder / "clotho" / f"clotho_metadata_{split}.csv").read_bytes()
        with pytest.raises(UnicodeDecodeError):
            raw.decode("utf-8")
        assert "Óscar Ñandú" in raw.decode("iso-8859-1")


def test_oddities_of_clothos_metadata_are_planted(folder):
    rows = {split: metadata(folder, split) for split in LABELLED}
    blanks = {split: sum(row["file_name"].startswith(" ") for row in rows[split]) for split in rows}
    assert blanks == {"development": 2, "validation": 1, "evaluation": 0}
    for split in LABELLED:
        unknown = [row for row in rows[split] if row["sound_id"] == "Not found"]
        assert len(unknown) == 2 and not any(row["sound_link"] for row in unknown)
        assert any(row["start_end_samples"] == "" for row in rows[split])
    names = [{row["file_name"] for row in rows[split]} for split in LABELLED]
    assert names[0] & names[2]
    assert any("," in name for part in names for name in part)


def test_the_challenge_is_told_without_its_truth(folder):
    clips = table(folder / "clotho/retrieval_audio_metadata.csv", "iso-8859-1")
    queries = table(folder / "clotho/retrieval_captions.csv")
    assert len(clips) == len(queries) == SMALL.challenge
    assert list(queries[0]) == ["caption"]
    listed, present = (
        [row["file_name"] for row in clips],
        {path.name for path in (folder / "clotho/retrieval_audio").iterdir()},
    )
    assert "Rooftop w: tin gutter.wav" in listed and "Crossing : wet road.wav" in listed
    assert "Rooftop w_tin gutter.wav" in present and "Crossing_wet road.wav" in present
    assert not [name for name in present if ":" in name] and len(present) == len(listed)
    assert "challenge" not in (folder / "scenes.csv").read_text()


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


def test_in_the_demo_many_queries_have_several_right_clips(demo):
    combinations = Counter(clip.scene.combination for clip in demo.clotho["evaluation"])
    assert sum(count > 1 for count in combinations.values()) > 0.6 * len(combinations)


def test_scenes_name_combination_partner_and_whether_training_has_it(folder):
    scenes = pd.read_csv(folder / "scenes.csv", dtype=str, keep_default_na=False)
    scenes = scenes.set_index("clip", drop=False)
    tested = scenes[scenes["split"] == "evaluation"]
    in_turn = tested[tested["relation"] == "then"]
    assert len(in_turn) >= 4
    for row in in_turn.to_dict("records"):
        partner = scenes.loc[row["order_partner"]]
        assert (partner["first"], partner["second"]) == (row["second"], row["first"])
        assert partner["order_partner"] == row["clip"]
        assert all(partner[name] == row[name] for name in ("tempo", "distance", "count", "seen"))
    assert (tested[tested["relation"] != "then"]["order_partner"] == "").all()
    assert set(tested["seen"]) == {"0", "1"}
    development = scenes[scenes["split"] == "development"]
    assert (development["seen"] == "1").all()


def test_audiocaps_has_one_row_a_caption_and_a_video_that_is_gone(folder):
    for split, each in (("train", 1), ("val", 5), ("test", 5)):
        rows = table(folder / "audiocaps" / f"{split}.csv")
        assert list(rows[0]) == ["audiocap_id", "youtube_id", "start_time", "caption"]
        assert set(Counter(row["youtube_id"] for row in rows).values()) == {each}
        missing = {
            row["youtube_id"]
            for row in rows
            if not (
                folder / f"audiocaps/audio/{row['youtube_id']}_{row['start_time']}.wav"
            ).exists()
        }
        assert len(missing) == (split == "train")
    ids = [row["youtube_id"] for row in table(folder / "audiocaps/train.csv")]
    assert ids[0].startswith("-") and ids[1].isdigit() and all(len(name) == 11 for name in ids)


def test_wavcaps_records_have_the_keys_of_their_sources(folder):
    expected = {
        "AudioSet_SL/as_final": set(),
        "BBC_Sound_Effects/bbc_final": {"description", "category", "download_link"},
        "FreeSound/fsd_final": {
            "file_name",
            "href",
            "tags",
            "description",
            "author",
            "download_link",
        },
        "SoundBible/sb_final": {"title", "description", "author", "href", "download_link"},
    }
    for name, further in expected.items():
        content = json.loads((folder / f"wavcaps/json_files/{name}.json").read_text())
        assert content["num_captions_per_audio"] == 1
        for record in content["data"]:
            assert set(record) == {"id", "caption", "audio", "duration"} | further
            assert record["audio"] == "wav_path"


def test_broken_files_of_wavcaps_are_planted(folder):
    audio = folder / "wavcaps/audio"
    sizes = [path.stat().st_size for path in (audio / "AudioSet_SL_flac").iterdir()]
    frames = [
        soundfile.info(path).frames
        for path in (audio / "AudioSet_SL_flac").iterdir()
        if path.stat().st_size
    ]
    unknown = 2**63 - 1  # libsndfile's answer for a header after which nothing comes
    assert sizes.count(0) == 1 and frames.count(unknown) == 1
    records = {
        part: {
            record["id"]: record
            for record in json.loads(
                (folder / f"wavcaps/json_files/{part}/{name}.json").read_text()
            )["data"]
        }
        for part, name in (
            ("SoundBible", "sb_final"),
            ("BBC_Sound_Effects", "bbc_final"),
            ("FreeSound", "fsd_final"),
        )
    }
    files = {part: {path.stem for path in (audio / f"{part}_flac").iterdir()} for part in records}
    assert len(files["SoundBible"] - records["SoundBible"].keys()) == 2
    assert len(records["BBC_Sound_Effects"].keys() - files["BBC_Sound_Effects"]) == 1
    wrong = [
        key
        for key, record in records["FreeSound"].items()
        if abs(record["duration"] - soundfile.info(audio / f"FreeSound_flac/{key}.flac").duration)
        > 1
    ]
    assert len(wrong) == 1


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


def test_not_found_stands_in_every_leak_list(folder):
    files = list((folder / "leaks").iterdir())
    assert len(files) == 4
    assert all("Not found" in Path(path).read_text() for path in files)
