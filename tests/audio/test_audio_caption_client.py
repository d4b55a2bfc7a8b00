"""The real client against a server that misbehaves."""

import base64
import logging
import threading
import time
import traceback
from contextlib import contextmanager
from email.utils import formatdate

import pytest
from chat_server import (
    GOOD,
    KEY,
    ChatServer,
    broken_json,
    completion,
    cut,
    error,
    no_choices,
    numbered,
    page,
    serving,
    silence,
)  # fmt: skip

from triptych.audio.captions.cache import AnswerCache, Request
from triptych.audio.captions.client import Service, ServiceSettings
from triptych.audio.captions.cost import Account, BudgetReached, Prices
from triptych.audio.captions.credentials import Credentials, check_address
from triptych.audio.captions.errors import ServiceError
from triptych.audio.captions.requests import ask
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped

FREE = Prices(0.0, 0.0, "USD")


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_LOG", "debug")


def requests(count: int, **parameters) -> list[Request]:
    return [Request("gpt-3.5-turbo", parameters, f"prompt {number}") for number in range(count)]


def settings(server: ChatServer, **changes) -> ServiceSettings:
    values = {
        "base_url": server.url,
        "requests_per_minute": 1e6,
        "open_requests": 4,
        "timeout_seconds": 5.0,
        "attempts": 4,
        "backoff_seconds": 0.01,
    }
    return ServiceSettings("gpt-3.5-turbo", **{**values, **changes})


def ask_all(server, asked, folder, account=None, stop=lambda: None, **changes):
    account = account or Account(FREE, None, 5)
    return ask(asked, settings(server, **changes), AnswerCache(folder), account, stop)


def test_one_user_message_and_nothing_else_is_sent(tmp_path):
    with serving() as server:
        answers = ask_all(server, requests(1), tmp_path)
    assert server.bodies == [
        {"model": "gpt-3.5-turbo", "messages": [{"role": "user", "content": "prompt 0"}]}
    ]
    assert server.authorisations == {f"Bearer {KEY}"}
    [answer] = answers.values()
    assert answer.text == numbered(GOOD)
    assert (answer.input_tokens, answer.output_tokens) == (140, 95)


def test_any_parameter_of_a_compatible_server_is_passed_on(tmp_path):
    with serving() as server:
        ask_all(server, requests(1, temperature=0.3, min_p=0.1), tmp_path)
    assert server.bodies[0]["temperature"] == 0.3
    assert server.bodies[0]["min_p"] == 0.1


@pytest.mark.parametrize(
    "fault",
    [
        error(429), error(500), error(503), error(408), error(409), cut, broken_json, no_choices,
        page,
    ],
    ids=["429", "500", "503", "408", "409", "cut", "broken", "no choices", "page"],
)  # fmt: skip
def test_a_failure_that_passes_is_tried_again(tmp_path, fault):
    with serving(faults=[fault, fault]) as server:
        answers = ask_all(server, requests(1), tmp_path)
    assert len(answers) == 1
    assert len(server.prompts) == 3


def test_a_server_that_does_not_answer_in_time_is_asked_again(tmp_path):
    with serving(faults=[silence(0.5)]) as server:
        answers = ask_all(server, requests(1), tmp_path, timeout_seconds=0.1)
    assert len(answers) == 1
    assert len(server.prompts) == 2


def test_pauses_double_from_try_to_try(tmp_path):
    with serving(faults=[error(500)] * 3) as server:
        ask_all(server, requests(1), tmp_path, backoff_seconds=0.05)
    gaps = [later - earlier for earlier, later in zip(server.times, server.times[1:], strict=False)]
    for gap, wanted in zip(gaps, (0.05, 0.1, 0.2), strict=True):
        assert wanted <= gap < wanted + 1.0


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ({"Retry-After": "0.4"}, 0.4),
        ({"retry-after-ms": "300", "Retry-After": "5"}, 0.3),
    ],
)
def test_the_pause_that_a_server_asks_for_is_kept(tmp_path, headers, least):
    with serving(faults=[error(429, "rate_limit_exceeded", headers)]) as server:
        ask_all(server, requests(6), tmp_path, open_requests=1)
    assert server.times[1] - server.times[0] >= least - 0.01
    assert server.times[1] - server.times[0] < least + 1.5


def test_nobody_asks_while_a_server_wants_a_pause(tmp_path):
    pause = error(429, headers={"Retry-After": "1"})
    with serving(faults=[pause], delay=0.05) as server:
        ask_all(server, requests(40), tmp_path, open_requests=3, requests_per_minute=6000)
    began = server.times[0] + 0.05
    # What was under way when the pause was asked for arrives; half a second later nothing does.
    assert not [when for when in server.times if began + 0.5 < when < began + 0.95]
    assert server.times[-1] >= began + 0.95


def test_a_pause_told_as_a_date_is_kept(tmp_path):
    def in_two_seconds(handler):
        date = formatdate(time.time() + 2, usegmt=True)
        error(429, None, {"Retry-After": date})(handler)

    with serving(faults=[in_two_seconds]) as server:
        ask_all(server, requests(1), tmp_path)
    assert 0.9 <= server.times[1] - server.times[0] < 4  # a date has whole seconds


def test_a_server_that_wants_hours_is_told_of(tmp_path):
    with (
        serving(faults=[error(429, None, {"Retry-After": "7200"})]) as server,
        pytest.raises(ServiceError, match=r"pause of 7200 s.*0 of 1 requests"),
    ):
        ask_all(server, requests(1), tmp_path)


def test_a_server_that_stays_down_ends_the_run(tmp_path):
    with (
        serving(faults=[error(503)] * 99) as server,
        pytest.raises(ServiceError, match=r"answered 503.*4 times in a row"),
    ):
        ask_all(server, requests(1), tmp_path)
    assert len(server.prompts) == 4


FATAL = {
    "wrong key": (error(401, "invalid_api_key"), "does not accept the key"),
    "not allowed": (error(403, "unsupported_country"), "may not use the model gpt-3.5-turbo"),
    "no credit": (error(429, "insufficient_quota"), "no credit left"),
    "no credit by type": (error(429, None, kind="insufficient_quota"), "no credit left"),
    "payment": (error(402), "no credit left"),
    "unknown model": (error(404, "model_not_found"), "does not know the model gpt-3.5-turbo"),
    "bad parameter": (error(400, "unsupported_value"), "audio.captions.parameters"),
}


@pytest.mark.parametrize(("fault", "message"), FATAL.values(), ids=FATAL)
def test_an_error_that_stays_stops_at_once_and_keeps_what_was_paid(tmp_path, fault, message):
    asked = requests(20)
    with serving(delay=0.01) as server:
        ask_all(server, asked[:5], tmp_path)
        server.faults = [fault]
        before = len(server.prompts)
        with pytest.raises(ServiceError, match=message) as caught:
            ask_all(server, asked[5:], tmp_path, open_requests=4)
        assert len(server.prompts) - before <= 8  # the four that were open, and one more each
        paid = len(server.prompts) - 1
        cache = AnswerCache(tmp_path)
        assert sum(cache.get(request) is not None for request in asked) == paid
        assert f"{paid - 5} of 15 requests are answered" in str(caught.value)
        rest = [request for request in asked if cache.get(request) is None]
        ask_all(server, rest, tmp_path)
    assert len(server.prompts) == 20 + 1  # none twice but the failed one


def test_a_prompt_that_the_filter_refuses_is_an_empty_answer(tmp_path):
    with serving(faults=[error(400, "content_filter")]) as server:
        answers = ask_all(server, requests(3), tmp_path, open_requests=1)
    assert [answer.finish_reason for answer in answers.values()] == [
        "content_filter",
        "stop",
        "stop",
    ]
    assert len(server.prompts) == 3


@pytest.mark.parametrize("limit", [1, 6])
def test_no_more_requests_are_open_than_allowed(tmp_path, limit):
    with serving(delay=0.03) as server:
        ask_all(server, requests(18), tmp_path, open_requests=limit)
    assert server.most_open <= limit
    assert limit == 1 or server.most_open > 1


def test_requests_come_no_faster_than_allowed(tmp_path):
    with serving() as server:
        ask_all(server, requests(30), tmp_path, open_requests=8, requests_per_minute=3000)
    gap = 60 / 3000
    took = server.times[-1] - server.times[0]
    assert took >= 0.7 * 29 * gap  # the first may have been on its way for a while
    for first, later in zip(server.times, server.times[10:], strict=False):
        assert later - first >= 10 * gap - 0.08


def test_retries_are_under_the_same_limit(tmp_path):
    with serving(faults=[error(500)] * 10) as server:
        ask_all(server, requests(10), tmp_path, requests_per_minute=3000,
                backoff_seconds=0.0001, attempts=20)  # fmt: skip
    assert len(server.times) == 20
    assert server.times[-1] - server.times[0] >= 0.7 * 19 * 60 / 3000


def test_the_budget_is_never_exceeded_even_by_the_longest_answers(tmp_path):
    asked = requests(50, max_tokens=200)
    account = Account(prices := Prices(1.0, 2.0, "USD"), budget=0.0100, captions=5)
    with (
        serving(usage={"prompt_tokens": 16, "completion_tokens": 200}, delay=0.01) as server,
        pytest.raises(BudgetReached) as caught,
    ):
        ask_all(server, asked, tmp_path, account, open_requests=8)
    cost = len(server.prompts) * prices.of(16, 200)
    assert 0.0100 - account.worst(asked[0]) < cost <= 0.0100
    message = str(caught.value)
    assert f"{len(server.prompts)} of 50 requests are answered" in message
    assert f"{50 - len(server.prompts)} remain" in message
    assert "set audio.captions.budget to" in message


def test_open_requests_that_turn_out_cheap_make_room_for_others(tmp_path):
    """All fifty fit by their true cost, though eight worst cases at once never do."""
    asked = requests(50, max_tokens=200)
    account = Account(Prices(1.0, 2.0, "USD"), budget=0.003, captions=5)
    with serving(usage={"prompt_tokens": 16, "completion_tokens": 10}, delay=0.002) as server:
        ask_all(server, asked, tmp_path, account, open_requests=8)
    assert account.spent == pytest.approx(50 * 36e-6)


def test_a_request_to_stop_finishes_what_is_open(tmp_path):
    asked = requests(40)
    with serving(delay=0.05) as server:
        reason = lambda: "SIGTERM" if len(server.prompts) >= 6 else None  # noqa: E731
        with pytest.raises(Stopped, match="SIGTERM"):
            ask_all(server, asked, tmp_path, stop=reason)
        cache = AnswerCache(tmp_path)
        assert sum(cache.get(request) is not None for request in asked) == len(server.prompts) < 12


def test_a_request_to_stop_ends_a_long_pause(tmp_path):
    began = time.monotonic()
    with (
        serving(faults=[error(429, None, {"Retry-After": "300"})]) as server,
        pytest.raises(Stopped),
    ):
        stop = lambda: "its time limit" if time.monotonic() > began + 0.3 else None  # noqa: E731
        ask_all(server, requests(8), tmp_path, stop=stop)
    assert time.monotonic() - began < 3


def test_a_disk_that_is_full_ends_the_run(tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with serving() as server, pytest.raises(OSError):
        ask_all(server, requests(5), tmp_path / "cache")
    assert len(server.prompts) <= 8


def test_tokens_are_estimated_for_servers_that_do_not_count(tmp_path):
    def without_usage(handler):
        body = completion("x" * 400)
        del body["usage"]
        handler.send(200, body)

    with serving(faults=[without_usage]) as server:
        [answer] = ask_all(server, requests(1), tmp_path).values()
    assert answer.output_tokens == 100


ECHOES = [
    [error(401, KEY)],
    [error(401, KEY.replace("-", "_"))],
    [error(500, KEY)] * 9,
    [error(400, "Bad " + KEY)],
    [cut] * 9,
]


@pytest.mark.parametrize("faults", ECHOES, ids=range(5))
def test_the_key_is_in_no_message_log_or_file(tmp_path, faults, caplog, capsys):
    """Though the server echoes it in errors, in an error's code, and in an answer."""
    logging.getLogger("openai").setLevel(logging.DEBUG)
    caplog.set_level(logging.DEBUG)
    with serving(answer=lambda prompt: f"1. Your key is {KEY}, keep it.") as server:
        ask_all(server, requests(2), tmp_path)
        server.faults = faults
        with pytest.raises(ServiceError) as caught:
            ask_all(server, requests(4)[2:], tmp_path)
    told = "".join(traceback.format_exception(caught.value))
    printed = capsys.readouterr()
    files = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "Your key is [key], keep it." in files
    for text in (told, caplog.text, printed.out, printed.err, files, repr(caught.value)):
        assert KEY not in text
        assert KEY[8:] not in text


def test_a_key_that_looks_like_an_error_code_is_not_shown_either(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "letters_only_key")
    with (
        serving(faults=[error(401, "letters_only_key")]) as server,
        pytest.raises(ServiceError, match="answered 401:") as caught,
    ):
        ask_all(server, requests(1), tmp_path)
    assert "letters_only_key" not in str(caught.value)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_without_a_key_it_is_said_where_it_belongs(tmp_path, monkeypatch, value):
    monkeypatch.delenv("OPENAI_API_KEY")
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(InputError, match="export OPENAI_API_KEY"):
        Service(ServiceSettings("m"), lambda: None)


def test_a_mangled_key_is_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-höchst-geheim")
    with pytest.raises(InputError) as caught:
        Service(ServiceSettings("m"), lambda: None)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("name", ["model", "messages", "n", "stream"])
def test_parameters_that_would_break_the_protocol_are_refused(name):
    with pytest.raises(ValueError, match=name):
        ServiceSettings("m", parameters={name: 2})


def test_secrets_in_an_address_are_not_recorded(tmp_path):
    service = ServiceSettings("m", base_url="http://user:geheim@localhost:1/v1?key=geheim")
    assert service.server == "http://localhost:1/v1"


LOGIN = "anna:geheimes-wort"  # pragma: allowlist secret


def test_a_login_is_sent_in_place_of_the_key_and_reaches_no_file(tmp_path, monkeypatch, caplog):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_LOGIN", LOGIN)
    caplog.set_level(logging.DEBUG)
    encoded = base64.b64encode(LOGIN.encode()).decode()
    with serving(answer=lambda prompt: f"1. Hello {LOGIN}, {encoded}, geheimes-wort.") as server:
        ask_all(server, requests(1), tmp_path)
        server.faults = [error(401, "geheimes_wort")]
        with pytest.raises(ServiceError) as caught:
            ask_all(server, requests(2)[1:], tmp_path)
    assert server.authorisations == {f"Basic {encoded}"}
    files = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "Hello [key], [key], [key]." in files
    told = "".join(traceback.format_exception(caught.value))
    for text in (files, told, caplog.text, repr(Credentials.from_environment())):
        assert "geheimes-wort" not in text
        assert encoded not in text


@pytest.mark.parametrize("login", ["no colon", "an\nna:word"])
def test_a_login_that_is_none_is_not_shown(monkeypatch, login):
    monkeypatch.setenv("OPENAI_LOGIN", login)
    with pytest.raises(InputError, match="OPENAI_LOGIN is no user:password") as caught:
        Service(ServiceSettings("m"), lambda: None)
    assert login not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://anna:geheim@localhost:8000/v1",  # pragma: allowlist secret
        "https://anna:ge/heim@example.org/v1",
        "http://geheim@localhost/v1",
        "anna:geheim@localhost/v1",
        "http://localhost/v1?key=geheim",
        "http://localhost/v1#geheim",
        "geheim.example.org/v1",
    ],
)
def test_an_address_with_a_secret_is_refused_without_showing_it(address):
    with pytest.raises(ValueError, match=r"audio\.captions\.base_url") as caught:
        check_address(address)
    assert "geheim" not in str(caught.value)
    assert "OPENAI_LOGIN" in str(caught.value) or "@" not in address


@pytest.mark.parametrize("address", [None, "http://localhost:8000/v1", "https://a.example/v1/"])
def test_an_address_alone_is_accepted(address):
    check_address(address)


@contextmanager
def one_at_a_time(seconds: float):
    """A server that takes `seconds` for an answer and answers in turn, as a small local one does;
    for those who have gone it works all the same."""
    turn = threading.Lock()

    def slowly(prompt):
        with turn:
            time.sleep(seconds)
        return numbered(GOOD)

    with serving(answer=slowly) as server:
        yield server


def test_a_slow_server_is_asked_fewer_things_at_once_until_it_is_in_time(tmp_path, caplog):
    """All sixteen at once would take it 1.6 s; nobody waits for an answer longer than 0.5 s."""
    caplog.set_level(logging.INFO)
    with one_at_a_time(0.1) as server:
        answers = ask_all(
            server, requests(24), tmp_path, open_requests=16, timeout_seconds=0.5, attempts=2,
            backoff_seconds=0.3,
        )  # fmt: skip
    assert len(answers) == 24
    assert "no more than 8 are open from here on" in caplog.text


def test_a_limit_on_time_is_for_one_answer_and_not_for_waiting_in_our_queue(tmp_path):
    """Twelve answers, one at a time, take 1.2 s in all; each is in time."""
    with one_at_a_time(0.1) as server:
        answers = ask_all(server, requests(12), tmp_path, open_requests=1, timeout_seconds=0.6)
    assert len(answers) == 12
    assert len(server.prompts) == 12


def test_a_person_s_longer_limit_is_waited_for(tmp_path):
    with serving(delay=1.2) as server:
        ask_all(server, requests(2), tmp_path, timeout_seconds=30)
    assert len(server.prompts) == 2


def test_a_server_too_slow_for_a_single_answer_is_told_with_the_key_to_turn(tmp_path):
    with (
        serving(delay=1.0) as server,
        pytest.raises(ServiceError, match=r"within 0\.1 s \(audio\.captions\.timeout_seconds\)"),
    ):
        ask_all(server, requests(4), tmp_path, timeout_seconds=0.1, attempts=2)
    assert len(server.prompts) <= 4 * (2 + 2)  # two halvings, two attempts


def test_a_server_that_sends_blanks_for_ever_runs_into_the_limit_too(tmp_path):
    def blanks(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        for _ in range(30):
            handler.wfile.write(b" ")
            time.sleep(0.1)

    began = time.monotonic()
    with serving(faults=[blanks]) as server:
        answers = ask_all(server, requests(1), tmp_path, timeout_seconds=0.5)
        assert time.monotonic() - began < 2.5
    assert len(answers) == 1
