"""Of all who want a job's lock, one owns it; the dead and the silent lose it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict

import pytest

from triptych.core import job_lock
from triptych.core.job_lock import Owner, owning, this_process
from triptych.core.provenance import LIBRARY

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from triptych.core import job_lock
from triptych.core.job import log_to_stderr
log_to_stderr()
folder, work = Path(sys.argv[1]), sys.argv[2]
job_lock.BEAT, job_lock.SAVING = 0.1, 0.3
exec(work)
"""
COUNT = """
counter = folder.with_name("counter")
for _ in range(15):
    with job_lock.owning(folder):
        seen = int(counter.read_text() or 0)
        time.sleep(0.001)
        counter.write_text(str(seen + 1))
"""
HOLD = "with job_lock.owning(folder): print('mine', flush=True); time.sleep(60)"
STUBBORN = f"signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True))\n{HOLD}"


def start(folder, work, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), work],
        env={**os.environ, "PYTHONPATH": str(LIBRARY), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended():
    """The name of a process that has ended."""
    return subprocess.run(
        [sys.executable, "-c", "from triptych.core.job_lock import this_process as t; print(t())"],
        env={**os.environ, "PYTHONPATH": str(LIBRARY)},
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()


def held_by(folder, process, **more):
    """Write the file of an owner."""
    folder.mkdir(parents=True, exist_ok=True)
    owner = Owner("token", process, "faraway", **more)
    (folder / "000001.json").write_text(json.dumps(asdict(owner)))


def test_never_two_own_it_at_a_time(tmp_path):
    (tmp_path / "counter").touch()
    running = [start(tmp_path / "lock", COUNT) for _ in range(4)]
    assert [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert (tmp_path / "counter").read_text() == "60"
    assert len(list((tmp_path / "lock").iterdir())) == 1


def test_who_waits_is_told_for_whom(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(job_lock, "SILENCE", 0.5)
    held_by(tmp_path / "lock", "another-machine 4711 1")
    with owning(tmp_path / "lock"):
        pass
    assert "waiting for process 4711 on faraway" in caplog.text


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path, caplog):
    process = start(tmp_path / "lock", HOLD)
    assert process.stdout.readline() == "mine\n"
    process.kill()
    process.wait()
    with owning(tmp_path / "lock"):
        assert "waiting" not in caplog.text


def test_an_owner_on_another_machine_keeps_it_while_it_is_heard(tmp_path, monkeypatch):
    monkeypatch.setattr(job_lock, "BEAT", 0.05)
    monkeypatch.setattr(job_lock, "SILENCE", 1)
    held_by(tmp_path / "lock", "another-machine 4711 1")

    def speak():
        for beat in range(1, 31):
            time.sleep(0.05)
            held_by(tmp_path / "lock", "another-machine 4711 1", beat=beat)

    speaking = threading.Thread(target=speak)
    speaking.start()
    with owning(tmp_path / "lock"):
        assert not speaking.is_alive()
    speaking.join()


def test_a_damaged_file_is_nobodys(tmp_path):
    (tmp_path / "000003.json").write_text('{"token": 1}')
    with owning(tmp_path):
        assert [path.stem for path in tmp_path.iterdir()] == ["000004"]


def test_who_has_lost_it_in_a_long_pause_ends_without_another_word(tmp_path):
    process = start(tmp_path / "lock", f"{HOLD}\nprint('wrote')")
    assert process.stdout.readline() == "mine\n"
    process.send_signal(signal.SIGSTOP)
    taken = (tmp_path / "lock" / "000001.json").read_text()
    (tmp_path / "lock" / "000002.json").write_text(taken.replace('"token": "', '"token": "other'))
    process.send_signal(signal.SIGCONT)
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 75 and "another process owns this job" in said
    assert "wrote" not in said


@pytest.mark.parametrize(("work", "code"), [(HOLD, -signal.SIGTERM), (STUBBORN, 75)])
def test_a_job_whose_snakemake_is_gone_is_asked_to_end_and_then_made_to(tmp_path, work, code):
    process = start(tmp_path / "lock", work, TRIPTYCH_SNAKEMAKE=ended())
    said = process.communicate(timeout=120)[0]
    assert process.returncode == code and "is gone: saving and ending" in said
    assert ("asked" in said) == (work == STUBBORN)


def test_a_job_whose_snakemake_lives_or_is_elsewhere_goes_on(tmp_path):
    for snakemake in (this_process(), "another-machine 4711 1"):
        work = HOLD.replace("60", "0.5")
        process = start(tmp_path / "lock", work, TRIPTYCH_SNAKEMAKE=snakemake)
        assert process.communicate()[0] == "mine\n" and process.returncode == 0
