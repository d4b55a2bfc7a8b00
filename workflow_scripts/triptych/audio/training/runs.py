"""Train runs of the experiment table, and write each as a folder that is whole or absent."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from triptych.audio.data.shards import ClipStore, Store
from triptych.audio.embedding import embed_split
from triptych.audio.embedding_files import Split, write_embeddings
from triptych.audio.models.mel import LogMel
from triptych.audio.models.retrieval import RetrievalModel, save_model, segments_with_audio
from triptych.audio.training.batches import Batches
from triptych.audio.training.corpus import Corpus
from triptych.audio.training.settings import MACHINE, TrainingSettings, kind_of_work
from triptych.audio.training.trainer import Task, Trained, train
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_device, choose_precision
from triptych.core.files import remove_partial, write_csv
from triptych.core.provenance import Fingerprint, fingerprint
from triptych.core.stopping import Stop

StrPath = str | Path
KEYS = ("audio_model", "text_model", "corpus", "stage", "captions", "seed")
"""Columns that identify a run in every table."""

Run = Mapping[str, Any]
"""A row of the experiment table."""


@dataclass(frozen=True)
class JobSettings:
    """Settings that the runs of one job share.

    start: a model as its training begins, of a seed; datasets: trained on, None for all; targets:
    which pairs of a batch match, each its own (report) or all of one clip (its code); untrained:
    whether the embeddings of the model as it begins are kept; shown: a folder for each run's curves
    while it trains.
    """

    corpus: Corpus
    start: Callable[[int], RetrievalModel]
    training: TrainingSettings
    datasets: Sequence[str] | None = None
    targets: Literal["identity", "same_audio"] = "identity"
    untrained: bool = False
    shown: StrPath | None = None
    sources: Mapping[str, str] = field(default_factory=dict)


def train_runs(
    runs: Sequence[Run],
    folders: Sequence[StrPath],
    job: JobSettings,
    device: str,
    checkpoint: StrPath,
    made_from: Fingerprint,
    stop: Stop,
) -> None:
    """Train `runs` one after the other and write each to its folder.

    Every run has its checkpoint below `checkpoint`, valid for `made_from` (`result_fingerprint`)
    and the run's own keys. A folder gets model.safetensors, model.json, tokenizer.json, history.csv
    and embeddings.npz. Raises Stopped after saving when `stop` asks.
    """
    clips, chosen = ClipStore(job.corpus.shards), choose_device(device)
    spectrograms = cache(partial(Spectrograms, clips))
    # Epochs hear the same. A GPU computes it quicker than it is moved; readers share no memory.
    unchanging = not (job.training.band_jitter or job.training.workers or chosen.type != "cpu")
    for run, folder in zip(runs, folders, strict=True):
        model = job.start(int(run["seed"])).to(chosen)
        work = kind_of_work(model.settings.audio.dim)
        precision = choose_precision(job.training.precision, chosen, work)
        of_run = made_from.with_values(run=dict(run), precision=precision)
        _train_run(
            model,
            run,
            Path(folder),
            replace(job, training=replace(job.training, precision=precision)),
            store=spectrograms(model.settings.segment_samples) if unchanging else clips,
            device=chosen,
            checkpoint=Checkpoint(Path(checkpoint) / Path(run["folder"]).name, of_run),
            stop=stop,
        )


def result_fingerprint(params: Mapping[str, Any], inputs: Iterable[StrPath]) -> Fingerprint:
    """The fingerprint of all runs of a job, of its params and files.

    The list of runs, settings of the machine and the curves' place are left out. Shards count by
    their index.
    """
    common = {key: value for key, value in params.items() if key not in ("runs", "shown")}
    training = {k: v for k, v in common["training"].items() if k not in MACHINE}
    return fingerprint({**common, "training": training}, list(_files(inputs)))


def _files(inputs: Iterable[StrPath]) -> Iterator[Path]:
    for path in map(Path, inputs):
        if not path.is_dir():
            yield path
        elif (path / "index.csv").exists():
            yield path / "index.csv"
        else:
            yield from sorted(file for file in path.rglob("*") if file.is_file())


def _train_run(
    model: RetrievalModel,
    run: Run,
    folder: Path,
    job: JobSettings,
    *,
    store: Store,
    device: torch.device,
    checkpoint: Checkpoint,
    stop: Stop,
) -> None:
    settings, seed, shown = job.training, int(run["seed"]), None
    if job.shown is not None:
        shown = Path(job.shown, Path(run["folder"]).name)
        for suffix in (".csv", ".png"):
            remove_partial(Path(f"{shown}{suffix}"))
    pairs, splits = job.corpus.pairs(job.datasets, run["captions"]), job.corpus.splits()
    batches = Batches(pairs, store, settings, seed)
    task = Task(model, batches, settings, seed, job.targets, splits.get("validation"), shown)
    trained = train(task, run["run"], device, checkpoint, stop)

    def embed(model: RetrievalModel) -> dict[str, Split]:
        longest, precision = settings.longest_seconds, settings.precision
        return {
            name: embed_split(model, split, store, device, longest, precision)
            for name, split in splits.items()
        }

    with _whole_folder(folder) as unfinished:
        if job.untrained:
            untrained = embed(job.start(seed).to(device))
            write_embeddings(unfinished / "untrained" / "embeddings.npz", untrained)
        model.load_state_dict(trained.weights)
        write_embeddings(unfinished / "embeddings.npz", embed(model))
        _write_model(model, trained, run, job, unfinished)


def _write_model(
    model: RetrievalModel, trained: Trained, run: Run, job: JobSettings, folder: Path
) -> None:
    chosen = trained.history[trained.history["chosen"] == 1].iloc[0]
    about = {
        "run": dict(run),
        "training": {k: v for k, v in asdict(job.training).items() if k not in MACHINE},
        "sources": dict(job.sources),
        "epoch": int(chosen["epoch"]),
        "step": int(chosen["step"]),
    }
    save_model(model, folder, about)
    history = trained.history
    for position, key in enumerate(KEYS):
        history.insert(position, key, run[key])
    write_csv(history, folder / "history.csv")


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` that takes its place when the block ends well."""
    unfinished = folder.with_name(f".unfinished-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


ROOM = 512 * 2**20
"""Bytes of spectrograms that a job keeps: nearly three hours of sound."""


class Spectrograms:
    """A store of what a model hears: the log-mel spectrograms of a clip's segments.

    Those of whole clips are kept as long as they take at most `room` bytes; all others are computed
    whenever they are read. samples: of a segment.
    """

    def __init__(self, store: Store, samples: int, room: int = ROOM) -> None:
        self._store, self._samples, self._room = store, samples, room
        self._front = LogMel()
        self._kept: dict[str, NDArray[np.float32]] = {}

    def frames(self, clip: str) -> int:
        """Length of a clip in samples."""
        return self._store.frames(clip)

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> NDArray[np.float32]:
        """Log-mel spectrograms [segments, MELS, frames] of a clip or a part, not to be changed."""
        whole = start == 0 and frames in (None, self.frames(clip))
        if whole and clip in self._kept:
            return self._kept[clip]
        waveform = torch.from_numpy(self._store.read(clip, start, frames))
        segments, _ = segments_with_audio(waveform[None], [len(waveform)], self._samples)
        mel = self._front.logarithm(segments).numpy()
        if whole and mel.nbytes <= self._room:
            self._kept[clip] = mel
            self._room -= mel.nbytes
        return mel
