"""Train runs of the experiment table, and write each as a folder that is whole or absent."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.audio.data.shards import ClipStore, Store
from triptych.audio.embedding import embed_captions, embed_clips
from triptych.audio.embedding_files import Split, write_embeddings
from triptych.audio.models.retrieval import RetrievalModel, draw, save_model
from triptych.audio.scoring.metrics import columns_of, mean_average_precision, similarities
from triptych.audio.training.batches import Batches, Pair
from triptych.audio.training.corpus import Corpus, Queries
from triptych.audio.training.curves import shown_in
from triptych.audio.training.losses import nt_xent, same_audio
from triptych.audio.training.settings import MACHINE, TrainingSettings, kind_of_work
from triptych.audio.training.spectrograms import Spectrograms
from triptych.audio.training.trainer import Task, Trained, Validation, train
from triptych.audio.training.update import Objective
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_device, choose_precision
from triptych.core.files import write_csv
from triptych.core.provenance import Fingerprint, fingerprint
from triptych.core.stopping import Stop

StrPath = str | Path
KEYS = ("audio_model", "text_model", "corpus", "stage", "captions", "seed")
"""Columns that identify a run in every table."""

Run = Mapping[str, Any]
"""A row of the experiment table."""


@dataclass(frozen=True)
class Plan:
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
    plan: Plan,
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
    clips, chosen = ClipStore(plan.corpus.shards), choose_device(device)
    spectrograms = cache(partial(Spectrograms, clips))
    # Epochs hear the same. A GPU computes it quicker than it is moved; readers share no memory.
    unchanging = not (plan.training.band_jitter or plan.training.workers or chosen.type != "cpu")
    for run, folder in zip(runs, folders, strict=True):
        model = plan.start(int(run["seed"])).to(chosen)
        work = kind_of_work(model.settings.audio.dim)
        precision = choose_precision(plan.training.precision, chosen, work)
        of_run = made_from.with_values(run=dict(run), precision=precision)
        _train_run(
            model,
            run,
            Path(folder),
            replace(plan, training=replace(plan.training, precision=precision)),
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
    plan: Plan,
    *,
    store: Store,
    device: torch.device,
    checkpoint: Checkpoint,
    stop: Stop,
) -> None:
    corpus, settings, seed = plan.corpus, plan.training, int(run["seed"])
    pairs = corpus.pairs(plan.datasets, run["captions"])
    splits = corpus.splits()
    embed = partial(
        embed_splits,
        store=store,
        device=device,
        longest_seconds=settings.longest_seconds,
        precision=settings.precision,
    )

    def validate() -> Validation:
        split = embed(model, {"": splits["validation"]})[""]
        return figures(split, model.temperature, settings.batch)

    batches = Batches(pairs, store, settings.batch, settings.swap, settings.longest_seconds, seed)
    task = Task(
        model,
        batches,
        objective=contrastive(model, pairs, plan.targets),
        draw=partial(draw, model.settings, settings),
        validate=validate if "validation" in splits else None,
        settings=settings,
        seed=seed,
    )
    if plan.shown is not None:
        task = replace(task, show=shown_in(plan.shown, Path(run["folder"]).name))
    trained = train(task, run["run"], device, checkpoint, stop)
    with _whole_folder(folder) as unfinished:
        if plan.untrained:
            untrained = embed(plan.start(seed).to(device), splits)
            write_embeddings(unfinished / "untrained" / "embeddings.npz", untrained)
        model.load_state_dict(trained.weights)
        write_embeddings(unfinished / "embeddings.npz", embed(model, splits))
        _write_model(model, trained, run, plan, unfinished)


def contrastive(
    model: RetrievalModel, pairs: Sequence[Pair], targets: Literal["identity", "same_audio"]
) -> Objective:
    """NT-Xent on a batch, with the report's or its code's idea of what matches."""
    clips = torch.from_numpy(np.unique([pair.clip for pair in pairs], return_inverse=True)[1])

    def objective(audio: Tensor, text: Tensor, chosen: Tensor) -> Tensor:
        positives = None
        if targets == "same_audio":
            positives = same_audio(clips[chosen]).to(audio.device)
        return nt_xent(audio, text, model.temperature, positives)

    return objective


def _write_model(
    model: RetrievalModel, trained: Trained, run: Run, plan: Plan, folder: Path
) -> None:
    chosen = trained.history[trained.history["chosen"] == 1].iloc[0]
    about = {
        "run": dict(run),
        "training": {k: v for k, v in asdict(plan.training).items() if k not in MACHINE},
        "sources": dict(plan.sources),
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


def embed_splits(
    model: RetrievalModel,
    splits: Mapping[str, Queries],
    store: Store,
    device: torch.device,
    longest_seconds: float,
    precision: str,
) -> dict[str, Split]:
    """Embeddings of all clips (their first `longest_seconds`) and captions of some splits, in
    order.
    """
    return {
        name: Split(
            np.array(split.clips, np.str_),
            embed_clips(model, store, split.clips, device, precision, longest_seconds),
            np.array(split.captions, np.str_),
            np.array(split.query_clips, np.str_),
            embed_captions(model, split.captions, device, precision),
        )
        for name, split in splits.items()
    }


def figures(split: Split, temperature: torch.Tensor, batch: int) -> Validation:
    """mAP@10 as published, and the loss of batches like those of the training.

    Each holds `batch` clips in their order, with the first caption of each, then with the second,
    and so on; the incomplete batch at the end is left out unless it is the only one.
    """
    columns = columns_of(split.query_clips.tolist(), split.clips.tolist())
    map_at_10 = mean_average_precision(similarities(split.text, split.audio), columns)
    audio, text = torch.from_numpy(split.audio), torch.from_numpy(split.text)
    losses = [
        nt_xent(audio[columns[rows]], text[rows], temperature.detach().cpu())
        for rows in loss_batches(columns, batch)
    ]
    return Validation(float(torch.stack(losses).mean()), map_at_10)


def loss_batches(columns: NDArray[np.int64], batch: int) -> list[NDArray[np.int64]]:
    """Queries, by their numbers, in batches of distinct clips; columns: the clip of each query."""
    order = np.argsort(columns, kind="stable")
    number = pd.Series(columns[order]).groupby(columns[order]).cumcount().to_numpy()
    rounds = [order[number == n] for n in range(int(number.max()) + 1)]
    return [
        rows
        for queries in rounds
        for rows in np.split(queries, range(batch, len(queries), batch))
        if len(rows) == min(batch, len(queries))
    ]
