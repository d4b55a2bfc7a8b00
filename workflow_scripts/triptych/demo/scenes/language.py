"""What people say about a scene: captions, keywords, a machine's one line, and paraphrases.

A caption joins clauses ("a dog barks twice in the distance") by a phrase for their relation; a
clause combines a subject and a verb of its class (words.yaml). The last subject with the first verb
is held out: training captions never have it, those of other splits may.

Paraphrases stand in for a language model's: the same events and attributes, partly in words that
captions lack.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from triptych.demo.scenes.foregrounds import WITH_COUNT, WITH_TEMPO
from triptych.demo.scenes.mixing import Scene

SHORTEST, LONGEST = 8, 20
"""Words in a caption, as in Clotho."""

MENTIONED, MENTIONED_ORDINARY = 0.6, 0.25
"""How often a caption mentions an attribute that is out of the ordinary, and one that is not."""
ORDINARY = {"normal", "near", "once"}

PARAPHRASES = 5
"""Of each caption, as the report has them."""

WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))
ADVERBS: dict[str, list[str]] = WORDS["adverbs"]
RELATIONS: dict[str, list[str]] = WORDS["relations"]
ENDINGS: list[str] = WORDS["endings"]
_OTHER_ADVERBS = {value: [*ADVERBS[value], *own] for value, own in WORDS["other_adverbs"].items()}
_OTHER_ENDINGS = [*ENDINGS, *WORDS["other_endings"]]


class Verb(NamedTuple):
    """A verb in agreement with its subjects."""

    finite: str
    participle: str


class Words(NamedTuple):
    """How people name a class; every subject goes with every verb.

    other_subjects, other_verbs: which paraphrases alone use; tags: keywords, the plainest first.
    """

    subjects: list[str]
    verbs: list[Verb]
    other_subjects: list[str]
    other_verbs: list[Verb]
    tags: list[str]
    copula: str = "is"


def _words(given: dict[str, Any]) -> Words:
    verbs = {k: [Verb(*v.split("/")) for v in given[k]] for k in ("verbs", "other_verbs")}
    return Words(**given | verbs)


VOCABULARY = {event: _words(given) for event, given in WORDS["classes"].items()}


@dataclass(frozen=True)
class Caption:
    """A caption and which attributes of its scene it mentions (of tempo, distance, count)."""

    text: str
    mentions: frozenset[str]

    @property
    def plain(self) -> str:
        """What captions share that differ in capitals and the full stop alone."""
        return self.text.lower().rstrip(".")


def phrases(event: str, held_out: bool) -> list[tuple[str, Verb]]:
    """Subjects with verbs of a class: all but the held-out combination, or all."""
    words = VOCABULARY[event]
    kept = (words.subjects[-1], words.verbs[0])
    pairs = [(subject, verb) for subject in words.subjects for verb in words.verbs]
    return pairs if held_out else [pair for pair in pairs if pair != kept]


@cache
def _other_phrases(event: str) -> list[tuple[str, Verb]]:
    """Subjects with verbs of a class, those of captions and others, but for the held-out ones."""
    known = VOCABULARY[event]
    others = [
        (subject, verb)
        for subject in (*known.subjects, *known.other_subjects)
        for verb in (*known.verbs, *known.other_verbs)
        if subject in known.other_subjects or verb in known.other_verbs
    ]
    return [*phrases(event, held_out=False), *others]


def captions(
    scene: Scene, count: int, generator: np.random.Generator, held_out: bool, taken: set[str]
) -> list[Caption]:
    """`count` different captions of a scene, none in `taken` (plain), to which they are added.
    held_out: whether held-out words may occur, in a third."""

    def words(event: str) -> tuple[str, Verb]:
        chosen = _choice(phrases(event, held_out), generator)
        if held_out and generator.uniform() < 1 / 3:
            return VOCABULARY[event].subjects[-1], VOCABULARY[event].verbs[0]
        return chosen

    def eagerness(value: str) -> float:
        ordinary = MENTIONED_ORDINARY if value in ORDINARY else MENTIONED
        return ordinary if value in ADVERBS else 0.0

    def tell(template: str) -> Caption:
        attributes = ("tempo", "distance", "count")
        mentions = frozenset(
            each for each in attributes if generator.uniform() < eagerness(getattr(scene, each))
        )
        text = _sentence(scene, mentions, template, words, ADVERBS, ENDINGS, generator)
        if generator.uniform() < 0.8:
            text = text[0].upper() + text[1:]
        if generator.uniform() < 0.7:
            text += "."
        return Caption(text, mentions)

    return _different(RELATIONS[scene.relation], count, tell, taken, generator)


def paraphrases(
    scene: Scene, caption: Caption, generator: np.random.Generator, captions: Collection[str]
) -> list[str]:
    """PARAPHRASES different sentences that say a caption of a scene, none in `captions` (plain)."""

    def words(event: str) -> tuple[str, Verb]:
        return _choice(_other_phrases(event), generator)

    def tell(template: str) -> Caption:
        known = (words, _OTHER_ADVERBS, _OTHER_ENDINGS, generator)
        text = _sentence(scene, caption.mentions, template, *known)
        return Caption(f"{text[0].upper()}{text[1:]}.", caption.mentions)

    templates = [*RELATIONS[scene.relation], *WORDS["other_relations"][scene.relation]]
    told = _different(templates, PARAPHRASES, tell, set(captions), generator)
    return [each.text for each in told]


def _different(
    templates: Sequence[str],
    count: int,
    tell: Callable[[str], Caption],
    taken: set[str],
    generator: np.random.Generator,
) -> list[Caption]:
    """`count` sentences by the templates in turn, of fitting length and none in `taken` (plain)."""
    order = generator.permutation(len(templates))
    found: list[Caption] = []
    for attempt in range(1000):
        told = tell(templates[order[attempt % len(order)]])
        if SHORTEST <= len(told.text.split()) <= LONGEST and told.plain not in taken:
            taken.add(told.plain)
            found.append(told)
        if len(found) == count:
            return found
    raise ValueError(f"no {count} new sentences beside {found}: ask for fewer clips")


def _sentence(
    scene: Scene,
    mentions: Collection[str],
    template: str,
    words: Callable[[str], tuple[str, Verb]],
    adverbs: Mapping[str, Sequence[str]],
    endings: Sequence[str],
    generator: np.random.Generator,
) -> str:
    """A scene by one template of its relation, without capital letter and full stop; words: subject
    and verb of a class. A single sound gets an ending where it would be too short."""
    parts = {}
    events = _as_told(scene)
    for event, letter in zip(events, "AB", strict=False):
        subject, verb = words(event)
        applies = {"tempo": event in WITH_TEMPO, "count": event in WITH_COUNT}
        applies["distance"] = any(applies.values())
        own = [
            _choice(adverbs[getattr(scene, attribute)], generator)
            for attribute in applies
            if attribute in mentions and applies[attribute]
        ]
        parts[letter] = " ".join([subject, verb.finite, *own])
        parts[letter.lower()] = " ".join([subject, verb.participle, *own])
    text = template.format(**parts, is_=VOCABULARY[events[0]].copula)
    if scene.relation == "single" and len(text.split()) < SHORTEST:
        text = f"{text} {_choice(endings, generator)}"
    return text


def _as_told(scene: Scene) -> tuple[str, ...]:
    """The scene's events; of a background and a foreground, people say the foreground first."""
    return scene.events[::-1] if scene.relation == "while" else scene.events


def answers(scene: Scene, query: Scene, mentions: frozenset[str]) -> bool:
    """Whether a clip of `scene` is right for a caption of `query`: same sounds in the same
    relation, and the same values of the attributes that the caption mentions."""
    alike = all(getattr(scene, each) == getattr(query, each) for each in mentions)
    return alike and scene.combination == query.combination


def machine_caption(scene: Scene, generator: np.random.Generator) -> str:
    """One line as a language model's: no attributes, and in a fifth an event is missing."""
    events = _as_told(scene)
    if len(events) == 2 and generator.uniform() < 0.2:
        events = (events[int(generator.integers(2))],)
    relation = scene.relation if len(events) == 2 else "single"
    parts = {}
    for event, clause, phrase in zip(events, "ab", "pq", strict=False):
        subject, verb = _choice(phrases(event, held_out=False), generator)
        parts[clause] = f"{subject} {VOCABULARY[event].copula} {verb.participle}"
        parts[phrase] = f"{subject} {verb.participle}"
    text = _choice(WORDS["machine_relations"][relation], generator).format(**parts)
    return text[0].upper() + text[1:] + "."


def keywords(scene: Scene, generator: np.random.Generator) -> list[str]:
    """Tags as on Freesound: one or two of each class, junk between; in a fifth, one class has none,
    or a clip of a single class its second alone."""
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


def _choice(options: Sequence[Any], generator: np.random.Generator) -> Any:
    return options[int(generator.integers(len(options)))]
