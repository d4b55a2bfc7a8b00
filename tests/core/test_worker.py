"""A process that answers one line of JSON with another."""

import pytest

from triptych.core.worker import Worker

DOUBLES = """
import json, os, sys
for line in sys.stdin:
    task = json.loads(line)
    if task == "die":
        sys.exit(1)
    print(json.dumps({"twice": 2 * task, "threads": os.environ["OMP_NUM_THREADS"],
                      "arguments": sys.argv[1:]}), flush=True)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "doubles.py").write_text(DOUBLES)
    monkeypatch.chdir(tmp_path)
    return "doubles"


def test_each_task_is_answered_by_one_process_with_its_threads(module):
    with Worker(module, "plain", threads=3) as worker:
        answers = [worker.ask(number) for number in (1, 2.5)]
    assert [answer["twice"] for answer in answers] == [2, 5.0]
    assert answers[0]["threads"] == "3"
    assert answers[0]["arguments"] == ["plain"]


def test_a_process_that_ended_is_an_error_that_names_the_task(module):
    with Worker(module, threads=1) as worker, pytest.raises(RuntimeError, match="die"):
        worker.ask("die")
