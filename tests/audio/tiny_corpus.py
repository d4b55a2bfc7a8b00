"""A corpus of a few seconds of noise, and the smallest real model that can be trained on it."""

import dataclasses
from functools import partial

import numpy as np
import pandas as pd
import tiny_retrieval
from audio_small_models import SMALL, write_text

from triptych.audio.models.retrieval import build_model
from triptych.audio.training.corpus import Corpus
from triptych.audio.training.runs import JobSettings

SPLITS = (
    ("clotho", "development", "train", 6, 2),
    ("clotho", "validation", "validation", 4, 2),
    ("clotho", "evaluation", "evaluation", 3, 2),
    ("clotho", "challenge", "challenge", 2, 0),
    ("wavcaps", "FreeSound", "train", 6, 1),
)
"""Data set, split, role, clips, captions a clip."""
PASST = dataclasses.replace(SMALL.audio, frames=32, dim=8, heads=2, patchout=(1, 1))
MODEL = dataclasses.replace(
    SMALL, audio=PASST, segment_seconds=0.32, projection=12, temperature=0.1, text_dropout=0.2
)
TRAINING = dataclasses.replace(
    tiny_retrieval.SETTINGS,
    batch=4,
    longest_seconds=0.5,
    frequency_mask=20,
    time_mask=10,
    band_jitter=True,
)


def write(folder):
    """The corpus' files, as the rules before training make them."""
    random = np.random.default_rng(0)
    shards = folder / "shards"
    shards.mkdir(parents=True)
    clips, captions, index, offset = [], [], [], 0
    with open(shards / "0.bin", "wb") as shard:
        for dataset, split, role, count, texts in SPLITS:
            for number in range(count):
                clip, frames = f"{dataset}/{split}/ {number}.wav", 6_000 + 3_000 * number
                sound = (random.standard_normal(frames) * 3_000).astype("<i2")
                shard.write(sound.tobytes())
                index.append((clip, "0.bin", "int16", offset, 2 * frames, frames))
                offset += 2 * frames
                clips.append((clip, dataset, split, role))
                words = random.choice(list("rstuvwxy"), (texts, 6))
                captions += [(clip, n, " ".join(row)) for n, row in enumerate(words)]
    tables = {
        "shards/index": (index, "clip shard kind offset bytes frames"),
        "manifest": (clips, "clip dataset split role"),
        "captions": (captions, "clip position caption"),
        "queries": ([(n, f"query {n}") for n in range(2)], "query caption"),
        "variations": (
            [(c, p, v, f"variation {v}") for c, p, _ in captions for v in range(1, 6) if p == 0],
            "clip position variation caption",
        ),
    }
    for name, (rows, columns) in tables.items():
        pd.DataFrame(rows, columns=columns.split()).to_csv(folder / f"{name}.csv", index=False)
    texts = [text for *_, text in captions]
    write_text(folder / "text", texts, hidden=8, vocabulary=60, heads=2)
    return folder


def corpus(folder):
    return Corpus(
        folder / "manifest.csv",
        [folder / "captions.csv"],
        [folder / "shards"],
        folder / "queries.csv",
        folder / "variations.csv",
    )


def plan(folder, **changes):
    start = partial(build_model, MODEL, folder / "text", None)
    return dataclasses.replace(JobSettings(corpus(folder), start, TRAINING), **changes)


def run(stage, captions="", seed=0):
    tail = stage if stage == "pretrained" else f"{stage}/{captions}-seed{seed}"
    name = f"a-t/clean/{tail}"
    keys = {"audio_model": "a", "text_model": "t", "corpus": "clean", "stage": stage}
    keys |= {"captions": captions, "seed": seed}
    return {"run": name, "folder": f"results/audio/models/{name}", **keys}
