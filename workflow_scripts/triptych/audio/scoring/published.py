"""Scores of whole models, such as published checkpoints, on Clotho's evaluation split."""

import logging
import os
from collections.abc import Mapping

import pandas as pd

from triptych.audio.data.shards import ClipStore
from triptych.audio.embedding import embed_split
from triptych.audio.models.retrieval import load_model
from triptych.audio.scoring.metrics import similarities
from triptych.audio.scoring.questions import ask
from triptych.audio.training.corpus import Queries
from triptych.core.device import choose_device
from triptych.core.errors import InputError

logger = logging.getLogger(__name__)

SPLIT = "evaluation"
StrPath = str | os.PathLike[str]


def score_models(
    models: Mapping[str, StrPath],
    clips: pd.DataFrame,
    captions: pd.DataFrame,
    shards: StrPath,
    longest_seconds: float,
    device: str,
) -> pd.DataFrame:
    """Rows of `Questions.measure` of each model, with its name as `checkpoint`; in float32.

    models: folders by name. clips, captions: Clotho's tables. Raises InputError where
    no clip of the split could be read.
    """
    store = ClipStore([shards])
    readable = set(store)
    listed = clips.loc[clips["split"] == SPLIT, "clip"].tolist()
    scored = [clip for clip in listed if clip in readable]
    if not scored:
        raise InputError(
            f"{shards} holds none of the {len(listed)} clips of Clotho's {SPLIT} split"
        )
    if len(scored) < len(listed):
        logger.warning("%d of %d clips could not be read", len(listed) - len(scored), len(listed))
    order = {clip: place for place, clip in enumerate(scored)}
    asked = captions[captions["clip"].isin(scored)].astype({"position": int})
    asked = asked.assign(place=asked["clip"].map(order)).sort_values(["place", "position"])
    queries = Queries(scored, asked["caption"].tolist(), asked["clip"].tolist())
    chosen = choose_device(device)
    rows = []
    for name, folder in models.items():
        model = load_model(folder, chosen)
        split = embed_split(model, queries, store, chosen, longest_seconds, "float32")
        questions = ask(SPLIT, split)
        matrix = similarities(split.text, split.audio)
        rows += [{"checkpoint": name, **row} for row in questions.measure(matrix)]
    return pd.DataFrame(rows)
