"""Answers of language models: read in whatever form they come, checked without mercy."""

import os
from pathlib import Path

import pandas as pd
import pytest
from adversarial_answers import ANSWERS, CAPTION
from chat_server import GOOD

from triptych.audio.captions.answers import (
    choose,
    parse_answer,
)
from triptych.audio.captions.rules import problem_of

REAL = os.environ.get("TRIPTYCH_REAL_FILES", "")

WORDS = ["one", "two", "three", "four", "five"]

FORMS = {
    "1.": "{0}. {1}",
    "1)": "{0}) {1}",
    "(1)": "({0}) {1}",
    "1:": "{0}: {1}",
    "1 -": "{0} - {1}",
    "1 dash": "{0} \u2013 {1}",
    "1 bare": "{0} {1}",
    "1.x": "{0}.{1}",
    "a.": "{2}. {1}",
    "a)": "{2}) {1}",
    "(a)": "({2}) {1}",
    "A.": "{3}. {1}",
    "one:": "{4}: {1}",
    "One.": "{5}. {1}",
    "Caption 1:": "Caption {0}: {1}",
    "bold": "**{0}.** {1}",
    "bold caption": "**Caption {0}:** {1}",
    "bullet": "- {1}",
    "star": "* {1}",
    "dot": "\u2022 {1}",
    "quoted": '{0}. "{1}"',
    "curly quotes": "{0}. \u201c{1}\u201d",
    "plain": "{1}",
    "bulleted number": "- {0}. {1}",
}


def written(form: str) -> list[str]:
    return [
        form.format(n + 1, line, "abcde"[n], "ABCDE"[n], WORDS[n], WORDS[n].capitalize())
        for n, line in enumerate(GOOD)
    ]


@pytest.mark.parametrize("form", [pytest.param(form, id=name) for name, form in FORMS.items()])
@pytest.mark.parametrize("newline", ["\n", "\n\n", "\r\n", "  \n \n"])
def test_every_form_of_numbering_is_read(form, newline):
    assert parse_answer(newline.join(written(form))) == GOOD


@pytest.mark.parametrize("form", ["{0}. {1}", "{2}) {1}", "- {1}", "{1}"])
@pytest.mark.parametrize(
    "introduction",
    ["Here are five captions:", "Sure! Here you go.", "Certainly, five new captions follow:"],
)
def test_introductions_and_explanations_are_no_captions(form, introduction):
    lines = [introduction, "", *written(form), "", "I hope this helps!"]
    assert parse_answer("\n".join(lines)) == GOOD


def test_sentences_in_one_line_are_told_apart_by_their_numbers():
    assert parse_answer(" ".join(written("{0}. {1}"))) == GOOD
    assert parse_answer(" ".join(written("{0}) {1}"))) == GOOD


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
        ("The bark of a dog is heard.", "banned word (heard)"),
        ("The bark of a dog was Recorded.", "banned word (Recorded)"),
        ("This recording has a dog in it.", "banned word (recording)"),
        ("The noise of a tap is audible.", "banned word (audible)"),
        ("One can hear a dog bark.", "banned word (hear)"),
        ("A dog barks at a microphone.", "device name (microphone)"),
        ("A dog barks into a Zoom H4n.", "device name (Zoom H4n)"),
        ("A dog barks at 7:30 in the morning.", "time (7:30)"),
        ("A dog barks at 7 pm.", "time (7 pm)"),
        ("I'm sorry, I cannot do that.", "refusal"),
    ],
)
def test_what_breaks_a_rule_of_the_prompt_is_named(caption, problem):
    assert problem_of(caption, 20) == problem


@pytest.mark.parametrize(
    "caption",
    [
        "A dog barks " + "very " * 16 + "loud.",
        "A man mumbles inaudibly.",
        "A record player crackles.",
        "The heart beats at an unheard-of pace.",
        "A high-pitched tone doesn't stop.",
    ],
)
def test_what_keeps_the_rules_may_be_trained_on(caption):
    assert problem_of(caption, 20) is None


def number(lines):
    return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1))


def test_five_good_captions_are_taken_as_they_are():
    result = choose([(number(GOOD), "stop")], "A dog barks.", 5, 20)
    assert result.variations == tuple(GOOD)
    assert result.rejected == ()


def test_good_captions_of_a_bad_answer_are_kept_and_the_bad_listed():
    lines = [*GOOD[:3], "A dog is heard from afar.", "Short."]
    result = choose([(number(lines), "stop")], "A dog barks.", 5, 20)
    assert result.variations == tuple(GOOD[:3])
    assert [bad.problem for bad in result.rejected] == [
        "3 of 5 captions",
        "banned word (heard)",
        "too short (1 words)",
    ]
    assert result.rejected[1].answer == "A dog is heard from afar."


def test_a_repair_fills_what_the_first_answer_lacks():
    first = number([*GOOD[:3], "A dog is heard from afar."])
    second = number([GOOD[0], GOOD[3], "Once more " + "x " * 30, GOOD[4]])
    result = choose([(first, "stop"), (second, "stop")], "A dog barks.", 5, 20)
    assert result.variations == tuple(GOOD)
    assert result.rejected == ()


def test_the_caption_itself_and_repetitions_are_not_new():
    lines = ["a dog barks loudly!", *GOOD[:2], GOOD[1].upper(), GOOD[2]]
    result = choose([(number(lines), "stop")], "A dog barks loudly.", 5, 20)
    assert result.variations == tuple(GOOD[:3])
    assert [bad.problem for bad in result.rejected[1:]] == ["repeats the caption or another"] * 2


def test_the_sentence_at_which_an_answer_was_cut_off_is_bad():
    result = choose([(number([*GOOD[:4], "A dog barks and then"]), "length")], "", 5, 20)
    assert result.variations == tuple(GOOD[:4])
    assert [bad.problem for bad in result.rejected] == ["4 of 5 captions (length)", "cut off"]


@pytest.mark.parametrize(("text", "found"), ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_of_an_adversarial_answer_nothing_but_its_captions_is_let_in(text, found, reason):
    kept = choose([(text, reason)], CAPTION, 5, 20).variations
    assert set(kept) <= set(GOOD)
    if reason == "stop":
        assert len(kept) == found


@pytest.mark.parametrize(
    "caption",
    [
        "Birds chirp loudly.",
        "A toilet is flushed.",
        "A wooden object is tapped on a ceramic bowl.",
        "Rain pours while Mr. Smith's dog barks.",
        "A café door opens and closes again.",
        "Well water drips into an old metal bucket.",
        "Great waves crash upon the shore.",
        "First, a dog barks and then a car passes by.",
        "Using a saw, someone is cutting a piece of wood.",
        "A horse clip-clops along, and the sound fades after a while.",
        "A dog\u2019s bark is echoing off a wall; a bell rings.",
    ],
)
def test_plain_captions_in_english_are_let_in(caption):
    assert problem_of(caption, 20) is None


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="TRIPTYCH_REAL_FILES is not set")
def test_of_real_captions_few_are_refused():
    """Of Clotho's own, which keep the prompt's rules but for the words of listening."""
    tables = [
        pd.read_csv(path)
        for path in sorted(Path(REAL).glob("captions/clotho/clotho_captions_*.csv"))
    ]
    texts = pd.concat(tables).filter(like="caption_").stack()
    problems = [problem_of(text, 20) for text in texts]
    new = ("not an English", "more than one", "speaks", "a thought", "markup", "a list", "ends",
           "echo", "a question")  # fmt: skip
    refused = sum(problem is not None and problem.startswith(new) for problem in problems)
    assert len(texts) > 29_000
    assert refused < 0.005 * len(texts)
