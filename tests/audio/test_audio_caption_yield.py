"""Before money is spent: what the first answers must be worth, and what is said if they aren't."""

import json

import pandas as pd
import pytest
from adversarial_answers import ANSWERS, CAPTION
from caption_job import run
from chat_server import GOOD, KEY, completion, error, numbered, serving

from triptych.audio.captions.answers import (
    FIRST_ITEMS,
    YieldTooLow,
    parts_of,
)
from triptych.core.errors import InputError

MANY = 60
OUTPUTS = ("variations.csv", "rejected.csv", "usage.csv", "example.json")


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def folder(tmp_path):
    """The tables of a data set with `MANY` captions."""
    clips = [f"clotho/development/{number}.wav" for number in range(MANY)]
    pd.DataFrame({"clip": clips, "split": "development", "keywords": "dog;traffic"}).to_csv(
        tmp_path / "clips.csv", index=False
    )
    captions = [f"Dog number {number} is barking." for number in range(MANY)]
    pd.DataFrame({"clip": clips, "position": 0, "caption": captions}).to_csv(
        tmp_path / "captions.csv", index=False
    )
    return tmp_path


def replying(message):
    """A server's answer with this message."""

    def fault(handler):
        body = completion("")
        body["choices"][0]["message"] = {"role": "assistant", **message}
        handler.send(200, body)

    return fault


WRONG = {
    "refusals": ({"content": "I'm sorry, but I can't help with that."}, "refusal: \"I'm sorry"),
    "nulls": ({"content": None}, "an empty answer"),
    "refused by schema": ({"content": None, "refusal": "I can't help."}, r"\(refusal\)"),
    "thoughts alone": ({"content": None, "reasoning_content": numbered(GOOD)}, "an empty answer"),
    "German": (
        {"content": "1. Der Hund bellt laut.\n2. Ein Hund bellt."},
        r"not an English sentence: 'Der Hund",
    ),
    "echoes": (
        {"content": "1. Use grammatical subject-verb-object sentences."},
        "speaks of the task: 'Use grammatical",
    ),
}


@pytest.mark.parametrize(("message", "told"), WRONG.values(), ids=WRONG)
def test_a_useless_model_ends_the_stage_before_much_is_paid(folder, message, told):
    with serving(faults=[replying(message)] * 10_000) as server:
        with pytest.raises(YieldTooLow, match=rf"0 of the 100 captions .*\(50%\).*{told}"):
            run(folder, base_url=server.url)
        assert len(server.prompts) == 2 * FIRST_ITEMS  # each once more, as a repair
        with pytest.raises(YieldTooLow, match=rf"kept in {folder}"):
            run(folder, base_url=server.url)
        assert len(server.prompts) == 2 * FIRST_ITEMS  # what was paid for is not paid again
    assert not [name for name in OUTPUTS if (folder / name).exists()]


def test_a_model_that_thinks_its_answer_away_is_told_to_be_given_room(folder):
    def all_thought(handler):
        handler.send(200, completion("<think>\n1. A dog barks near a road.", "length"))

    with (
        serving(faults=[all_thought] * 999) as server,
        pytest.raises(YieldTooLow, match=r"audio\.captions\.thinking_tokens"),
    ):
        run(folder, base_url=server.url)


def test_a_model_that_becomes_useless_ends_the_stage_too(folder):
    answers = iter([numbered(GOOD)] * 25)
    with (
        serving(answer=lambda prompt: next(answers, "null")) as server,
        pytest.raises(YieldTooLow, match="captions for the first 60 are good"),
    ):
        run(folder, base_url=server.url, open_requests=1)
    assert len(server.prompts) == MANY + MANY - 25


@pytest.mark.parametrize("count", [1, 19, 20, 21, 500, 29_645])
def test_the_parts_are_all_items_once_the_first_of_them_small(count):
    parts = parts_of(count)
    assert [number for part in parts for number in part] == list(range(count))
    assert len(parts[0]) <= FIRST_ITEMS
    assert len(parts) <= 5


def test_structured_output_is_asked_for_where_the_server_offers_it(folder):
    answer = json.dumps({"captions": GOOD})
    with serving(answer=lambda prompt: answer) as server:
        run(folder, base_url=server.url)
    formats = [body["response_format"] for body in server.bodies]
    assert len(formats) == MANY
    assert all(each["type"] == "json_schema" for each in formats)
    assert len(pd.read_csv(folder / "variations.csv")) == 5 * MANY


@pytest.mark.parametrize(
    ("status", "code"), [(400, None), (400, "invalid_request_error"), (422, None)]
)
def test_a_server_that_refuses_structured_output_is_asked_without_from_then_on(
    folder, status, code
):
    with serving(faults=[error(status, code)]) as server:
        run(folder, base_url=server.url, open_requests=1)
    with_format = ["response_format" in body for body in server.bodies]
    assert with_format == [True] + [False] * MANY
    assert len(pd.read_csv(folder / "variations.csv")) == 5 * MANY


def test_a_request_that_is_refused_without_a_schema_too_ends_the_run(folder):
    with (
        serving(faults=[error(400, "unsupported_value")] * 99) as server,
        pytest.raises(InputError, match=r"audio\.captions\.parameters"),
    ):
        run(folder, base_url=server.url, open_requests=1)
    assert len(server.prompts) == 2


def test_room_to_think_is_added_to_the_limit_of_an_answer(folder):
    with serving() as server:
        limit = {"max_completion_tokens": 400}
        run(folder, base_url=server.url, parameters=limit, thinking_tokens=4000)
    assert {body["max_completion_tokens"] for body in server.bodies} == {4400}


def test_an_answer_in_parts_is_its_text_not_its_thoughts(folder):
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Cars pass near a dog."}]},
        {"type": "text", "text": numbered(GOOD)},
    ]
    with serving(faults=[replying({"content": parts})] * MANY) as server:
        run(folder, base_url=server.url)
    assert set(pd.read_csv(folder / "variations.csv")["caption"]) == set(GOOD)


@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_of_a_model_that_gives_all_adversarial_answers_nothing_but_captions_comes_through(
    folder, floor
):
    texts = [text for text, _ in ANSWERS.values()]
    turns = iter(texts * 2)
    with serving(answer=lambda prompt: next(turns)) as server:
        try:
            run(folder, base_url=server.url, least_yield=floor)
        except YieldTooLow:
            assert floor > 0
            return
    assert set(pd.read_csv(folder / "variations.csv")["caption"]) <= {*GOOD, CAPTION}
