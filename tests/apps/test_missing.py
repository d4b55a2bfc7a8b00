"""What a run has not made: the list, its reasons, and the config that makes the rest."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
import warm

from triptych.apps.listing import Job, needs_of
from triptych.apps.missing import KILLED, gaps_of, missing_page, rest_of
from triptych.apps.plan import planned_run
from triptych.core.job import lock_of
from triptych.core.job_lock import Owner, this_process
from triptych.core.stopping import SAVED
from triptych.report.page import told
from triptych.style.data.missing import write_missing

ROOT = Path(__file__).parents[2]
LINE = "ValueError: no key"
LOG = "begun\nTraceback (most recent call last):\n  File x\n"


def job(rule, inputs, *outputs, **wildcards):
    name = outputs[0].replace("/", "-")
    return Job(rule, inputs, outputs, "", log=f"results/logs/{name}.log", wildcards=wildcards)


def fail(folder, *jobs, error=LINE):
    for failed in jobs:
        (folder / failed.log).parent.mkdir(parents=True, exist_ok=True)
        (folder / failed.log).write_text(f"{LOG}{error}\n")


FIRST = job("rl_download", (), "results/rl/one/data.hdf5")
SECOND = job("rl_download", (), "results/rl/two/data.hdf5")
TRAIN = job("rl_train", FIRST.outputs, "results/rl/one/run")
TABLE = job("rl_score", ("results/rl/one/run/scores.csv",), "results/tables/rl_scores.md")
FIGURE = job("rl_draw", (*TRAIN.outputs, *SECOND.outputs), "results/figures/rl_figure1.svg")
VERDICTS = job("report_study_claims", FIGURE.outputs, "results/claims/rl.csv")
OTHER = job("audio_draw", (), "results/figures/audio_figure2.svg")
JOBS = [FIRST, SECOND, TRAIN, TABLE, FIGURE, VERDICTS, OTHER]


def test_each_product_stands_by_the_failed_jobs_that_it_waits_for(tmp_path):
    fail(tmp_path, FIRST, SECOND)
    fail(tmp_path, TRAIN, error="OSError: of an earlier run")  # it was not started
    gaps, failed = gaps_of(JOBS, tmp_path)
    one, two = (f"rl_download: results/rl/{task}/data.hdf5" for task in ("one", "two"))
    assert [(gap.products, dict(gap.errors)) for gap in gaps] == [
        (["rl_scores"], {one: LINE}),
        ([], {two: LINE}),
        (["rl_figure1", "rl_verdicts"], {one: LINE, two: LINE}),
        (["audio_figure2"], {}),
    ]
    assert failed == [0, 1]
    assert told(gaps) == [gaps[0], *gaps[2:]]  # the second job's error stands beside the figure
    assert sorted(file for gap in gaps for file in gap.files) == sorted(
        file for one in JOBS for file in one.outputs
    )


def test_the_list_names_jobs_errors_products_and_pictures(tmp_path):
    fail(tmp_path, TRAIN, error=f"triptych.core.errors.InputError: {LINE}")
    write_missing(tmp_path / "results/style/paintings/waves.png", "waves", "it is too small")
    lines = missing_page(JOBS, tmp_path, "{rl: {tasks: {one: null}}}").splitlines()
    assert "7 jobs" in lines[0] and " 1 failed" in lines[0]
    at = lines.index("rl_train: results/rl/one/run")
    assert lines[at + 1] == f"  {LINE}"
    assert lines[at + 2].split(": ")[1] == "rl_figure1, rl_scores, rl_verdicts"
    assert any("waves" in line for line in lines) and "  it is too small" in lines
    assert lines[-1] == "{rl: {tasks: {one: null}}}"
    assert missing_page([], tmp_path / "results") == "Nothing is missing."


def write_log_and_lock(folder, job, text, process, ended=False):
    lock, log = lock_of(folder / job.log), folder / job.log
    for path in (lock, log.parent):
        path.mkdir(parents=True, exist_ok=True)
    owner = Owner("a", process, "here", ended=ended)
    (lock / "000001.json").write_text(json.dumps(asdict(owner)))
    log.write_text(f"begun\n{text}")


def test_a_job_that_was_killed_or_stopped_is_named_and_would_not_fail_again(tmp_path):
    # A process of this number began at another time.
    gone = f"{this_process().rpartition(' ')[0]} 1"
    write_log_and_lock(tmp_path, FIRST, "", gone)
    write_log_and_lock(tmp_path, SECOND, f"x: stopped {SAVED}\n", gone, ended=True)
    fail(tmp_path, TRAIN, error="OSError: of an earlier run")
    gaps, again = gaps_of([FIRST, SECOND, TRAIN], tmp_path)
    errors = {job: error for gap in gaps for job, error in gap.errors.items()}
    one, two = (f"rl_download: results/rl/{task}/data.hdf5" for task in ("one", "two"))
    assert errors == {one: KILLED, two: f"stopped {SAVED}"} and again == []


def test_a_job_that_runs_is_not_called_killed(tmp_path):
    write_log_and_lock(tmp_path, FIRST, "", "another-machine 1 1")
    assert gaps_of([FIRST], tmp_path)[0][0].errors == {}


BROKEN = {
    "task": ("rl_download", "walker2d", "figures/rl_figure4.svg"),
    "timed": ("rl_download", "hopper", "tables/rl_inference.csv"),
    "weights": ("audio_download_passt", "passt_n", "search.html"),
    "text": ("audio_text_model", "bert_base", "tables/audio_table2.csv"),
    "share": ("audio_download", "AUDIOCAPS.zip", "tables/audio_table2.csv"),
    "part": ("audio_download_wavcaps", "FreeSound", "claims/audio.csv"),
}
"""Rule and wildcard of a job that fails, and a product that waits for it and is made without it."""
PAPER = ROOT / "config" / "paper.yaml"


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """The papers' run."""
    with warm.warm_python(tmp_path_factory.mktemp("papers")):
        return planned_run(ROOT, [PAPER])


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_the_config_that_is_named_makes_the_rest(papers, warm_python, tmp_path, name):
    rule, wildcard, product = BROKEN[name]
    (failed,) = (
        number
        for number, job in enumerate(papers.jobs)
        if job.rule == rule and wildcard in job.wildcards.values()
    )
    lost = papers.jobs[failed].outputs
    waiting, needs = {failed}, needs_of(papers.jobs)
    while more := {n for n, needed in enumerate(needs) if needed & waiting} - waiting:
        waiting |= more
    jobs = [papers.jobs[number] for number in sorted(waiting)]
    fail(tmp_path, papers.jobs[failed])
    gaps, positions = gaps_of(jobs, tmp_path)
    (gap,) = gaps
    assert f"results/{product}" in gap.files
    rest = rest_of(jobs, positions, {"config": papers.config, "source": str(ROOT)})
    overlay = tmp_path / "rest.yaml"
    overlay.write_text(rest)
    made = {output for job in planned_run(ROOT, [PAPER, overlay]).jobs for output in job.outputs}
    assert f"results/{product}" in made and "results/report.html" in made
    assert not {file for file in made if file.startswith(lost)}


@pytest.mark.slow
def test_no_config_is_named_where_a_study_needs_what_failed(papers):
    for of in ("clotho_captions_evaluation.csv", "variations.json"):
        (failed,) = (n for n, job in enumerate(papers.jobs) if of in " ".join(job.outputs))
        assert rest_of(papers.jobs, [failed], {"config": papers.config, "source": ROOT}) == ""


def test_what_the_first_jobs_found_is_listed_and_asking_again_is_nothing_missing(tmp_path):
    asks = Job("mine_report_inputs", (), ("results/inputs/rl.csv",), "")
    assert missing_page([asks], tmp_path) == "Nothing is missing."
    told = {
        "rl.csv": "file,url,busy,problem\nhopper,x,False,it answered 404\nwalker2d,y,True,\n",
        "audio/wavcaps.csv": 'part,recordings,problem\nFreeSound,3,"3 recordings, too few"\n',
    }
    for name, text in told.items():
        path = tmp_path / "results/inputs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    page = missing_page([asks], tmp_path)
    assert re.findall("^(.+), looked at .*\n  (.*)", page, re.M) == [
        ("wavcaps, FreeSound", "3 recordings, too few"),
        ("hopper", "it answered 404"),
    ]
