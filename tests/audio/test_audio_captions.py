"""The caption stage against a server that misbehaves as services do, and from a published file."""

import hashlib
import json
import logging
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
from chat_server import GOOD, KEY, Reply, completion, error, numbered, serving

from triptych.audio.captions.asking import GIVE_UP_AFTER, Asker, BudgetReached, ServiceError
from triptych.audio.captions.rules import Rejected
from triptych.audio.captions.service import key_from_environment, stated_wait
from triptych.audio.captions.settings import caption_prompt, check_captions
from triptych.audio.captions.stage import (
    JUDGED,
    Item,
    YieldTooLow,
    published_captions,
    read_published,
)
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_LOG", "debug")


@pytest.fixture
def server():
    with serving() as server:
        yield server


@pytest.fixture
def ask(tmp_path, server):
    """A function that has new captions written, here, for one caption of each of so many clips."""

    def of(clips, stop=lambda: None, **changes):
        tables(tmp_path, captions=1, development=clips)
        run(tmp_path, stop, base_url=server.url, **changes)

    return of


def tables(folder: Path, captions: int = 2, **splits: int) -> list[tuple[str, int, str]]:
    """clips.csv and captions.csv with so many clips a split; (clip, position, caption)."""
    clips = [
        (f"clotho/{split}/ {n} \u00dcnd.wav", split, n)
        for split, count in splits.items()
        for n in range(count)
    ]
    rows = [
        (clip, position, f"A {split} dog number {n} barks, position {position}.")
        for clip, split, n in clips
        for position in range(captions)
    ]
    table = pd.DataFrame(clips, columns=["clip", "split", "keywords"])
    table["keywords"] = ["" if n % 2 else "dog;traffic;H4n" for n in table["keywords"]]
    table.to_csv(folder / "clips.csv", index=False)
    pd.DataFrame(rows, columns=["clip", "position", "caption"]).to_csv(
        folder / "captions.csv", index=False
    )
    return rows


def read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)


def kept(folder: Path) -> int:
    return sum(map(bool, (folder / "cache" / "answers.jsonl").read_text().splitlines()))


def test_the_prompt_is_the_one_of_the_authors_code_byte_for_byte():
    caption = "A person is making noise by tapping their fingernails on a solid surface."
    prompt = caption_prompt(caption, ["nails", "metal", "tapping"], 5)
    # pragma: allowlist nextline secret
    digest = "379c0378434306373c2a6280911dbffadead27ad7bf958ecbaec0da1b0196475"
    assert hashlib.sha256(prompt.encode()).hexdigest() == digest
    assert caption_prompt("Rain falls.", [], 5).startswith("Rephrase the following audio descr")


def test_five_captions_for_each_caption_of_the_chosen_splits_are_asked_for_once(tmp_path, server):
    rows = tables(tmp_path, development=3, validation=2, evaluation=1)
    wanted = [row for row in rows if "/validation/" not in row[0]]
    parameters = {"temperature": 0.3, "max_completion_tokens": None}
    for cached in (0, 8):
        splits = ("development", "evaluation")
        run(tmp_path, splits=splits, base_url=server.url, parameters=parameters)
        assert len(server.prompts) == len(wanted) == 8
        table = read(tmp_path, "variations")
        assert list(table.itertuples(index=False, name=None)) == [
            (clip, str(at), str(number), caption)
            for clip, at, _ in wanted
            for number, caption in enumerate(GOOD, start=1)
        ]
        assert read(tmp_path, "rejected").empty
        assert dict(read(tmp_path, "usage").iloc[0]) == {
            **{"backend": "openai", "model": "gpt", "requests": str(8 - cached)},
            **{"cached": str(cached), "repaired": "0", "rejected": "0", "input_tokens": "1120"},
            **{"output_tokens": "760", "cost": "0.0017", "currency": "USD", "captions": "40"},
        }
    assert {prompt: 1 for prompt in server.prompts} == Counter(server.prompts)
    for body in server.bodies:
        [message] = body.pop("messages")
        assert message["role"] == "user"
        assert body == {"model": "gpt-3.5-turbo", "temperature": 0.3}
    assert server.authorisations == {f"Bearer {KEY}"}
    example = json.loads((tmp_path / "example.json").read_text(encoding="utf-8"))
    assert (example["caption"], example["keywords"]) == (rows[0][2], ["dog", "traffic", "H4n"])
    assert example["response"] == GOOD and example["instruction"].endswith("with its index.")


def test_a_bad_answer_is_repaired_by_one_more_request_or_listed(tmp_path, server, ask):
    def answer(prompt, n):
        if "number 1" in prompt and n == 1:
            return completion(numbered([*GOOD[:2], "The bark is heard."]))
        return completion(numbered(GOOD[:3] if "number 2" in prompt else GOOD))

    server.answer = answer
    ask(3)
    assert len(server.prompts) == 5
    assert sorted(read(tmp_path, "variations").groupby("clip").size()) == [3, 5, 5]
    first = read(tmp_path, "unfiltered")
    assert sorted(first.groupby("clip").size()) == [3, 3, 5]
    assert "The bark is heard." in list(first["caption"])
    problems = ["3 of 5 captions", *["repeats the caption or another"] * 3]
    assert list(read(tmp_path, "rejected")["problem"]) == problems
    assert read(tmp_path, "usage").iloc[0]["repaired"] == "1"


REFUSED = {
    "deepseek": error(400, "Content Exists Risk", "invalid_request_error"),
    "openrouter": error(403, 'x requires moderation. Your input was flagged for "violence".', 403),
    "litellm": error(500, "litellm: ContentPolicyViolationError", "500"),
    "under 200": Reply(200, {"error": {"message": "blocked", "code": "PROHIBITED_CONTENT"}}),
    "azure": completion(None, "content_filter"),
    "no choices": Reply(200, {"choices": [], "prompt_filter_results": [{"filtered": True}]}),
    "never heard of": error(400, "computer says no", "E4711"),
}


@pytest.mark.parametrize("refusal", REFUSED.values(), ids=REFUSED)
def test_a_flagged_caption_is_left_out_and_listed_whatever_the_service_calls_it(
    tmp_path, server, ask, refusal
):
    good = completion(numbered(GOOD))
    server.answer = lambda prompt, n: refusal if "number 2" in prompt else good
    ask(4, attempts=2)
    assert len(server.prompts) in (4, 5)
    assert set(read(tmp_path, "variations").groupby("clip").size()) == {5}
    [row] = read(tmp_path, "rejected").to_dict("records")
    assert " 2 " in row["clip"] and row["problem"].startswith("0 of 5 captions (no answer: ")


WHOLE = json.dumps(completion(numbered(GOOD)).body)
PASSING = {
    "429": Reply(429, "", {"Retry-After": "1.5"}),
    "silence": Reply(wait=0.6),
    "400 overloaded": error(400, "The model is overloaded. Please try again later."),
    "404 upstream": Reply(404, "no healthy upstream"),
    "error under 200": Reply(200, {"error": {"message": "Provider returned error", "code": 502}}),
    "no choices": Reply(200, {"choices": None}),
    "choice with error": completion("", "error"),
    "cut": Reply(200, WHOLE[:150]),
    "blanks": Reply(200, "\n\n   \n"),
    "thoughts alone": completion(None, reasoning_content=numbered(GOOD)),
    "500": error(500, "trouble"),
    "firewall": Reply(403, "<html>Just a moment...</html>"),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_a_fault_that_passes_is_tried_again_whatever_its_status(tmp_path, server, ask, fault):
    server.faults = [fault]
    began = time.monotonic()
    ask(1, timeout_seconds=0.4)
    assert len(server.prompts) == 2
    assert time.monotonic() - began >= float(fault.headers.get("Retry-After", 0))
    assert list(read(tmp_path, "variations")["caption"]) == GOOD


TROUBLES = {
    "429": error(429, "Rate limit exceeded: free-models-per-min."),
    "inner 429": Reply(200, {"error": {"message": "slow down", "code": 429}}),
    "silence": Reply(wait=0.6),
}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_services_trouble_is_no_prompts_fault_while_others_are_answered(
    tmp_path, server, ask, trouble
):
    good = completion(numbered(GOOD))
    server.answer = lambda prompt, n: trouble if "number 2 b" in prompt and n <= 4 else good
    server.delay = 0.15  # so that others are answered until the end
    ask(24, attempts=3, open_requests=2, timeout_seconds=0.4)
    assert len(read(tmp_path, "variations")) == 120 and read(tmp_path, "rejected").empty


@pytest.mark.parametrize("late", [Reply(wait=0.6), error(504, "upstream timed out")])
def test_a_prompt_that_is_never_answered_in_time_is_left_out_at_last(tmp_path, server, ask, late):
    good, clips = completion(numbered(GOOD)), 6
    server.answer = lambda prompt, n: late if "number 0 b" in prompt else good
    ask(clips + 1, attempts=2, open_requests=2, timeout_seconds=0.3)
    assert len(read(tmp_path, "variations")) == 5 * clips
    [row] = read(tmp_path, "rejected").to_dict("records")
    assert " 0 " in row["clip"] and "time" in row["problem"]


def test_an_answer_is_utf_8_whatever_character_set_it_declares(tmp_path, server, ask):
    lines = [line.replace("busy", "caf\u00e9's") for line in GOOD]
    reply = completion(numbered(lines))
    body = json.dumps(reply.body, ensure_ascii=False)
    server.answer = lambda prompt, n: Reply(
        200, body, {"Content-Type": "text/plain; charset=cp1252"}
    )
    ask(1)
    assert "caf\u00e9's" in read(tmp_path, "variations")["caption"][0]


def test_a_limit_closes_one_gate_for_all_threads_and_costs_no_caption(tmp_path, server, ask):
    """Four requests in any half second."""
    times: list[float] = []
    refused = []

    def answer(prompt, n):
        now = time.monotonic()
        if sum(now - 0.5 < moment for moment in times) >= 4:
            refused.append(now)
            return error(429, "Rate limit exceeded")
        times.append(now)
        return completion(numbered(GOOD))

    server.answer = answer
    ask(24, attempts=4, open_requests=8)
    assert len(read(tmp_path, "variations")) == 5 * 24 and read(tmp_path, "rejected").empty
    assert len(refused) < 80


def test_an_answer_without_text_is_kept_for_no_later_run(tmp_path, server, ask):
    good = completion(numbered(GOOD))
    server.answer = lambda prompt, n: completion("") if "number 2" in prompt else good
    ask(4, attempts=2)
    [row] = read(tmp_path, "rejected").to_dict("records")
    assert "without text" in row["problem"] and kept(tmp_path) == 3
    server.answer = lambda prompt, n: good
    ask(4, attempts=2)
    assert len(read(tmp_path, "variations")) == 20 and len(server.prompts) == 6


def test_answers_without_text_count_in_the_budget(tmp_path, server, ask):
    a_cent_a_token = {"input": 0.0, "output": 10_000.0, "currency": "USD"}
    server.answer = lambda prompt, n: completion("", tokens=100)
    with pytest.raises(BudgetReached):
        ask(1, prices=a_cent_a_token, parameters={"max_tokens": 100}, budget=2.5, attempts=9)
    assert len(server.prompts) <= 3


def test_the_model_that_answered_is_recorded_and_another_one_told_once(
    tmp_path, server, ask, caplog
):
    ask(3, model="gpt-large")
    assert read(tmp_path, "usage").iloc[0]["model"] == "gpt"
    assert caplog.text.count("gpt-large was asked, and gpt answered") == 1
    caplog.clear()
    ask(3, model="GP")  # a name without its version
    assert "was asked" not in caplog.text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:30 GMT"}, 0),
        ({"retry-after": "soon"}, 0),
        ({}, 0),
    ],
)
def test_a_wait_is_read_in_every_form_that_services_have(headers, seconds):
    now = 1_767_225_600.0  # 2026-01-01
    assert stated_wait(headers, now) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("fault", "requests", "says"),
    [
        (error(401, "Incorrect key", "invalid_api_key"), 1, "401: .*Incorrect key"),
        (error(429, "You exceeded it", "insufficient_quota"), 1, "insufficient_quota"),
        (error(404, "The model `gpt` does not exist", "model_not_found"), 1, "model_not_found"),
        (
            error(400, "Unsupported parameter: 'temperature'"),
            GIVE_UP_AFTER,
            "Unsupported parameter",
        ),
        (error(502, "bad gateway"), 2, "502: .*bad gateway"),
        (Reply(200, "<html><b>Gateway</b> busy</html>"), 2, "Gateway busy"),
        (completion("", "stop"), 2 * GIVE_UP_AFTER, r"without text \(finish reason stop\)"),
        (completion(None, "length"), GIVE_UP_AFTER, r"length\).*max_completion_tokens"),
        (Reply(wait=0.5), 1 + GIVE_UP_AFTER, "in time"),
        (Reply(429, "", {"Retry-After": "600"}), 1, r"after 600 seconds \(Retry-After"),
    ],
)
def test_a_fault_that_stays_is_told_with_the_servers_reason_and_what_was_paid_is_kept(
    tmp_path, server, ask, fault, requests, says
):
    answers = iter([completion(numbered(GOOD))] * 3)
    server.answer = lambda prompt, n: next(answers, fault)
    with pytest.raises(ServiceError, match=rf"(?s){says}.* requests remain"):
        ask(20, open_requests=1, attempts=2, timeout_seconds=0.3)
    # One more may be open when the first has failed.
    assert 3 + requests <= len(server.prompts) <= 3 + requests + 2 and kept(tmp_path) == 3


def test_an_answer_in_parts_is_read_without_its_thoughts(tmp_path, server, ask):
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": numbered(GOOD)}]
    server.answer = lambda prompt, n: completion(parts)
    ask(1)
    assert list(read(tmp_path, "variations")["caption"]) == GOOD


def test_no_more_requests_are_open_than_allowed_and_a_stop_finishes_them(tmp_path, server, ask):
    server.delay = 0.2
    with pytest.raises(Stopped):
        ask(40, lambda: "SIGTERM" if len(server.prompts) > 4 else None, open_requests=3)
    assert server.most_open == 3 and len(server.prompts) <= 8
    assert kept(tmp_path) == len(server.prompts)


def test_the_budget_is_never_exceeded_even_by_the_longest_answers(tmp_path, server, ask):
    a_cent_a_token = {"input": 0.0, "output": 10_000.0, "currency": "USD"}
    server.answer = lambda prompt, n: completion(numbered(GOOD), tokens=100)
    for _ in range(2):  # starting again is no new budget
        with pytest.raises(BudgetReached, match=r"audio\.captions\.budget.* 15 requests remain"):
            ask(20, prices=a_cent_a_token, parameters={"max_tokens": 100}, budget=5.5)
        assert len(server.prompts) == kept(tmp_path) == 5


def test_a_disk_that_is_full_ends_the_run(server, ask, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Asker, "_keep", full)
    with pytest.raises(OSError, match="No space left"):
        ask(50)
    assert len(server.prompts) <= 8


def test_the_key_is_in_no_message_log_or_file(tmp_path, server, ask, caplog, capsys):
    caplog.set_level(0)
    server.answer = lambda prompt, n: completion(f"1. The key is {KEY}.")
    ask(2, least_yield=0)
    told = f"Trouble with {KEY}; you sent Authorization: Bearer {KEY}"
    server.faults = [error(503, told, KEY), error(401, told, KEY)]
    with pytest.raises(ServiceError) as caught:
        ask(2, model="other", open_requests=1)
    out = capsys.readouterr()
    assert "[key]" in str(caught.value)
    assert KEY not in "".join([str(caught.value), caplog.text, out.out, out.err])
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY not in path.read_text()


@pytest.mark.parametrize("key", [" ", "sk-cut\u2026short"])
def test_a_key_that_is_none_is_refused_and_not_shown(monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        key_from_environment()
    assert not key.strip() or key not in str(caught.value)


def test_half_a_line_of_a_killed_run_spoils_no_answer_of_another_process(tmp_path, server, ask):
    for model in ("one", "two", "one", "two"):
        ask(4, model=model)
        with (tmp_path / "cache" / "answers.jsonl").open("a") as stream:
            stream.write('\n{"request": {"model": "gp')
    assert len(server.prompts) == 8


def test_a_useless_model_ends_the_stage_before_much_is_paid(tmp_path, server, ask):
    refusal = completion("I'm sorry, but I can't help with that.")
    server.answer, server.delay = lambda prompt, n: refusal, 0.01
    for _ in range(2):  # what was paid for is not paid again
        with pytest.raises(YieldTooLow, match=r"0 of 100 captions .*50%.*no caption"):
            ask(60)
        assert JUDGED <= len(server.prompts) <= JUDGED + 2 * 4
    assert not (tmp_path / "variations.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_and_started_again_pays_once(tmp_path, server, number):
    tables(tmp_path, development=60)
    command = [sys.executable, str(HERE / "caption_job.py"), str(tmp_path), server.url]
    library = str(HERE.parents[1] / "workflow_scripts")
    environment = {**os.environ, "PYTHONPATH": library, "OPENAI_API_KEY": KEY}
    server.delay = 0.03
    first = subprocess.Popen(command, env=environment)
    while len(server.bodies) < 30:
        time.sleep(0.005)
    first.send_signal(number)
    code = first.wait()
    stored = {
        json.loads(line)["request"]["prompt"]
        for line in (tmp_path / "cache" / "answers.jsonl").read_text().splitlines()
        if line.endswith("}}")
    }
    subprocess.run(command, env=environment, check=True)
    assert 20 < len(stored) < 120
    counts = Counter(server.prompts)
    assert len(counts) == 120
    twice = {prompt for prompt, count in counts.items() if count > 1}
    assert not twice & stored
    assert len(server.prompts) <= 120 + 4  # but for what was open when the process died
    if number == signal.SIGTERM:
        assert code == 75  # stopped on request, after every open request was answered
        assert not twice
    assert len(read(tmp_path, "variations")) == 600


def test_templates_are_refused_for_recordings_before_a_job_starts():
    with pytest.raises(ValueError, match=r"audio\.captions\.backend .*source is download"):
        check_captions({**TABLE, "backend": "template"}, "download")


HEARD = "The sound of nails tapping on a metal surface is heard."
RECORD = {
    "path": "/share/clotho_v2/development/Rain 1.wav",
    "caption": "Rain is falling on a roof.",
    "variations": [HEARD, *GOOD[:3]],
}


def published(folder, *records):
    (folder / "gpt.json").write_text(json.dumps(records), encoding="utf-8")
    return folder / "gpt.json"


def test_published_captions_are_found_by_file_and_caption_and_held_to_the_rules(tmp_path):
    path = published(tmp_path, {**RECORD, "path": "Rain 2.wav", "variations": ["x"] * 5}, RECORD)
    item = Item("clotho/development/Rain 1.wav", 0, "Rain is falling on a roof", ())
    [written] = published_captions([item], read_published(path), TABLE)
    assert written.variations == tuple(GOOD[:3])
    assert written.rejected == (Rejected("banned word (heard)", HEARD),)
    assert written.unfiltered == (HEARD, *GOOD[:3])


def test_published_captions_never_stop_the_study_and_what_is_left_out_is_told(
    tmp_path, caplog, monkeypatch
):
    """The authors' file has captions of one split of three, and most of them may break a rule."""
    monkeypatch.delenv("OPENAI_API_KEY")
    caplog.set_level(logging.INFO)
    rows = tables(tmp_path, captions=1, development=7, validation=3, evaluation=2)
    records = [
        {"path": clip, "caption": caption, "variations": [HEARD] * 4 + GOOD[:1]}
        for clip, _, caption in rows[:7]
    ]
    path = published(tmp_path, *records)
    splits = ("development", "validation", "evaluation")
    run(tmp_path, splits=splits, backend="authors", published=path)
    assert len(read(tmp_path, "variations")) == 7
    assert len(read(tmp_path, "unfiltered")) == 35  # as published: as_published trains on these
    assert Counter(read(tmp_path, "rejected")["problem"]) == {
        "banned word (heard)": 28,
        "not among the published captions": 5,
    }
    assert "5 of 12 captions are not among the published" in caplog.text
    assert "7 of 35 new captions are good (28 banned word)" in caplog.text
    usage = read(tmp_path, "usage").iloc[0]
    assert (usage["backend"], usage["model"]) == ("authors", "gpt-3.5-turbo")
    example = json.loads((tmp_path / "example.json").read_text(encoding="utf-8"))
    counts = [example[name] for name in ("asked", "without", "new", "good")]
    assert counts == [12, 5, 35, 7]  # as the page tells them


def test_a_file_of_another_data_set_is_refused(tmp_path):
    items = [Item(f"clotho/x/{n}.wav", 0, "Rain.", ()) for n in range(3)]
    captions = read_published(published(tmp_path, RECORD))
    with pytest.raises(InputError, match="0 of the 1 captions in the file"):
        published_captions(items, captions, TABLE)


@pytest.mark.parametrize("content", ["[]", '[{"path": "x.wav"}]', "not json\n{"])
def test_a_file_that_is_not_understood_is_refused(tmp_path, content):
    (tmp_path / "gpt.json").write_text(content)
    with pytest.raises(InputError, match="variations"):
        read_published(tmp_path / "gpt.json")
