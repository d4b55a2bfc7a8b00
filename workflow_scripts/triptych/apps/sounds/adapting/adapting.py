"""A trained model, fine-tuned on a person's own recordings with captions.

The training is that of the study: its loop, loss and schedule, its choice of an epoch.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.apps.sounds.adapting.held_out import HeldOut
from triptych.apps.sounds.adapting.recordings import Recording, all_captions, split
from triptych.apps.sounds.search.other_formats import stream_any
from triptych.apps.sounds.search.trained import checked_model
from triptych.audio.data.decoding import SAMPLE_RATE
from triptych.audio.models.model_files import load_model, save_model
from triptych.audio.models.retrieval import RetrievalModel, draw
from triptych.audio.models.settings import read_model_table
from triptych.audio.training.batches import Batches, Pair
from triptych.audio.training.corpus import Queries
from triptych.audio.training.losses import nt_xent, same_audio
from triptych.audio.training.settings import MACHINE, Schedule, TrainingSettings, kind_of_work
from triptych.audio.training.trainer import Task, Validation, train
from triptych.audio.training.update import Objective
from triptych.audio.training.validation import embed_splits, figures
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_precision
from triptych.core.errors import InputError, printable
from triptych.core.files import write_csv
from triptych.core.job_lock import owning
from triptych.core.provenance import parameters_digest
from triptych.core.stopping import Stop

READERS = {"cpu": 0, "cuda": 4}
SEED = 0
BATCH = 32
WARM_UP_BATCHES = 4
"""Of an epoch, below which there is no warm-up: its first batch changes nothing."""
LONGEST_SECONDS = 30.0
CHECKPOINT_MINUTES = 2.0
LEARNING_RATE = 2e-5
"""The report's, for models whose makers' rate isn't known."""


class Sounds:
    """Recordings below a folder as a store of clips by their paths, decoded each time."""

    def __init__(self, folder: Path, frames: Mapping[str, int]) -> None:
        self._folder, self._frames = folder, frames

    def frames(self, clip: str) -> int:
        """At 32 kHz."""
        return self._frames[clip]

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> NDArray[np.float32]:
        """float32 [frames] at 32 kHz. Raises InputError for a file that is no longer whole."""
        wanted = self.frames(clip) - start if frames is None else frames
        window = stream_any(self._folder / clip, start / SAMPLE_RATE, wanted / SAMPLE_RATE)
        if blocks := list(window):
            return np.concatenate(blocks)
        raise InputError(f"{self._folder / clip}: it has changed meanwhile; run this again")


def adapt(
    model: Path,
    folder: Path,
    recordings: Sequence[Recording],
    to: Path,
    epochs: int,
    learning_rate: float | None,
    device: torch.device,
    stop: Stop,
) -> tuple[pd.DataFrame, int]:
    """Fine-tune the model in a folder on recordings below another, and write it to a third, `to`.

    Returns the scores before and after (`HeldOut.compare`), and the epoch that was chosen.

    What it needs on the way lies beside `to`; a run that was stopped or killed goes on from there
    to the same bytes. Raises InputError where `to` exists or there are too few recordings,
    Stopped after saving when `stop` asks.
    """
    parts = split(recordings)
    _refuse(to)
    work = to.with_name(f".adapting-{to.name}")
    with owning(work / "lease"):
        _refuse(to)  # again, if another process was at it
        model, sha256 = checked_model(model)
        held_out = HeldOut(folder, parts["held out"])
        scores = partial(held_out.scores, device=device.type, stop=lambda: stop.reason)
        before = scores(model)
        network, table = load_model(model, device), read_model_table(model)
        settings = training_settings(
            epochs,
            learning_rate,
            table["about"],
            len(list(all_captions(parts["training"]))),
            choose_precision("auto", device, kind_of_work(table["settings"]["audio"]["dim"])),
            READERS[device.type],
        )
        task = _task(network, folder, parts, settings, device)
        made_of = {
            "model": sha256,
            "recordings": [asdict(each) for each in recordings],
            "training": {k: v for k, v in asdict(settings).items() if k not in MACHINE},
            "device": device.type,
        }
        checkpoint = Checkpoint(work, parameters_digest(made_of))
        trained = train(task, "adapt", device, checkpoint, stop)
        chosen = trained.history[trained.history["chosen"] == 1].iloc[0]
        network.load_state_dict(trained.weights)
        about = {
            **table["about"],
            "training": asdict(settings),
            "sources": {**table["about"].get("sources", {}), "adapted": "own recordings"},
            "epoch": int(chosen["epoch"]),
            "step": int(chosen["step"]),
            "adapted": {
                "model": model.name,
                "model_sha256": sha256,
                "recordings": {part: len(some) for part, some in parts.items()},
            },
        }
        shutil.rmtree(work / "model", ignore_errors=True)
        save_model(network, work / "model", about)
        write_csv(trained.history, work / "model" / "history.csv")
        write_csv(_listing(parts), work / "model" / "recordings.csv")
        after = scores(work / "model")
        compared = held_out.compare(before, after)
        write_csv(compared, work / "model" / "scores.csv")
        (work / "model").rename(to)
    shutil.rmtree(work)
    return compared, int(chosen["epoch"])


def _refuse(to: Path) -> None:
    """Raise InputError where something is in the result's place."""
    if to.exists():
        raise InputError(f"{to} is there already: give another place with -o, or remove it")


def training_settings(
    epochs: int,
    learning_rate: float | None,
    about: Mapping[str, Any],
    pairs: int,
    precision: str,
    readers: int,
) -> TrainingSettings:
    """The settings of a training on so many pairs, regularised as the model's own was.

    learning_rate: None for the model's own; about: what the model's folder says of it;
    readers: processes that read sound
    """
    own = dict(about.get("training", {}))
    return TrainingSettings(
        schedule=Schedule(
            epochs=epochs,
            warmup_epochs=int(epochs > 1 and pairs >= WARM_UP_BATCHES * BATCH),
            rampdown_epochs=epochs,
            learning_rate=learning_rate
            or own.get("schedule", {}).get("learning_rate", LEARNING_RATE),
        ),
        batch=min(BATCH, pairs),
        swap=0.0,
        longest_seconds=LONGEST_SECONDS,
        frequency_mask=own.get("frequency_mask", 48),
        time_mask=own.get("time_mask", 192),
        band_jitter=own.get("band_jitter", True),
        patchout=own.get("patchout", True),
        precision=precision,
        chunk=None,
        workers=readers,
        checkpoint_minutes=CHECKPOINT_MINUTES,
    )


def _task(
    model: RetrievalModel,
    folder: Path,
    parts: Mapping[str, Sequence[Recording]],
    settings: TrainingSettings,
    device: torch.device,
) -> Task:
    """The training, as the study's trainer takes it."""
    pairs = [Pair(each.path, n, caption) for each, n, caption in all_captions(parts["training"])]
    asked = [(each.path, caption) for each, _, caption in all_captions(parts["validation"])]
    queries = Queries(
        [each.path for each in parts["validation"]],
        [caption for _, caption in asked],
        [path for path, _ in asked],
    )
    heard = [*parts["training"], *parts["validation"]]
    store = Sounds(folder, {each.path: each.frames for each in heard})
    longest = settings.longest_seconds

    def validate(interrupt: Callable[[], None]) -> Validation:
        of_parts = embed_splits(
            model, {"": queries}, store, device, longest, settings.precision, interrupt
        )
        return figures(of_parts[""], model.temperature, settings.batch)

    batches = Batches(pairs, store, settings.batch, settings.swap, longest, SEED)
    objective = _matching(model.temperature, pairs)
    drawn = partial(draw, model.settings, settings)
    return Task(model, batches, objective, drawn, validate, settings, SEED)


def _listing(parts: Mapping[str, Sequence[Recording]]) -> pd.DataFrame:
    """Which recording is in which part."""
    rows = [
        (printable(each.path), each.sha256, part, len(each.captions))
        for part, recordings in parts.items()
        for each in recordings
    ]
    return pd.DataFrame(rows, columns=["file", "sha256", "part", "captions"])


def _matching(temperature: Tensor, pairs: Sequence[Pair]) -> Objective:
    """NT-Xent, where a recording matches all its captions, and a caption all that have it."""
    clips, captions = (
        torch.from_numpy(np.unique(names, return_inverse=True)[1])
        for names in ([pair.clip for pair in pairs], [pair.caption for pair in pairs])
    )

    def objective(audio: Tensor, text: Tensor, chosen: Tensor) -> Tensor:
        match = same_audio(clips[chosen]) | same_audio(captions[chosen])
        return nt_xent(audio, text, temperature, match.to(audio.device))

    return objective
