"""Each study's training loop at its smallest, for the tests that spoil it."""

import dataclasses
import logging
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

sys.path += [str(Path(__file__).parents[1] / study) for study in ("audio", "rl", "style")]

import stacks as rl
import style_training_job as style
import tiny_retrieval as audio
from stops import Never

from triptych.core.checkpoint import Checkpoint
from triptych.core.job import job
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.tasks.transitions import Transitions
from triptych.style.network import training as style_training
from triptych.style.network.architecture import Architecture
from triptych.style.network.network_files import initial_network

CPU = torch.device("cpu")
SMALL = Architecture(4, "nearest", blocks=(0,))


def train_audio(folder, stop=None, **changes):
    return audio.run(folder, stop, **changes)


def train_style(folder, stop=None, **changes):
    return style_training.train(
        initial_network(SMALL, style.TRAINING.seed),
        style.loss(),
        style.Noise(),
        dataclasses.replace(style.TRAINING, **changes),
        CPU,
        Checkpoint(folder, "x"),
        stop or Never(),
    )


SEEDS = (0, 1, 2)


def train_stack(folder, stop=None, learning_rate=1e-3, broken=None):
    """Three runs for 60 updates, evaluated at 30 and 60. broken: a run that begins with NaN."""
    random = np.random.default_rng(0)

    def normal(*shape):
        return random.standard_normal((200, *shape)).astype(np.float32)

    data = Transitions(normal(11), np.tanh(normal(3)), normal(), normal(11), 0 * normal())
    parameters = Bcq.initialise(Widths(actor=(6, 5), critic=(7, 5), vae=8), 11, 3, SEEDS)
    if broken is not None:
        parameters["vae.d3.bias"][broken] = torch.nan
    return rl.train_bcq(
        folder,
        rl.runs(*(("dense", 0, seed) for seed in SEEDS)),
        parameters,
        {},
        data,
        stop,
        steps=dataclasses.replace(rl.STEPS, batch=10, learning_rate=learning_rate),
        updates=60,
        evaluate_every=30,
        checkpoint_every=15,
    )


def saved(folder):
    """The state on disk, every number of its networks finite."""
    state = Checkpoint(folder, "x").load()
    assert state is not None
    for part in ("model", "network", "trainee", "learner"):
        for value in state.get(part, {}).values():
            assert value.isfinite().all(), part
    for value in state.get("networks", []):
        assert value.isfinite().all()
    return state


def failed_job(folder, capsys, work):
    """What a job that fails tells the terminal, and its log with a traceback; it exits with 1."""
    snakemake = SimpleNamespace(
        rule="training",
        log=[str(folder / "results/logs/training/x.log")],
        output=[],
        wildcards={},
        params={},
        threads=1,
    )
    handlers = logging.getLogger().handlers[:]
    try:
        with job(snakemake):
            work()
    except SystemExit as end:
        assert end.code == 1
    else:
        raise AssertionError("the job ended well")
    finally:
        logging.getLogger().handlers[:] = handlers
    assert "Traceback" in Path(snakemake.log[0]).read_text()
    return capsys.readouterr().err


def out_of_memory():
    return torch.OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB"
    )


def halvings(caplog):
    """(before, from here on) of each warning."""
    return [
        (record.args[1], record.args[3])
        for record in caplog.records
        if record.name == "triptych.core.memory"
    ]


@contextmanager
def room_for(owner, name, rows, when=lambda: True, size=lambda *given, **_: len(given[0])):
    """Within, `owner.name` runs out of memory for more than `rows` rows: a CPU's stand-in.

    `size` takes the call's arguments, without self where `owner` is a class.
    """
    own = getattr(owner, name)
    skip = 1 if isinstance(owner, type) else 0

    def limited(*given, **named):
        if when() and size(*given[skip:], **named) > rows:
            raise out_of_memory()
        return own(*given, **named)

    setattr(owner, name, limited)
    try:
        yield
    finally:
        setattr(owner, name, own)
