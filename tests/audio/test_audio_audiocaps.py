"""AudioCaps' two layouts, and sound files under whatever name."""

import audio_source_files as files
import pytest

from triptych.audio.data.audiocaps import read_audiocaps
from triptych.core.errors import InputError

HEADER = ["audiocap_id", "youtube_id", "start_time", "caption"]
SPLITS = {
    "train": [
        ["11", "abcdefghijk", "30", "A dog, then a horn"],
        ["12", "-_Yabcdefgh", "0", "Rain"],
    ],
    "val": [  # rows of one clip that don't stand together, as nothing forbids
        ["21", "Yvwxyz01234", "10", "first"],
        ["22", "zzzzzzzzzzz", "20", "other"],
        ["23", "Yvwxyz01234", "10", "second"],
    ],
    "test": [["31", "ttttttttttt", "40", "It ends."]],
}


@pytest.fixture
def folder(tmp_path):
    for split, rows in SPLITS.items():
        files.write_rows(tmp_path / f"{split}.csv", HEADER, rows)
    return tmp_path


def test_captions_are_grouped_into_clips_in_both_layouts_alike(folder, tmp_path):
    tables = read_audiocaps(folder)
    rows = tables.captions.itertuples(index=False, name=None)
    assert list(rows) == [
        ("audiocaps/train/Yabcdefghijk.wav", 0, "A dog, then a horn"),
        ("audiocaps/train/Y-_Yabcdefgh.wav", 0, "Rain"),
        ("audiocaps/val/YYvwxyz01234.wav", 0, "first"),
        ("audiocaps/val/YYvwxyz01234.wav", 1, "second"),
        ("audiocaps/val/Yzzzzzzzzzzz.wav", 0, "other"),
        ("audiocaps/test/Yttttttttttt.wav", 0, "It ends."),
    ]
    assert tables.clips["clip"].tolist() == tables.captions["clip"].drop_duplicates().tolist()
    numbered = ["file_name", "caption_1", "caption_2"]
    val = [["YYvwxyz01234.wav", "first", "second"]]
    train = [[f"Y{video}.wav", caption] for _, video, _, caption in SPLITS["train"]]
    files.write_rows(tmp_path / "wavcaps/train.csv", ["file_name", "caption"], train)
    files.write_rows(tmp_path / "wavcaps/val.csv", numbered, val)
    other = read_audiocaps(tmp_path / "wavcaps").captions
    assert other.equals(tables.captions.head(4))


@pytest.mark.parametrize(
    "name",
    [
        *("abcdefghijk_30.flac", "Yabcdefghijk.m4a", "train/abcdefghijk.webm", "deep/er/11.ogg"),
        *("Yabcdefghijk_30.000_40.000.wav", "abcdefghijk_000030.flac", "x [abcdefghijk] 30.0.mp3"),
        *("abcdefghijk_30000_40000.wav", "audio-abcdefghijk.opus"),
    ],
)
def test_sound_files_are_found_by_every_usual_name(folder, tmp_path, name):
    sound = tmp_path / "sounds" / name
    sound.parent.mkdir(parents=True)
    sound.touch()
    clips = read_audiocaps(folder, tmp_path / "sounds").clips.set_index("clip")
    assert clips.loc["audiocaps/train/Yabcdefghijk.wav", "path"] == name


def test_another_excerpt_of_the_video_is_not_taken_and_what_was_looked_for_is_said(
    folder, tmp_path, caplog
):
    for name in ("abcdefghijk_50.wav", "-_Yabcdefgh_0.wav"):
        files.write_rows(tmp_path / "sounds" / name, ["x"], [])
    paths = read_audiocaps(folder, tmp_path / "sounds").clips.set_index("clip")["path"]
    assert paths["audiocaps/train/Yabcdefghijk.wav"] == "train/Yabcdefghijk.wav"
    assert paths["audiocaps/train/Y-_Yabcdefgh.wav"] == "-_Yabcdefgh_0.wav"
    assert "train.csv: 1 of 2 clips" in caplog.text and "abcdefghijk from 30 s" in caplog.text


def test_tables_with_other_suffixes_empty_captions_and_fractions_are_read(tmp_path):
    numbered = ["file_name", "caption_1", "caption_2"]
    files.write_rows(tmp_path / "train.csv", numbered, [["Yabcdefghijk.flac", "A dog", ""]])
    files.write_rows(tmp_path / "val.csv", HEADER, [["21", "Yvwxyz01234", "30.0", "first"]])
    files.write_rows(tmp_path / "sounds" / "Yvwxyz01234_30.wav", ["x"], [])
    tables = read_audiocaps(tmp_path, tmp_path / "sounds")
    assert tables.captions["caption"].tolist() == ["A dog", "first"]
    assert tables.clips["path"].tolist() == ["train/Yabcdefghijk.wav", "Yvwxyz01234_30.wav"]
    assert tables.clips["start_seconds"].tolist() == ["", "30.0"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_that_a_spreadsheet_wrote_are_read(folder, tmp_path, encoding, delimiter):
    other = tmp_path / "other"
    for split, rows in SPLITS.items():
        path = other / f"{split}.csv"
        files.write_rows(path, HEADER, rows, encoding=encoding, delimiter=delimiter)
    assert read_audiocaps(other).captions.equals(read_audiocaps(folder).captions)


def test_a_separators_own_line_a_nul_and_old_line_ends_are_read(folder, tmp_path):
    text = (folder / "val.csv").read_text().replace("\r", "")
    assert ";" not in text
    text = "sep=;\n" + text.replace(",", ";").replace("other", "ot\0her")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "val.csv").write_text(text.replace("\n", "\r"), newline="")
    captions = read_audiocaps(tmp_path / "one").captions
    assert captions["caption"].tolist() == ["first", "second", "other"]


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
