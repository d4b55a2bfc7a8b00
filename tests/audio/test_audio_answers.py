"""Answers of language models: read in whatever form they come, checked without mercy."""

import json

import pytest
from chat_server import GOOD, numbered

from triptych.audio.captions.answers import parse_answer
from triptych.audio.captions.rules import choose, problem_of

CAPTION = "A dog barks two times beside a busy road."

# n: number, s: caption, l and L: letter, r and R: Roman, c: encircled, f: full-width, a: Arabic,
# z: from zero, w: word, o: ordinal.
FORMS = """
{n}. {s}|{n} {s}|{n}: {s}|{n} - {s}|{n}) {s}|[{n}] {s}|({n}) {s}|{n}.) {s}|{n}.{s}|#{n} {s}
#{n}: {s}|No. {n}: {s}|{n}\\. {s}|**{n})** {s}|**{n}.** {s}|**{n}. {s}**|- {n}. {s}|> {n}) {s}
"{n}. {s}"|"{n}": "{s}",|**Caption {n}:** {s}
Index {n}: {s}|Audio caption {n}: {s}|Z{n}. {s}|Caption {n} of 5: {s}|caption_{n}: {s}
{n}. Caption: {s}|{l}) {s}|{L}. {s}|({l}) {s}|Option {L}: {s}|{r}. {s}|({r}) {s}|{R}. {s}
{c} {s}|{f}. {s}|\uff08{n}\uff09{s}|{n}\uff0e {s}|{n}\u3001{s}|{n}\t{s}|{n}- {s}
{n} \u2013 {s}|{n}.\u00a0{s}|{n}\ufe0f\u20e3 {s}|{a}. {s}|{n}.1 {s}|[{n}/5] {s}
0{n}. {s}|{z}. {s}|{n}, {s}|1. {s}|{n}. \u201e{s}\u201c|{n}. \u00ab{s}\u00bb
{n}. \u201c{s}\u201d|{n}. {s} (9 words)|{n}. {s} \u2013 9 words
"""
FORMS = [form for line in FORMS.strip().split("\n") for form in line.split("|")]
UNNUMBERED = ["\U0001f415 {s}", "- {s}", "\u2192 {s}", "- [ ] {s}", "<li>{s}</li>", '"{s}"', "{s}"]
REFUSED = ["Caption {w}: {s}", "{o}: {s}", "{L} {s}", "{n}\u00ba {s}", "| {n} | {s} | 9 |"]


SIGNS = {
    "n": "1 2 3 4 5",
    "l": "a b c d e",
    "L": "A B C D E",
    "r": "i ii iii iv v",
    "R": "I II III IV V",
    "w": "One Two Three Four Five",
    "o": "First Second Third Fourth Fifth",
    "c": "\u2460 \u2461 \u2462 \u2463 \u2464",
    "f": "\uff11 \uff12 \uff13 \uff14 \uff15",
    "a": "\u0661 \u0662 \u0663 \u0664 \u0665",
    "z": "0 1 2 3 4",
}


def written(form):
    signs = zip(*(values.split() for values in SIGNS.values()), strict=True)
    return [
        form.format(s=line, **dict(zip(SIGNS, values, strict=True)))
        for line, values in zip(GOOD, signs, strict=True)
    ]


def kept(*answers):
    """What is chosen of answers to a request for five captions."""
    return choose([(answer, "stop") for answer in answers], CAPTION, 5, 20)


@pytest.mark.parametrize("form", [*FORMS, "| {n} | {s} |", *UNNUMBERED])
def test_every_form_of_numbering_is_read_without_what_stands_around(form):
    assert parse_answer("\r\n".join(written(form))) == GOOD
    lines = ["Sure! Here you go.", "", *written(form), "", "I hope this helps!"]
    assert kept("\n".join(lines)).variations == tuple(GOOD)


@pytest.mark.parametrize("form", [*FORMS, *REFUSED])
def test_what_passes_never_begins_with_a_number_even_where_an_answer_is_incomplete(form):
    for lines in (written(form)[2:3], written(form)[2:], written(form)[::-1], written(form)[::2]):
        assert set(kept("\n".join(lines)).variations) <= set(GOOD)


@pytest.mark.parametrize("form", ["{n}. {s}", "{n} {s}", "Caption {n}: {s}", "- {s}", "{s}"])
@pytest.mark.parametrize("indent", ["", "   "])
def test_the_second_half_of_a_wrapped_line_is_joined(form, indent):
    halves = [line[:20].rsplit(" ", 1)[0] for line in GOOD]
    lines = [
        form.format(n=n, s=f"{half}\n{indent}{line[len(half) + 1 :]}")
        for n, (line, half) in enumerate(zip(GOOD, halves, strict=True), start=1)
    ]
    assert parse_answer("\n".join(lines)) == GOOD


JSON = {
    "list": json.dumps(GOOD),
    "nested, fenced": "```json\n" + json.dumps({"result": {"captions": GOOD}}, indent=2) + "\n```",
    "after words": "Here is the JSON:\n" + json.dumps({"outputs": GOOD}) + "\nEnjoy!",
    "objects": json.dumps([{"index": n, "caption": line} for n, line in enumerate(GOOD, 1)]),
    "numbers as keys": json.dumps({str(n): line for n, line in enumerate(GOOD, 1)}),
    "numbers in texts": json.dumps([f"{n} {line}" for n, line in enumerate(GOOD, 1)]),
    "one text": json.dumps({"captions": [numbered(GOOD)]}),
    "lines": "\n".join(json.dumps({"text": line}) for line in GOOD),
    "with thoughts": json.dumps({"reasoning": "The dog is there near the cars.", "captions": GOOD}),
}


@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
def test_json_of_several_shapes_is_read(text):
    assert parse_answer(text) == GOOD


def test_words_that_look_like_numbering_stay():
    lines = ["A dog barks.", "B-flat horns play.", "5 dogs bark.", "Two people talk."]
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
        ("C.1 A dog barks at the gate.", "no caption (C.1)"),
        ("b A dog barks at the gate.", "no caption (b)"),
        ("2 A dog barks at the gate.", "no caption (2)"),
        ("A dog barks twice. Cars pass by.", "not one plain sentence (.)"),
        ("Is a dog barking near the road?", "not one plain sentence (?)"),
        ("A dog barks twice near a busy road and the", "not one plain sentence (the)"),
        ("dog, traffic, street", "not an English sentence"),
        ("Vary the sentence length, but not the dog.", "no caption (Vary)"),
        ("Der Hund barks loudly near the road.", "not an English sentence (der)"),
        ("Hundo bojas dufoje apud vojo.", "not an English sentence"),
        ("A chuva cai nas telhas as portas rangem.", "not an English sentence (nas)"),
        ("A \u00e1gua corre e as pessoas falam.", "not an English sentence (e)"),
        ("As rain falls, a distant thunder rolls and fades.", None),
        ("Birds chirp loudly.", None),
        ("A record player crackles at an unheard-of pace.", None),
        ("Rain pours while Mr. Smith's dog barks.", None),
        ("A caf\u00e9 door opens and closes again.", None),
        ("A dog\u2019s bark is echoing off a wall; a bell rings.", None),
    ],
)
def test_what_breaks_a_rule_is_named_and_plain_english_passes(caption, problem):
    assert problem_of(caption, 20) == problem


def test_a_repair_fills_what_the_first_answer_lacks_and_the_bad_are_listed():
    first = numbered([*GOOD[:3], "A dog is heard from afar.", "Short."])
    assert kept(first).variations == tuple(GOOD[:3])
    problems = ["3 of 5 captions", "banned word (heard)", "too short (1 words)"]
    assert [bad.problem for bad in kept(first).rejected] == problems
    second = numbered([GOOD[0], GOOD[3], "Once more " + "x " * 30, GOOD[4]])
    both = kept(first, second)
    assert (both.variations, both.rejected) == (tuple(GOOD), ())


def test_repetitions_and_what_was_cut_off_are_bad():
    lines = ["a dog barks loudly!", *GOOD[:2], GOOD[1].upper(), "A dog barks and then"]
    result = choose([(numbered(lines), "length")], "A dog barks loudly.", 5, 20)
    assert result.variations == tuple(GOOD[:2])
    again = "repeats the caption or another"
    assert [bad.problem for bad in result.rejected[1:]] == [again, again, "cut off"]


NOTES = [
    "The dog barks, so the sound comes first",
    "Traffic passes by in the background of it",
    "Two barks follow the noise of the cars",
]
TAGS = [
    ("<think>", "</think>"),
    ('<think type="long">', "</think>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final <|constrain|>json<|message|>"),
    ("analysis", "assistantfinal"),
    ("", "</think>"),
]


@pytest.mark.parametrize(("opens", "closes"), TAGS)
@pytest.mark.parametrize("answer", [numbered(GOOD), "\n".join(GOOD), json.dumps(GOOD)])
def test_thoughts_in_any_tags_are_dropped(opens, closes, answer):
    for notes in ("\n".join(NOTES), numbered(NOTES)):
        assert parse_answer(f"{opens}{notes}\n{closes}{answer}") == GOOD
        if opens:
            assert parse_answer(f"{opens}{notes}") == []


LIST = numbered(GOOD)
OTHERS = {
    "thought after": (f"{LIST}\n<think>\n{numbered(NOTES)}\n</think>", 5),
    "headings": (f"**Thinking Process:**\n\n{numbered(NOTES)}\n\n**Final Answer:**\n\n{LIST}", 5),
    "two lists": (f"{numbered(NOTES)}\n\n{LIST}", 0),
    "Granite's": (
        "Here is my thought process:\n" + "\n".join(NOTES) + "\n\nHere is my response:\n"
        "" + "\n".join(GOOD),
        5,
    ),
    "reasoning in one line": (f"Reasoning: {NOTES[0]}.\n{NOTES[1]}.\nFinal answer:\n{LIST}", 5),
    "json of thoughts alone": ('{"steps": ["The dog is near the cars", "Cars pass by it"]}', 0),
    "json that was cut off": (json.dumps({"captions": GOOD})[:170], 0),
    "musing": ("1. I will put the dog at the beginning\n2. Wait, the dog barks near the road", 0),
    "the caption itself": (numbered([CAPTION, CAPTION.upper(), f"'{CAPTION}'"]), 0),
    "special tokens": (f"<s>{LIST}\n<|im_end|>", 5),
    "nothing": ("", 0),
}


@pytest.mark.parametrize(("text", "found"), OTHERS.values(), ids=OTHERS)
def test_of_an_adversarial_answer_nothing_but_its_captions_is_let_in(text, found):
    chosen = kept(text).variations
    assert set(chosen) <= set(GOOD) and len(chosen) == found
