"""Which scenes each split holds: combinations held out, scenes to be found, swapped pairs.

A combination is a background with a foreground, or two foregrounds in their order. A quarter never
occurs in training: two fifths of these serve validation, the others evaluation and the challenge,
so that a model chosen by validation has not been chosen by them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import FOREGROUNDS
from triptych.demo.scenes.mixing import Scene, variants
from triptych.demo.scenes.signals import keyed

Pair = tuple[str, str]
"""(background, foreground), or two foregrounds: both of their orders are held out, or none."""

SINGLE = 0.2
"""Part of training scenes, and of the seen scenes to be found, that hold one sound."""
THEN = 0.36
TESTED_THEN = 0.44
"""Parts of scenes in which one foreground follows another, of training and of what is to be found;
all others are a background with a foreground."""
VARIANTS = 2
"""Scenes to be found of one combination, which differ in attributes; more if it takes more."""


class Combinations(NamedTuple):
    """What one split draws from. together: (background, foreground); in_turn: two foregrounds."""

    together: Sequence[Pair]
    in_turn: Sequence[Pair]


class Divided(NamedTuple):
    """All combinations: those of training, and those held out for validation and for evaluation."""

    training: Combinations
    validation: Combinations
    evaluation: Combinations


def divide(seed: int) -> Divided:
    """Hold out a quarter of all combinations, and about a quarter of those of each class."""
    generator = keyed("held out", seed)
    backgrounds = [str(name) for name in generator.permutation(list(BACKGROUNDS))]
    foregrounds = [str(name) for name in generator.permutation(FOREGROUNDS)]
    together = _dealt(
        ((first, second), (i + j) % 4 == 0)
        for (i, first), (j, second) in product(enumerate(backgrounds), enumerate(foregrounds))
    )
    in_turn = _dealt(
        # neighbours on a circle: every class is held out with four others
        ((first, second), min(j - i, len(foregrounds) - (j - i)) <= 2)
        for (i, first), (j, second) in combinations(enumerate(foregrounds), 2)
    )
    return Divided(*map(Combinations, together, in_turn))


def _dealt(pairs: Iterable[tuple[Pair, bool]]) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Pairs of training, validation and evaluation, given which are held out: of five, two go to
    validation and three to evaluation."""
    parts: tuple[list[Pair], list[Pair], list[Pair]] = ([], [], [])
    count = 0
    for pair, held_out in pairs:
        count += held_out
        parts[0 if not held_out else 1 if count % 5 in (1, 3) else 2].append(pair)
    return parts


def training_scenes(
    count: int, allowed: Combinations, generator: np.random.Generator
) -> list[Scene]:
    """Scenes to learn from, with random attributes; those of two foregrounds in both orders."""
    turns = round(count * THEN / 2)
    singles = round(count * SINGLE)
    alone = [(name, "") for name in (*BACKGROUNDS, *FOREGROUNDS)]
    wanted = [("single", *pair) for pair in _cycle(alone, singles, generator)]
    for first, second in _cycle(allowed.in_turn, turns, generator):
        wanted += [("then", first, second), ("then", second, first)]
    together = _cycle(allowed.together, count - len(wanted), generator)
    wanted += [("while", *pair) for pair in together]
    scenes = []
    for combination in wanted:
        choice = variants(*combination)
        scenes.append(choice[generator.integers(len(choice))])
    return [scenes[i] for i in generator.permutation(len(scenes))]


def scenes_to_find(
    count: int,
    trained: Sequence[Scene],
    held_out: Combinations,
    generator: np.random.Generator,
    but: Collection[Scene] = (),
) -> list[Scene]:
    """Scenes to be found, no two alike, none in `but`: half of combinations among `trained`, half
    held out. Every scene of two foregrounds comes with the one in which they are swapped. Raises
    ValueError when there aren't as many different scenes.
    """
    singles, behind, in_turn = (
        sorted({(scene.first, scene.second) for scene in trained if scene.relation == relation})
        for relation in ("single", "while", "then")
    )
    both_ways = [pair for pair in in_turn if pair < pair[::-1] and pair[::-1] in in_turn]
    seen = Combinations(behind, both_ways)
    scenes: list[Scene] = []
    uses: Counter[str] = Counter()
    for number, source in ((count - count // 2, seen), (count // 2, held_out)):
        turns = round(number * TESTED_THEN / 2)
        alone = round(number * SINGLE) if source is seen else 0
        in_order = _different("then", source.in_turn, turns, generator, uses, but)
        scenes += [scene for one in in_order for scene in (one, one.swapped())]
        scenes += _different("single", singles, alone, generator, uses, but)
        together = number - 2 * turns - alone
        scenes += _different("while", source.together, together, generator, uses, but)
    return [scenes[i] for i in generator.permutation(len(scenes))]


def _cycle(pairs: Sequence[Pair], count: int, generator: np.random.Generator) -> list[Pair]:
    """`count` of the pairs: all of them in a random order, then all again in another one."""
    drawn: list[Pair] = []
    while len(drawn) < count:
        drawn += [pairs[i] for i in generator.permutation(len(pairs))]
    return drawn[:count]


def _different(
    relation: str,
    pairs: Sequence[Pair],
    count: int,
    generator: np.random.Generator,
    uses: Counter[str],
    but: Collection[Scene],
) -> list[Scene]:
    """`count` different scenes: at most VARIANTS of a pair, more only where `count` needs them.

    Pairs whose events occur least so far come first. uses: how often each event occurs, which is
    updated.
    """
    left = {}
    for i in generator.permutation(len(pairs)):
        choice = [scene for scene in variants(relation, *pairs[i]) if scene not in but]
        left[pairs[i]] = [choice[j] for j in generator.permutation(len(choice))]
    possible = sum(map(len, left.values()))
    if count > possible:
        raise ValueError(
            f"there are only {possible} different scenes ({relation}), and {count} were asked for: "
            "make the split smaller, or the training data larger"
        )
    each = VARIANTS
    while sum(len(choice[:each]) for choice in left.values()) < count:
        each += 1
    scenes: list[Scene] = []
    while len(scenes) < count:
        rarest = min(left, key=lambda pair: sum(uses[name] for name in pair if name))
        chosen = left.pop(rarest)[: min(each, count - len(scenes))]
        scenes += chosen
        uses.update(name for scene in chosen for name in scene.events)
    return scenes
