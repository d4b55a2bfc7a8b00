"""Clotho's files with all their quirks."""

import audio_source_files as files
import pandas as pd
import pytest

from triptych.audio.data.clotho import archived_name, read_clotho
from triptych.audio.data.tables import CLIP_COLUMNS, read_table
from triptych.core.errors import InputError
from triptych.core.files import write_csv


@pytest.fixture
def folder(tmp_path):
    return files.write_clotho(tmp_path / "clotho")


@pytest.fixture
def tables(folder):
    return read_clotho(folder)


def test_every_clip_of_every_split_is_listed_in_the_order_of_its_captions(tables):
    splits = {**files.CLOTHO, "challenge": files.CHALLENGE}
    expected = [f"clotho/{split}/{name}" for split, clips in splits.items() for name, *_ in clips]
    assert tables.clips["clip"].tolist() == expected
    assert tuple(tables.clips.columns) == CLIP_COLUMNS
    expected = [
        (f"clotho/{split}/{name}", position, caption)
        for split, clips in files.CLOTHO.items()
        for name, *_ in clips
        for position, caption in enumerate(files.captions_of(name))
    ]
    assert list(tables.captions.itertuples(index=False, name=None)) == expected
    assert tables.queries["caption"].tolist() == files.QUERIES


def test_a_blank_at_the_start_of_a_file_name_is_kept(tables, tmp_path):
    paths = tables.clips.set_index("clip")["path"]
    assert paths["clotho/development/ kettle with a blank.wav"] == (
        "development/ kettle with a blank.wav"
    )
    write_csv(tables.clips, tmp_path / "clips.csv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "clips.csv"), tables.clips)


def test_metadata_is_read_in_latin_and_in_unicode_alike(folder, tables):
    raw = folder / "clotho_metadata_development.csv"
    assert b"Jos\xe9" in raw.read_bytes()
    raw.write_text(raw.read_text(encoding="iso-8859-1"), encoding="utf-8-sig")
    pd.testing.assert_frame_equal(read_clotho(folder).clips, tables.clips)


def test_colons_became_underscores_in_the_archive_of_the_challenge(tables):
    """The three names and their files as Labbeti/aac-datasets lists them."""
    archived = {
        "raindrops on metal: police background.wav": "raindrops on metal_police background.wav",
        "Intersection Wet : Metro Pass.wav": "Intersection Wet_Metro Pass.wav",
        "Kitchen Roomtone w: Dripping Faucet_1-2.wav": "Kitchen Roomtone w_Dripping Faucet_1-2.wav",
    }
    assert {name: archived_name(name) for name in archived} == archived
    paths = tables.clips.set_index("clip")["path"]
    assert paths["clotho/challenge/Wet Road : Night.wav"] == "retrieval_audio/Wet Road_Night.wav"


@pytest.mark.parametrize(
    ("split", "old", "new", "says"),
    [
        ("evaluation", "hail.wav", " hail.wav", r"evaluation differ in 2 clips.*hail"),
        ("validation", "caption_5", "fifth", "it lacks caption_5"),
        ("validation", "Somebody plays Harbour, gulls.", " ", r"a caption of .*Harbour.* is empty"),
    ],
)
def test_captions_that_cannot_be_used_are_named(folder, split, old, new, says):
    path = folder / f"clotho_captions_{split}.csv"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=says):
        read_clotho(folder)
