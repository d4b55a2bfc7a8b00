"""A trained model, fine-tuned on a person's own recordings with captions.

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

from triptych.apps.sounds.adapting.held_out import HeldOut
from triptych.apps.sounds.adapting.last_blocks import Kept, KeptSounds, LastBlocks, has_blocks
from triptych.apps.sounds.adapting.recordings import Recording, all_captions, split
from triptych.apps.sounds.adapting.settings import BLOCKS, LONGEST_SECONDS, Wish, training_settings
from triptych.apps.sounds.search.index import printable
from triptych.apps.sounds.search.other_formats import stream_any
from triptych.apps.sounds.search.trained import checked_model
from triptych.audio.data.decoding import SAMPLE_RATE
from triptych.audio.data.shards import Store
from triptych.audio.models.model_files import load_model, save_model
from triptych.audio.models.retrieval import Draws, draw
from triptych.audio.models.settings import read_model_table
from triptych.audio.training.batches import Batches, Pair, crop
from triptych.audio.training.corpus import Queries
from triptych.audio.training.losses import nt_xent, same_audio
from triptych.audio.training.settings import MACHINE, kind_of_work
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
        subject = Subject(model, sha256, folder, parts, wish, device, work, stop)
        task = subject.task()
        made_of = {
            "model": sha256,
            "recordings": [asdict(each) for each in recordings],
            "wish": asdict(subject.wish),
            "training": {k: v for k, v in asdict(subject.settings).items() if k not in MACHINE},
            "device": device.type,
        }
        assert task.validate is not None
        first = task.validate(subject.interrupt)
        checkpoint = Checkpoint(work, parameters_digest(made_of))
        trained = train(task, "adapt", device, checkpoint, stop)
        chosen = trained.history[trained.history["chosen"] == 1].iloc[0]
        subject.write(work / "model", trained, chosen)
        after = scores(work / "model", kept=work / "after.npz")
        table = held_out.compare(before, after)
        write_csv(table, work / "model" / "scores.csv")
        (work / "model").rename(to)
    shutil.rmtree(work)
    validation = (first.map_at_10, float(chosen["validation_map_at_10"]))
    return Adapted(table, validation, int(chosen["epoch"]))


def _refuse(to: Path) -> None:
    """Raise InputError where something is in the result's place."""
    if to.exists():
        raise InputError(f"{to} is there already: give another place with -o, or remove it")


class Subject:
    """A model and the recordings that it is adapted to: what learns, from what, and how.

    model: its folder; sha256: of its weights; folder: of the recordings, by part in `parts`;
    work: a folder for what the frozen blocks give.
    """

    def __init__(
        self,
        model: Path,
        sha256: str,
        folder: Path,
        parts: Mapping[str, Sequence[Recording]],
        wish: Wish,
        device: torch.device,
        work: Path,
        stop: Stop,
    ) -> None:
        self._folder, self._sha256, self._parts = model, sha256, parts
        self._device, self._stop = device, stop
        self._model = load_model(model, device)
        self._table = read_model_table(model)
        blocks = wish.blocks
        if blocks == "auto":
            in_part = device.type == "cpu" and has_blocks(self._model)
            blocks = BLOCKS if in_part else None
        self.wish = replace(wish, blocks=blocks)
        dim = self._table["settings"]["audio"]["dim"]
        self.settings = training_settings(
            self.wish,
            self._table["about"],
            len(list(all_captions(parts["training"]))),
            choose_precision("auto", device, kind_of_work(dim)),
            READERS[device.type],
        )
        self._heard = [*parts["training"], *parts["validation"]]
        sounds = Sounds(folder, {each.path: each.frames for each in self._heard})
        # Of longer recordings a part is heard; what is drawn by chance for a step.
        self._store: Store = sounds
        self._longest = self.settings.longest_seconds
        self._draw: Draw = lambda _: Draws()
        self._learner: Learner
        if blocks is None:
            self._learner = self._model
            self._draw = partial(draw, self._model.settings, self.settings)
        else:
            self._learner = learner = LastBlocks(self._model, blocks)
            made_by = {"model": sha256, "blocks": blocks, "precision": self.settings.precision}
            self._store = self._frozen(learner, sounds, Kept(work / "frozen", made_by))
            self._longest = UNCUT_SECONDS

    def interrupt(self) -> None:
        """Raise Stopped where that is asked; nothing has to be saved."""
        if reason := self._stop.reason:
            raise Stopped(reason)

    def _frozen(self, learner: LastBlocks, sounds: Sounds, kept: Kept) -> KeptSounds:
        """What the frozen blocks give of each recording; of a long one, of a part of it."""
        longest = round(LONGEST_SECONDS * SAMPLE_RATE)

        def heard(recording: Recording) -> Tensor:
            pair = Pair(recording.path, 0, "")
            start, frames = crop(recording.frames, longest, SEED, 0, pair)
            waveform = sounds.read(recording.path, start, frames)
            return learner.hear(torch.from_numpy(waveform).to(self._device))

        files = {}
        with training_precision(self._device, self.settings.precision), torch.inference_mode():
            with Progress("frozen blocks", len(self._heard), "recordings") as progress:
                for each in self._heard:
                    files[each.path] = kept.file([each.path, each.sha256], partial(heard, each))
                    progress.advance()
                    self.interrupt()
            for _, _, caption in all_captions(self._heard):
                learner.text.files[caption] = kept.file(caption, partial(learner.read, caption))
                self.interrupt()
        return KeptSounds(files)

    def task(self) -> Task:
        """The training, as the study's trainer takes it."""
        learner, settings = self._learner, self.settings
        training = all_captions(self._parts["training"])
        pairs = [Pair(each.path, n, caption) for each, n, caption in training]
        asked = [
            (each.path, caption) for each, _, caption in all_captions(self._parts["validation"])
        ]
        queries = Queries(
            [each.path for each in self._parts["validation"]],
            [caption for _, caption in asked],
            [path for path, _ in asked],
        )

        def validate(interrupt: Callable[[], None]) -> Validation:
            of_parts = embed_splits(
                *(learner, {"": queries}, self._store, self._device),
                *(self._longest, settings.precision, interrupt),
            )
            return figures(of_parts[""], learner.temperature, settings.batch)

        batches = Batches(pairs, self._store, settings.batch, settings.swap, self._longest, SEED)
        objective = _matching(learner, pairs)
        return Task(learner, batches, objective, self._draw, validate, settings, SEED)

    def write(self, folder: Path, trained: Trained, chosen: Any) -> None:
        """The model with what was learnt, its history, and which recording was in which part."""
        shutil.rmtree(folder, ignore_errors=True)
        earlier = self._table["about"]
        origin = {"model": self._folder.name, "model_sha256": self._sha256}
        counts = {part: len(recordings) for part, recordings in self._parts.items()}
        about = {
            **earlier,
            "training": asdict(self.settings),
            "sources": {**earlier.get("sources", {}), "adapted": "own recordings"},
            "epoch": int(chosen["epoch"]),
            "step": int(chosen["step"]),
            "adapted": {**origin, "recordings": counts},
        }
        self._learner.load_state_dict(trained.weights)
        save_model(self._model, folder, about)
        write_csv(trained.history, folder / "history.csv")
        rows = [
            (printable(each.path), each.sha256, part, len(each.captions))
            for part, recordings in self._parts.items()
            for each in recordings
        ]
        columns = ["file", "sha256", "part", "captions"]
        write_csv(pd.DataFrame(rows, columns=columns), folder / "recordings.csv")


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
