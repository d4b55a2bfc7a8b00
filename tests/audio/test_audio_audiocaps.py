"""AudioCaps' two layouts, and sound files under whatever name."""

import audio_source_files as files
import pytest

from triptych.audio.data.audiocaps import read_audiocaps
from triptych.core.errors import InputError

HEADER = ["audiocap_id", "youtube_id", "start_time", "caption"]
TRAIN = [["11", "abcdefghijk", "30", "A dog, then a horn"], ["12", "-_Yabcdefgh", "0", "Rain"]]
# Rows of one clip that don't stand together, as nothing forbids.
VAL = [
    ["21", "Yvwxyz01234", "10", "first"],
    ["22", "zzzzzzzzzzz", "20", "other"],
    ["23", "Yvwxyz01234", "10", "second"],
]


@pytest.fixture
def folder(tmp_path):
    files.write_rows(tmp_path / "train.csv", HEADER, TRAIN)
    files.write_rows(tmp_path / "val.csv", HEADER, VAL)
    files.write_rows(tmp_path / "test.csv", HEADER, [["31", "ttttttttttt", "40", "It ends."]])
    return tmp_path


def test_captions_are_grouped_into_clips_wherever_their_rows_stand(folder):
    tables = read_audiocaps(folder)
    val = tables.clips[tables.clips["split"] == "val"]
    assert val["clip"].tolist() == [
        "audiocaps/val/YYvwxyz01234.wav",
        "audiocaps/val/Yzzzzzzzzzzz.wav",
    ]
    captions = tables.captions[tables.captions["clip"] == "audiocaps/val/YYvwxyz01234.wav"]
    assert captions["position"].tolist() == [0, 1]
    assert captions["caption"].tolist() == ["first", "second"]


def test_both_layouts_name_the_same_clips(folder, tmp_path):
    other = tmp_path / "wavcaps"
    files.write_rows(
        other / "train.csv", ["file_name", "caption"], [[f"Y{r[1]}.wav", r[3]] for r in TRAIN]
    )
    numbered = ["file_name", "caption_1", "caption_2"]
    files.write_rows(other / "val.csv", numbered, [["YYvwxyz01234.wav", "first", "second"]])
    ours, theirs = read_audiocaps(folder), read_audiocaps(other)
    assert set(theirs.clips["clip"]) < set(ours.clips["clip"])
    merged = theirs.captions.merge(ours.captions, on=["clip", "position"])
    assert (merged["caption_x"] == merged["caption_y"]).all()
    assert len(merged) == 4


@pytest.mark.parametrize(
    "name", ["abcdefghijk_30.flac", "Yabcdefghijk.m4a", "train/abcdefghijk.webm", "deep/er/11.ogg"]
)
def test_sound_files_are_found_by_every_usual_name(folder, tmp_path, name):
    sound = tmp_path / "sounds" / name
    sound.parent.mkdir(parents=True)
    sound.touch()
    clips = read_audiocaps(folder, tmp_path / "sounds").clips.set_index("clip")
    assert clips.loc["audiocaps/train/Yabcdefghijk.wav", "path"] == name


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_that_a_spreadsheet_wrote_are_read(folder, tmp_path, encoding, delimiter):
    other = tmp_path / "other"
    for split, rows in (("train", TRAIN), ("val", VAL)):
        path = other / f"{split}.csv"
        files.write_rows(path, HEADER, rows, encoding=encoding, delimiter=delimiter)
    (folder / "test.csv").unlink()
    assert read_audiocaps(other).captions.equals(read_audiocaps(folder).captions)


# cdjkim/audiocaps, dataset 2.0: a caption goes on in a row of its own.
BROKEN = {
    "19,IAosP90cdsE,30,an engine chugging with muffled\nspeech in the background": (4, "1 fields"),
    "19,IAosP90cdsE,30,an engine, chugging": (3, "5 fields, expected 4"),
    "19,IAosP90cdsE,30": (3, "3 fields, expected 4"),
    '19,IAosP90cdsE,30,"an engine"s chugging': (3, "no table"),
    "19,#NAME?,30,an engine": (3, r"'Y#NAME\?.wav' isn't named"),
    "19,IAosP90cdsE,30, ": (3, "its caption is empty"),
}


@pytest.mark.parametrize(("row", "told"), BROKEN.items(), ids=str)
def test_a_broken_line_is_named_by_its_file_and_number(folder, row, told):
    path = folder / "val.csv"
    first = "audiocap_id,youtube_id,start_time,caption\n18,IAosP90cdsX,0,rain\n"
    path.write_text(f"{first}{row}\n20,IAosP90cdsY,1,more rain\n")
    line, problem = told
    with pytest.raises(InputError, match=rf"val\.csv, line {line}: .*{problem}"):
        read_audiocaps(folder)


def test_a_missing_split_is_said_and_a_folder_without_any_refused(folder, tmp_path, caplog):
    (folder / "test.csv").unlink()
    assert set(read_audiocaps(folder).clips["split"]) == {"train", "val"}
    assert "only the split(s) train, val" in caplog.text
    with pytest.raises(InputError, match="none of AudioCaps' files"):
        read_audiocaps(tmp_path / "elsewhere")
