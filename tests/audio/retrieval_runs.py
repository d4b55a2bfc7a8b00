"""Model folders as training leaves them, with made-up embeddings, for the tests of scoring."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import save_file

from triptych.audio.embedding_files import Split, write_embeddings

CLIPS, CAPTIONS, SIZE = 24, 5, 16
PAIRS = (("n", "bert"), ("s", "bert"), ("n", "roberta"))


def run(pair: Sequence[str], corpus: str, stage: str, captions: str = "", seed: int = 0) -> dict:
    """A row of the experiment table, its folder still relative."""
    name = "-".join(pair)
    tail = "pretrained" if stage == "pretrained" else f"{stage}/{captions}-seed{seed}"
    return {
        "run": f"{name}/{corpus}/{tail}",
        "folder": f"{name}/{corpus}/{tail}",
        "stage": stage,
        "audio_model": pair[0],
        "text_model": pair[1],
        "corpus": corpus,
        "captions": captions,
        "seed": seed,
        "main": tuple(pair) == PAIRS[0],
    }


def clip_ids(split: str, count: int = CLIPS) -> list[str]:
    """The first has a leading space, as some of Clotho's have."""
    return [f"clotho/{split}/{'' if i else ' '}clip {i}, {split}.wav" for i in range(count)]


def made_up_split(
    split: str, noise: float, seed: int, clips: int = CLIPS, captions: int = CAPTIONS
) -> Split:
    """Clips at random; their captions nearby, the farther the more noise. Nobody knows the clips of
    the challenge's captions.
    """
    audio = np.random.default_rng([len(split), 1]).standard_normal((clips, SIZE))
    text = np.repeat(audio, captions, axis=0)
    text += noise * np.random.default_rng(seed).standard_normal(text.shape)
    names = np.array(clip_ids(split, clips))
    return Split(
        clips=names,
        audio=_normalised(audio),
        captions=np.array([f"caption {q}, of {split}" for q in range(len(text))], dtype=str),
        query_clips=np.repeat(np.where(split == "challenge", "", names), captions),
        text=_normalised(text),
    )


def write_model(root: Path, row: dict[str, Any], noise: float, seed: int) -> dict[str, Any]:
    """The run with its folder below root, where its embeddings and weights now lie."""
    folder = root / row["folder"]
    names = ["challenge"] if row["corpus"] == "all" else ["validation", "evaluation", "challenge"]
    splits = {name: made_up_split(name, noise, seed) for name in names}
    write_embeddings(folder / "embeddings.npz", splits)
    save_file({"a": np.zeros((3, 5)), "b": np.zeros(7)}, folder / "model.safetensors")
    (folder / "history.csv").write_text(f"stage,epoch\n{row['stage']},1\n")
    return row | {"folder": str(folder)}


def study(root: Path) -> list[dict[str, Any]]:
    """A whole study: three pairs on "clean", what is submitted on "all", one on "leaky"."""
    rows = [run(pair, "clean", "pretrained") for pair in PAIRS]
    rows += [run(pair, "clean", "finetuned", "gpt") for pair in PAIRS]
    rows += [run(PAIRS[0], "clean", "finetuned", "human"), run(PAIRS[0], "leaky", "pretrained")]
    rows += [run(pair, "all", "finetuned", "gpt") for pair in PAIRS]
    rows += [run(PAIRS[0], "all", "finetuned", "human"), run(PAIRS[0], "all", "pretrained")]
    noise = {"pretrained": 3.0, "finetuned": 2.0}
    return [write_model(root, row, noise[row["stage"]], 7 + i) for i, row in enumerate(rows)]


def clips_table() -> pd.DataFrame:
    """clips.csv of validation and evaluation; a clip's keyword is its number, in words."""
    rows = [
        (clip, split, f"word{index};field-recording")
        for split in ("validation", "evaluation")
        for index, clip in enumerate(clip_ids(split))
    ]
    return pd.DataFrame(rows, columns=["clip", "split", "keywords"])


def scenes_table() -> pd.DataFrame:
    """Even clips are of seen combinations."""
    clips = clips_table()["clip"]
    return pd.DataFrame({"clip": clips, "seen": [str(1 - index % 2) for index in clips.index]})


def _normalised(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
