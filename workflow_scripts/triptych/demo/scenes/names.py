"""Names and numbers as Freesound, YouTube and Clotho have them, with all their oddities."""

import string
from collections.abc import Sequence

import numpy as np

from triptych.demo.scenes.language import VOCABULARY
from triptych.demo.scenes.mixing import Scene

NOT_FOUND = "Not found"
"""What Clotho's metadata has in place of a sound_id that nobody knows."""

PLACES = ("garden", "street", "kitchen", "barn", "harbour", "hallway", "forest", "yard", "station")
AUTHORS = ("klangfreund", "fieldmouse", "tape_hiss", "OldMicrophone", "quietplace", "Óscar Ñandú")
"""Uploaders; the last has letters beyond ASCII."""

LICENSES = (
    "http://creativecommons.org/publicdomain/zero/1.0/",
    "http://creativecommons.org/licenses/by/3.0/",
    "http://creativecommons.org/licenses/by-nc/3.0/",
    "http://creativecommons.org/licenses/sampling+/1.0/",
)

_LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
_PATTERNS = (
    "{Tag} {n}.wav",
    "{tag}_{place}_{n}.wav",
    "{date} {tag}.{n}.wav",
    "{Place} {tag}, take {n}.wav",
    "{Tag} #{n} ({place}).wav",
    "{place}&#39;s {tag} {n}.wav",
    "{tag}-{n}_stereo.WAV.wav",
)


def file_names(scenes: Sequence[Scene], generator: np.random.Generator) -> list[str]:
    """A title for each recording, all different: blanks, commas, brackets, entities."""
    names = []
    for number, scene in enumerate(scenes):
        event = scene.events[int(generator.integers(len(scene.events)))]
        tag = VOCABULARY[event].tags[0]
        place = PLACES[int(generator.integers(len(PLACES)))]
        year, month, day = (int(generator.integers(*ends)) for ends in ((5, 15), (1, 13), (1, 29)))
        names.append(
            _PATTERNS[int(generator.integers(len(_PATTERNS)))].format(
                tag=tag,
                Tag=tag.capitalize(),
                place=place,
                Place=place.capitalize(),
                date=f"{year:02}{month:02}{day:02}",
                n=number + 1,
            )
        )
    return names


def sound_ids(count: int, generator: np.random.Generator) -> list[str]:
    """Freesound ids, all different."""
    return [
        str(number) for number in generator.choice(np.arange(156, 400_000), count, replace=False)
    ]


def video_ids(count: int, generator: np.random.Generator) -> list[str]:
    """YouTube ids. The first begins with a dash, the second looks like a number."""
    ids = ["".join(_LETTERS[i] for i in row) for row in generator.integers(0, 64, (count, 11))]
    return [*[f"-{ids[0][1:]}", "12345678901"][:count], *ids[2:]]


def author(generator: np.random.Generator) -> str:
    """One who uploads to Freesound."""
    return AUTHORS[int(generator.integers(len(AUTHORS)))]


def sound_link(sound_id: str, uploader: str) -> str:
    """The page of a sound; there is none for one that was not found."""
    if sound_id == NOT_FOUND:
        return ""
    return f"https://freesound.org/people/{uploader}/sounds/{sound_id}"


def archived(file_name: str) -> str:
    """The name on disk: in the challenge's archive, colons and blanks around them are `_`."""
    return file_name.replace(" : ", "_").replace(": ", "_")
