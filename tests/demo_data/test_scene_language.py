"""Captions, paraphrases, keywords, machine lines: true to their scenes, within Clotho's limits."""

import re
from itertools import product

import pytest

from triptych.audio.captions.answers import same_words
from triptych.audio.captions.rules import problem_of
from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import FOREGROUNDS
from triptych.demo.scenes.language import (
    ADVERBS,
    Caption,
    answers,
    captions,
    keywords,
    machine_caption,
    phrases,
)
from triptych.demo.scenes.mixing import Scene, variants
from triptych.demo.scenes.paraphrases import paraphrases, plain
from triptych.demo.scenes.signals import keyed
from triptych.demo.scenes.vocabulary import JUNK, VOCABULARY

DOG_AND_CLOCK = Scene("then", "dog", "clock", "slow", "far", "twice")
RAIN_AND_DOG = Scene("while", "rain", "dog", "", "far", "several")


def some_scenes():
    pairs = [("single", name) for name in (*BACKGROUNDS, *FOREGROUNDS)]
    pairs += [("while", *pair) for pair in list(product(BACKGROUNDS, FOREGROUNDS))[::7]]
    pairs += [("then", *pair) for pair in list(product(FOREGROUNDS, FOREGROUNDS))[1::17]]
    return [variants(*pair)[0] for pair in pairs]


def many(scene, count=200, held_out=False, key="many"):
    return [
        caption
        for number in range(count // 5)
        for caption in captions(scene, 5, keyed(key, number), held_out, set())
    ]


def place_of(text, event):
    """Where a caption names an event: the first place of any of its phrases, None for nowhere."""
    known = VOCABULARY[event]
    verbs = [
        form
        for verb in (*known.verbs, *known.other_verbs)
        for form in (verb.finite, verb.participle)
    ]
    options = product((*known.subjects, *known.other_subjects), verbs)
    places = [text.lower().find(f"{subject} {verb}") for subject, verb in options]
    found = [place for place in places if place >= 0]
    return min(found) if found else None


def test_every_class_has_words():
    assert set(VOCABULARY) == {*BACKGROUNDS, *FOREGROUNDS}
    for words in VOCABULARY.values():
        assert len(words.subjects) * len(words.verbs) >= 6
        assert not set(words.tags) & set(JUNK)


@pytest.mark.parametrize("held_out", [False, True])
def test_captions_have_eight_to_twenty_words_and_name_all_events(held_out):
    for scene in some_scenes():
        own = captions(scene, 5, keyed("some", scene.combination), held_out, set())
        assert len({caption.text for caption in own}) == 5
        for caption in own:
            assert 8 <= len(caption.text.split()) <= 20
            assert all(place_of(caption.text, event) is not None for event in scene.events)


def test_captions_of_a_split_are_all_different():
    taken = set()
    for number in range(30):
        captions(RAIN_AND_DOG, 5, keyed("split", number), False, taken)
    assert len(taken) == 150


def test_a_split_without_new_captions_is_an_error():
    class Everything(set):
        def __contains__(self, item):
            return True

    with pytest.raises(ValueError, match="no 5 new captions"):
        captions(RAIN_AND_DOG, 5, keyed("none"), False, Everything())


def tells_in_order(text, first, second):
    """Whether a caption says that `first` happens before `second`."""
    # "after" turns the order of words round: "after a dog barks, a clock ticks" doesn't
    after = re.search(r"\bafter\b(?! which)", text.lower())
    reversed_words = after is not None and after.start() > 0
    return (place_of(text, second) < place_of(text, first)) == reversed_words


def test_captions_tell_the_order_of_events():
    assert all(tells_in_order(caption.text, "dog", "clock") for caption in many(DOG_AND_CLOCK))


def test_attributes_are_mentioned_exactly_where_said_and_often_dropped():
    own = many(DOG_AND_CLOCK)
    for caption in own:
        for attribute, value in (("tempo", "slow"), ("distance", "far"), ("count", "twice")):
            heard = any(adverb in caption.text.lower() for adverb in ADVERBS[value])
            assert heard == (attribute in caption.mentions), caption
        for value in ("fast", "near", "once", "several"):
            assert not any(f" {adverb}" in caption.text.lower() for adverb in ADVERBS[value])
    for attribute in ("tempo", "distance", "count"):
        share = sum(attribute in caption.mentions for caption in own) / len(own)
        assert 0.35 < share < 0.75


def test_tempo_belongs_to_what_has_one():
    for caption in many(DOG_AND_CLOCK):
        for adverb in ADVERBS["slow"]:
            if adverb in caption.text:
                before = caption.text[: caption.text.index(adverb)].lower()
                assert before.rfind("tick") > before.rfind("dog")


def held_out_phrases(event):
    words = VOCABULARY[event]
    verb = words.verbs[0]
    # "walks" begins "walks on a hard floor", which isn't held out
    others = [*words.verbs[1:], *words.other_verbs]
    longer = [other.finite for other in others if other.finite.startswith(verb.finite)]
    tail = (
        f"(?!{'|'.join(re.escape(other[len(verb.finite) :]) for other in longer)})"
        if longer
        else ""
    )
    return re.compile(rf"\b{words.subjects[-1]} ({verb.finite}|{verb.participle})\b{tail}", re.I)


def test_held_out_words_are_kept_from_training_and_common_elsewhere():
    held_out = held_out_phrases("dog")
    training = [caption.text for caption in many(RAIN_AND_DOG)]
    others = [caption.text for caption in many(RAIN_AND_DOG, held_out=True)]
    assert not any(held_out.search(text) for text in training)
    assert 0.25 < sum(bool(held_out.search(text)) for text in others) / len(others) < 0.55


def test_held_out_words_are_made_of_known_words():
    for event, known in VOCABULARY.items():
        words = {word for pair in phrases(event, False) for word in (pair[0], pair[1].finite)}
        assert {known.subjects[-1], known.verbs[0].finite} <= words


def test_captions_are_a_function_of_their_key():
    first, again, other = (
        captions(DOG_AND_CLOCK, 5, keyed("key", number), True, set()) for number in (1, 1, 2)
    )
    assert first == again != other


def test_a_clip_answers_what_a_caption_mentions_and_nothing_more():
    mentions = Caption("a dog barks twice as rain falls", frozenset({"count"})).mentions
    query = Scene("while", "rain", "dog", "", "far", "twice")
    right = Scene("while", "rain", "dog", "", "near", "twice")
    assert answers(query, query, mentions) and answers(right, query, mentions)
    assert not answers(Scene("while", "rain", "dog", "", "far", "once"), query, mentions)
    assert not answers(Scene("while", "wind", "dog", "", "far", "twice"), query, mentions)
    in_turn = Scene("then", "dog", "bell", "", "near", "once")
    assert not answers(in_turn.swapped(), in_turn, frozenset())


def test_keywords_are_tags_and_junk_and_a_fifth_lacks_a_class():
    lacking = 0
    for number in range(500):
        tags = keywords(RAIN_AND_DOG, keyed("tags", number))
        assert len(tags) == len(set(tags))
        assert set(tags) & set(JUNK)
        known = {event for event in ("rain", "dog") if set(VOCABULARY[event].tags) & set(tags)}
        assert known and set(tags) <= {*JUNK, *VOCABULARY["rain"].tags, *VOCABULARY["dog"].tags}
        lacking += known != {"rain", "dog"}
    assert lacking / 500 == pytest.approx(0.2, abs=0.05)


def test_a_machine_writes_one_plain_sentence_and_forgets_some_events():
    lines = [machine_caption(RAIN_AND_DOG, keyed("machine", number)) for number in range(300)]
    assert all(re.fullmatch(r"[A-Z][a-z ,]+\.", line) for line in lines)
    assert all(" is " in line for line in lines)
    assert not any(
        adverb in line for line in lines for adverb in ADVERBS["far"] + ADVERBS["several"]
    )
    forgot = sum(
        not all(
            any(verb.participle in line for verb in VOCABULARY[event].verbs)
            for event in ("rain", "dog")
        )
        for line in lines
    )
    assert forgot / 300 == pytest.approx(0.2, abs=0.07)


def test_plural_subjects_have_plural_verbs():
    for number in range(50):
        line = machine_caption(Scene("single", "waves", "", "", "", ""), keyed("waves", number))
        assert " are " in line and " is " not in line


MEANINGS = {
    "slow": r"\bslow|unhurried|leisurely|without any hurry",
    "fast": r"\bquick|\brapid|\bfast\b|high speed",
    "once": r"(?<!all at )\bonce\b|\b(?:one|a) single time|\bone time",
    "twice": r"\btwice\b|\btwo times|\btwo occasions",
    "several": r"several times|repeatedly|again and again|number of times|over and over|many times",
    "near": r"nearby|close by|up close|close up|close range|very near",
    "far": r"distance|far away|far off|long way off",
}
"""By what a reader knows an attribute's value."""


def rephrased(key="rephrased"):
    """(scene, caption, paraphrases) of captions with and without each attribute."""
    made = []
    for scene in some_scenes():
        for other in variants(scene.relation, scene.first, scene.second)[::5]:
            for caption in captions(other, 2, keyed("told", other.combination), False, set()):
                generator = keyed(key, caption.text)
                made.append((other, caption, paraphrases(other, caption, generator, [])))
    return made


def test_five_paraphrases_of_a_caption_are_five_other_english_sentences():
    for _, caption, own in rephrased():
        assert len({same_words(caption.text), *map(same_words, own)}) == 6
        for text in own:
            assert 8 <= len(text.split()) <= 20
            assert re.fullmatch(r"[A-Z][a-z ,]+\.", text)
            assert problem_of(text, 20) is None


def test_a_paraphrase_is_true_of_the_scene_and_tells_what_its_caption_tells():
    for scene, caption, own in rephrased():
        for text in own:
            assert all(place_of(text, event) is not None for event in scene.events), text
            if scene.relation == "then":
                assert tells_in_order(text, scene.first, scene.second), text
            else:
                assert not re.search(r"\b(?:then|after|before|next|later|follow)", text), text
            told = {value for value, sign in MEANINGS.items() if re.search(sign, text.lower())}
            wanted = {getattr(scene, attribute) for attribute in caption.mentions}
            assert told == wanted, (caption, text)


def test_a_paraphrase_never_has_the_held_out_words():
    for scene, _, own in rephrased():
        for event in scene.events:
            assert not any(held_out_phrases(event).search(text) for text in own)


def test_most_paraphrases_have_words_that_captions_lack_and_no_caption_is_one():
    made = rephrased()
    known = {
        word for scene in some_scenes() for each in many(scene) for word in words_in(each.text)
    }
    new = [bool(set(words_in(text)) - known) for _, _, own in made for text in own]
    assert sum(new) / len(new) > 0.75
    scene, caption, own = made[0]
    taken = {plain(text) for text in own}
    again = paraphrases(scene, caption, keyed("rephrased", caption.text), taken)
    assert not taken & set(map(plain, again))


def words_in(text):
    return re.findall(r"[a-z]+", text.lower())


def test_paraphrases_are_a_function_of_their_key():
    assert rephrased() == rephrased() != rephrased("another")
