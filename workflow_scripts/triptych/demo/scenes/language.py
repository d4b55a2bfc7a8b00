"""What people say about a scene: captions, keywords, and a machine's one line.

A caption joins clauses ("a dog barks twice in the distance") by a phrase for their relation.
Clauses combine a subject and a verb of their class. The combination of the last subject with the
first verb is held out: training captions never have it, the captions of other splits may, so
understanding of new words is measured too.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from triptych.demo.scenes.mixing import Scene
from triptych.demo.scenes.vocabulary import VOCABULARY, WORDS, Verb

SHORTEST, LONGEST = 8, 20
"""Words in a caption, as in Clotho."""

MENTIONED = 0.6
"""How often a caption mentions an attribute that is out of the ordinary; ordinary ones are
mentioned less.
"""
MENTIONED_ORDINARY = 0.25
ORDINARY = {"normal", "near", "once"}

ADVERBS: dict[str, list[str]] = WORDS["adverbs"]
RELATIONS: dict[str, list[str]] = WORDS["relations"]
ENDINGS: list[str] = WORDS["endings"]


@dataclass(frozen=True)
class Caption:
    """A caption and which attributes of its scene it mentions (of tempo, distance, count)."""

    text: str
    mentions: frozenset[str]


def phrases(event: str, held_out: bool) -> list[tuple[str, Verb]]:
    """Subjects with verbs of a class: all but the held-out combination, or all."""
    words = VOCABULARY[event]
    kept = (words.subjects[-1], words.verbs[0])
    pairs = [(subject, verb) for subject in words.subjects for verb in words.verbs]
    return pairs if held_out else [pair for pair in pairs if pair != kept]


def captions(
    scene: Scene, count: int, generator: np.random.Generator, held_out: bool, taken: set[str]
) -> list[Caption]:
    """`count` different captions of a scene, none in `taken` (lower case), to which they are added.

    held_out: whether held-out words may occur; they then make up a third.
    """
    found: list[Caption] = []
    relations = RELATIONS[scene.relation]
    order = generator.permutation(len(relations))
    attempt = 0
    while len(found) < count:
        template = relations[order[attempt % len(order)]]
        attempt += 1
        if attempt > 1000:
            raise ValueError(f"{scene}: no {count} new captions among those taken")
        caption = _caption(scene, template, generator, held_out)
        words = len(caption.text.split())
        if SHORTEST <= words <= LONGEST and caption.text.lower().rstrip(".") not in taken:
            taken.add(caption.text.lower().rstrip("."))
            found.append(caption)
    return found


def _caption(
    scene: Scene, template: str, generator: np.random.Generator, held_out: bool
) -> Caption:
    mentions = {
        attribute
        for attribute in ("tempo", "distance", "count")
        if generator.uniform() < _eagerness(getattr(scene, attribute))
    }

    def words(event: str) -> tuple[str, Verb]:
        pairs = phrases(event, held_out)
        chosen = pairs[generator.integers(len(pairs))]
        if held_out and generator.uniform() < 1 / 3:
            return VOCABULARY[event].subjects[-1], VOCABULARY[event].verbs[0]
        return chosen

    text = sentence(scene, mentions, template, words, ADVERBS, ENDINGS, generator)
    if generator.uniform() < 0.8:
        text = text[0].upper() + text[1:]
    if generator.uniform() < 0.7:
        text += "."
    return Caption(text, frozenset(mentions))


def sentence(
    scene: Scene,
    mentions: Collection[str],
    template: str,
    words: Callable[[str], tuple[str, Verb]],
    adverbs: Mapping[str, Sequence[str]],
    endings: Sequence[str],
    generator: np.random.Generator,
) -> str:
    """A scene by one template of its relation, without a capital letter or full stop.

    words: subject and verb of a class. A single sound gets an ending where it would be too short.
    """
    # of a background and a foreground, people say the foreground first
    events = scene.events[::-1] if scene.relation == "while" else scene.events
    parts = {}
    for event, letter in zip(events, "AB", strict=False):
        subject, verb = words(event)
        own = _adverbs(event, scene, mentions, adverbs, generator)
        parts[letter] = " ".join([subject, verb.finite, *own])
        parts[letter.lower()] = " ".join([subject, verb.participle, *own])
    text = template.format(**parts, is_=VOCABULARY[events[0]].copula)
    if scene.relation == "single" and len(text.split()) < SHORTEST:
        text = f"{text} {choice(endings, generator)}"
    return text


def _eagerness(value: str) -> float:
    """How likely an attribute's value is mentioned."""
    if value not in ADVERBS:
        return 0.0
    return MENTIONED_ORDINARY if value in ORDINARY else MENTIONED


def _adverbs(
    event: str,
    scene: Scene,
    mentions: Collection[str],
    adverbs: Mapping[str, Sequence[str]],
    generator: np.random.Generator,
) -> list[str]:
    applies = {"tempo": VOCABULARY[event].has_tempo, "count": VOCABULARY[event].is_counted}
    applies["distance"] = applies["tempo"] or applies["count"]
    return [
        choice(adverbs[getattr(scene, attribute)], generator)
        for attribute in ("tempo", "count", "distance")
        if attribute in mentions and applies[attribute]
    ]


def answers(scene: Scene, query: Scene, mentions: frozenset[str]) -> bool:
    """Whether a clip of `scene` is right for a caption of `query`: same sounds in the same
    relation, and the same values of the attributes that the caption mentions.
    """
    return scene.combination == query.combination and all(
        getattr(scene, attribute) == getattr(query, attribute) for attribute in mentions
    )


def machine_caption(scene: Scene, generator: np.random.Generator) -> str:
    """One line as a language model's: no attributes, and in a fifth an event is missing."""
    events = scene.events[::-1] if scene.relation == "while" else scene.events
    if len(events) == 2 and generator.uniform() < 0.2:
        events = (events[int(generator.integers(2))],)
    relation = scene.relation if len(events) == 2 else "single"
    parts = {}
    for event, clause, phrase in zip(events, "ab", "pq", strict=False):
        pairs = phrases(event, held_out=False)
        subject, verb = pairs[generator.integers(len(pairs))]
        parts[clause] = f"{subject} {VOCABULARY[event].copula} {verb.participle}"
        parts[phrase] = f"{subject} {verb.participle}"
    text = choice(WORDS["machine_relations"][relation], generator).format(**parts)
    return text[0].upper() + text[1:] + "."


def keywords(scene: Scene, generator: np.random.Generator) -> list[str]:
    """Tags as on Freesound: one or two of each class, junk between; in a fifth, one class has none.

    A clip of a single class then has its second tag alone.
    """
    missing = int(generator.integers(len(scene.events))) if generator.uniform() < 0.2 else None
    tags: list[str] = []
    for place, event in enumerate(scene.events):
        of_class = VOCABULARY[event].tags
        if place == missing:
            tags += [] if len(scene.events) > 1 else [of_class[-1]]
        else:
            tags += of_class[: generator.integers(1, len(of_class) + 1)]
    junk = generator.choice(WORDS["junk"], size=generator.integers(2, 5), replace=False)
    mixed = list(dict.fromkeys([*tags, *junk.tolist()]))
    return [mixed[i] for i in generator.permutation(len(mixed))]


def choice(options: Sequence[str], generator: np.random.Generator) -> str:
    """One of them."""
    return options[int(generator.integers(len(options)))]
