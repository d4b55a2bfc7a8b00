"""The cache of answers, and the account that keeps to a budget."""

import json
import os
import threading
from pathlib import Path

import pytest

from triptych.audio.captions.cache import Answer, AnswerCache, Request
from triptych.audio.captions.cost import Account, Prices, longest_answer

REQUEST = Request("gpt-3.5-turbo", {"temperature": 1.0}, "Say something.")
ANSWER = Answer("1. Some “thing” with ümlauts.", "stop", 140, 95, "http://127.0.0.1/v1")
PRICES = Prices(0.5, 1.5, "USD")


def test_an_answer_is_found_again_by_another_process(tmp_path):
    AnswerCache(tmp_path).put(REQUEST, ANSWER)
    assert AnswerCache(tmp_path).get(REQUEST) == ANSWER


@pytest.mark.parametrize(
    "other",
    [
        Request("gpt-4", {"temperature": 1.0}, "Say something."),
        Request("gpt-3.5-turbo", {"temperature": 0.9}, "Say something."),
        Request("gpt-3.5-turbo", {}, "Say something."),
        Request("gpt-3.5-turbo", {"temperature": 1.0}, "Say something. "),
        Request("gpt-3.5-turbo", {"temperature": 1.0}, "Say something.", 1),
    ],
)
def test_model_parameters_prompt_and_attempt_make_the_key(tmp_path, other):
    AnswerCache(tmp_path).put(REQUEST, ANSWER)
    assert other.key != REQUEST.key
    assert AnswerCache(tmp_path).get(other) is None


def test_the_order_of_parameters_does_not_matter():
    one = Request("m", {"temperature": 1, "top_p": 1}, "p")
    assert one.key == Request("m", {"top_p": 1, "temperature": 1}, "p").key
    assert len(one.key) == 64


@pytest.mark.parametrize("content", ["", "{", "null", '{"answer": {}}', '{"request": 1}'])
def test_a_damaged_file_counts_as_absent_and_is_replaced(tmp_path, content):
    cache = AnswerCache(tmp_path)
    cache.put(REQUEST, ANSWER)
    [file] = tmp_path.rglob("*.json")
    file.write_text(content)
    assert cache.get(REQUEST) is None
    cache.put(REQUEST, ANSWER)
    assert cache.get(REQUEST) == ANSWER


def test_a_write_that_fails_leaves_the_earlier_answer_and_no_litter(tmp_path, monkeypatch):
    cache = AnswerCache(tmp_path)
    cache.put(REQUEST, ANSWER)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        cache.put(REQUEST, Answer("other", "stop", 1, 1, ""))
    assert cache.get(REQUEST) == ANSWER
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_two_jobs_may_write_the_same_answers_at_once(tmp_path):
    requests = [Request("m", {}, f"prompt {number % 10}") for number in range(60)]
    problems: list[Exception] = []

    def work():
        try:
            for request in requests:
                AnswerCache(tmp_path).put(request, ANSWER)
                assert AnswerCache(tmp_path).get(request) == ANSWER
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(list(tmp_path.rglob("*.json"))) == 10
    assert not list(tmp_path.rglob(".partial*"))


def test_a_record_tells_what_was_asked_and_who_answered(tmp_path):
    AnswerCache(tmp_path).put(REQUEST, ANSWER)
    [file] = Path(tmp_path).rglob("*.json")
    assert file.name == f"{REQUEST.key}.json"
    assert file.parent.name == REQUEST.key[:2]
    record = json.loads(file.read_text(encoding="utf-8"))
    assert record["request"]["prompt"] == "Say something."
    assert record["answer"]["server"] == "http://127.0.0.1/v1"


def test_a_price_list_is_for_a_million_tokens():
    assert PRICES.of(1_000_000, 0) == pytest.approx(0.5)
    assert PRICES.of(0, 2_000_000) == pytest.approx(3.0)


def test_a_reservation_holds_the_worst_case_until_the_answer_comes():
    request = Request("m", {"max_tokens": 100}, "x" * 92)  # at most 92 + 8 tokens in, 100 out
    worst = (100 * 0.5 + 100 * 1.5) / 1e6
    account = Account(PRICES, budget=2.5 * worst, captions=5)
    others = [Request("m", {"max_tokens": 100}, "y" * 91 + str(number)) for number in range(3)]
    assert account.worst(request) == pytest.approx(worst)
    assert account.reserve(request)
    assert account.reserve(others[0])
    assert not account.reserve(others[1])  # 3 worst cases do not fit
    account.charge(request, Answer("", "stop", 10, 10, ""))
    assert account.spent == pytest.approx(20e-6)
    assert account.reserve(others[1])  # what the answer did not use is free again
    account.release(others[0])
    assert account.open_requests == 1


def test_the_estimate_learns_from_the_answers():
    request = Request("m", {}, "x" * 400)
    account = Account(PRICES, None, captions=5)
    before = account.estimate(request)
    assert before == pytest.approx((108 * 0.5 + 95 * 1.5) / 1e6)  # 400 / 4 + 8; 5 x 19
    account.credit(request, Answer("", "stop", 216, 190, ""))
    assert account.estimate(request) == pytest.approx(2 * before)


def test_a_request_that_broke_off_counts_against_the_budget_but_not_as_spent():
    request = Request("m", {"max_tokens": 95}, "x" * 400)
    account = Account(PRICES, account_budget := 5e-4, captions=5)
    for _ in range(2):
        account.broke_off(request)
    assert account.spent == 0.0
    assert account.perhaps == pytest.approx(2 * account.estimate(request))
    assert account.perhaps + account.worst(request) > account_budget
    assert not account.reserve(request)


@pytest.mark.parametrize(
    ("parameters", "longest"),
    [({}, 400), ({"max_tokens": 50}, 50), ({"max_completion_tokens": 60, "max_tokens": 70}, 60)],
)
def test_the_longest_answer_is_what_the_parameters_allow(parameters, longest):
    assert longest_answer(parameters) == longest
