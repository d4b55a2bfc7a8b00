"""Tables of any content come back as they were written; damaged files get one error of a kind."""

import csv
import io
import json

import h5py
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from triptych.audio.data.audiocaps import read_audiocaps
from triptych.audio.data.clotho import CAPTIONS, LABELLED, read_clotho
from triptych.audio.data.tables import CLIP_COLUMNS, read_strings, read_table
from triptych.audio.data.wavcaps import read_wavcaps
from triptych.core.errors import InputError
from triptych.core.files import write_csv
from triptych.rl.environments import spaces_of
from triptych.rl.recording import DatasetError, read_recording
from triptych.rl.storage import PackedFileError, pack, unpack
from triptych.rl.tasks import task_named

examples = settings(max_examples=60, derandomize=True, deadline=None, database=None)
awkward = st.sampled_from(
    [
        ",",
        '"',
        "\n",
        "\r",
        "\r\n",
        " ",
        "\t",
        ";",
        "NA",
        "nan",
        "None",
        "1.0",
        "\ufeff",
        "'",
        "=",
        "caf\u00e9",
    ]
)
cells = st.lists(awkward | st.text(max_size=6), max_size=4).map("".join)
# Of published tables, whose fields hold no control characters but line ends.
written = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
texts = st.builds(
    lambda a, b: f"{a}{b}", written, st.sampled_from(["", ",", '"', ' "a", b', "\n", "\r\n", ";"])
)
captions = texts.filter(lambda text: text.strip() != "")


@examples
@given(st.lists(st.tuples(cells, cells, cells), max_size=6))
@example([("\r", "a\rb", "\r\n"), ("", "", "")])
@example([("\x00", "a\x00b", "\x1a")])
def test_the_projects_own_tables_come_back_as_they_were_written(tried, tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "own.csv"
    table = pd.DataFrame(rows, columns=["clip", "caption", "problem"], dtype=str)
    write_csv(table, path)
    read = read_table(path)
    assert list(read.columns) == list(table.columns)
    assert [tuple(row) for row in read.to_numpy()] == rows
    with path.open(encoding="utf-8", newline="") as lines:  # and for other programs
        assert [tuple(row) for row in csv.reader(lines)][1:] == rows
    tried("wrong input", "tables of any content, written and read", "read right")


def test_text_that_no_file_can_hold_is_shown_and_not_fatal(tmp_path):
    write_csv(pd.DataFrame({"clip": ["caf\udce9.wav"]}), tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv")["clip"].tolist() == ["caf\\udce9.wav"]


def encoded(header, rows, end, mark, quoting) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator=end, quoting=quoting)
    writer.writerows([header, *rows])
    return b"\xef\xbb\xbf" * mark + stream.getvalue().encode()


forms = st.tuples(
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)


@settings(examples, max_examples=30)
@given(
    st.lists(
        st.tuples(captions, *[captions] * 5), min_size=1, max_size=3, unique_by=lambda r: r[0]
    ),
    forms,
)
def test_clothos_tables_of_any_content_are_read_as_written(tried, tmp_path_factory, rows, form):
    folder = tmp_path_factory.getbasetemp() / "clotho"
    folder.mkdir(exist_ok=True)
    clips = [[row[0], "a;b", str(number), "[0, 44100]"] for number, row in enumerate(rows)]
    about = ["file_name", "keywords", "sound_id", "start_end_samples"]
    for split in LABELLED:
        content = encoded(["file_name", *CAPTIONS], rows, *form)
        (folder / f"clotho_captions_{split}.csv").write_bytes(content)
        (folder / f"clotho_metadata_{split}.csv").write_bytes(encoded(about, clips, *form))
    tables = read_clotho(folder)
    first = tables.clips[tables.clips["split"] == "development"]
    assert first["file_name"].tolist() == [row[0] for row in rows]
    assert set(first["seconds"]) == {"1.000"}
    read = tables.captions[tables.captions["clip"].isin(first["clip"])]
    assert read["caption"].tolist() == [text for row in rows for text in row[1:]]
    tried("wrong input", "tables of any content, written and read", "read right")


@settings(examples, max_examples=30)
@given(st.lists(captions, min_size=1, max_size=4), forms)
def test_audiocaps_tables_of_any_content_are_read_as_written(tried, tmp_path_factory, texts, form):
    folder = tmp_path_factory.getbasetemp() / "audiocaps"
    folder.mkdir(exist_ok=True)
    header = ["audiocap_id", "youtube_id", "start_time", "caption"]
    rows = [[str(n), f"video{n:06d}", "30", text] for n, text in enumerate(texts)]
    (folder / "train.csv").write_bytes(encoded(header, rows, *form))
    tables = read_audiocaps(folder)
    assert tables.clips["youtube_id"].tolist() == [row[1] for row in rows]
    assert tables.captions["caption"].tolist() == texts
    tried("wrong input", "tables of any content, written and read", "read right")


@settings(examples, max_examples=30)
@given(st.dictionaries(st.integers(0, 99), captions, min_size=1), st.booleans())
def test_wavcaps_records_of_any_content_are_read_as_written(tried, tmp_path_factory, records, mark):
    folder = tmp_path_factory.getbasetemp() / "wavcaps"
    folder.mkdir(exist_ok=True)
    data = [{"id": str(key), "caption": text, "duration": 1} for key, text in records.items()]
    content = json.dumps({"data": data}, ensure_ascii=False)
    (folder / "sb_final.json").write_bytes(b"\xef\xbb\xbf" * mark + content.encode())
    tables = read_wavcaps(folder, ["SoundBible"])
    assert tables.captions["caption"].tolist() == list(records.values())
    assert list(tables.clips.columns) == list(CLIP_COLUMNS)
    tried("wrong input", "tables of any content, written and read", "read right")


@examples
@given(
    st.binary(max_size=120) | cells.map(str.encode), st.sampled_from([b"", b"file_name,caption\n"])
)
@example(b"a,b\n1,2,3\n4,5,6", b"")
@example(b'"', b"file_name,caption\n")
@example(b"x" * 200_000, b"file_name,caption\n")
def test_any_bytes_are_a_table_or_refused_by_name(tried, tmp_path_factory, content, head):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(head + content)
    try:
        table = read_strings(path, ("file_name", "caption"))
    except InputError as refused:
        assert "any.csv" in str(refused)
    else:
        assert all(isinstance(value, str) for value in table.to_numpy().ravel())
    tried("wrong input", "tables, policies and recordings with bytes changed", "read or refused")


@settings(examples, max_examples=30)
@given(
    st.sampled_from(LABELLED),
    st.sampled_from(["captions", "metadata"]),
    st.data(),
)
def test_clothos_tables_with_any_change_are_read_or_refused(
    tried, tmp_path_factory, split, kind, data
):
    folder = tmp_path_factory.getbasetemp() / "changed"
    folder.mkdir(exist_ok=True)
    for each in LABELLED:
        (folder / f"clotho_captions_{each}.csv").write_bytes(
            encoded(
                ["file_name", *CAPTIONS],
                [["a.wav", *["one", "two", "three", "four", "five"]]],
                "\n",
                0,
                0,
            )
        )
        (folder / f"clotho_metadata_{each}.csv").write_bytes(
            encoded(
                ["file_name", "sound_id", "start_end_samples"],
                [["a.wav", "5", "[0, 9]"]],
                "\n",
                0,
                0,
            )
        )
    path = folder / f"clotho_{kind}_{split}.csv"
    path.write_bytes(changed(path.read_bytes(), data))
    try:
        tables = read_clotho(folder)
    except InputError as refused:
        assert "clotho" in str(refused).lower()
    else:
        assert not tables.captions.isna().any().any() and not tables.clips.isna().any().any()
    tried("wrong input", "tables, policies and recordings with bytes changed", "read or refused")


def changed(content: bytes, data) -> bytes:
    """Bytes with a few others in their place, or cut."""
    if data.draw(st.booleans()):
        return content[: data.draw(st.integers(0, len(content) - 1))]
    content = bytearray(content)
    places = st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255))
    for at, value in data.draw(st.lists(places, min_size=1, max_size=6)):
        content[at] = value
    return bytes(content)


@examples
@given(st.data())
def test_a_changed_packed_policy_is_refused_and_nothing_else(tried, tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "changed.tpk"
    arrays = {"w": np.eye(9, dtype=np.float32), "b": np.ones(9, np.float32)}
    pack(path, arrays, {"task": "hopper"}, data.draw(st.sampled_from(["fp32", "fp16"])))
    before = path.read_bytes()
    after = changed(before, data)
    assume(after != before)
    path.write_bytes(after)
    with pytest.raises(PackedFileError, match=r"changed\.tpk"):
        unpack(path)
    tried("wrong input", "tables, policies and recordings with bytes changed", "read or refused")


@settings(examples, max_examples=80)
@given(st.sampled_from([None, "gzip"]), st.data())
def test_a_changed_recording_is_read_or_refused_by_name(tried, tmp_path_factory, compression, data):
    path = tmp_path_factory.getbasetemp() / "changed.hdf5"
    rows = 20
    with h5py.File(path, "w") as stream:
        for key, shape in {
            "observations": (rows, 11),
            "actions": (rows, 3),
            "next_observations": (rows, 11),
            "rewards": (rows,),
        }.items():
            values = np.full(shape, 0.5, np.float32)
            stream.create_dataset(key, data=values, compression=compression)
        for key in ("terminals", "timeouts"):
            stream.create_dataset(key, data=np.zeros(rows, bool), compression=compression)
    path.write_bytes(changed(path.read_bytes(), data))
    try:
        recording = read_recording(path, spaces_of(task_named("hopper")))
    except DatasetError as refused:
        assert "changed.hdf5" in str(refused)
    else:
        columns = [column for column in vars(recording).values() if column is not None]
        assert len({len(column) for column in columns}) == 1
        assert np.isfinite(recording.observations).all()
    tried("wrong input", "tables, policies and recordings with bytes changed", "read or refused")
