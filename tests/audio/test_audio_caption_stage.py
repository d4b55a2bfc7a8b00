"""The stage as the script calls it: tables in, tables out, by every back end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from caption_job import TABLE, run
from chat_server import GOOD, KEY, numbered, serving

from triptych.audio.captions.answers import Item
from triptych.audio.captions.settings import check_captions
from triptych.audio.captions.stage import published_captions, read_published
from triptych.core.errors import InputError

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def tables(folder: Path, splits: dict[str, int], captions: int = 2) -> list[tuple[str, int, str]]:
    """clips.csv and captions.csv with so many clips a split; (clip, position, caption)."""
    clips = [
        (f"clotho/{split}/ {n} Ünd.wav", split, n) for split, count in splits.items()
        for n in range(count)
    ]  # fmt: skip
    pd.DataFrame(
        [
            {
                "clip": clip, "dataset": "clotho", "split": split, "file_name": clip.split("/")[-1],
                "sound_id": "1", "youtube_id": "", "seconds": "3",
                "keywords": "dog;traffic;H4n" if n % 2 == 0 else "", "path": "x",
            }
            for clip, split, n in clips
        ]
    ).to_csv(folder / "clips.csv", index=False)  # fmt: skip
    rows = [
        (clip, position, f"A {split} dog number {n} barks, position {position}.")
        for clip, split, n in clips
        for position in range(captions)
    ]
    pd.DataFrame(rows, columns=["clip", "position", "caption"]).to_csv(
        folder / "captions.csv", index=False
    )
    return rows


def read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)


def test_five_captions_for_each_caption_of_the_chosen_splits(tmp_path):
    rows = tables(tmp_path, {"development": 3, "validation": 2, "evaluation": 1})
    wanted = [row for row in rows if "/validation/" not in row[0]]
    with serving() as server:
        run(tmp_path, splits=("development", "evaluation"), base_url=server.url)
    table = read(tmp_path, "variations")
    assert list(table.columns) == ["clip", "position", "variation", "caption"]
    assert list(zip(table["clip"], table["position"], table["variation"], strict=True)) == [
        (clip, str(position), str(number)) for clip, position, _ in wanted for number in range(1, 6)
    ]
    assert list(table["caption"]) == GOOD * len(wanted)
    assert len(server.prompts) == len(wanted)
    assert read(tmp_path, "rejected").empty
    usage = read(tmp_path, "usage").iloc[0]
    assert dict(usage) == {
        "backend": "openai", "model": "gpt-3.5-turbo", "requests": "8", "cached": "0",
        "repaired": "0", "rejected": "0", "input_tokens": "1120", "output_tokens": "760",
        "cost": "0.0017", "currency": "USD", "captions": "40",
    }  # fmt: skip


def test_a_second_run_asks_nothing_and_writes_the_same(tmp_path):
    tables(tmp_path, {"development": 4})
    with serving() as server:
        run(tmp_path, base_url=server.url)
        first = (tmp_path / "variations.csv").read_bytes()
        (tmp_path / "variations.csv").unlink()
        run(tmp_path, base_url=server.url)
        assert len(server.prompts) == 8
    assert (tmp_path / "variations.csv").read_bytes() == first
    usage = read(tmp_path, "usage").iloc[0]
    assert (usage["requests"], usage["cached"], usage["cost"]) == ("0", "8", "0.0017")


def test_a_bad_answer_is_repaired_by_one_more_request(tmp_path):
    tables(tmp_path, {"development": 3}, captions=1)

    def answer(prompt):
        if "number 1" in prompt and "exactly" not in prompt:
            return numbered([*GOOD[:2], "The bark is heard."])
        return numbered(GOOD)

    with serving(answer=answer) as server:
        run(tmp_path, base_url=server.url)
    assert len(server.prompts) == 4
    assert len(read(tmp_path, "variations")) == 15
    first = read(tmp_path, "unfiltered")
    assert sorted(first.groupby("clip").size()) == [3, 5, 5]
    assert "The bark is heard." in list(first["caption"])
    assert read(tmp_path, "rejected").empty
    assert read(tmp_path, "usage").iloc[0]["repaired"] == "1"


def test_what_stays_bad_is_listed_and_never_among_the_captions(tmp_path):
    tables(tmp_path, {"development": 3}, captions=1)

    def answer(prompt):
        return numbered([*GOOD[:3], "The bark is heard."] if "number 1" in prompt else GOOD)

    with serving(answer=answer) as server:
        run(tmp_path, base_url=server.url)
        assert len(server.prompts) == 4
        run(tmp_path, base_url=server.url)
        assert len(server.prompts) == 4  # the bad answer is not asked for a third time
    table, rejected = read(tmp_path, "variations"), read(tmp_path, "rejected")
    bad = "clotho/development/ 1 Ünd.wav"
    assert list(table[table["clip"] == bad]["caption"]) == GOOD[:3]
    assert list(rejected.columns) == ["clip", "position", "problem", "answer"]
    assert set(rejected["clip"]) == {bad}
    assert rejected["problem"][0] == "3 of 5 captions"
    assert "banned word (heard)" in set(rejected["problem"])
    assert not table["caption"].str.contains("heard").any()


def test_the_example_is_the_captions_of_one_clip_with_keywords(tmp_path):
    rows = tables(tmp_path, {"development": 2}, captions=1)
    with serving() as server:
        run(tmp_path, base_url=server.url)
    example = json.loads((tmp_path / "example.json").read_text(encoding="utf-8"))
    assert example["caption"] == rows[0][2]
    assert example["keywords"] == ["dog", "traffic", "H4n"]
    assert example["response"] == GOOD
    assert example["instruction"].startswith("I will give a description")
    assert example["instruction"].endswith("with its index.")
    assert (example["backend"], example["model"]) == ("openai", "gpt-3.5-turbo")


def test_the_template_back_end_needs_neither_key_nor_network(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    rows = tables(tmp_path, {"development": 2})
    run(tmp_path, backend="template", published=in_other_words(tmp_path, rows))
    table = read(tmp_path, "variations")
    assert list(table["caption"]) == [line for row in rows for line in other_words(row)]
    usage = read(tmp_path, "usage").iloc[0]
    assert (usage["backend"], usage["model"], usage["cost"]) == ("template", "template", "0.0")
    assert not (tmp_path / "cache").exists()


def other_words(row: tuple[str, int, str]) -> list[str]:
    """Five captions that no other row has."""
    return [f"{line[:-1]} before {row[2][2:-1]}." for line in GOOD]


def in_other_words(folder: Path, rows: list[tuple[str, int, str]]) -> Path:
    """A file as the demo's scenes bring it."""
    path = folder / "paraphrases.json"
    records = [{"path": row[0], "caption": row[2], "variations": other_words(row)} for row in rows]
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


@pytest.mark.parametrize("backend", ["template", "authors"])
def test_a_back_end_that_reads_a_file_needs_one(tmp_path, backend):
    tables(tmp_path, {"development": 1})
    with pytest.raises(InputError, match=f"backend {backend} needs a file"):
        run(tmp_path, backend=backend)


@pytest.mark.parametrize("source", ["download", "path"])
def test_templates_are_refused_for_recordings_before_a_job_starts(source):
    with pytest.raises(ValueError, match=rf"audio\.captions\.backend .*source is {source}"):
        check_captions({**TABLE, "backend": "template"}, source)
    check_captions({**TABLE, "backend": "authors"}, source)
    check_captions({**TABLE, "backend": "template"}, "synthesised")


SCRIPT = """
import runpy, sys
from types import SimpleNamespace
sys.path[:0] = sys.argv[1:3]
from caption_job import TABLE

class Named(dict):
    __getattr__ = dict.__getitem__

class Files(Named):
    def __getitem__(self, key):
        return list(self.values())[key] if isinstance(key, int) else dict.__getitem__(self, key)
    def __iter__(self):
        return iter(self.values())

outputs = {n: f"results/{n}.csv" for n in ("variations", "unfiltered", "rejected", "usage")}
snakemake = SimpleNamespace(
    rule="audio_caption",
    input=Files(clips="clips.csv", captions="captions.csv"),
    output=Files(**outputs, example="results/example.json"),
    params=Named(
        captions={**TABLE, "backend": "template"}, splits=["development"],
        published="paraphrases.json",
    ),
    resources=Named(), wildcards=Named(), threads=1,
    log=["results/logs/audio_caption/log.log"],
)
runpy.run_path(sys.argv[3], init_globals={"snakemake": snakemake})
sys.exit(" ".join({"torch", "transformers", "openai"} & set(sys.modules)) or 0)
"""


def test_the_script_writes_its_five_files_without_loading_torch_or_openai(tmp_path):
    in_other_words(tmp_path, tables(tmp_path, {"development": 1}))
    library = HERE.parents[1] / "workflow_scripts"
    script = str(library / "audio" / "caption.py")
    command = [sys.executable, "-c", SCRIPT, str(HERE), str(library), script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "results").iterdir() if path.is_file()} == {
        "variations.csv", "unfiltered.csv", "rejected.csv", "usage.csv", "example.json",
    }  # fmt: skip
    assert len(read(tmp_path / "results", "variations")) == 10
    log = (tmp_path / "results/logs/audio_caption/log.log").read_text(encoding="utf-8")
    assert "10 new captions; 2 of 2 captions have all 5" in log


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_and_started_again_pays_once(tmp_path, number):
    tables(tmp_path, {"development": 60})
    command = [sys.executable, str(HERE / "caption_job.py"), str(tmp_path)]
    library = str(HERE.parents[1] / "workflow_scripts")
    environment = {**os.environ, "PYTHONPATH": library, "OPENAI_API_KEY": KEY}
    with serving(delay=0.03) as server:
        first = subprocess.Popen([*command, server.url], env=environment, stdout=subprocess.DEVNULL)
        while len(server.prompts) < 30:
            time.sleep(0.005)
        first.send_signal(number)
        code = first.wait()
        kept = {
            json.loads(line)["request"]["prompt"]
            for line in (tmp_path / "cache" / "answers.jsonl").read_text().splitlines()
            if line.endswith("}}")
        }
        done = subprocess.run(
            [*command, server.url], env=environment, capture_output=True, text=True, check=True
        )
    assert 20 < len(kept) < 120
    counts = Counter(server.prompts)
    assert len(counts) == 120
    twice = {prompt for prompt, count in counts.items() if count > 1}
    assert not twice & kept
    assert len(server.prompts) <= 120 + 4  # but for what was open when the process died
    if number == signal.SIGTERM:
        assert code == 75  # stopped on request, after every open request was answered
        assert not twice
    assert len(read(tmp_path, "variations")) == 600
    assert KEY not in done.stdout + done.stderr


RECORD = {
    "idx": 3,
    "path": "/share/clotho_v2/development/Rain 1.wav",
    "caption": "Rain is falling on a roof.",
    "query": "...",
    "response": {"choices": [{"message": {"content": "1. one"}}]},
    "variations": GOOD,
    "finish_reason": "stop",
    "usage": 100,
}
PLAIN = {"file_name": "Rain 1.wav", "caption": RECORD["caption"]}

LAYOUTS = {
    "records": [RECORD],
    "other names": [{**PLAIN, "gpt_captions": GOOD}],
    "raw answer": [{**PLAIN, "variations": numbered(GOOD)}],
    "a row each": [{**PLAIN, "variations": [line]} for line in GOOD],
}

ITEM = Item("clotho/development/Rain 1.wav", 0, "Rain is falling on a roof", ())


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_published_captions_are_read_in_any_likely_layout(tmp_path, layout):
    path = tmp_path / "gpt.json"
    path.write_text(json.dumps(layout), encoding="utf-8")
    [written] = published_captions([ITEM], read_published(path), 5, 20)
    assert written.variations == tuple(GOOD)
    assert written.rejected == ()


def test_published_captions_are_found_by_file_and_caption_not_by_position(tmp_path):
    other = {**RECORD, "path": "Rain 2.wav", "variations": ["Another rain falls on a roof."] * 5}
    path = tmp_path / "gpt.json"
    path.write_text(json.dumps([other, RECORD]), encoding="utf-8")
    [written] = published_captions([ITEM], read_published(path), 5, 20)
    assert written.variations == tuple(GOOD)


def test_published_captions_that_break_the_rules_are_listed(tmp_path):
    path = tmp_path / "gpt.json"
    lines = ["The sound of nails tapping on a metal surface is heard.", *GOOD[:3]]
    path.write_text(json.dumps([{**RECORD, "variations": lines}]), encoding="utf-8")
    tables(tmp_path, {"development": 1}, captions=1)
    clips, captions = read(tmp_path, "clips"), read(tmp_path, "captions")
    clips["clip"] = captions["clip"] = ITEM.clip
    captions["caption"] = ITEM.caption
    clips.to_csv(tmp_path / "clips.csv", index=False)
    captions.to_csv(tmp_path / "captions.csv", index=False)
    run(tmp_path, backend="authors", published=path)
    assert list(read(tmp_path, "variations")["caption"]) == GOOD[:3]
    assert list(read(tmp_path, "rejected")["problem"]) == ["banned word (heard)"]
    assert list(read(tmp_path, "unfiltered")["caption"]) == lines
    usage = read(tmp_path, "usage").iloc[0]
    assert (usage["backend"], usage["requests"], usage["captions"]) == ("authors", "0", "3")


def test_a_file_of_another_data_set_is_told(tmp_path):
    path = tmp_path / "gpt.json"
    path.write_text(json.dumps([RECORD]), encoding="utf-8")
    items = [ITEM, *(Item(f"clotho/x/{n}.wav", 0, "Rain.", ()) for n in range(3))]
    with pytest.raises(InputError, match="3 of 4 captions are not in the file"):
        published_captions(items, read_published(path), 5, 20)


@pytest.mark.parametrize("content", ["[]", '{"a": 1}', '[{"path": "x.wav"}]', "not json\n{"])
def test_a_file_that_is_not_understood_is_told(tmp_path, content):
    path = tmp_path / "gpt.json"
    path.write_text(content)
    with pytest.raises(InputError, match="variations"):
        read_published(path)
