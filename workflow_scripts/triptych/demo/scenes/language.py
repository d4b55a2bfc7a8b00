"""The sentences that describe a scene: captions, paraphrases, keywords, a machine's one line.

A sentence is a template of the scene's relation, filled with a clause for each of its sounds
(words.yaml). Paraphrases stand in for a language model's that writes as people do: they are more
sentences of the captions' language. Words that no query has could only make a model worse.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from triptych.demo.scenes.mixing import Scene

PARAPHRASES = 5
"""Of each caption, as the report has them."""

WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))


def captions(scene: Scene, count: int, generator: np.random.Generator) -> list[str]:
    """`count` different captions of a scene."""
    return _choose(_sentences(scene), count, generator)


def paraphrases(scene: Scene, generator: np.random.Generator, known: Collection[str]) -> list[str]:
    """PARAPHRASES different sentences about a scene, none of them in `known`."""
    options = [text for text in _sentences(scene) if text not in known]
    return _choose(options, PARAPHRASES, generator)


def machine_caption(scene: Scene, generator: np.random.Generator) -> str:
    """One line as a language model writes it: in a fifth of them, one of two sounds is missing."""
    if scene.second and generator.uniform() < 0.2:
        scene = Scene("single", scene.events[int(generator.integers(2))])
    return captions(scene, 1, generator)[0]


def keywords(scene: Scene, generator: np.random.Generator) -> list[str]:
    """Tags as on Freesound: the sounds' own, some of which are missing, and others between."""
    tags = [tag for event in scene.events for tag in WORDS["classes"][event]["tags"]]
    tags = tags[: max(1, len(tags) - int(generator.integers(2)))]
    junk = generator.choice(WORDS["junk"], size=generator.integers(2, 5), replace=False)
    mixed = list(dict.fromkeys([*tags, *junk.tolist()]))
    return [mixed[number] for number in generator.permutation(len(mixed))]


def _sentences(scene: Scene) -> list[str]:
    """All sentences about a scene."""
    first, *second = (WORDS["classes"][event]["clauses"] for event in scene.events)
    texts = [
        template.format(a=one, b=other)
        for template in WORDS["relations"][scene.relation]
        for one in first
        for other in (second[0] if second else [""])
    ]
    return [f"{text[0].upper()}{text[1:]}." for text in texts]


def _choose(options: Sequence[Any], count: int, generator: np.random.Generator) -> list[Any]:
    return [options[number] for number in generator.choice(len(options), count, replace=False)]
