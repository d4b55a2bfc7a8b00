"""A small RL study on a real SLURM, disturbed, ends with an undisturbed run's bytes.

Run by `make cluster`, as root: it brings a private SLURM of one node up, and down again. The
undisturbed run is one of the same study (study.yaml), by Snakemake alone.
"""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import warm
from tiny_checkout import COLD, copy_checkout

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
STUDY = HERE / "study.yaml"
CORES = 3  # that the node claims to have: on two, trainings last long enough to be disturbed
MINUTES = 60  # after which a run hangs
TARGETS = [f"results/tables/rl_{name}.csv" for name in ("table1", "scores", "curves")]

# What happens to which training job (task, networks, stack).
CANCELLED = ("hopper", "narrow", "bcq-paper-sp0-1")
PREEMPTED = ("hopper", "narrow", "bcq-paper-sp50-1")
TIMED_OUT = ("hopper", "narrow", "bcq-paper-sp30-1")  # SLURM's limit, of which the job doesn't know

EDITED = "workflow_scripts/triptych/rl/acting/evaluation.py"  # for so many seconds, in the run
EDIT = ("STEPS_DRAWN = 100", "STEPS_DRAWN = 101")
SECONDS_EDITED = 8


@pytest.fixture(scope="module")
def cluster():
    """A running SLURM."""
    if os.environ.get("TRIPTYCH_CLUSTER") != "1":
        pytest.skip("a private SLURM is brought up by `make cluster`")
    script = HERE / "slurm.sh"
    subprocess.run(["bash", script, "up"], check=True, env={**os.environ, "SLURM_CPUS": f"{CORES}"})
    yield
    subprocess.run(["bash", script, "down"], check=True)


def environment(root):
    """This process's, but for one program: `which`, that doesn't find sacct.

    This SLURM has no accounting. When a slow machine keeps the plugin from learning for how long
    squeue knows of jobs, it asks sacct instead, gets no answer, and waits for ever.
    """
    which = root / "bin" / "which"
    which.parent.mkdir(exist_ok=True)
    which.write_text(f'#!/bin/sh\n[ "$1" != sacct ] && exec {shutil.which("which")} "$@"\n')
    which.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "PATH": f"{which.parent}:{kept['PATH']}"}


def snakemake(root, *arguments, python=COLD):
    """A started run of the study in a checkout, its output in run.log there."""
    with (root / "run.log").open("w") as log:
        return subprocess.Popen(
            [*python, "-m", "snakemake", *arguments, "--configfile", STUDY],
            cwd=root,
            env=environment(root),
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def on_slurm(root):
    """A started run by the profile; of it, only what fits a node of two cores is set anew."""
    return snakemake(
        root,
        "rl",
        *("--workflow-profile", "profiles/slurm"),
        *("--slurm-partition-config", HERE / "partitions.yaml"),
        *("--slurm-init-seconds-before-status-checks", "2"),
        *("--set-threads", "rl_latency=1", "style_time=1", "style_video=1"),
        *("--set-resources", "rl_train:runtime=60", "rl_train:mem_mb=4000", "rl_prune:mem_mb=4000"),
    )


@pytest.fixture
def undisturbed(tmp_path_factory):
    """A started local run of the same study: its folder and process.

    It has time while SLURM waits for this and that, and slows what is to be disturbed.
    """
    root = copy_checkout(tmp_path_factory.mktemp("undisturbed")).root
    running = snakemake(root, *TARGETS, "--cores", "2", python=warm.COMMAND)
    yield root, running
    if running.poll() is None:
        running.kill()
        running.wait()


def jobs():
    """SLURM's jobs: {comment, which names rule and wildcards: (id, state, reason)}."""
    asked = ["squeue", "-h", "-o", "%k %i %T %r"]  # a busy SLURM may not answer: asked again later
    lines = subprocess.run(asked, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return {line.split()[0]: line.split()[1:4] for line in lines}


def done(*command):
    """Whether SLURM did what it was told."""
    return subprocess.run(command).returncode == 0


def attempts(root, job):
    """What all attempts of a training job have said."""
    file = root / "results/checkpoints/rl_train" / "-".join(job) / "attempts.log"
    return file.read_text() if file.exists() else ""


def disturb(root, job, name):
    """Interrupt a running training job by SLURM's means; whether that went through."""
    if job == PREEMPTED:
        # It wants the whole node, which only pre-emption can give it.
        urgent = ["sbatch", "-p", "urgent", "-n", "1", "-c", str(CORES), "-o", "/dev/null"]
        return done(*urgent, "--comment", "urgent", "--wrap", "sleep 2")
    if job == TIMED_OUT:  # its limit is now; SLURM looks every half a minute
        return done("scontrol", "update", f"JobId={name}", "EndTime=now")
    return done("scancel", name)


def state_of(known, job):
    """SLURM's number of a training job, and its state; "" where there is none."""
    return known.get("rule_rl_train_wildcards_" + "_".join(job), [""] * 3)[:2]


def run_disturbed(root):
    """The study on SLURM; each job is disturbed once, when it has trained for a while.

    Once they all were, and start again, a module is edited for some seconds.
    """
    waiting = {PREEMPTED, TIMED_OUT, CANCELLED}
    running = on_slurm(root)
    deadline, edited = time.monotonic() + 60 * MINUTES, 0.0
    text = (root / EDITED).read_text()
    try:
        while running.poll() is None and time.monotonic() < deadline:
            # In this order: whoever was pre-empted, the urgent job is among those known, or over.
            preempted = "stopped by SIGTERM" in attempts(root, PREEMPTED)
            known = jobs()
            for job in list(waiting):
                if job == TIMED_OUT and ("urgent" in known or not preempted):
                    continue  # which takes all jobs off the node, and gives them new limits
                name, state = state_of(known, job)
                # Taken off the node with the others, it must train again: SLURM's limit may come at
                # once, and ends a job that hasn't begun as failed.
                _, _, since = attempts(root, job).rpartition("stopped by SIGTERM")
                if state == "RUNNING" and re.search(r"resuming at|update \d+: ", since):
                    waiting -= {job} if disturb(root, job, name) else set()
            for name, state, reason in known.values():
                if state == "PENDING" and reason == "BeginTime":
                    # After a requeue, SLURM would wait for two minutes.
                    done("scontrol", "update", f"JobId={name}", "StartTime=now")
                if state == "PENDING" and reason == "JobHeldAdmin":
                    # Taken off the node while it was suspended (scontrol(1), "suspend").
                    done("scontrol", "release", name)
            if not waiting and not edited:
                edited = time.monotonic()
                (root / EDITED).write_text(text.replace(*EDIT))
            if edited and time.monotonic() - edited > SECONDS_EDITED:
                (root / EDITED).write_text(text)
            time.sleep(1)
    finally:
        if running.poll() is None:
            running.kill()
            running.wait()
    text = (root / "run.log").read_text()
    assert running.returncode == 0, text
    assert not waiting, f"never disturbed: {waiting}\n{text}"
    return text


def files(results):
    """Bytes of the tables, and of all that the study computes but latencies, which are times."""
    found = {path for path in results.glob("rl/**/*") if path.is_file()}
    found -= {*results.glob("rl/*/latency.csv"), *results.glob("rl/*/deployed.csv")}
    found |= {results.parent / name for name in TARGETS}
    return {str(path.relative_to(results)): path.read_bytes() for path in found}


@pytest.mark.slow
def test_preempted_and_timed_out_jobs_on_slurm_resume_and_end_with_the_same_bytes(
    cluster, undisturbed, tmp_path, request
):
    root = copy_checkout(tmp_path).root
    text = run_disturbed(root)

    def resumed(job):
        return [int(n) for n in re.findall(r"resuming at update (\d+)", attempts(root, job))]

    for job in (PREEMPTED, TIMED_OUT, CANCELLED):
        assert resumed(job) and min(resumed(job)) > 0, f"{job} didn't resume: {attempts(root, job)}"
    for job in (PREEMPTED, TIMED_OUT, CANCELLED):
        assert "stopped by SIGTERM" in attempts(root, job)
    for status in ("TIMEOUT", "CANCELLED"):  # which Snakemake has to retry
        assert f"SLURM status is: '{status}'" in text

    alone, running = undisturbed
    assert running.wait() == 0, (alone / "run.log").read_text()
    ours, theirs = files(root / "results"), files(alone / "results")
    assert ours.keys() == theirs.keys()
    assert sum(name.endswith("policies.safetensors") for name in ours) == 4
    assert [name for name in ours if ours[name] != theirs[name]] == []
