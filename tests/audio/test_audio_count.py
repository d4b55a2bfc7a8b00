"""Data sets' tables are counted before recordings come: what is listed, and what is no table."""

import csv
from pathlib import Path

import audio_source_files as files
import pytest
from audio_source_files import record
from stand_in import Named, run

from triptych.audio import data_sizes
from triptych.audio.data_sizes import PUBLISHED, Clips

PARTS = ["FreeSound", "SoundBible"]
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 147300685\n"
PAGE = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def count(dataset, splits=("development", "evaluation", "challenge")):
    """The rows that the job writes of the tables in this folder."""
    params = {"dataset": dataset, "folder": ".", "splits": splits, "parts": PARTS}
    run("audio_count", {}, Named("counts.csv"), **params)
    with open("counts.csv", newline="") as lines:
        return [[*row.values()] for row in csv.DictReader(lines)]


def test_clothos_clips_captions_and_queries_stand_beside_the_published_numbers(monkeypatch, capsys):
    files.write_clotho(Path())
    published = {"development": Clips(4, 20), "evaluation": Clips(3, 14)}
    monkeypatch.setitem(data_sizes.PUBLISHED, "clotho", PUBLISHED["clotho"] | published)
    assert count("clotho") == [
        ["development", "4", "4", "20", "20", ""],
        ["evaluation", "3", "3", "15", "14", "15 captions, published are 14"],
        [
            *("challenge", "2", "1000", "2", "1000"),
            "2 recordings, published are 1,000; 2 captions, published are 1,000",
        ],
    ]
    assert "clotho, evaluation: 15 captions, published are 14" in capsys.readouterr().err
    for path in Path().glob("retrieval*"):
        path.unlink()  # as in a folder of one's own
    assert [row[0] for row in count("clotho")] == ["development", "evaluation"]


def test_audiocaps_counts_as_a_whole_and_wavcaps_by_part():
    header = ["audiocap_id", "youtube_id", "start_time", "caption"]
    rows = [["1", "-dog_barks-", "20", "A dog."], ["2", "-dog_barks-", "20", "A bark."]]
    files.write_rows(Path("test.csv"), header, rows)
    (row,) = count("audiocaps")
    assert row[:5] == ["all", "1", "51308", "2", "57188"]
    for part, ids in (("FreeSound", range(3)), ("SoundBible", range(5))):
        files.write_wavcaps(Path(), part, [record(str(number)) for number in ids])
    rows = count("wavcaps")
    assert [row[:3] for row in rows] == [
        ["FreeSound", "3", "262300"],
        ["SoundBible", "5", "1232"],
    ]


@pytest.mark.parametrize("text", [POINTER, PAGE, '{"data": []}', '{"data": [{"id": 1}]}'])
def test_what_is_no_table_of_wavcaps_is_an_error(text, capsys):
    for part in PARTS:
        files.write_wavcaps(Path(), part, [record("1")])
    (path,) = Path().rglob("fsd_final.json")
    path.write_text(text)
    with pytest.raises(SystemExit):
        count("wavcaps")
    assert "fsd_final.json" in capsys.readouterr().err or text == '{"data": []}'


@pytest.mark.parametrize("text", [POINTER, PAGE, "file_name,caption_1\n"])
def test_what_is_no_table_of_clotho_or_audiocaps_is_an_error(text, capsys):
    files.write_clotho(Path())
    for dataset, name in (
        ("clotho", "clotho_captions_development.csv"),
        ("audiocaps", "train.csv"),
    ):
        Path(name).write_text(text)
        with pytest.raises(SystemExit):
            count(dataset)
        assert name in capsys.readouterr().err or text.startswith("file_name")


def test_published_numbers_are_those_that_the_paper_states():
    stated = Path(__file__).parents[2] / "resources/published/audio_claims.csv"
    with stated.open(newline="") as lines:
        claims = {row["id"]: row for row in csv.DictReader(lines)}
    for dataset in ("audiocaps", "wavcaps"):
        total = sum(clips.count for clips in PUBLISHED[dataset].values())
        assert f"{total:,}" in claims[f"audio-data-{dataset}"].values()
    clotho = [
        clips.count for name, clips in PUBLISHED["clotho"].items() if name != "retrieval_audio"
    ]
    assert sum(clotho) == 5929
