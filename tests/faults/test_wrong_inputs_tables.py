"""Wrong tables of sounds and captions are refused by name; odd ones are read as the plain ones."""

import csv
import json
from pathlib import Path

import pytest
from stand_in import Named

SPLITS = ("development", "validation", "evaluation")


def clotho(folder: Path, encode=lambda text: text.encode()) -> None:
    """Clotho's tables of one clip a split, as `encode` has them."""
    folder.mkdir()
    for split in SPLITS:
        captions = [f'a dog, and "{number}" cats in {split}' for number in range(5)]
        quoted = ",".join('"' + text.replace('"', '""') + '"' for text in captions)
        numbers = ",".join(f"caption_{number}" for number in range(1, 6))
        for kind, text in {
            "captions": f"file_name,{numbers}\n caf\u00e9 {split}.wav,{quoted}\n",
            "metadata": "file_name,keywords,sound_id,start_end_samples\n"
            f' caf\u00e9 {split}.wav,dog;cat,12{len(split)},"[0, 44100]"\n',
        }.items():
            (folder / f"clotho_{kind}_{split}.csv").write_bytes(encode(text))


ENCODINGS = {
    "a byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "both": lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
    "both and no last line end": lambda text: (
        b"\xef\xbb\xbf" + text.strip().replace("\n", "\r\n").encode()
    ),
    "ISO-8859-1": lambda text: text.encode("iso-8859-1"),
}
LISTED = Named(
    **{name: f"results/{name}.csv" for name in ("clips", "captions", "queries", "relevance")}
)


@pytest.mark.parametrize("kind", ENCODINGS)
def test_tables_of_spreadsheets_are_read_as_the_plain_ones(sandbox, kind):
    params = {"relevance": None, "audio": None}
    clotho(sandbox.here / "plain")
    clotho(sandbox.here / "odd", ENCODINGS[kind])
    read = {}
    for folder in ("plain", "odd"):
        sandbox.rule("audio_list_clotho", {}, LISTED, folder=folder, **params)
        read[folder] = [Path(path).read_bytes() for path in LISTED]
    assert read["odd"] == read["plain"]
    with open("results/captions.csv", encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    assert rows[1] == [
        "clotho/development/ caf\u00e9 development.wav",
        "0",
        'a dog, and "0" cats in development',
    ]
    sandbox.check()


CAPTIONS, METADATA = "clotho_captions_validation.csv", "clotho_metadata_validation.csv"
TABLES = {
    "zero bytes": (CAPTIONS, lambda text: b"", ("isn't a table",)),
    "a page": (CAPTIONS, lambda text: b"<html>404</html>", ("columns", "expected is also")),
    "UTF-16": (CAPTIONS, lambda text: text.decode().encode("utf-16"), ("expected is also",)),
    "cut in a row": (
        CAPTIONS,
        lambda text: text[: text.rindex(b'","') + 1],
        ("last row has 5 fields, expected 6", "cut"),
    ),
    "cut in a quotation": (CAPTIONS, lambda text: text[: text.rindex(b'"')], ("isn't a table",)),
    "unquoted commas": (CAPTIONS, lambda text: text.replace(b'"', b""), ("more fields",)),
    "an empty caption": (
        CAPTIONS,
        lambda text: text.replace(b'"a dog, and ""0"" cats in validation"', b'" "'),
        ("1 captions are empty",),
    ),
    "a number of a spreadsheet": (
        METADATA,
        lambda text: text.replace(b",1210,", b",1210.0,"),
        ("'1210.0'", "anew"),
    ),
    "code for numbers": (
        METADATA,
        lambda text: text.replace(b"[0, 44100]", b"__import__('os')"),
        ("[start, end]",),
    ),
    "numbers of a thousand digits": (
        METADATA,
        lambda text: text.replace(b"44100", b"9" * 1000),
        ("[start, end]",),
    ),
    "a pickle": (METADATA, lambda text: b"\x80\x04\x95cposix\nsystem\n", (METADATA,)),
}


@pytest.mark.parametrize("kind", [*TABLES, "a folder", "nothing"])
def test_a_wrong_table_is_refused_by_name(sandbox, kind):
    clotho(sandbox.here / "tables")
    if kind in TABLES:
        name, change, said = TABLES[kind]
        path = Path("tables", name)
        path.write_bytes(change(path.read_bytes()))
    else:
        name, said = CAPTIONS, ({"a folder": "is a folder", "nothing": "is missing"}[kind],)
        Path("tables", name).unlink()
        if kind == "a folder":
            Path("tables", name).mkdir()
    params = {"folder": "tables", "relevance": None, "audio": None}
    sandbox.refuses("audio_list_clotho", {}, LISTED, name, *said, **params)
    sandbox.check()


RECORDS = {
    "no JSON": ("version https://git-lfs.github.com/spec/v1", "git-lfs"),
    "endless brackets": ("[" * 100_000, "in JSON"),
    "a table of tables": ('{"data": {"a": 1}}', "dict"),
    "a number for a record": ('{"data": [5]}', "has only 5"),
    "a record without caption": ('{"data": [{"id": "1"}]}', "has only id"),
    "a caption of nothing": ('{"data": [{"id": "1", "caption": null}]}', "expected are a name"),
    "a list for a name": ('{"data": [{"id": [1], "caption": "rain"}]}', "expected are a name"),
    "an endless clip": ('{"data": [{"id": "1", "caption": "rain", "duration": NaN}]}', "nan"),
    "a duration in words": (
        '{"data": [{"id": "1", "caption": "x", "duration": "long"}]}',
        "'long'",
    ),
    "a blank caption": ('{"data": [{"id": "1", "caption": " "}]}', "1 captions are empty"),
}
PAIR = Named(clips="results/clips.csv", captions="results/captions.csv")


@pytest.mark.parametrize("kind", RECORDS)
def test_wrong_records_of_wavcaps_are_refused_by_name(sandbox, kind):
    content, said = RECORDS[kind]
    Path("sb_final.json").write_text(content)
    params = {"folder": ".", "parts": ["SoundBible"], "audio": None}
    sandbox.refuses("audio_list_wavcaps", {}, PAIR, "sb_final.json", said, **params)


def test_records_behind_a_byte_order_mark_and_halves_of_characters_are_read(sandbox):
    text = json.dumps({"data": [{"id": 7, "caption": "rain \ud800 falls\r\nhard"}]})
    Path("sb_final.json").write_bytes(b"\xef\xbb\xbf" + text.encode())
    params = {"folder": ".", "parts": ["SoundBible"], "audio": None}
    sandbox.rule("audio_list_wavcaps", {}, PAIR, **params)
    with open("results/captions.csv", encoding="utf-8", newline="") as lines:
        assert list(csv.reader(lines))[1][2] == "rain \\ud800 falls\r\nhard"


@pytest.mark.parametrize("content", ["[]", '{"FreeSound": 5}', "", '{"FreeSound": ["117790.0"]}'])
def test_a_wrong_leak_list_is_refused_by_name(sandbox, content):
    clotho(sandbox.here / "tables")
    name = "blacklist_exclude_test_ac.json"
    Path(name).write_text(content)
    clips = "clip,dataset,split,file_name,sound_id,youtube_id,seconds,keywords,path\n"
    Path("clips.csv").write_text(clips + "c,clotho,development,a.wav,1,1,a.wav\n")
    given = {"clips": ["clips.csv"], "shards": []}
    output = Named(manifest="results/m.csv", removed="results/r.csv", counts="results/c.csv")
    params = {"splits": ["development"], "exclude": "wavcaps_test", "leaks": "."}
    sandbox.refuses("audio_corpus", given, output, name, **params)
