"""The four layouts of WavCaps' records."""

import json

import audio_source_files as files
import pytest
from audio_source_files import record

from triptych.audio.data.audio_sources import Folder
from triptych.audio.data.wavcaps import read_wavcaps
from triptych.core.errors import InputError

PARTS = {
    "AudioSet_SL": [record("YYabcdefghij.wav", "A cat purrs."), record("Y-_34567890k.wav")],
    "BBC_Sound_Effects": [record("NHU05011079", category="Nature", description="Owl")],
    "FreeSound": [record("2219", file_name="water.wav", tags=["water", "tap"]), record(7007)],
    "SoundBible": [record("2219", title="Bell", href="2219-Bell.html", duration=1)],
}


@pytest.fixture
def folder(tmp_path):
    for part, records in PARTS.items():
        files.write_wavcaps(tmp_path, part, records)
    return tmp_path


def test_all_parts_become_one_table_with_a_caption_each(folder):
    tables = read_wavcaps(folder)
    assert tables.clips[["clip", "sound_id", "youtube_id"]].to_numpy().tolist() == [
        ["wavcaps/AudioSet_SL/YYabcdefghij.flac", "", "Yabcdefghij"],
        ["wavcaps/AudioSet_SL/Y-_34567890k.flac", "", "-_34567890k"],
        ["wavcaps/BBC_Sound_Effects/NHU05011079.flac", "", ""],
        ["wavcaps/FreeSound/2219.flac", "2219", ""],
        ["wavcaps/FreeSound/7007.flac", "7007", ""],
        ["wavcaps/SoundBible/2219.flac", "", ""],
    ]
    assert tables.captions["clip"].tolist() == tables.clips["clip"].tolist()
    assert set(tables.captions["position"]) == {0}
    assert tables.captions["caption"][0] == "A cat purrs."


def test_only_the_asked_parts_are_read(folder):
    (folder / "json_files/FreeSound/fsd_final.json").unlink()
    assert len(read_wavcaps(folder, ["SoundBible", "AudioSet_SL"]).clips) == 3
    with pytest.raises(InputError, match="records of FreeSound are missing"):
        read_wavcaps(folder)


@pytest.mark.parametrize(
    "place", ["SoundBible/2219.mp3", "Audio/SoundBible/2219.flac", "SoundBible_flac/2219.flac"]
)
def test_an_unpacked_folder_is_recognised(folder, tmp_path, place):
    sound = tmp_path / "audio" / place
    sound.parent.mkdir(parents=True)
    sound.touch()
    [path] = read_wavcaps(folder, ["SoundBible"], tmp_path / "audio").clips["path"]
    assert Folder(tmp_path / "audio").find(path) == sound


def test_of_records_with_one_id_the_first_counts_and_it_is_said(folder, caplog):
    files.write_wavcaps(folder, "SoundBible", [record("5", "One."), record(5, "Two.")])
    captions = read_wavcaps(folder, ["SoundBible"]).captions
    assert captions["caption"].tolist() == ["One."]
    assert "1 records repeat an id" in caplog.text


def test_records_of_another_kind_are_refused(folder):
    path = folder / "json_files/FreeSound/fsd_final.json"
    path.write_text(json.dumps({"data": [{"audio": "a.wav", "caption": "Rain."}]}))
    with pytest.raises(InputError, match=r"fsd_final\.json: a record is .*expected are an id"):
        read_wavcaps(folder)
