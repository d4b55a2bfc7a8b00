"""What is written about each clip: captions, and the table of what the clips truly hold."""

from collections.abc import Sequence

import pandas as pd

from triptych.demo.scenes.catalogue import LABELLED, Catalogue, Clip
from triptych.demo.scenes.language import Caption, captions
from triptych.demo.scenes.signals import keyed

SCENE_COLUMNS = (
    "clip",
    "split",
    "relation",
    "first",
    "second",
    "combination",
    "seen",
    "tempo",
    "distance",
    "count",
    "order_partner",
)


def captions_of(
    clips: Sequence[Clip], count: int, held_out: bool, seed: int
) -> list[list[Caption]]:
    """`count` captions of each clip, all of them different.

    held_out: whether words that training lacks may occur.
    """
    taken: set[str] = set()
    return [
        captions(clip.scene, count, keyed("captions", seed, clip.name), held_out, taken)
        for clip in clips
    ]


def scene_table(clips: Catalogue) -> pd.DataFrame:
    """SCENE_COLUMNS of every clip but the challenge's, whose truth nobody is told."""
    rows = []
    groups = [{split: clips.clotho[split] for split in LABELLED}, clips.audiocaps, clips.wavcaps]
    for split, members in (item for group in groups for item in group.items()):
        tested = split in ("validation", "evaluation")
        partners = {clip.scene: clip.name for clip in members} if tested else {}
        for clip in members:
            scene = clip.scene
            swapped = scene.relation == "then"
            rows.append(
                {
                    "clip": clip.name,
                    "split": split,
                    "relation": scene.relation,
                    "first": scene.first,
                    "second": scene.second,
                    "combination": scene.combination,
                    "seen": int(scene.combination in clips.trained),
                    "tempo": scene.tempo,
                    "distance": scene.distance,
                    "count": scene.count,
                    "order_partner": partners.get(scene.swapped(), "") if swapped else "",
                }
            )
    return pd.DataFrame(rows, columns=list(SCENE_COLUMNS))
