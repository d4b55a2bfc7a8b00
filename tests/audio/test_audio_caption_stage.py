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
from chat_server import GOOD, KEY, numbered, replying, serving

from triptych.audio.captions.answers import Item
from triptych.audio.captions.settings import check_captions
from triptych.audio.captions.stage import (
    JUDGED,
    YieldTooLow,
    published_captions,
    read_published,
)
from triptych.core.errors import InputError

HERE = Path(__file__).parent
MANY = 60


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def tables(folder: Path, splits: dict[str, int], captions: int = 2) -> list[tuple[str, int, str]]:
    """clips.csv and captions.csv with so many clips a split; (clip, position, caption)."""
    clips, rows = [], []
    for split, count in splits.items():
        for n in range(count):
            clip = f"clotho/{split}/ {n} \u00dcnd.wav"
            clips.append((clip, split, "dog;traffic;H4n" if n % 2 == 0 else ""))
            rows += [
                (clip, position, f"A {split} dog number {n} barks, position {position}.")
                for position in range(captions)
            ]
    for name, table, columns in (
        ("clips", clips, ["clip", "split", "keywords"]),
        ("captions", rows, ["clip", "position", "caption"]),
    ):
        pd.DataFrame(table, columns=columns).to_csv(folder / f"{name}.csv", index=False)
    return rows


def read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)


def test_five_captions_for_each_caption_of_the_chosen_splits_are_asked_for_once(tmp_path):
    rows = tables(tmp_path, {"development": 3, "validation": 2, "evaluation": 1})
    wanted = [row for row in rows if "/validation/" not in row[0]]
    for cached in (0, 8):
        with serving() as server:
            run(tmp_path, splits=("development", "evaluation"), base_url=server.url)
        assert len(server.prompts) == len(wanted) - cached
        table = read(tmp_path, "variations")
        assert list(zip(table["clip"], table["position"], table["variation"], strict=True)) == [
            (clip, str(at), str(number)) for clip, at, _ in wanted for number in range(1, 6)
        ]
        assert list(table["caption"]) == GOOD * len(wanted)
        assert read(tmp_path, "rejected").empty
        assert dict(read(tmp_path, "usage").iloc[0]) == {
            **{"backend": "openai", "model": "gpt-3.5-turbo", "requests": str(8 - cached)},
            **{"cached": str(cached), "repaired": "0", "rejected": "0", "input_tokens": "1120"},
            **{"output_tokens": "760", "cost": "0.0017", "currency": "USD", "captions": "40"},
        }
    example = json.loads((tmp_path / "example.json").read_text(encoding="utf-8"))
    assert (example["caption"], example["keywords"]) == (rows[0][2], ["dog", "traffic", "H4n"])
    assert example["response"] == GOOD and example["instruction"].endswith("with its index.")


def test_a_bad_answer_is_repaired_by_one_more_request_or_listed(tmp_path):
    tables(tmp_path, {"development": 3}, captions=1)

    seen = set()

    def answer(prompt):
        again = prompt in seen
        seen.add(prompt)
        if "number 1" in prompt and not again:
            return numbered([*GOOD[:2], "The bark is heard."])
        return numbered(GOOD[:3] if "number 2" in prompt else GOOD)

    with serving(answer=answer) as server:
        run(tmp_path, base_url=server.url)
    assert len(server.prompts) == 5
    assert sorted(read(tmp_path, "variations").groupby("clip").size()) == [3, 5, 5]
    first = read(tmp_path, "unfiltered")
    assert sorted(first.groupby("clip").size()) == [3, 3, 5]
    assert "The bark is heard." in list(first["caption"])
    assert list(read(tmp_path, "rejected")["problem"]) == [
        "3 of 5 captions",
        *["repeats the caption or another"] * 3,
    ]
    assert read(tmp_path, "usage").iloc[0]["repaired"] == "1"


def test_the_template_back_end_needs_neither_key_nor_network(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    rows = tables(tmp_path, {"development": 2})
    others = {row: [f"{line[:-1]} before {row[2][2:-1]}." for line in GOOD] for row in rows}
    records = [{"path": r[0], "caption": r[2], "variations": lines} for r, lines in others.items()]
    (tmp_path / "other.json").write_text(json.dumps(records), encoding="utf-8")
    run(tmp_path, backend="template", published=tmp_path / "other.json")
    assert list(read(tmp_path, "variations")["caption"]) == [
        line for lines in others.values() for line in lines
    ]
    usage = read(tmp_path, "usage").iloc[0]
    assert (usage["backend"], usage["model"], usage["cost"]) == ("template", "template", "0.0")
    assert not (tmp_path / "cache").exists()


def test_templates_are_refused_for_recordings_before_a_job_starts():
    with pytest.raises(ValueError, match=r"audio\.captions\.backend .*source is download"):
        check_captions({**TABLE, "backend": "template"}, "download")
    check_captions({**TABLE, "backend": "authors"}, "download")
    check_captions({**TABLE, "backend": "template"}, "synthesised")


WRONG = {
    "refusals": ({"content": "I'm sorry, but I can't help with that."}, "no caption"),
    "refused by schema": ({"content": None, "refusal": "I can't help."}, r"\(refusal\)"),
    "thoughts alone": ({"content": None, "reasoning_content": numbered(GOOD)}, "0 of 5 captions"),
}


@pytest.mark.parametrize(("message", "reason"), WRONG.values(), ids=WRONG)
def test_a_useless_model_ends_the_stage_before_much_is_paid(tmp_path, message, reason):
    tables(tmp_path, {"development": MANY}, captions=1)
    with serving(faults=[replying(message)] * 10_000, delay=0.01) as server:
        for _ in range(2):  # what was paid for is not paid again
            with pytest.raises(YieldTooLow, match=rf"0 of 100 captions .*50%.*{reason}"):
                run(tmp_path, base_url=server.url)
            assert JUDGED <= len(server.prompts) <= JUDGED + 2 * 4
    assert not (tmp_path / "variations.csv").exists()


def test_a_model_that_becomes_useless_ends_the_stage_too(tmp_path):
    tables(tmp_path, {"development": MANY}, captions=1)
    answers = iter([numbered(GOOD)] * 25)
    with (
        serving(answer=lambda prompt: next(answers, "null")) as server,
        pytest.raises(YieldTooLow, match="125 of 255 captions are good"),
    ):
        run(tmp_path, base_url=server.url, open_requests=1)
    assert len(server.prompts) < MANY


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
    "path": "/share/clotho_v2/development/Rain 1.wav",
    "caption": "Rain is falling on a roof.",
    "variations": GOOD,
}
ITEM = Item("clotho/development/Rain 1.wav", 0, "Rain is falling on a roof", ())


def test_published_captions_are_found_by_file_and_caption_and_held_to_the_rules(tmp_path):
    path = tmp_path / "gpt.json"
    lines = ["The sound of nails tapping on a metal surface is heard.", *GOOD[:3]]
    other = {**RECORD, "path": "Rain 2.wav", "variations": ["Another rain falls on a roof."] * 5}
    path.write_text(json.dumps([other, {**RECORD, "variations": lines}]), encoding="utf-8")
    [written] = published_captions([ITEM], read_published(path), TABLE)
    assert written.variations == tuple(GOOD[:3])
    assert [bad.problem for bad in written.rejected] == ["banned word (heard)"]
    assert written.unfiltered == tuple(lines)


def test_a_file_of_another_data_set_is_told(tmp_path):
    path = tmp_path / "gpt.json"
    path.write_text(json.dumps([RECORD]), encoding="utf-8")
    items = [ITEM, *(Item(f"clotho/x/{n}.wav", 0, "Rain.", ()) for n in range(3))]
    with pytest.raises(InputError, match="3 of 4 captions are not in the file"):
        published_captions(items, read_published(path), TABLE)


@pytest.mark.parametrize("content", ["[]", '[{"path": "x.wav"}]', "not json\n{"])
def test_a_file_that_is_not_understood_is_told(tmp_path, content):
    path = tmp_path / "gpt.json"
    path.write_text(content)
    with pytest.raises(InputError, match="variations"):
        read_published(path)
