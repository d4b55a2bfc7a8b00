"""What a run has not made: the list and its reasons."""

import json
import re
from dataclasses import asdict

from triptych.apps.listing import Job
from triptych.apps.missing import KILLED, failed_jobs, missing_text
from triptych.core.job import lock_of
from triptych.core.job_lock import Owner, this_process
from triptych.core.stopping import SAVED

LINE = "ValueError: no key"
LOG = "begun\nTraceback (most recent call last):\n  File x\n"


def job(rule, inputs, *outputs):
    return Job(rule, inputs, outputs, "", log=f"results/logs/{outputs[0].replace('/', '-')}.log")


def fail(folder, *jobs, error=LINE):
    for failed in jobs:
        (folder / failed.log).parent.mkdir(parents=True, exist_ok=True)
        (folder / failed.log).write_text(f"{LOG}{error}\n")


FIRST = job("rl_download", (), "results/rl/one/data.hdf5")
SECOND = job("rl_download", (), "results/rl/two/data.hdf5")
TRAIN = job("rl_train", FIRST.outputs, "results/rl/one/run")
TABLE = job("rl_scores", ("results/rl/one/run/scores.csv",), "results/tables/rl_scores.md")
JOBS = [FIRST, SECOND, TRAIN, TABLE]
ONE, TWO = (f"rl_download: results/rl/{task}/data.hdf5" for task in ("one", "two"))


def test_a_job_that_waits_for_a_failed_one_is_not_called_failed(tmp_path):
    fail(tmp_path, FIRST, SECOND)
    fail(tmp_path, TABLE, error="OSError: of an earlier run")
    assert failed_jobs(JOBS, tmp_path) == {ONE: LINE, TWO: LINE}


def write_log_and_lock(folder, job, text, process, ended=False):
    lock, log = lock_of(folder / job.log), folder / job.log
    for path in (lock, log.parent):
        path.mkdir(parents=True, exist_ok=True)
    owner = Owner("a", process, "here", ended=ended)
    (lock / "000001.json").write_text(json.dumps(asdict(owner)))
    log.write_text(f"begun\n{text}")


def test_a_job_that_was_killed_or_stopped_is_named(tmp_path):
    # A process of this number began at another time.
    gone = f"{this_process().rpartition(' ')[0]} 1"
    write_log_and_lock(tmp_path, FIRST, "", gone)
    write_log_and_lock(tmp_path, SECOND, f"x: stopped {SAVED}\n", gone, ended=True)
    assert failed_jobs(JOBS, tmp_path) == {ONE: KILLED, TWO: f"stopped {SAVED}"}


def test_a_job_that_runs_is_not_called_killed(tmp_path):
    write_log_and_lock(tmp_path, FIRST, "", "another-machine 1 1")
    assert failed_jobs([FIRST], tmp_path) == {}


def test_what_the_first_jobs_found_is_listed_and_asking_again_is_nothing_missing(tmp_path):
    asks = Job("mine_report_inputs", (), ("results/inputs/rl.csv",), "")
    assert missing_text([asks], tmp_path) == "Nothing is missing."
    told = {
        "rl.csv": "file,url,busy,problem\nhopper,x,False,it answered 404\nwalker2d,y,True,\n",
        "audio/wavcaps.csv": 'part,recordings,problem\nFreeSound,3,"3 recordings, too few"\n',
    }
    for name, text in told.items():
        path = tmp_path / "results/inputs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    page = missing_text([asks], tmp_path)
    assert re.findall("^(.+), looked at .*\n  (.*)", page, re.M) == [
        ("wavcaps, FreeSound", "3 recordings, too few"),
        ("hopper", "it answered 404"),
    ]
