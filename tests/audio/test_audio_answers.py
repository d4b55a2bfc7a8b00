"""Answers of language models: read in whatever form they come, checked without mercy."""

import pytest
from chat_server import GOOD, numbered

from triptych.audio.captions.answers import choose, parse_answer
from triptych.audio.captions.rules import problem_of

CAPTION = "A dog barks two times beside a busy road."
FORMS = ["{0}. {1}", "({0}) {1}", "{0} - {1}", "{2}) {1}", "Caption {0}: {1}", "**{0}.** {1}"]
FORMS += ["[{0}] {1}", "#{0}: {1}", "**Sentence {2}** - {1}", "> {0}) {1}"]
FORMS += ["- {1}", '{0}. "{1}"', "- {0}. {1}", "{1}"]


def written(form: str) -> list[str]:
    return [form.format(n + 1, line, "abcde"[n]) for n, line in enumerate(GOOD)]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_numbering_is_read_without_what_stands_around(form):
    assert parse_answer("\r\n".join(written(form))) == GOOD
    lines = ["Sure! Here you go.", "", *written(form), "", "I hope this helps!"]
    assert choose([("\n".join(lines), "stop")], CAPTION, 5, 20).variations == tuple(GOOD)


def test_a_json_list_is_read():
    text = '["A dog barks at the gate.", "At the gate a dog barks."]'
    assert parse_answer(text) == ["A dog barks at the gate.", "At the gate a dog barks."]
    assert parse_answer('{"captions": ' + text + "}") == parse_answer(text)
    assert parse_answer(f"```json\n{text}\n```") == parse_answer(text)


def test_words_that_look_like_numbering_stay():
    lines = ["A dog barks.", "One bird sings loudly.", "5 dogs bark.", "Two people talk."]
    assert parse_answer("\n".join(lines)) == lines


@pytest.mark.parametrize(
    ("caption", "problem"),
    [
        ("A dog barks " + "very " * 17 + "loud.", "too long (21 words)"),
        ("A bark.", "too short (2 words)"),
        ("The bark of a dog was Recorded.", "banned word (Recorded)"),
        ("A dog barks into a Zoom H4n.", "banned word (Zoom H4n)"),
        ("A dog barks at 7 pm.", "banned word (7 pm)"),
        ("I'm sorry, I cannot do that.", "no caption (I)"),
        ("2. A dog barks at the gate.", "no caption (2.)"),
        ("A dog barks twice. Cars pass by.", "not one plain sentence (.)"),
        ("Is a dog barking near the road?", "not one plain sentence (?)"),
        ("A dog barks twice near a busy road and the", "not one plain sentence (the)"),
        ("dog, traffic, street", "not an English sentence"),
        ("A dog barks at https://example.com.", "not one plain sentence (:)"),
        ("Vary the sentence length, but not the dog.", "no caption (Vary)"),
        ("Der Hund barks loudly near the road.", "not an English sentence (der)"),
        ("Hundo bojas dufoje apud vojo.", "not an English sentence"),
    ],
)
def test_what_breaks_a_rule_of_the_prompt_is_named(caption, problem):
    assert problem_of(caption, 20) == problem


@pytest.mark.parametrize(
    "caption",
    [
        "Birds chirp loudly.",
        "A record player crackles at an unheard-of pace.",
        "Rain pours while Mr. Smith's dog barks.",
        "A caf\u00e9 door opens and closes again.",
        "First, a dog barks and then a car passes by.",
        "A dog\u2019s bark is echoing off a wall; a bell rings.",
    ],
)
def test_plain_captions_in_english_are_let_in(caption):
    assert problem_of(caption, 20) is None


def test_good_captions_of_a_bad_answer_are_kept_and_the_bad_listed():
    lines = [*GOOD[:3], "A dog is heard from afar.", "Short."]
    result = choose([(numbered(lines), "stop")], "A dog barks.", 5, 20)
    assert result.variations == tuple(GOOD[:3])
    problems = ["3 of 5 captions", "banned word (heard)", "too short (1 words)"]
    assert [bad.problem for bad in result.rejected] == problems


def test_a_repair_fills_what_the_first_answer_lacks():
    first = numbered([*GOOD[:3], "A dog is heard from afar."])
    second = numbered([GOOD[0], GOOD[3], "Once more " + "x " * 30, GOOD[4]])
    result = choose([(first, "stop"), (second, "stop")], "A dog barks.", 5, 20)
    assert (result.variations, result.rejected) == (tuple(GOOD), ())


def test_repetitions_and_what_was_cut_off_are_bad():
    lines = ["a dog barks loudly!", *GOOD[:2], GOOD[1].upper(), "A dog barks and then"]
    result = choose([(numbered(lines), "length")], "A dog barks loudly.", 5, 20)
    assert result.variations == tuple(GOOD[:2])
    again = "repeats the caption or another"
    assert [bad.problem for bad in result.rejected[1:]] == [again, again, "cut off"]


LIST = numbered(GOOD)
NOTES = numbered(
    [
        "The dog barks, so the sound comes first",
        "Traffic passes by in the background of it",
        "Two barks follow the noise of the cars",
    ]
)
THOUGHTS = {
    "deepseek": (f"<think>\n{NOTES}\n</think>\n\n{LIST}", 5),
    "magistral": (f"[THINK]{NOTES}[/THINK]{LIST}", 5),
    "kimi": (f"\u25c1think\u25b7{NOTES}\u25c1/think\u25b7{LIST}", 5),
    "opened by the template": (f"{NOTES}\n</think>\n\n{LIST}", 5),
    "never closed": (f"<think>\n{NOTES}", 0),
    "thought after": (f"{LIST}\n<think>\n{NOTES}\n</think>", 5),
    "heading": (f"**Thinking Process:**\n\n{NOTES}\n\n**Final Answer:**\n\n{LIST}", 0),
    "explained after": (f"{LIST}\n\nExplanation:\n{NOTES}", 0),
    "two lists": (f"{NOTES}\n\n{LIST}", 0),
    "json of thoughts alone": ('{"steps": ["The dog is near the cars", "Cars pass by it"]}', 0),
    "musing": ("1. I will put the dog at the beginning\n2. Wait, the dog barks near the road", 0),
    "the caption itself": (numbered([CAPTION, CAPTION.upper(), f"'{CAPTION}'"]), 0),
    "special tokens": (f"{LIST}\n<|im_end|>", 5),
    "nothing": ("", 0),
}


@pytest.mark.parametrize(("text", "found"), THOUGHTS.values(), ids=THOUGHTS)
def test_of_an_adversarial_answer_nothing_but_its_captions_is_let_in(text, found):
    kept = choose([(text, "stop")], CAPTION, 5, 20).variations
    assert set(kept) <= set(GOOD) and len(kept) == found
