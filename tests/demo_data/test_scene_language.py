"""Captions and paraphrases say what their scenes hold, and pass the rules for new captions."""

import re

import pytest

from triptych.audio.captions.rules import normalised, problem_of
from triptych.demo.scenes.language import WORDS, captions, keywords, paraphrases
from triptych.demo.scenes.mixing import Scene
from triptych.demo.scenes.plan import divide
from triptych.demo.scenes.signals import keyed

SCENES = [scene for part in divide(0) for scene in part]
SCENES += [Scene("single", name) for name in WORDS["classes"]]


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
                for event, words in WORDS["classes"].items()
                for clause in words["clauses"]
                if clause in text.lower()
            }
            assert set(places) == set(scene.events), text
            if scene.relation == "then":
                turned = re.search(r"\bafter\b(?! which)", text.lower()) is not None
                assert (places[scene.first] < places[scene.second]) != turned, text


def test_keywords_hold_a_tag_of_the_scene():
    for scene in SCENES:
        tags = {tag for event in scene.events for tag in WORDS["classes"][event]["tags"]}
        assert tags & set(keywords(scene, keyed("tags", scene.combination)))
