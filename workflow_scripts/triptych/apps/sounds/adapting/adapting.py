"""Adapt a trained model to a person's own captioned recordings, by two linear maps.

The encoders stay as they are, so that each recording is heard once. What they embed is mapped
further: a to a + a A for recordings, t to t + t T for captions (adapters on frozen embeddings: Gao
et al. 2021, CLIP-Adapter), by the study's loss and a decay that holds A and T near zero.
"""

import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.apps.sounds.adapting.recordings import (
    HeldOut,
    Recording,
    read_pairs,
    recordings_of,
    split,
)
from triptych.apps.sounds.search.embedder import (
    ClapEmbedder,
    Embedder,
    Maps,
    load_embedder,
)
from triptych.apps.sounds.search.index import Index, read_index, write_index
from triptych.apps.sounds.search.indexing import update_index
from triptych.apps.sounds.search.trained import checked_model, segment_seconds
from triptych.audio.models.retrieval import unit_vectors
from triptych.audio.models.settings import read_model_table
from triptych.audio.training.losses import nt_xent, same_audio
from triptych.core.device import keyed_generator
from triptych.core.files import write_csv
from triptych.core.stopping import Stop, Stopped

logger = logging.getLogger(__name__)

SETTINGS = {"steps": 300, "learning_rate": 0.01, "temperature": 0.07, "decay": 0.003}
"""Chosen by cross-validation, such that queries about other sounds lose little."""
PAIRS = 1024
"""Pairs of recording and caption in a step; all, if they are fewer."""


def adapt(
    model: Path, pairs: Path, folder: Path, to: Path, device: torch.device, stop: Stop
) -> pd.DataFrame:
    """Adapt a model to the recordings of a table, and write it to the folder `to`, which is new.

    Returns the scores before and after on held-out recordings (`HeldOut.compare`). Embeddings lie
    beside `to` meanwhile; an interrupted run resumes from there to the same bytes. Raises
    InputError for what is wrong with table and recordings; Stopped when `stop` asks.
    """
    captions = read_pairs(pairs, folder)
    model, sha256 = checked_model(model)
    embedder = load_embedder(model, device.type)
    work = to.with_name(f".adapting-{to.name}")
    work.mkdir(parents=True, exist_ok=True)
    index = _heard(folder, list(captions), (model, sha256), embedder, work, stop)
    recordings = recordings_of(index, captions)
    parts = split(recordings)
    counts = ", ".join(f"{len(members)} {part}" for part, members in parts.items())
    logger.info(f"{len(recordings)} recordings: {counts}")
    texts = {
        text: torch.from_numpy(embedder.text(text))
        for text in dict.fromkeys(text for r in recordings for text in r.captions)
    }
    maps = learnt(parts["training"], texts)
    held_out = HeldOut(parts["held out"])
    identity = torch.eye(len(maps[0]))
    before, after = (held_out.scores(texts, each) for each in ((identity, identity), maps))
    compared = held_out.compare(before, after)
    shutil.rmtree(work / "model", ignore_errors=True)
    about = _about(model, sha256, parts)
    embedder.write_mapped(maps, about, work / "model")
    write_csv(compared, work / "model" / "scores.csv")
    (work / "model").rename(to)
    shutil.rmtree(work)
    return compared


def learnt(recordings: Sequence[Recording], texts: Mapping[str, Tensor]) -> Maps:
    """The two maps, learnt by full batches of Adam, whose rate falls linearly.

    Of a recording's segments the mean counts. texts: unit vectors [D] of each caption.
    """
    pairs = [(recording, caption) for recording in recordings for caption in recording.captions]
    audio = unit_vectors(torch.stack([recording.segments.mean(0) for recording, _ in pairs]))
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


def _heard(
    folder: Path,
    paths: Sequence[str],
    model: tuple[Path, str],
    embedder: Embedder | ClapEmbedder,
    work: Path,
    stop: Stop,
) -> Index:
    """An index of the recordings alone, in `work`. Raises Stopped."""
    path = work / f"{model[1]}.npz"
    index, update = update_index(
        folder,
        read_index(path) if path.exists() else None,
        (str(model[0]), model[1], segment_seconds(model[0])),
        lambda: embedder,
        lambda current: write_index(current, path),
        lambda: stop.reason,
        paths=paths,
    )
    if update.stopped:
        raise Stopped(update.stopped)
    return index


def _about(model: Path, sha256: str, parts: Mapping[str, Sequence[Recording]]) -> dict[str, object]:
    """What the adapted model's table says of it."""
    about = read_model_table(model)["about"]
    return {
        **about,
        "sources": {**about.get("sources", {}), "adapted": "own recordings"},
        "adapted": {
            "model": model.name,
            "model_sha256": sha256,
            "settings": SETTINGS,
            "recordings": {part: len(some) for part, some in parts.items()},
        },
    }
