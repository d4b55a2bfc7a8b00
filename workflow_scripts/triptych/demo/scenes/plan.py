"""The scenes of each split. A third of the combinations of two sounds never occurs in training.

Two fifths of these serve validation, the others evaluation and the challenge, so that a model
chosen by validation has not been chosen by them.
"""

from collections.abc import Collection, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import FOREGROUNDS
from triptych.demo.scenes.mixing import Scene
from triptych.demo.scenes.signals import keyed

SINGLE, THEN = 0.2, 0.36
"""Parts of the training scenes that hold one sound, and two foregrounds in turn."""


class Divided(NamedTuple):
    """All scenes of two sounds: those of training, and those held out."""

    training: list[Scene]
    validation: list[Scene]
    evaluation: list[Scene]


def divide(seed: int) -> Divided:
    """Hold out a third of the combinations, of two foregrounds in both orders."""
    generator = keyed("held out", seed)
    together = [[Scene("while", *pair)] for pair in product(BACKGROUNDS, FOREGROUNDS)]
    in_turn = [
        [Scene("then", first, second), Scene("then", second, first)]
        for first, second in combinations(FOREGROUNDS, 2)
    ]
    divided = Divided([], [], [])
    for groups in (together, in_turn):
        for place, number in enumerate(generator.permutation(len(groups))):
            part = 0 if place % 3 else 1 if place % 15 in (0, 6) else 2
            divided[part].extend(groups[number])
    return divided


def training_scenes(
    count: int, allowed: Sequence[Scene], generator: np.random.Generator
) -> list[Scene]:
    """Scenes to learn from: each kind goes through all of its combinations before it repeats."""
    alone = [Scene("single", name) for name in (*BACKGROUNDS, *FOREGROUNDS)]
    scenes = _cycle(alone, round(count * SINGLE), generator)
    in_turn = [scene for scene in allowed if scene.relation == "then"]
    scenes += _cycle(in_turn, round(count * THEN), generator)
    together = [scene for scene in allowed if scene.relation == "while"]
    scenes += _cycle(together, count - len(scenes), generator)
    return [scenes[number] for number in generator.permutation(len(scenes))]


def scenes_to_find(
    count: int,
    trained: Collection[Scene],
    held_out: Sequence[Scene],
    generator: np.random.Generator,
    without: Collection[Scene] = (),
) -> list[Scene]:
    """Different scenes to be found, none in `without`: up to half of them held out.

    Raises ValueError if there are not as many.
    """
    known, unseen = (
        [scenes[number] for number in generator.permutation(len(scenes))]
        for scenes in (
            [scene for scene in dict.fromkeys(trained) if scene not in without],
            [scene for scene in held_out if scene not in without],
        )
    )
    new = unseen[: count // 2]
    if count - len(new) > len(known):
        raise ValueError(
            f"there are only {len(new) + len(known)} different scenes, expected {count}: make the "
            "split of audio.synthesis smaller, or its development split larger"
        )
    scenes = new + known[: count - len(new)]
    return [scenes[number] for number in generator.permutation(len(scenes))]


def _cycle(scenes: Sequence[Scene], count: int, generator: np.random.Generator) -> list[Scene]:
    """All scenes in a random order, then all again in another one, `count` in total."""
    cycled: list[Scene] = []
    while len(cycled) < count:
        cycled += [scenes[number] for number in generator.permutation(len(scenes))]
    return cycled[:count]
