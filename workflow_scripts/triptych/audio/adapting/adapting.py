"""A finished model, fine-tuned on a person's own recordings with captions.

The training is that of the study: its loop, loss and schedule, its choice of an epoch. What is
here is where its parts come from, and what was better or worse on recordings that it never heard.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.audio.adapting.clap_part import ClapPart
from triptych.audio.adapting.held_out import HeldOut
from triptych.audio.adapting.last_blocks import Kept, KeptSounds, LastBlocks, has_blocks
from triptych.audio.adapting.recordings import Recording, all_captions, split
from triptych.audio.adapting.settings import BLOCKS, LONGEST_SECONDS, Wish, training_settings
from triptych.audio.data.decoding import SAMPLE_RATE
from triptych.audio.data.shards import Store
from triptych.audio.models.clap import Clap, save_clap
from triptych.audio.models.model_files import open_model, save_model
from triptych.audio.models.retrieval import Draws, RetrievalModel, draw
from triptych.audio.models.settings import read_model_table
from triptych.audio.search.index import printable
from triptych.audio.search.other_formats import stream_any
from triptych.audio.search.trained import checked_model
from triptych.audio.training.batches import Batches, Pair, crop
from triptych.audio.training.corpus import Queries
from triptych.audio.training.losses import nt_xent, same_audio
from triptych.audio.training.settings import MACHINE, WIDE, TrainingSettings, kind_of_work
from triptych.audio.training.trainer import Task, Trained, Validation, train
from triptych.audio.training.update import Draw, Learner, Objective
from triptych.audio.training.validation import embed_splits, figures
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_precision, training_precision
from triptych.core.errors import InputError
from triptych.core.files import write_csv
from triptych.core.job_lock import owning
from triptych.core.progress import Progress
from triptych.core.provenance import parameters_digest
from triptych.core.stopping import Stop, Stopped

READERS = {"cpu": 0, "cuda": 4}
UNCUT_SECONDS = 1e9
"""More than a recording's kept numbers would be as samples: none of them are cut."""
SEED = 0


@dataclass(frozen=True)
class Adapted:
    """What came of it.

    scores: `HeldOut.compare`'s table;  validation: mAP@10 before, and of the epoch that was chosen
    """

    scores: pd.DataFrame
    validation: tuple[float, float]
    epoch: int


@dataclass(frozen=True)
class Subject:
    """A model, the part of it that learns, and how that is given sounds.

    store: of recordings by their paths, as `learner.embed_audio` takes them;  longest_seconds:
    beyond which the store's recordings are cut;  draw: what is drawn by chance for a step
    """

    model: RetrievalModel | Clap
    learner: Learner
    store: Store
    longest_seconds: float
    draw: Draw


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
    wish: Wish,
    device: torch.device,
    stop: Stop,
) -> Adapted:
    """Fine-tune the model in a folder on recordings below another, and write it to a third, `to`.

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
        before = scores(model, kept=work / "before.npz")
        opened = open_model(model, device)
        wish = _settled(wish, opened, device)
        settings = _settings(model, wish, parts, device)
        subject = _subject(opened, sha256, folder, parts, settings, wish, device, work, stop)
        task = _task(subject, parts, settings, device)
        made_of = {
            "model": sha256,
            "recordings": [asdict(each) for each in recordings],
            "wish": asdict(wish),
            "training": {k: v for k, v in asdict(settings).items() if k not in MACHINE},
            "device": device.type,
        }
        assert task.validate is not None
        first = task.validate(partial(_interrupt, stop))
        checkpoint = Checkpoint(work, parameters_digest(made_of))
        trained = train(task, "adapt", device, checkpoint, stop)
        _write(work / "model", model, sha256, subject, trained, settings, parts)
        after = scores(work / "model", kept=work / "after.npz")
        table = held_out.compare(before, after)
        write_csv(table, work / "model" / "scores.csv")
        (work / "model").rename(to)
    shutil.rmtree(work)
    chosen = _chosen(trained)
    validation = (first.map_at_10, float(chosen["validation_map_at_10"]))
    return Adapted(table, validation, int(chosen["epoch"]))


def _refuse(to: Path) -> None:
    """Raise InputError where something is in the result's place."""
    if to.exists():
        raise InputError(f"{to} is there already: give another place with -o, or remove it")


def _interrupt(stop: Stop) -> None:
    """Where nothing has to be saved."""
    if reason := stop.reason:
        raise Stopped(reason)


def _settled(wish: Wish, model: RetrievalModel | Clap, device: torch.device) -> Wish:
    """The wish with what "auto" stands for in its place."""
    if wish.blocks != "auto":
        return wish
    in_part = device.type == "cpu" and (isinstance(model, Clap) or has_blocks(model))
    return replace(wish, blocks=BLOCKS if in_part else None)


def _settings(
    model: Path, wish: Wish, parts: Mapping[str, Sequence[Recording]], device: torch.device
) -> TrainingSettings:
    table = read_model_table(model)
    dim = table.get("settings", {}).get("audio", {}).get("dim", WIDE)
    precision = choose_precision("auto", device, kind_of_work(dim))
    pairs = len(list(all_captions(parts["training"])))
    return training_settings(wish, table["about"], pairs, precision, READERS[device.type])


def _subject(
    model: RetrievalModel | Clap,
    sha256: str,
    sounds: Path,
    parts: Mapping[str, Sequence[Recording]],
    settings: TrainingSettings,
    wish: Wish,
    device: torch.device,
    work: Path,
    stop: Stop,
) -> Subject:
    heard = [*parts["training"], *parts["validation"]]
    store = Sounds(sounds, {each.path: each.frames for each in heard})
    longest = settings.longest_seconds
    blocks = wish.blocks
    assert blocks != "auto"
    if not isinstance(model, RetrievalModel):
        return Subject(model, ClapPart(model, blocks), store, longest, lambda _: Draws())
    if blocks is None:
        return Subject(model, model, store, longest, partial(draw, model.settings, settings))
    learner = LastBlocks(model, blocks)
    made_by = {"model": sha256, "blocks": blocks, "precision": settings.precision}
    kept = Kept(work / "frozen", made_by)
    with training_precision(device, settings.precision), torch.inference_mode():
        files = _hear(learner, heard, store, kept, device, stop)
        for _, _, caption in all_captions(heard):
            learner.text.files[caption] = kept.file(caption, partial(learner.read, caption))
            _interrupt(stop)
    return Subject(model, learner, KeptSounds(files), UNCUT_SECONDS, lambda _: Draws())


def _hear(
    learner: LastBlocks,
    recordings: Sequence[Recording],
    sounds: Sounds,
    kept: Kept,
    device: torch.device,
    stop: Stop,
) -> dict[str, Path]:
    """Files of what the frozen blocks give of each recording; of a long one, of a part of it."""
    longest = round(LONGEST_SECONDS * SAMPLE_RATE)

    def heard(recording: Recording) -> Tensor:
        pair = Pair(recording.path, 0, "")
        start, frames = crop(recording.frames, longest, SEED, 0, pair)
        waveform = sounds.read(recording.path, start, frames)
        return learner.hear(torch.from_numpy(waveform).to(device))

    files = {}
    with Progress("frozen blocks", len(recordings), "recordings") as progress:
        for each in recordings:
            files[each.path] = kept.file([each.path, each.sha256], partial(heard, each))
            progress.advance()
            _interrupt(stop)
    return files


def _task(
    subject: Subject,
    parts: Mapping[str, Sequence[Recording]],
    settings: TrainingSettings,
    device: torch.device,
) -> Task:
    pairs = [Pair(each.path, n, caption) for each, n, caption in all_captions(parts["training"])]
    asked = [(each.path, caption) for each, _, caption in all_captions(parts["validation"])]
    queries = Queries(
        [each.path for each in parts["validation"]],
        [caption for _, caption in asked],
        [path for path, _ in asked],
    )
    learner, store, longest = subject.learner, subject.store, subject.longest_seconds

    def validate(interrupt: Callable[[], None]) -> Validation:
        split = embed_splits(
            learner, {"": queries}, store, device, longest, settings.precision, interrupt
        )
        return figures(split[""], learner.temperature, settings.batch)

    return Task(
        learner,
        Batches(pairs, store, settings.batch, settings.swap, longest, SEED),
        _matching(learner, pairs),
        subject.draw,
        validate,
        settings,
        SEED,
    )


def _matching(learner: Learner, pairs: Sequence[Pair]) -> Objective:
    """NT-Xent, where a recording matches all its captions, and a caption all that have it."""
    clips, captions = (
        torch.from_numpy(np.unique(names, return_inverse=True)[1])
        for names in ([pair.clip for pair in pairs], [pair.caption for pair in pairs])
    )

    def objective(audio: Tensor, text: Tensor, chosen: Tensor) -> Tensor:
        match = same_audio(clips[chosen]) | same_audio(captions[chosen])
        return nt_xent(audio, text, learner.temperature, match.to(audio.device))

    return objective


def _chosen(trained: Trained) -> Any:
    """The row of the history of the epoch that was chosen."""
    return trained.history[trained.history["chosen"] == 1].iloc[0]


def _write(
    folder: Path,
    model: Path,
    sha256: str,
    subject: Subject,
    trained: Trained,
    settings: TrainingSettings,
    parts: Mapping[str, Sequence[Recording]],
) -> None:
    """The model with what was learnt, its history, and which recording was in which part."""
    shutil.rmtree(folder, ignore_errors=True)
    table, chosen = read_model_table(model), _chosen(trained)
    origin = {"model": model.name, "model_sha256": sha256}
    counts = {part: len(recordings) for part, recordings in parts.items()}
    about = {
        **table["about"],
        "training": asdict(settings),
        "sources": {**table["about"].get("sources", {}), "adapted": "own recordings"},
        "epoch": int(chosen["epoch"]),
        "step": int(chosen["step"]),
        "adapted": {**origin, "recordings": counts},
    }
    subject.learner.load_state_dict(trained.weights)
    if isinstance(subject.model, RetrievalModel):
        save_model(subject.model, folder, about)
    else:
        save_clap(subject.model, folder, {**table, "about": about}, model / "tokenizer.json")
    write_csv(trained.history, folder / "history.csv")
    rows = [
        (printable(each.path), each.sha256, part, len(each.captions))
        for part, recordings in parts.items()
        for each in recordings
    ]
    columns = ["file", "sha256", "part", "captions"]
    write_csv(pd.DataFrame(rows, columns=columns), folder / "recordings.csv")
