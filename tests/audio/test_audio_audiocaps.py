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
    "name", ["abcdefghijk_30.flac", "Yabcdefghijk.wav", "train/abcdefghijk.mp3", "deep/er/11.ogg"]
)
def test_sound_files_are_found_by_every_usual_name(folder, tmp_path, name):
    sound = tmp_path / "sounds" / name
    sound.parent.mkdir(parents=True)
    sound.touch()
    clips = read_audiocaps(folder, tmp_path / "sounds").clips.set_index("clip")
    assert clips.loc["audiocaps/train/Yabcdefghijk.wav", "path"] == name


def test_a_missing_split_is_said_and_a_folder_without_any_refused(folder, tmp_path, caplog):
    (folder / "test.csv").unlink()
    assert set(read_audiocaps(folder).clips["split"]) == {"train", "val"}
    assert "only the split(s) train, val" in caplog.text
    with pytest.raises(InputError, match="none of AudioCaps' files"):
        read_audiocaps(tmp_path / "elsewhere")
