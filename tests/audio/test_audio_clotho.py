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


def clip(tables, name):
    return tables.clips.set_index("clip").loc[name]


def test_every_clip_of_every_split_is_listed_in_the_order_of_its_captions(tables):
    expected = [
        f"clotho/{split}/{name}"
        for split, clips in {**files.CLOTHO, "challenge": files.CHALLENGE}.items()
        for name, *_ in clips
    ]
    assert tables.clips["clip"].tolist() == expected
    assert tuple(tables.clips.columns) == CLIP_COLUMNS


def test_a_blank_at_the_start_of_a_file_name_is_kept(tables, tmp_path):
    name = "clotho/development/ kettle with a blank.wav"
    assert clip(tables, name)["path"] == "development/ kettle with a blank.wav"
    write_csv(tables.clips, tmp_path / "clips.csv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "clips.csv"), tables.clips)


def test_metadata_is_read_in_latin_and_in_unicode_alike(folder, tables):
    raw = folder / "clotho_metadata_development.csv"
    assert b"Jos\xe9" in raw.read_bytes()
    raw.write_text(raw.read_text(encoding="iso-8859-1"), encoding="utf-8-sig")
    pd.testing.assert_frame_equal(read_clotho(folder).clips, tables.clips)


def test_each_clip_has_its_five_captions_as_written(tables):
    captions = tables.captions[tables.captions["clip"] == "clotho/development/Harbour, gulls.wav"]
    assert captions["position"].tolist() == [0, 1, 2, 3, 4]
    assert captions["caption"].tolist() == files.captions_of("Harbour, gulls.wav")
    assert len(tables.captions) == 5 * 9
    assert not tables.captions["clip"].str.contains("/challenge/").any()


def test_colons_became_underscores_in_the_archive_of_the_challenge(tables):
    """The three names and their files as Labbeti/aac-datasets lists them."""
    assert archived_name("raindrops on metal: police background.wav") == (
        "raindrops on metal_police background.wav"
    )
    assert archived_name("Intersection Wet : Metro Pass.wav") == "Intersection Wet_Metro Pass.wav"
    assert archived_name("Kitchen Roomtone w: Dripping Faucet_1-2.wav") == (
        "Kitchen Roomtone w_Dripping Faucet_1-2.wav"
    )
    entry = clip(tables, "clotho/challenge/Wet Road : Night.wav")
    assert entry["path"] == "test/Wet Road_Night.wav"


def test_captions_of_other_clips_than_the_metadata_are_refused(folder):
    path = folder / "clotho_captions_evaluation.csv"
    path.write_text(path.read_text().replace("hail.wav", " hail.wav"))
    with pytest.raises(InputError, match=r"evaluation differ in 2 clips.*hail"):
        read_clotho(folder)


def test_a_missing_column_and_an_empty_caption_are_named(folder):
    path = folder / "clotho_captions_validation.csv"
    text = path.read_text()
    path.write_text(text.replace("caption_5", "fifth"))
    with pytest.raises(InputError, match="expected is also caption_5"):
        read_clotho(folder)
    path.write_text(text.replace("Somebody plays Harbour, gulls.", " "))
    with pytest.raises(InputError, match=r"1 captions are empty.*Harbour"):
        read_clotho(folder)
