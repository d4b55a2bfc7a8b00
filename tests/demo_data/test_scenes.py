"""The demo's audio data: always the same bytes, leaks planted, nothing held out trained."""

import re

import numpy as np
import pytest

from triptych.audio.captions.rules import normalised, problem_of
from triptych.demo.scenes.catalogue import Settings, catalogue, divide
from triptych.demo.scenes.language import captions, keywords, paraphrases
from triptych.demo.scenes.sounds import CLASSES, RATE, Scene, keyed, render
from triptych.demo.scenes.synthesis import synthesise

DEMO = Settings(400, 100, 100, 60, 100, 200, [2.0, 3.2], 0)
SMALL = Settings(24, 12, 12, 4, 10, 32, [1.0, 1.2], 0)
SAMPLES = 5 * RATE
SCENES = [scene for part in divide(0) for scene in part]
SCENES += [Scene("single", name) for name in CLASSES]


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


def test_twenty_evaluation_recordings_leak_into_freesound(demo):
    own = {clip.id: clip for clip in demo.clotho["evaluation"]}
    leaked = [clip for clip in demo.wavcaps["FreeSound"] if clip.id in own]
    assert len(leaked) == 20
    for clip in leaked:
        source = own[clip.id]
        assert (clip.scene, clip.seconds, clip.key) == (source.scene, source.seconds, source.key)
    for split in ("validation", "challenge", "development"):
        ids = {clip.id for clip in demo.clotho[split]}
        assert sum(clip.id in ids for clip in demo.wavcaps["FreeSound"]) >= 4
    names = [clip.name for clips in demo.wavcaps.values() for clip in clips]
    assert len(names) == len(set(names))


def centroid(signal):
    """Mean frequency, weighted with power, in hertz."""
    power = np.abs(np.fft.rfft(signal * np.hanning(signal.size))) ** 2
    frequencies = np.fft.rfftfreq(signal.size, 1 / RATE)
    return float((frequencies * power).sum() / power.sum())


@pytest.mark.parametrize(("high", "low"), [("bird", "door"), ("glass", "horn")])
def test_scenes_of_two_sounds_in_turn_have_them_in_their_order(high, low):
    for scene, sign in ((Scene("then", high, low), 1), (Scene("then", low, high), -1)):
        first, second = map(centroid, np.array_split(render(scene, 5.0, "order"), 2))
        assert sign * np.log(first / second) > np.log(1.5)


@pytest.mark.parametrize("relation", ["single", "while", "then"])
def test_five_captions_and_five_paraphrases_are_ten_english_sentences(relation):
    for scene in [scene for scene in SCENES if scene.relation == relation][:20]:
        told = captions(scene, 5, keyed("told", scene.combination))
        again = paraphrases(scene, keyed("again", scene.combination), set(told))
        assert len({*map(normalised, told), *map(normalised, again)}) == 10
        assert [problem_of(text, 20) for text in told + again] == [None] * 10


def test_captions_name_their_sounds_and_no_other_and_tell_their_order():
    for scene in SCENES:
        for text in captions(scene, 5, keyed("named", scene.combination)):
            places = {
                event: text.lower().find(clause)
                for event, words in CLASSES.items()
                for clause in words["clauses"]
                if clause in text.lower()
            }
            assert set(places) == set(scene.events), text
            if scene.relation == "then":
                turned = re.search(r"\bafter\b(?! which)", text.lower()) is not None
                assert (places[scene.first] < places[scene.second]) != turned, text


def test_keywords_hold_a_tag_of_the_scene():
    for scene in SCENES:
        tags = {tag for event in scene.events for tag in CLASSES[event]["tags"]}
        assert tags & set(keywords(scene, keyed("tags", scene.combination)))
