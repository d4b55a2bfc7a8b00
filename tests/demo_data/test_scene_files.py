"""The demo's data sets: the same bytes for any workers, leaks planted, nothing held out trained."""

from dataclasses import replace

import pytest

from triptych.demo.scenes.catalogue import Settings, catalogue
from triptych.demo.scenes.plan import divide
from triptych.demo.scenes.synthesis import synthesise

DEMO = Settings(400, 100, 100, 60, 100, 200, [2.0, 3.2], 0)
SMALL = Settings(24, 12, 12, 4, 10, 32, [1.0, 1.2], 0)


@pytest.fixture(scope="module")
def demo():
    return catalogue(DEMO)


def contents(folder):
    files = filter(lambda path: path.is_file(), sorted(folder.rglob("*")))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_two_workers_write_the_same_bytes_as_one(tmp_path):
    for workers in (1, 2):
        synthesise(SMALL, tmp_path / str(workers), workers)
    assert contents(tmp_path / "2") == contents(tmp_path / "1")


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
    held_out = {scene.combination for scene in (*divided.validation, *divided.evaluation)}
    assert len(held_out) == 50 and len(demo.trained) == 116
    assert not demo.trained & held_out
    # and what development shares with other splits is no exception
    assert not {clip.scene.combination for clip in demo.clotho["development"]} & held_out


@pytest.mark.parametrize(("split", "unseen"), [("validation", 20), ("evaluation", 30)])
def test_clips_to_be_found_are_different_and_some_are_of_unseen_combinations(demo, split, unseen):
    clips = demo.clotho[split]
    assert len({clip.scene for clip in clips}) == len(clips) == 100
    assert sum(clip.scene.combination not in demo.trained for clip in clips) == unseen


@pytest.mark.parametrize("seed", range(3))
def test_any_seed_gives_as_many_clips_as_asked(seed):
    made = catalogue(replace(SMALL, seed=seed))
    assert {name: len(clips) for name, clips in made.clotho.items()} == {
        "development": 24,
        "validation": 12,
        "evaluation": 12,
        "challenge": 4,
    }


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
