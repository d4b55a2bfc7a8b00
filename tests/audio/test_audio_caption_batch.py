"""The Batch API: handed in once, taken up again, failed lines handed in again."""

import json

import pytest
from chat_server import GOOD, KEY, ChatServer, batch_line, numbered, serving

from triptych.audio.captions.asking import ask
from triptych.audio.captions.batch import Batches
from triptych.audio.captions.cache import AnswerCache, Request
from triptych.audio.captions.client import ServiceSettings
from triptych.audio.captions.cost import Account, BudgetReached, Prices
from triptych.audio.captions.troubles import ServiceError
from triptych.core.stopping import Stopped

PRICES = Prices(0.25, 0.75, "USD")


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def requests(count: int, first: int = 0) -> list[Request]:
    return [Request("gpt-3.5-turbo", {"max_tokens": 150}, f"prompt {n}")
            for n in range(first, first + count)]  # fmt: skip


def ask_all(server: ChatServer, asked, folder, stop=lambda: None, budget=None, **changes):
    service = ServiceSettings(
        "gpt-3.5-turbo", server.url, requests_per_minute=1e6, attempts=3, backoff_seconds=0.01
    )
    batches = Batches(**{"poll_seconds": 0.01, **changes})
    account = Account(PRICES, budget, 5)
    return ask(asked, service, AnswerCache(folder), account, stop, batches)


def finish(server: ChatServer, good: dict[str, str], bad: list[str] = (), status="completed"):
    """How a batch ends: `good` answers by key in the output file, `bad` lines in the error file."""
    number = len(server.files)
    server.files[f"out-{number}"] = "\n".join(batch_line(k, text) for k, text in good.items())
    server.files[f"err-{number}"] = "\n".join(bad)
    return {
        "status": status,
        "output_file_id": f"out-{number}" if good else None,
        "error_file_id": f"err-{number}" if bad else None,
    }


def all_good(server: ChatServer):
    def script(lines):
        assert all(line["url"] == "/v1/chat/completions" for line in lines)
        return finish(server, {line["custom_id"]: numbered(GOOD) for line in lines})

    return script


def test_a_batch_is_handed_in_waited_for_and_kept(tmp_path):
    asked = requests(5)
    with serving() as server:
        server.batch_script = all_good(server)
        answers = ask_all(server, asked, tmp_path)
    assert set(answers) == {request.key for request in asked}
    [upload] = [text for name, text in server.files.items() if name.startswith("file-")]
    lines = [json.loads(line) for line in upload.splitlines()]
    assert [line["custom_id"] for line in lines] == [request.key for request in asked]
    assert lines[0]["body"] == {
        "model": "gpt-3.5-turbo",
        "messages": [{"role": "user", "content": "prompt 0"}],
        "max_tokens": 150,
    }
    assert all(AnswerCache(tmp_path).get(request) for request in asked)
    assert not list((tmp_path / "batches").iterdir())


def test_lines_that_failed_are_handed_in_again_alone(tmp_path):
    asked = requests(6)

    def script(lines):
        keys = [line["custom_id"] for line in lines]
        if len(server.batches) > 1:
            return finish(server, {key: "1. Second time." for key in keys})
        bad = [
            batch_line(keys[0], None, 500, "server_error"),
            batch_line(keys[1], None, 429, "rate_limit_exceeded"),
            '{"custom_id": "nobody\'s"}',
            "{ broken",
        ]
        return finish(server, {key: "1. First time." for key in keys[2:]}, bad)

    with serving() as server:
        server.batch_script = script
        answers = ask_all(server, asked, tmp_path)
    texts = [answers[request.key].text for request in asked]
    assert texts == ["1. Second time."] * 2 + ["1. First time."] * 4
    assert len(server.prompts) == 6 + 2


def test_of_an_expired_batch_what_was_done_is_kept(tmp_path):
    asked = requests(6)

    def script(lines):
        keys = [line["custom_id"] for line in lines]
        if len(server.batches) > 1:
            return finish(server, {key: "late" for key in keys})
        expired = [json.dumps({"custom_id": key, "response": None,
                               "error": {"code": "batch_expired", "message": "late"}})
                   for key in keys[4:]]  # fmt: skip
        return finish(server, {key: "in time" for key in keys[:4]}, expired, "expired")

    with serving() as server:
        server.batch_script = script
        answers = ask_all(server, asked, tmp_path)
    assert [answers[request.key].text for request in asked] == ["in time"] * 4 + ["late"] * 2
    assert len(server.prompts) == 6 + 2


def test_a_killed_run_takes_its_batch_up_again(tmp_path):
    asked = requests(5)
    with serving() as server:  # the batch stays in progress
        with pytest.raises(Stopped):
            ask_all(server, asked, tmp_path, lambda: "SIGTERM" if server.polls >= 2 else None)
        server.batches[0].update(finish(server, {each.key: "1. x" for each in asked}))
        answers = ask_all(server, asked, tmp_path)
    assert len(answers) == 5
    assert len(server.batches) == 1
    assert len(server.prompts) == 5


def test_a_kill_between_creating_and_writing_down_pays_once(tmp_path, monkeypatch):
    from triptych.audio.captions import batch as module

    asked, saved, save = requests(3), [], module._save

    def killed_at_the_second(state):
        saved.append(state)
        if len(saved) == 2:  # the batch is created, its id not on the disk yet
            raise KeyboardInterrupt
        save(state)

    with serving() as server:
        monkeypatch.setattr(module, "_save", killed_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            ask_all(server, asked, tmp_path)
        monkeypatch.setattr(module, "_save", save)
        server.batches[0].update(finish(server, {each.key: "1. x" for each in asked}))
        answers = ask_all(server, asked, tmp_path)
    assert len(answers) == 3
    assert len(server.batches) == 1


def test_after_a_change_of_the_split_answers_of_the_old_batch_are_kept_all_the_same(tmp_path):
    old, new = requests(4), requests(4, first=2)
    with serving() as server:
        with pytest.raises(Stopped):
            ask_all(server, old, tmp_path, lambda: "SIGTERM" if server.polls else None)
        server.batches[0].update(finish(server, {each.key: "1. x" for each in old}))
        server.batch_script = all_good(server)
        ask_all(server, new, tmp_path)
        assert len(server.prompts) == 4 + 2
        assert all(AnswerCache(tmp_path).get(request) for request in (*old, *new))


def test_a_batch_that_is_refused_as_a_whole_says_why(tmp_path):
    def script(lines):
        data = [{"code": "model_not_found", "message": f"no such model, {KEY}"}]
        return {"status": "failed", "errors": {"object": "list", "data": data}}

    with serving() as server:
        server.batch_script = script
        with pytest.raises(ServiceError, match="does not know the model") as caught:
            ask_all(server, requests(2), tmp_path)
    assert KEY not in str(caught.value)
    assert not list((tmp_path / "batches").iterdir())


def test_an_account_without_credit_stops_and_keeps_what_came(tmp_path):
    asked = requests(3)

    def script(lines):
        keys = [line["custom_id"] for line in lines]
        bad = [batch_line(key, None, 429, "insufficient_quota") for key in keys[1:]]
        return finish(server, {keys[0]: "1. paid"}, bad)

    with serving() as server:
        server.batch_script = script
        with pytest.raises(ServiceError, match=r"no credit left.*1 of 3 requests"):
            ask_all(server, asked, tmp_path)
    assert AnswerCache(tmp_path).get(asked[0]) is not None


def test_lines_that_always_fail_end_the_run(tmp_path):
    def script(lines):
        return finish(server, {}, [batch_line(each["custom_id"], None, 500) for each in lines])

    with serving() as server:
        server.batch_script = script
        with pytest.raises(ServiceError, match="2 requests failed in every batch"):
            ask_all(server, requests(2), tmp_path)
    assert len(server.batches) == 1  # a round that brings nothing is the last


def test_only_what_the_budget_allows_is_handed_in(tmp_path):
    asked = requests(10)
    worst = Account(PRICES, None, 5).worst(asked[0])
    with serving() as server:
        server.batch_script = all_good(server)
        with pytest.raises(BudgetReached, match=r"4 of 10 requests.*6 remain"):
            ask_all(server, asked, tmp_path, budget=4.5 * worst)
    assert len(server.prompts) == 4


def test_many_requests_go_in_several_batches(tmp_path):
    with serving() as server:
        server.batch_script = all_good(server)
        answers = ask_all(server, requests(7), tmp_path, most_requests=3)
    assert len(answers) == 7
    assert len(server.batches) == 3


def test_a_batch_at_another_server_is_not_given_up_silently(tmp_path):
    with serving() as server, pytest.raises(Stopped):
        ask_all(server, requests(2), tmp_path, lambda: "SIGTERM" if server.polls else None)
    with serving() as other, pytest.raises(ServiceError, match=r"batch at http://127.0.0.1"):
        ask_all(other, requests(2), tmp_path)


def test_the_key_is_in_no_file_of_a_batch(tmp_path, caplog):
    caplog.set_level("DEBUG")
    with serving() as server:
        with pytest.raises(Stopped):
            ask_all(server, requests(2), tmp_path, lambda: "SIGTERM" if server.polls else None)
        files = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "prompt 1" in files
    assert KEY not in files + caplog.text + "".join(server.files.values())
