"""Captions and published captions of any content: prompts and readers hold."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from triptych.audio.captions.answers import Item
from triptych.audio.captions.cache import Request
from triptych.audio.captions.prompt import caption_prompt, instruction, repair_prompt
from triptych.audio.captions.published import published_captions, read_published
from triptych.audio.captions.rules import words_of
from triptych.core.errors import InputError

examples = settings(max_examples=100, derandomize=True, deadline=None, database=None)
captions = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from(
            [
                "A",
                "a",
                "the",
                "dog",
                ",",
                "and",
                "water",
                "is",
                "running",
                "over",
                "{",
                "}",
                "{count}",
                "'",
                '"',
                "rocks",
                "while",
                "birds",
                ".",
                "are",
            ]
        ),
        max_size=24,
    ).map(" ".join),
)
keywords = st.lists(st.text(min_size=1, max_size=12) | st.just("birds"), max_size=4)


@examples
@given(captions, keywords, st.integers(1, 9))
@example("{count} {0} %s", ["{count}"], 5)
def test_a_prompt_holds_caption_and_keywords_as_they_are(tried, caption, tags, count):
    prompt = caption_prompt(caption, tags, count)
    assert prompt.startswith(instruction(tags, count))
    said = f"'{caption}'" + (f" [{', '.join(tags)}]" if tags else "")
    assert prompt.endswith(said)
    repaired = repair_prompt(caption, tags, count, 20)
    assert repaired.startswith(prompt) and f"exactly {count} numbered lines" in repaired
    first, second = (Request("m", {}, text) for text in (prompt, repaired))
    assert first.key != second.key == Request("m", {}, repaired).key
    tried("wrong input", "captions and published captions of any content", "read or refused")


values = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "caption", "variations", "data", "a.wav"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@examples
@given(values.map(lambda data: json.dumps(data).encode()) | st.binary(max_size=60))
@example(b"[" * 100_000)
@example(b"\xff\xfe{}")
@example(b'{"a.wav": {"caption": ["x"]}}')
def test_a_file_of_published_captions_is_read_or_refused_by_name(tried, tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "variations.json"
    path.write_bytes(content)
    try:
        found = read_published(path)
    except InputError as refused:
        assert "variations.json" in str(refused) and len(str(refused)) < 1000
        tried("wrong input", "captions and published captions of any content", "read or refused")
        return
    item = Item("clotho/development/a.wav", 0, "x", ())
    for written in published_captions([item], found | {("a", "x"): ["one two three four"]}, 5, 20):
        assert all(3 <= len(words_of(each)) <= 20 for each in written.variations)
    tried("wrong input", "captions and published captions of any content", "read or refused")


@examples
@given(
    st.dictionaries(
        st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9),
        st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=5),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_published_captions_come_back_by_file_and_caption(
    tried, tmp_path_factory, published, by_lines
):
    records = [
        {"path": f"x/{name}.wav", "caption": f"sound of {name}", "variations": made}
        for name, made in published.items()
    ]
    path = tmp_path_factory.getbasetemp() / "published.json"
    text = "\n".join(map(json.dumps, records)) if by_lines else json.dumps(records)
    path.write_bytes(b"\xef\xbb\xbf" * by_lines + text.encode())
    found = read_published(path)
    assert sum(len(made) for made in found.values()) == sum(map(len, published.values()))
    tried("wrong input", "captions and published captions of any content", "read or refused")
