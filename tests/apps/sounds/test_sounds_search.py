"""Indexing a folder of sound files made here, again and again, and searching it."""

import os
import shutil

import numpy as np
import pytest
import soundfile
from small_sounds import PitchModel, tone, write_sound
from sound_files import encode, rising

from triptych.apps.sounds.search.index import NAME, Index, index_path, read_index, write_index
from triptych.apps.sounds.search.indexing import segments, sound_files, update_index
from triptych.apps.sounds.search.query import best_hits, clock, similarities, table

MODEL = ("/models/m", "abc", 10.0)


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
    for system in (".trash", "@eaDir"):
        write_sound(folder / system / "old.wav", "low")
    shutil.copy(folder / "middle.ogg", folder / "._middle.ogg")
    (folder / "middle.ogg").rename(folder / "without suffix")
    expected = ["UPPER.MP3", "a low one.wav", "deep/er/high.flac", "without suffix"]
    assert sound_files(folder) == expected


def test_new_and_changed_files_are_embedded_and_removed_ones_dropped(folder):
    index, _, _ = update(folder)
    write_sound(folder / "new.wav", "high")
    write_sound(folder / "middle.ogg", "low", 2.0)
    (folder / "UPPER.MP3").unlink()
    again, told, model = update(folder, index)
    assert (told.new, told.kept, told.removed, len(model.heard)) == (2, 2, 1, 2)
    assert paths(again) == ["a low one.wav", "deep/er/high.flac", "middle.ogg", "new.wav"]
    assert best_hits(again, model.text("middle"), 1)[0].score < 0.1


def test_a_file_that_was_moved_or_touched_is_known_by_its_content(folder):
    index, _, _ = update(folder)
    os.rename(folder / "middle.ogg", folder / "deep" / "renamed.ogg")
    os.utime(folder / "UPPER.MP3", (1, 1))
    again, told, model = update(folder, index)
    assert model.heard == [] and (told.moved, told.new) == (2, 0)
    assert "deep/renamed.ogg" in paths(again) and "middle.ogg" not in paths(again)
    assert best_hits(again, model.text("middle"), 2)[1].score > 0.99


def cut(samples: np.ndarray, seconds: float, block: int = 5_000):
    """Segments of a waveform that comes in blocks."""
    blocks = (samples[first : first + block] for first in range(0, len(samples), block))
    return list(segments(blocks, seconds))


def test_the_last_segment_ends_with_the_sound_and_an_encoders_padding_is_left_out():
    samples = np.arange(32000 * 10, dtype=np.float32)
    whole = cut(samples[: 8 * 32000], 4.0)
    assert np.array_equal(np.concatenate([part for _, part in whole]), samples[: 8 * 32000])
    for seconds in (9.5, 8.9, 8.1):
        found = cut(samples[: round(seconds * 32000)], 4.0)
        assert [start for start, _ in found] == [0, 4, seconds - 4]
        for start, waveform in found:
            assert waveform[0] == start * 32000 and len(waveform) == 4 * 32000
    assert [start for start, _ in cut(samples[: round(8.03 * 32000)], 4.0)] == [0, 4]
    assert cut(samples[:0], 4.0) == []


def test_what_is_no_named_kind_is_probed_and_what_is_not_read_is_counted(folder, caplog):
    caplog.set_level("INFO")
    samples = rising(0, 2, 48_000)
    encode(folder / "film.vob", samples, 48_000, "ac3", "vob")
    encode(folder / "a program stream", samples, 48_000, "ac3", "vob")
    head = b"NIST_1A\n   1024\nchannel_count -i 1\nsample_rate -i 16000\nsample_n_bytes -i 2\n"
    head += b"sample_byte_format -s2 01\nsample_coding -s3 pcm\nsample_count -i 16000\nend_head\n"
    (folder / "sphere.dat").write_bytes(head.ljust(1024) + bytes(32_000))
    (folder / "random").write_bytes(np.random.default_rng(0).bytes(50_000))
    np.save(folder / "array.npy", samples)
    for name in (NAME, "i.npz", "i.text/text.onnx", "i.text/a.json", "model/model.safetensors"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()  # our own files
    (folder / "model/scores.csv").touch()
    own = ["UPPER.MP3", "a low one.wav", "deep/er/high.flac", "middle.ogg"]
    assert sound_files(folder) == sorted([*own, "film.vob", "a program stream", "sphere.dat"])
    assert "3 files are not read as sound" in caplog.text and "1 .npy (array.npy)" in caplog.text
    (folder / "random").unlink()
    (folder / "array.npy").unlink()
    sound_files(folder)
    assert "1 file is not read as sound: 1 .txt (notes.txt)" in caplog.text
    for number in range(5):
        (folder / "deep" / f"{number}.TXT").write_text("no sound")
    sound_files(folder)
    assert "6 .txt (deep/0.TXT, deep/1.TXT, deep/2.TXT, ...)" in caplog.text


def test_one_damaged_file_ends_nothing(folder):
    """As of damaged FLVs, in which tracks appear that the header doesn't name."""
    encode(folder / "film.flv", tone("low", 20), 44_100, "libmp3lame", bit_rate=64_000)
    whole = bytearray((folder / "film.flv").read_bytes())
    place = 13
    while place < len(whole) * 0.8:  # from packet to packet
        place += 15 + int.from_bytes(whole[place + 1 : place + 4], "big")
    assert whole[place] == 8  # of sound; 9 is a picture's
    whole[place], whole[place + 11] = 9, 0x12
    (folder / "film.flv").write_bytes(whole)
    caf = b"caff\0\1\0\0desc" + (32).to_bytes(8, "big") + np.random.default_rng(0).bytes(9000)
    (folder / "garbage.caf").write_bytes(caf)
    encode(folder / "much.m4a", tone("low", 1), 44_100, "aac", "mp4")
    stated = bytearray((folder / "much.m4a").read_bytes())
    place = stated.index(b"stts") + 8  # the number of its entries, for which FFmpeg has no memory
    stated[place : place + 4] = (0x7FFFFFF0).to_bytes(4, "big")
    (folder / "much.m4a").write_bytes(stated)
    index, told, _ = update(folder)
    assert told.new >= 4 and "film.flv" in paths(index)
    assert {"garbage.caf", "much.m4a"} <= {entry.path for entry in index.problems}


@pytest.mark.parametrize("how", ["link", "empty"])
def test_what_lay_on_a_disk_that_is_away_is_kept_and_told(folder, tmp_path, how):
    (tmp_path / "disk").mkdir()
    shutil.move(folder / "deep" / "er", tmp_path / "disk" / "er")
    if how == "link":
        (folder / "deep" / "er").symlink_to(tmp_path / "disk" / "er")
    else:
        shutil.copytree(tmp_path / "disk" / "er", folder / "deep" / "er")
    index, _, _ = update(folder)
    if how == "link":
        (tmp_path / "disk").rename(tmp_path / "away")
    else:
        (folder / "deep" / "er" / "high.flac").unlink()
    again, told, _ = update(folder, index)
    assert (told.removed, paths(again)) == (0, paths(index))
    assert np.array_equal(again.embeddings, index.embeddings)
    assert [(e.path, "deep/er is" in e.problem) for e in again.problems] == [
        ("deep/er/high.flac", True)
    ]


def test_copies_of_a_file_are_one_hit(folder):
    for number in range(12):
        shutil.copy(folder / "middle.ogg", folder / f"copy {number}.ogg")
    index, _, model = update(folder)
    hits = best_hits(index, model.text("middle"), 10)
    assert len(hits) == 4  # the files of different content


def test_a_result_in_a_long_file_names_the_time(tmp_path, monkeypatch):
    parts = [tone("low", 30, 32000), tone("high", 20, 32000), tone("middle", 12, 32000)]
    soundfile.write(tmp_path / "walk.wav", np.concatenate(parts), 32000)
    write_sound(tmp_path / "short.wav", "low")
    index, _, model = update(tmp_path)
    assert index.entries[1].seconds == 62 and len(index.embeddings) == 8
    best = best_hits(index, model.text("high"), 1)[0]
    assert (best.start, best.end, best.segments) == (30, 40, 7)
    last = best_hits(index, model.text("middle"), 1)[0]
    assert (last.start, last.end) == (50, 60)
    assert [index.segment(row)[1:] for row in (6, 7)] == [(50, 60), (52, 62)]
    other = next(h for h in best_hits(index, model.text("low"), 9) if "short" in h.file)
    assert other.segments == 1
    monkeypatch.chdir(tmp_path)
    lines = table([best, other]).splitlines()
    assert lines[1].endswith("walk.wav  00:00:30 to 00:00:40")
    assert lines[2].endswith("  short.wav")
    assert clock(45_760) == "12:42:40"


def test_similarities_are_those_of_plain_products():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((3_001, 48))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    rows[0, :3] = [0, 6e-8, -6e-8]  # nothing, and the smallest that there are
    query = rng.standard_normal(48)
    query /= np.linalg.norm(query)
    found = similarities(rows, query)
    np.testing.assert_allclose(found, rows.astype(np.float64) @ query, atol=1e-6)
    assert len(similarities(rows[:0], query)) == 0


def test_linked_folders_are_followed_once_and_circles_are_not_walked(folder, tmp_path):
    write_sound(tmp_path / "others" / "more" / "x.wav", "low")
    (folder / "linked").symlink_to(tmp_path / "others")
    (folder / "again").symlink_to(tmp_path / "others")
    (folder / "deep" / "circle").symlink_to(folder)
    (tmp_path / "others" / "back").symlink_to(folder / "deep")
    (folder / "a way to deep").symlink_to(folder / "deep")
    (folder / "nowhere").symlink_to(tmp_path / "absent")
    own = ["UPPER.MP3", "a low one.wav", "deep/er/high.flac", "middle.ogg"]
    assert sound_files(folder) == sorted([*own, "again/more/x.wav"])


def test_an_index_is_what_was_written(folder):
    (folder / "empty.wav").write_bytes(b"")
    os.rename(folder / "middle.ogg", folder / " caf\u00e9, \u96e8.ogg")
    shutil.copy(folder / "UPPER.MP3", os.fsencode(folder) + b"/not unicode \xe9.mp3")
    index, _, _ = update(folder)
    write_index(index, folder / NAME)
    read = read_index(index_path(folder))
    assert (read.root, read.model, read.model_sha256, read.segment_seconds) == (folder, *MODEL)
    assert read.embeddings.dtype == np.float16
    assert np.array_equal(read.embeddings, index.embeddings)
    for one, other in zip(read.entries, index.entries, strict=True):
        assert (one.path, one.size, one.modified_ns, one.problem, one.seconds) == (
            (other.path, other.size, other.modified_ns, other.problem, other.seconds)
        )
        assert len(one.embeddings) == len(other.embeddings)
    _, told, model = update(folder, read)
    assert model.heard == [] and told.kept == 5


def test_a_folder_may_be_moved_with_its_index(folder, tmp_path):
    index, _, model = update(folder)
    write_index(index, folder / NAME)
    moved = tmp_path / "elsewhere"
    os.rename(folder, moved)
    found = best_hits(read_index(moved / NAME), model.text("low"), 1)[0]
    assert found.file == str(moved / "a low one.wav")
