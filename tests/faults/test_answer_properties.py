"""Whatever a language model or its server answers: no error, and only good captions get through."""

import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from triptych.audio.captions.answers import choose, parse_answer, same_words
from triptych.audio.captions.cache import Answer, AnswerCache, Request
from triptych.audio.captions.client import Service, ServiceSettings
from triptych.audio.captions.rules import problem_of, words_of

examples = settings(max_examples=100, derandomize=True, deadline=None, database=None)
LONGEST = 20

words = st.sampled_from(
    [
        "a",
        "dog",
        "barks",
        "loudly",
        "while",
        "rain",
        "falls",
        "on",
        "tin",
        "roofs",
        "heard",
        "1984",
        "-",
    ]
)
sentences = st.lists(words, min_size=1, max_size=24).map(" ".join)
marks = st.sampled_from(
    [
        "{}. ",
        "({}) ",
        "- ",
        "**{}.** ",
        "Caption {}: ",
        "\u2022 ",
        "",
        "#{} ",
        "> ",
        "{}",
        '"',
        "\x00",
    ]
)
lines = st.builds(lambda mark, n, text: mark.format(n) + text, marks, st.integers(0, 12), sentences)
listed = st.lists(lines, max_size=9).flatmap(
    lambda made: st.sampled_from(["\n", "\r\n", "\n\n", " ", "\u2028", "\x0c"]).map(
        lambda between: between.join(made)
    )
)
nested = st.recursive(
    st.none() | st.integers() | sentences | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
# Halves of characters too, which JSON can hold.
anything = st.text(st.characters(exclude_categories=()), max_size=80)
answers = st.one_of(
    listed,
    anything,
    nested.map(json.dumps),
    nested.map(lambda data: f"```json\n{json.dumps(data)}\n```"),
    st.builds(lambda a, b: f"Sure! Here you go:\n{a}\n{b}", listed, anything),
)


@examples
@given(answers)
@example("[" * 100_000)
@example("1" * 5000)
@example('["a", 1]')
def test_an_answer_of_any_form_is_parsed_into_clean_lines(text):
    for line in parse_answer(text):
        assert line.isprintable()
        assert line == " ".join(line.split())


@examples
@given(st.lists(answers, max_size=3), sentences, st.sampled_from(["stop", "length", None]))
def test_what_is_accepted_keeps_every_rule(texts, caption, reason):
    written = choose([(text, reason) for text in texts], caption, 5, LONGEST)
    kept = written.variations
    assert len(kept) <= 5
    for each in kept:
        assert 3 <= len(words_of(each)) <= LONGEST
        assert problem_of(each, LONGEST) is None
        each.encode("utf-8")
        assert each.isprintable() and each == " ".join(each.split())
    known = [same_words(each) for each in (caption, *kept)]
    assert len(set(known)) == len(known)
    assert bool(written.rejected) == (len(kept) < 5)


@pytest.mark.parametrize(
    "text",
    [
        "*" * 20_000 + "x",
        "***" * 5000 + " a\n1. b",
        "1" + "_*" * 9000,
        "'" * 20_000,
        "1. " * 7000,
        "(" * 20_000,
        "#" * 20_000 + "1",
        "- " * 10_000,
        "a-" * 10_000,
        "\u2014" * 20_000,
        " " * 20_000,
    ],
    ids=range(11),
)
def test_a_model_that_repeats_itself_takes_no_minutes(text, tried):
    began = time.monotonic()
    for line in parse_answer(text):
        problem_of(line, LONGEST)
    assert time.monotonic() - began < 2
    tried("wrong input", "a language model's answer: repetition without end", "read in time")


completions = st.one_of(
    nested,
    st.builds(
        lambda text, reason, usage: {
            "choices": [{"message": {"content": text}, "finish_reason": reason}],
            "usage": usage,
        },
        st.none() | anything | st.integers(),
        st.none() | st.text(max_size=9) | st.integers(),
        st.none()
        | st.dictionaries(st.sampled_from(["prompt_tokens", "completion_tokens"]), nested),
    ),
)


@settings(examples, max_examples=60)
@given(completions)
@example({"choices": [{"message": {"content": "half a \ud800 character"}}]})
def test_what_a_server_sends_is_an_answer_that_can_be_kept_or_none(tmp_path_factory, completion):
    folder = tmp_path_factory.getbasetemp() / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-not-a-key-at-all")
        service = Service(ServiceSettings("m"), lambda: None)
    request = Request("m", {}, "Rephrase \u2019this\u2019.")
    try:
        answer = service.read(completion, request)
    except ValueError:
        return
    assert "sk-not-a-key" not in answer.text
    cache = AnswerCache(folder)
    cache.put(request, answer)
    assert cache.get(request) == answer


@settings(examples, max_examples=50)
@given(nested | st.binary(max_size=60))
def test_a_file_of_the_cache_that_is_none_is_asked_for_anew(tmp_path_factory, content):
    cache = AnswerCache(tmp_path_factory.getbasetemp() / "damaged")
    request = Request("m", {}, "Rephrase.")
    cache.put(request, Answer("a", "stop", 1, 1, "s"))
    (path,) = cache.folder.rglob(f"{request.key}.json")
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    assert cache.get(request) is None
