"""The parts of `make gpu` on a CPU at small sizes, and what becomes of steps that fail."""

import json
import time
from pathlib import Path

import pytest
import yaml
from tiny_checkout import ROOT, TINY, copy_checkout

from triptych.cli import main
from triptych.core.config import merged
from triptych.gpu import session, work
from triptych.gpu.session import Step, run_part, steps_of
from triptych.plan import records
from triptych.plan.dry_run import read_config

ABOUT = {"device": "a processor", "date": "2026-11-22", "torch": "2", "scale": "custom"}
SMALL = {
    "device": "cpu",
    "rl": {"bench": {"stacks": [2], "precisions": ["float32"], "seconds": 0.1, "rounds": 1}},
    "style": {
        "timing": {"sizes": [32], "batch": 2},
        "bench": {"width": 4, "precisions": ["float32"], "rounds": 1},
    },
    "audio": {"stages": {"common": {"batch": 4}}},
}
BENCHES = ("bench rl", "bench style forward", "bench audio forward")
"""Those that are run here; the others differ by the name of a task."""


@pytest.fixture
def config():
    """The demo's, at small sizes."""
    overlay = merged(TINY, SMALL)
    overlay["style"]["bench"]["sizes"] = {"forward": [32]}
    return merged(read_config(ROOT, []), overlay)


def rows_of(path):
    return [(row["step"], row["status"], row["note"]) for row in records.read(path)]


def test_a_step_that_fails_or_takes_too_long_is_written_down_and_the_next_one_runs(
    tmp_path, config
):
    steps = [Step("bench nothing at all", 60), Step("train rl update", 0.2), Step("tests", 60)]
    config = {"rl": config["rl"], "device": "cpu"}
    (tmp_path / "part1").mkdir()
    run_part(1, steps[:2], config, time.time() + 100, ABOUT, tmp_path)
    unknown, late = rows_of(tmp_path / "part1.csv")
    assert unknown[:2] == ("bench nothing at all", "failed")
    assert "ended with 1: KeyError: 'nothing'" in unknown[2]
    assert late == ("train rl update", "failed", "ended after 0 s, its limit")


def test_what_has_not_begun_when_the_time_is_spent_is_written_down(tmp_path, config):
    rows = run_part(3, steps_of(3, config, 1.0, False), config, time.time(), ABOUT, tmp_path)
    assert {row["status"] for row in rows} == {"not reached"}
    assert [row["step"] for row in rows] == [
        "train rl update",
        "train style training",
        "train style closure",
        "train style forward",
        "train audio mini_n",
        "train audio mini_s",
    ]
    assert rows == records.read(tmp_path / "part3.csv")


def test_a_running_step_ends_with_the_part_s_time(tmp_path):
    deadline = time.time() + 0.3
    rows = run_part(1, [Step("tests", 60)], {}, deadline, ABOUT, tmp_path)
    assert "when the part's time was spent" in rows[0]["note"]
    assert time.time() < deadline + 5


@pytest.mark.parametrize("part", [1, 2, 3])
def test_the_steps_of_a_part_fit_its_time_on_a_gpu(paper_config, part):
    """As far as their trainings go: what they take to begin is measured where there is a GPU."""
    steps = steps_of(part, paper_config, 30.0, on_gpu=True)
    assert len({step.name for step in steps}) == len(steps)
    many = {"train style closure": 4, "train style forward": 3}
    assert sum(step.seconds * many.get(step.name, 1) for step in steps) < 240
    assert all(step.seconds * many.get(step.name, 1) < step.limit - 60 for step in steps)


def test_the_tests_step_tells_which_passed_and_which_failed(tmp_path, monkeypatch):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(
        "import pytest\npytestmark = pytest.mark.gpu\n"
        "def test_a():\n    pass\n"
        "def test_b():\n    assert 1 == 2\n"
        "def test_c():\n    pytest.skip('no')\n"
    )
    monkeypatch.chdir(tmp_path)
    found = []
    with pytest.raises(SystemExit):
        for row in work.gpu_tests():
            found.append((row["task"].partition("::")[2], row["status"], row.get("note")))
    assert found == [
        ("test_a", "passed", None),
        ("test_c", "skipped", None),
        ("test_b", "failed", "assert 1 == 2"),
    ]


class Clock:
    """In the place of a bench's process: every task takes it a second."""

    def __init__(self, *_, threads):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def ask(self, task):
        return 1.0


def run_here(step, config, limit, place):
    """A step without a process of its own, which would import everything anew."""
    return list(work.rows_of(step.name, step.seconds, json.loads(json.dumps(config))))


@pytest.mark.slow
def test_all_three_parts_on_a_cpu_at_small_sizes(tmp_path, monkeypatch, capsys):
    checkout = copy_checkout(tmp_path)
    (tmp_path / "tests" / "rl").mkdir(parents=True)
    for file in ("conftest.py", "stops.py", "rl/test_gpu.py", "rl/other_algorithms.py"):
        (tmp_path / "tests" / file).write_text((ROOT / "tests" / file).read_text())
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    monkeypatch.chdir(checkout.root)
    monkeypatch.setattr("triptych.audio.measures.bench.Worker", Clock)
    monkeypatch.setattr("triptych.gpu.pages.page_text", lambda *_: (True, "the plan\n"))
    steps = session.steps_of

    def fewer(part, *others):
        kept = [step for step in steps(part, *others) if "bench" not in step.name]
        return kept + [step for step in steps(part, *others) if step.name in BENCHES]

    monkeypatch.setattr(session, "steps_of", fewer)
    asked = ["--configfile", "tiny.yaml", "small.yaml", "--seconds", "0.1"]
    # One step of part 3 in a process of its own, as all of them are but here.
    alone = session._run
    monkeypatch.setattr(session, "_run", run_here)
    assert main(["gpu", "1", *asked]) == 0
    assert main(["gpu", "2", *asked]) == 0
    monkeypatch.setattr(
        session,
        "_run",
        lambda step, *others: (alone if "update" in step.name else run_here)(step, *others),
    )
    assert main(["gpu", "3", *asked]) == 0
    assert "part 3: train audio mini_s" in capsys.readouterr().out

    rows = [row for part in (1, 2, 3) for row in records.read(Path(f"results/gpu/part{part}.csv"))]
    assert {row["status"] for row in rows} == {"measured", "skipped"}
    assert {row["study"] for row in rows} == {"tests", "rl", "style", "audio"}
    trained = [row for row in rows if row["operations"]]
    assert len(trained) == 7
    for row in trained:
        assert float(row["seconds"]) > 0 and float(row["peak_bytes"]) > 1e8
        assert float(row["operations"]) > 1e5
    assert records.read(records.KEPT) == rows
    page = Path("docs/performance.md").read_text()
    assert "| audio training step | mini_s and mini_roberta, 4 clips of 1.5 s | float32 |" in page
    assert "| audio: forward passt_n, ours |" in page and "**Not measured**" not in page
    assert "the plan" in Path("docs/paper-scale.md").read_text()
