"""Indexing a folder of sound files made here, again and again, and searching it."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
import soundfile
from small_sounds import PitchModel, tone, write_sound

from triptych.audio.search import indexing
from triptych.audio.search.index import NAME, Index, index_path, read_index, write_index
from triptych.audio.search.indexing import sound_files, update_index, windows
from triptych.audio.search.query import best_files, clock, table
from triptych.core.errors import InputError

MODEL = ("/models/m", "abc")


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "sounds"
    write_sound(root / "a low one.wav", "low")
    write_sound(root / "deep" / "er" / "high.flac", "high", rate=48000)
    write_sound(root / "middle.ogg", "middle", rate=32000)
    write_sound(root / "UPPER.MP3", "middle")
    (root / "notes.txt").write_text("no sound")
    return root


def update(folder, earlier=None, model=None, **options):
    model = model or PitchModel()
    saved: list[Index] = []
    index, told = update_index(folder, earlier, MODEL, lambda: model, saved.append, **options)
    assert saved[-1] == index or saved[-1].entries == index.entries
    return index, told, model


def paths(index: Index) -> list[str]:
    return [entry.path for entry in index.entries]


def test_all_kinds_are_found_below_the_folder_and_nothing_hidden(folder):
    write_sound(folder / ".trash" / "old.wav", "low")
    shutil.copy(folder / "middle.ogg", folder / "._middle.ogg")
    assert sound_files(folder) == ["UPPER.MP3", "a low one.wav", "deep/er/high.flac", "middle.ogg"]


def test_ogg_opus_is_read(tmp_path):
    with open(tmp_path / "x.opus", "wb") as stream:
        soundfile.write(stream, tone("high", rate=48000), 48000, format="OGG", subtype="OPUS")
    index, _, _ = update(tmp_path)
    assert not index.problems and index.entries[0].length == pytest.approx(1, abs=0.1)


def test_a_search_finds_the_file_that_sounds_so(folder):
    index, _, model = update(folder)
    for word, name in (("low", "a low one.wav"), ("high", "high.flac")):
        best = best_files(index, model.text(word), 10)
        assert os.path.basename(best[0].file) == name and best[0].score > 0.99
        assert [result.rank for result in best] == [1, 2, 3, 4]
    assert len(best_files(index, model.text("low"), 2)) == 2


def test_what_has_not_changed_is_not_embedded_again(folder):
    index, told, _ = update(folder)
    assert (told.new, told.kept) == (4, 0)
    again, told, model = update(folder, index)
    assert model.heard == [] and (told.new, told.kept) == (0, 4)
    assert paths(again) == paths(index)


def test_new_and_changed_files_are_embedded_and_removed_ones_dropped(folder):
    index, _, _ = update(folder)
    write_sound(folder / "new.wav", "high")
    write_sound(folder / "middle.ogg", "low", 2.0)
    (folder / "UPPER.MP3").unlink()
    again, told, model = update(folder, index)
    assert (told.new, told.kept, told.removed, len(model.heard)) == (2, 2, 1, 2)
    assert paths(again) == ["a low one.wav", "deep/er/high.flac", "middle.ogg", "new.wav"]
    assert best_files(again, model.text("middle"), 1)[0].score < 0.1


def test_a_file_that_was_moved_or_touched_is_known_by_its_content(folder):
    index, _, _ = update(folder)
    os.rename(folder / "middle.ogg", folder / "deep" / "renamed.ogg")
    os.utime(folder / "UPPER.MP3", (1, 1))
    again, told, model = update(folder, index)
    assert model.heard == [] and (told.moved, told.new) == (2, 0)
    assert "deep/renamed.ogg" in paths(again) and "middle.ogg" not in paths(again)
    assert best_files(again, model.text("middle"), 2)[1].score > 0.99


def test_what_cannot_be_read_is_listed_with_the_reason_and_tried_again(folder, tmp_path):
    (folder / "empty.wav").write_bytes(b"")
    (folder / "noise.flac").write_bytes(os.urandom(5000))
    (folder / "song.m4a").write_bytes(b"\0\0\0\x20ftypM4A ")
    os.mkfifo(folder / "pipe.wav")
    (tmp_path / "others").mkdir()
    (folder / "linked").symlink_to(tmp_path / "others")
    cut = (folder / "deep" / "er" / "high.flac").read_bytes()
    (folder / "cut.flac").write_bytes(cut[: len(cut) // 2])
    (folder / "nowhere.wav").symlink_to(tmp_path / "absent.wav")
    index, told, _ = update(folder)
    problems = {entry.path: entry.problem for entry in index.problems}
    broken = {"empty.wav", "noise.flac", "song.m4a", "cut.flac", "nowhere.wav"}
    assert set(problems) == broken | {"pipe.wav", "linked"}
    assert "empty" in problems["empty.wav"] and "not sound" in problems["song.m4a"]
    assert "a pipe" in problems["pipe.wav"]
    assert f"not looked into: index {tmp_path / 'others'}" in problems["linked"]
    assert told.new == 4
    write_sound(folder / "empty.wav", "low", 2.0)
    again, told, model = update(folder, index)
    assert "empty.wav" not in {entry.path for entry in again.problems} and len(model.heard) == 1


def test_of_a_file_that_is_damaged_in_its_middle_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(PitchModel, "batch_seconds", 1000.0)
    whole = write_sound(tmp_path / "b.flac", "low", 70.0, 32000).read_bytes()
    (tmp_path / "a.flac").write_bytes(whole[: 2 * len(whole) // 3])
    index, told, model = update(tmp_path)
    assert [entry.path for entry in index.problems] == ["a.flac"]
    assert told.new == 1 and len(model.heard) == len(index.rows()[0]) == 3


def test_windows_of_a_long_file_are_the_file(tmp_path):
    rate = 32000
    samples = np.random.default_rng(0).uniform(-0.5, 0.5, round(75.5 * rate)).astype(np.float32)
    soundfile.write(tmp_path / "long.wav", samples, rate, subtype="FLOAT")
    cut = list(windows(tmp_path / "long.wav"))
    assert [start for start, _ in cut] == [0, 30, 60]
    assert np.array_equal(np.concatenate([waveform for _, waveform in cut]), samples)


def test_a_short_rest_goes_into_the_last_window(tmp_path):
    write_sound(tmp_path / "a.wav", "low", 30.9, 32000)
    write_sound(tmp_path / "b.wav", "low", 31.5, 32000)
    assert [len(w) / 32000 for _, w in windows(tmp_path / "a.wav")] == [pytest.approx(30.9)]
    assert [len(w) / 32000 for _, w in windows(tmp_path / "b.wav")] == pytest.approx([30, 1.5])


def test_a_result_in_a_long_file_names_the_time(tmp_path, monkeypatch):
    parts = [tone("low", 30, 32000), tone("high", 30, 32000), tone("middle", 12, 32000)]
    soundfile.write(tmp_path / "walk.wav", np.concatenate(parts), 32000)
    write_sound(tmp_path / "short.wav", "low")
    index, _, model = update(tmp_path)
    best, other = best_files(index, model.text("high"), 10)
    assert (best.start, best.end, best.whole) == (30, 60, False)
    assert other.whole
    last = best_files(index, model.text("middle"), 1)[0]
    assert (last.start, last.end) == (60, 72)
    monkeypatch.chdir(tmp_path)
    lines = table([best, other]).splitlines()
    assert lines[1].endswith("walk.wav  at 0:30-1:00") and lines[2].endswith("  short.wav")
    assert clock(3700) == "1:01:40"


def test_an_interrupted_indexing_keeps_what_was_done_and_goes_on(folder):
    asked = []

    def stop():
        asked.append(1)
        return "SIGINT" if len(asked) > 4 else None

    index, told, _ = update(folder, stop=stop)
    assert told.stopped == "SIGINT" and 0 < len(index.entries) < 4
    again, told, model = update(folder, index)
    assert told.stopped is None and len(model.heard) == 4 - len(index.entries)
    whole, _, _ = update(folder)
    assert paths(again) == paths(whole)
    assert np.array_equal(again.rows()[1], whole.rows()[1])


def test_a_long_indexing_saves_now_and_then(folder, monkeypatch):
    monkeypatch.setattr(indexing, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(PitchModel, "batch_seconds", 0.5)
    saved: list[int] = []
    update_index(folder, None, MODEL, PitchModel, lambda index: saved.append(len(index.entries)))
    assert len(saved) > 2 and saved == sorted(saved) and saved[-1] == 4


def test_a_failing_model_loses_no_saved_work(folder):
    class Failing(PitchModel):
        def sounds(self, waveforms):
            raise RuntimeError("out of memory")

    index, _, _ = update(folder)
    write_index(index, folder / NAME)
    write_sound(folder / "new.wav", "high")
    with pytest.raises(RuntimeError):
        update(folder, index, Failing())
    assert paths(read_index(folder / NAME)) == paths(index)


def test_an_index_is_what_was_written(folder):
    (folder / "empty.wav").write_bytes(b"")
    os.rename(folder / "middle.ogg", folder / " caf\u00e9, \u96e8.ogg")
    shutil.copy(folder / "UPPER.MP3", os.fsencode(folder) + b"/not unicode \xe9.mp3")
    index, _, _ = update(folder)
    write_index(index, folder / NAME)
    read = read_index(index_path(folder))
    assert (read.root, read.model, read.model_sha256) == (folder, *MODEL)
    assert np.array_equal(read.rows()[1], index.rows()[1])
    for one, other in zip(read.entries, index.entries, strict=True):
        assert (one.path, one.size, one.modified_ns, one.problem, one.starts, one.seconds) == (
            (other.path, other.size, other.modified_ns, other.problem, other.starts, other.seconds)
        )
    _, told, model = update(folder, read)
    assert model.heard == [] and told.kept == 4
    listing = pd.read_csv(folder / "triptych-index.csv", keep_default_na=False)
    assert listing.columns.tolist() == ["file", "seconds", "windows", "problem"]
    assert (listing["problem"] != "").sum() == 2
    assert {" caf\u00e9, \u96e8.ogg", "not unicode \\udce9.mp3"} <= set(listing["file"])


def test_a_folder_may_be_moved_with_its_index(folder, tmp_path):
    index, _, model = update(folder)
    write_index(index, folder / NAME)
    moved = tmp_path / "elsewhere"
    os.rename(folder, moved)
    found = best_files(read_index(moved / NAME), model.text("low"), 1)[0]
    assert found.file == str(moved / "a low one.wav")


def test_a_file_that_is_no_index_is_refused(tmp_path):
    for name, content in (("a.npz", b"not a zip"), ("b.npz", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match="not an index"):
            read_index(tmp_path / name)
    np.savez(tmp_path / "c.npz", other=np.zeros(3))
    with pytest.raises(InputError, match="--rebuild"):
        read_index(tmp_path / "c.npz")


def test_an_index_without_any_readable_file_finds_nothing(tmp_path):
    (tmp_path / "x.wav").write_bytes(b"")
    index, _, model = update(tmp_path)
    write_index(index, tmp_path / NAME)
    assert best_files(read_index(tmp_path / NAME), model.text("low"), 5) == []
