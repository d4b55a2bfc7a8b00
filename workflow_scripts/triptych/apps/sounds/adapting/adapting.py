"""Adapt a trained model to a person's own captioned recordings, by two linear maps.

The encoders stay as they are, so that each recording is heard once. What they embed is mapped
anew: a to a + a A for recordings, t to t + t T for captions (adapters on frozen embeddings: Gao et
al. 2021, CLIP-Adapter), by the study's loss and a decay that holds A and T near zero.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from triptych.apps.sounds.adapting.held_out import HeldOut
from triptych.apps.sounds.adapting.recordings import Recording, split
from triptych.apps.sounds.search.embedder import Embedder
from triptych.apps.sounds.search.index import Index, read_index, write_index
from triptych.apps.sounds.search.indexing import Found, update_index
from triptych.apps.sounds.search.trained import checked_model, segment_seconds
from triptych.audio.models.retrieval import load_model, save_model, unit_vectors
from triptych.audio.models.settings import read_model_table
from triptych.audio.training.losses import nt_xent, same_audio
from triptych.core.device import keyed_generator
from triptych.core.errors import InputError
from triptych.core.files import write_csv
from triptych.core.job_lock import owning
from triptych.core.stopping import Stop, Stopped

SETTINGS = {"steps": 300, "learning_rate": 0.01, "temperature": 0.07, "decay": 0.003}
"""Chosen by cross-validation, such that queries about other sounds lose little."""
PAIRS = 1024
"""Pairs of recording and caption in a step; all, if they are fewer."""

Maps = tuple[Tensor, Tensor]
"""Matrices [D, D] that map embeddings of recordings and of captions."""


def adapt(
    model: Path,
    folder: Path,
    recordings: Sequence[Recording],
    to: Path,
    device: torch.device,
    stop: Stop,
) -> pd.DataFrame:
    """Adapt a model to the recordings below a folder, and write it to the folder `to`.

    Returns the scores before and after on held-out recordings (`HeldOut.compare`). Embeddings lie
    beside `to` meanwhile; an interrupted run resumes from there to the same bytes. Raises
    InputError if `to` exists, there are too few recordings or one has changed; Stopped when `stop`
    asks.
    """
    parts = split(recordings)
    _refuse(to)
    work = to.with_name(f".adapting-{to.name}")
    with owning(work / "lease"):
        _refuse(to)  # again, if another process was at it
        model, sha256 = checked_model(model)
        embedder = Embedder(model, device.type)
        heard = _heard(folder, recordings, (model, sha256), embedder, work, stop)
        captions = list(dict.fromkeys(text for r in recordings for text in r.captions))
        texts = {text: torch.from_numpy(embedder.text(text)) for text in captions}
        segments = {
            entry.path: torch.from_numpy(entry.embeddings.astype(np.float32))
            for entry in heard.entries
        }
        maps = learnt(parts["training"], segments, texts)
        held_out = HeldOut(parts["held out"])
        none = torch.eye(len(maps[0]))
        before, after = (
            held_out.scores(
                {
                    recording.path: unit_vectors(segments[recording.path] @ audio)
                    for recording in parts["held out"]
                },
                {caption: unit_vectors(texts[caption][None] @ text)[0] for caption in captions},
            )
            for audio, text in ((none, none), maps)
        )
        compared = held_out.compare(before, after)
        model_folder = work / "model"
        shutil.rmtree(model_folder, ignore_errors=True)
        _write(model, sha256, maps, parts, model_folder)
        write_csv(compared, model_folder / "scores.csv")
        model_folder.rename(to)
    shutil.rmtree(work)
    return compared


def learnt(
    recordings: Sequence[Recording],
    segments: dict[str, Tensor],
    texts: dict[str, Tensor],
) -> Maps:
    """The two maps, of what they are taught.

    segments: unit vectors [S, D] of each recording's segments, by path, of which the mean is
    taken; texts: [D] of each caption. Full batches of Adam, whose rate falls linearly.
    """
    pairs = [(recording, caption) for recording in recordings for caption in recording.captions]
    audio = unit_vectors(torch.stack([segments[recording.path].mean(0) for recording, _ in pairs]))
    text = torch.stack([texts[caption] for _, caption in pairs])
    clips, captions = (
        torch.from_numpy(np.unique(names, return_inverse=True)[1])
        for names in ([recording.path for recording, _ in pairs], [caption for _, caption in pairs])
    )
    width = audio.shape[1]
    maps = [torch.zeros(width, width, requires_grad=True) for _ in range(2)]
    steps, rate = int(SETTINGS["steps"]), SETTINGS["learning_rate"]
    adam = torch.optim.Adam(maps, rate)
    temperature = torch.tensor([SETTINGS["temperature"]])
    for step in range(steps):
        adam.param_groups[0]["lr"] = rate * (1 - step / steps)
        generator = keyed_generator(torch.device("cpu"), "adapt", step)
        part = torch.randperm(len(pairs), generator=generator)[:PAIRS].sort().values
        match = same_audio(clips[part]) | same_audio(captions[part])
        sounds, words = (
            unit_vectors(x[part] + x[part] @ m) for x, m in zip((audio, text), maps, strict=True)
        )
        away = sum(offset.square().sum() for offset in maps)
        loss = nt_xent(sounds, words, temperature, match) + SETTINGS["decay"] * away
        adam.zero_grad()
        loss.backward()
        adam.step()
    one, other = (torch.eye(width) + offset.detach() for offset in maps)
    return one, other


def _refuse(to: Path) -> None:
    """Raise InputError where something is in the result's place."""
    if to.exists():
        raise InputError(f"{to} is there already: give another place with -o, or remove it")


def _heard(
    folder: Path,
    recordings: Sequence[Recording],
    model: tuple[Path, str],
    embedder: Embedder,
    work: Path,
    stop: Stop,
) -> Index:
    """An index of the recordings alone, in `work`. Raises Stopped, and InputError for a change."""
    digests = {recording.path: recording.sha256 for recording in recordings}
    path = work / f"{model[1]}.npz"
    index, update = update_index(
        folder,
        read_index(path) if path.exists() else None,
        (str(model[0]), model[1], segment_seconds(model[0])),
        lambda: embedder,
        lambda current: write_index(current, path),
        lambda: stop.reason,
        found=Found(list(digests)),
    )
    if update.stopped:
        raise Stopped(update.stopped)
    if {entry.path: entry.sha256 for entry in index.entries} != digests:
        raise InputError(f"{folder}: recordings have changed meanwhile; run it again")
    return index


def _write(
    model: Path, sha256: str, maps: Maps, parts: dict[str, list[Recording]], to: Path
) -> None:
    """The model with the maps in the last layers of its projections."""
    network, table = load_model(model), read_model_table(model)
    for projection, mapped in zip(
        (network.project_audio, network.project_sentence), maps, strict=True
    ):
        last = projection[-1]
        assert isinstance(last, nn.Linear)
        last.weight.data = mapped.T @ last.weight
        last.bias.data = last.bias @ mapped
    about = {
        **table["about"],
        "sources": {**table["about"].get("sources", {}), "adapted": "own recordings"},
        "adapted": {
            "model": model.name,
            "model_sha256": sha256,
            "settings": SETTINGS,
            "recordings": {part: len(some) for part, some in parts.items()},
        },
    }
    save_model(network, to, about)
