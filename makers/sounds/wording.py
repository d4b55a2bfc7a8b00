"""What a scene is called: phrases of its sounds, alone or joined, in full or telegraphic."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from makers.sounds.catalogue import KINDS, Kind

ALONE = (
    "{}",
    "{}",
    "{}",
    "{}",
    "the sound of {}",
    "sound of {}",
    "{} in the distance",
    "{} nearby",
    "a recording of {}",
    "{} can be heard",
    "{} is heard",
    "loud {}",
    "{} outdoors",
    "{} in a room",
    "there is {}",
    "noise of {}",
    "{} again and again",
    "a close up of {}",
)
TOGETHER = (
    "{} and {}",
    "{} while {}",
    "{} with {} in the background",
    "{} as {}",
    "{}, {}",
    "{} over the sound of {}",
    "{} mixed with {}",
    "{} together with {}",
    "{} besides {}",
)
ARTICLES = ("a ", "an ", "the ", "someone ", "a person ", "some ")
FAMILIES = {
    "animals": ("animals", "an animal", "animal sounds"),
    "birds": ("birds", "a bird", "bird calls", "animals"),
    "insects": ("insects", "an insect", "animals"),
    "people": ("people", "human sounds", "a person"),
    "voices": ("a human voice", "voices", "people", "vocal sounds"),
    "water": ("water", "liquid", "water sounds", "nature sounds"),
    "weather": ("weather", "bad weather", "nature sounds"),
    "fire": ("heat", "something hot"),
    "air": ("air", "moving air"),
    "machines": ("a machine", "machines", "mechanical sounds"),
    "vehicles": ("a vehicle", "vehicles", "transport", "engines"),
    "aircraft": ("aircraft", "flying machines", "a vehicle"),
    "tools": ("tools", "a tool", "working with tools", "workshop tools"),
    "household": ("a household appliance", "domestic machines", "an electric appliance"),
    "signals": ("a signal", "signals"),
    "alarms": ("an alarm", "alarms", "a warning signal"),
    "bells": ("bells", "a bell", "ringing"),
    "music": ("music", "a musical instrument", "musical instruments"),
    "solids": ("objects", "an object", "things being handled"),
    "blasts": ("a bang", "bangs", "a loud bang"),
    "hands": ("hands", "body percussion"),
}
"""What one may call any member of a family."""


@dataclass(frozen=True)
class Caption:
    """A text, and the kinds of sound that it speaks of.

    asks: one set of kinds for each sound that it names; a scene fits that has one of each set.
    """

    text: str
    asks: tuple[frozenset[int], ...]


@cache
def _kinds() -> list[Kind]:
    return list(KINDS.values())


@cache
def meanings() -> dict[str, frozenset[int]]:
    """Each phrase, and the kinds (by their place in KINDS) that it may mean: one or several."""
    found: dict[str, set[int]] = {}
    for place, each in enumerate(KINDS.values()):
        for phrase in (*each.phrases, *FAMILIES[each.family]):
            found.setdefault(phrase, set()).add(place)
    return {phrase: frozenset(kinds) for phrase, kinds in found.items()}


def plain(place: int) -> Caption:
    """A kind's plainest phrase."""
    phrase = _kinds()[place].phrases[0]
    return Caption(phrase, (meanings()[phrase],))


def caption(rng: np.random.Generator, places: Sequence[int]) -> Caption:
    """A caption of a scene of these kinds; of several, all are named, or only the first.

    One in twenty says no more than the family.
    """
    if len(places) > 1 and rng.uniform() < 0.25:
        places = places[:1]
    phrases, asks = [], []
    for place in places:
        each = _kinds()[place]
        names = FAMILIES[each.family] if rng.uniform() < 0.05 else each.phrases
        phrase = names[int(rng.integers(len(names)))]
        asks.append(meanings()[phrase])
        phrases.append(_bare(phrase) if rng.uniform() < 0.4 else phrase)
    if len(phrases) == 1:
        text = ALONE[int(rng.integers(len(ALONE)))].format(phrases[0])
    else:
        text = TOGETHER[int(rng.integers(len(TOGETHER)))].format(*phrases[:2])
        text += "".join(f" and {phrase}" for phrase in phrases[2:])
    return Caption(text, tuple(asks))


def _bare(phrase: str) -> str:
    for article in ARTICLES:
        phrase = phrase.removeprefix(article)
    return phrase


def present(scenes: Sequence[Collection[int]]) -> np.ndarray:
    """Which kinds are in which scenes: bool [scenes, kinds]."""
    table = np.zeros((len(scenes), len(KINDS)), bool)
    for row, scene in enumerate(scenes):
        table[row, list(scene)] = True
    return table


def fits(captions: Sequence[Caption], scenes: Sequence[Sequence[int]]) -> np.ndarray:
    """Which captions are true of which scenes: bool [scenes, captions]."""
    table = present(scenes)
    columns = [
        np.logical_and.reduce([table[:, sorted(ask)].any(1) for ask in each.asks])
        for each in captions
    ]
    return np.stack(columns, axis=1)
