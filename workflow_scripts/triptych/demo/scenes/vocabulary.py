"""The words for each class of sound (words.yaml): subjects, verbs, tags."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from triptych.audio.captions.rules import gerund, third_person
from triptych.demo.scenes.foregrounds import WITH_COUNT, WITH_TEMPO

WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Verb:
    """A verb in agreement with its subjects."""

    finite: str
    participle: str


@dataclass(frozen=True)
class Words:
    """How people name a class; every subject goes with every verb."""

    event: str
    copula: str
    """is or are"""
    subjects: tuple[str, ...]
    verbs: tuple[Verb, ...]
    other_subjects: tuple[str, ...]
    """Which paraphrases alone use; so are other_verbs."""
    other_verbs: tuple[Verb, ...]
    tags: tuple[str, ...]
    """Keywords; the first is the plainest."""

    @property
    def has_tempo(self) -> bool:
        """Whether it can be slow or fast."""
        return self.event in WITH_TEMPO

    @property
    def is_counted(self) -> bool:
        """Whether it happens once, twice or several times."""
        return self.event in WITH_COUNT


def _verb(base: str, copula: str) -> Verb:
    """In agreement with "is" or "are": "fall down" is Verb("falls down", "falling down")."""
    if "/" in base:
        return Verb(*base.split("/"))
    first, blank, rest = base.partition(" ")
    if first == "be":
        return Verb(f"{copula} {rest}", f"being {rest}")
    finite = third_person(first) if copula == "is" else first
    return Verb(finite + blank + rest, gerund(first) + blank + rest)


def _words(event: str, given: Mapping[str, Any]) -> Words:
    copula = "are" if given.get("are") else "is"
    of, others = (
        tuple(_verb(base, copula) for base in given[key]) for key in ("verbs", "other_verbs")
    )
    subjects, more, tags = (tuple(given[k]) for k in ("subjects", "other_subjects", "tags"))
    return Words(event, copula, subjects, of, more, others, tags)


VOCABULARY = {event: _words(event, given) for event, given in WORDS["classes"].items()}
