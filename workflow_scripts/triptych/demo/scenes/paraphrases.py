"""The demo's stand-in for a language model: scenes say their captions in other words.

A paraphrase tells the same events in the same relation, with the attributes that its caption
mentions and no others: what a language model could know. It has words, adverbs and an order of
clauses that captions lack beside those that they have, but never the held-out combination of a
class's words, nor is it a caption of any clip.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from triptych.core.files import atomic_path
from triptych.demo.scenes.catalogue import Clip
from triptych.demo.scenes.language import (
    ADVERBS,
    ENDINGS,
    LONGEST,
    RELATIONS,
    SHORTEST,
    Caption,
    phrases,
    sentence,
)
from triptych.demo.scenes.mixing import Scene
from triptych.demo.scenes.signals import keyed
from triptych.demo.scenes.vocabulary import VOCABULARY, WORDS, Verb

PARAPHRASES = 5
"""Of each caption, as the report has them."""

_ADVERBS = {value: [*ADVERBS[value], *own] for value, own in WORDS["other_adverbs"].items()}
_ENDINGS = [*ENDINGS, *WORDS["other_endings"]]


def paraphrases(
    scene: Scene, caption: Caption, generator: np.random.Generator, captions: Collection[str]
) -> list[str]:
    """PARAPHRASES sentences that say a caption of a scene, all different and none in `captions`.

    captions: of all clips, plain (see `plain`).
    """
    found: list[str] = []
    taken: set[str] = set()
    templates = [*RELATIONS[scene.relation], *WORDS["other_relations"][scene.relation]]
    order = generator.permutation(len(templates))

    def words(event: str) -> tuple[str, Verb]:
        pairs = other_phrases(event)
        return pairs[generator.integers(len(pairs))]

    for attempt in range(1000):
        template = templates[order[attempt % len(order)]]
        text = sentence(scene, caption.mentions, template, words, _ADVERBS, _ENDINGS, generator)
        fits = SHORTEST <= len(text.split()) <= LONGEST
        if fits and plain(text) not in taken and plain(text) not in captions:
            taken.add(plain(text))
            found.append(f"{text[0].upper()}{text[1:]}.")
        if len(found) == PARAPHRASES:
            return found
    raise ValueError(f"{scene}: no {PARAPHRASES} paraphrases")


@cache
def other_phrases(event: str) -> list[tuple[str, Verb]]:
    """Subjects with verbs of a class, those of captions and others, but for the held-out ones."""
    known = VOCABULARY[event]
    others = [
        (subject, verb)
        for subject in (*known.subjects, *known.other_subjects)
        for verb in (*known.verbs, *known.other_verbs)
        if subject in known.other_subjects or verb in known.other_verbs
    ]
    return [*phrases(event, held_out=False), *others]


def plain(text: str) -> str:
    """What captions share that differ in capitals and the full stop alone."""
    return text.lower().rstrip(".")


def write_paraphrases(
    splits: Mapping[str, Sequence[Clip]],
    captions: Mapping[str, Sequence[Sequence[Caption]]],
    path: Path,
    seed: int,
) -> None:
    """Those of all captions of Clotho's splits, in the layout of the authors' variations.json."""
    known = {plain(each.text) for texts in captions.values() for own in texts for each in own}
    records = [
        {
            "path": f"{split}/{clip.file_name}",
            "caption": caption.text,
            "variations": paraphrases(
                clip.scene, caption, keyed("paraphrases", seed, clip.name, place), known
            ),
        }
        for split, texts in captions.items()
        for clip, own in zip(splits[split], texts, strict=True)
        for place, caption in enumerate(own)
    ]
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
