"""Asking a server: what is sent, retried, kept, paid, stopped, and never shown."""

import pytest
from caption_job import TABLE
from chat_server import GOOD, KEY, error, numbered, serving, silence

from triptych.audio.captions.service import (
    Answer,
    AnswerCache,
    Asker,
    BudgetReached,
    Request,
    ServiceError,
    key_from_environment,
)
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped

FREE = {"input": 0.0, "output": 0.0, "currency": "USD"}
DEAR = {"input": 0.0, "output": 10_000.0, "currency": "USD"}  # a cent a token


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_LOG", "debug")


def requests(count, **parameters):
    return [Request("gpt-3.5-turbo", parameters, f"prompt {number}") for number in range(count)]


def asker(server, folder, stop=lambda: None, **changes):
    table = {**TABLE, "base_url": server.url, "cache": str(folder), "prices": FREE, **changes}
    return Asker(table, stop)


def ask(server, asked, folder, **changes):
    made = asker(server, folder, **changes)
    made.ask(asked)
    return made.answers


def kept(folder):
    return sum(map(bool, (folder / "answers.jsonl").read_text().splitlines()))


def test_one_user_message_and_the_parameters_are_sent(tmp_path):
    with serving() as server:
        [answer] = ask(server, requests(1, temperature=0.3, min_p=0.1), tmp_path).values()
    [body] = server.bodies
    assert body == {
        "model": "gpt-3.5-turbo",
        "messages": [{"role": "user", "content": "prompt 0"}],
        **{"temperature": 0.3, "min_p": 0.1},
    }
    assert server.authorisations == {f"Bearer {KEY}"}
    assert answer == Answer(numbered(GOOD), "stop", 140, 95, server.url)


@pytest.mark.parametrize("fault", [error(429), error(503), silence], ids=["429", "503", "silence"])
def test_a_failure_that_passes_is_tried_again(tmp_path, fault):
    with serving(faults=[fault]) as server:
        assert len(ask(server, requests(1), tmp_path, timeout_seconds=0.3)) == 1
    assert len(server.prompts) == 2


@pytest.mark.parametrize(
    ("fault", "status"),
    [(error(401, code="invalid_api_key"), "401 \\(invalid_api_key"), (error(500), "500")],
)
def test_an_error_that_stays_stops_and_keeps_what_was_paid(tmp_path, fault, status):
    with serving() as server:
        made = asker(server, tmp_path, open_requests=1, attempts=1)
        made.ask(requests(3))
        server.faults += [fault] * 2
        with pytest.raises(ServiceError, match=rf"answered {status}.* 3 requests remain"):
            made.ask(requests(6))
    assert kept(tmp_path) == 3


def test_what_is_no_answer_is_asked_for_again_and_no_more_requests_are_open(tmp_path):
    nothing = lambda handler: handler.send(200, {"choices": []})  # noqa: E731
    with serving(delay=0.1, faults=[nothing] * 2) as server:
        assert len(ask(server, requests(12), tmp_path, open_requests=3)) == 12
    assert server.most_open == 3 and len(server.prompts) == 14
    with serving(faults=[nothing] * 9) as server, pytest.raises(ServiceError, match="no answer"):
        ask(server, requests(1), tmp_path / "other", attempts=2)
    assert len(server.prompts) == 2


def test_the_budget_is_never_exceeded_even_by_the_longest_answers(tmp_path):
    asked = requests(20, max_tokens=100)
    with serving(tokens=100) as server:
        made = asker(server, tmp_path, prices=DEAR, budget=5.5)
        with pytest.raises(BudgetReached, match=r"audio\.captions\.budget.* 15 requests remain"):
            made.ask(asked)
        assert made.spent == 5.0 and kept(tmp_path) == 5
        again = asker(server, tmp_path, prices=DEAR, budget=5.5)
        with pytest.raises(BudgetReached):  # starting again is no new budget
            again.ask(asked)
    assert len(server.prompts) == 5


def test_a_request_to_stop_finishes_what_is_open(tmp_path):
    with serving(delay=0.3) as server:
        made = asker(server, tmp_path, lambda: "SIGTERM" if server.prompts else None)
        with pytest.raises(Stopped):
            made.ask(requests(50))
    assert 0 < len(server.prompts) <= 4
    assert kept(tmp_path) == len(server.prompts)


def test_a_disk_that_is_full_ends_the_run(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(AnswerCache, "put", full)
    with serving() as server, pytest.raises(OSError, match="No space left"):
        ask(server, requests(50), tmp_path)
    assert len(server.prompts) <= 8


def test_the_key_is_in_no_message_log_or_file(tmp_path, caplog, capsys):
    caplog.set_level(0)
    with serving(answer=lambda prompt: f"1. The key is {KEY}.") as server:
        [answer] = ask(server, requests(1), tmp_path).values()
        assert "[key]" in answer.text
        server.faults.append(error(401, code=KEY))
        with pytest.raises(ServiceError) as caught:
            ask(server, requests(2), tmp_path)
    out = capsys.readouterr()
    assert KEY not in "".join([str(caught.value), caplog.text, out.out, out.err])
    for path in tmp_path.rglob("*"):
        assert KEY not in path.read_text()


@pytest.mark.parametrize("key", [" ", "sk-cut\u2026short"])
def test_a_key_that_is_none_is_refused_and_not_shown(monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        key_from_environment()
    assert not key.strip() or key not in str(caught.value)


def test_half_a_line_of_a_killed_run_spoils_no_answer_of_another_process(tmp_path):
    answer = Answer("1. A dog.", "stop", 3, 4, "http://a.example/v1")
    one, two = requests(2, a=1, b=2)
    AnswerCache(tmp_path).put(one, answer)
    with (tmp_path / "answers.jsonl").open("a") as stream:
        stream.write('\n{"request": {"model": "gp')
    AnswerCache(tmp_path).put(two, answer)
    cache = AnswerCache(tmp_path)
    assert cache.get(Request(one.model, {"b": 2, "a": 1}, one.prompt)) == cache.get(two) == answer
    assert cache.get(Request(one.model, {"a": 1}, one.prompt)) is None
