"""All clips of the demo's data before any is heard: scenes, names, numbers, planted leaks.

The leaks are those of the real data: recordings of Clotho and AudioCaps that are in WavCaps too,
under the same id and with the same sound, and recordings that two splits of Clotho share.

A third of the combinations of two sounds never occurs in training. Two fifths of these serve
validation, the others evaluation and the challenge, so that a model chosen by validation has not
been chosen by them.
"""

import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np
import pandas as pd

from triptych.demo.scenes.sounds import (
    BACKGROUNDS,
    CLASSES,
    FOREGROUNDS,
    RATE,
    Scene,
    keyed,
)

LABELLED = ("development", "validation", "evaluation")
CLOTHO = (*LABELLED, "challenge")

AUDIOCAPS = {"train": None, "val": 0.1, "test": 0.1}
WAVCAPS = {"AudioSet_SL": 0.25, "BBC_Sound_Effects": 0.125, "FreeSound": None, "SoundBible": 0.125}
"""Shares of a data set's clips in its parts; None: the rest."""

LEAKED = {"evaluation": 20, "validation": 6, "challenge": 4, "development": 8}
"""Clips of Clotho that are in WavCaps' FreeSound too; at most LEAKED_PART of a small FreeSound."""
SHARED = {"development": 2, "validation": 1}
"""Clips of these splits that a later split has too."""
SHARES = {"evaluation": 2, "validation": 1, "challenge": 0}
"""Clips of these splits that an earlier split has too."""
LEAKED_VIDEOS = {"train": 4, "val": 2, "test": 2}
"""Clips of AudioCaps that are in WavCaps' AudioSet too."""
LEAKED_PART = 0.5

SINGLE, THEN = 0.2, 0.36
"""Parts of the training scenes that hold one sound, and two foregrounds in turn."""

_LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"


@dataclass(frozen=True)
class Settings:
    """Numbers of clips of each kind, the shortest and the longest in seconds, and the seed."""

    development: int
    validation: int
    evaluation: int
    challenge: int
    audiocaps: int
    wavcaps: int
    seconds: Sequence[float]
    seed: int

    def __post_init__(self) -> None:
        if self.seconds[0] > self.seconds[1]:
            raise ValueError(
                f"audio.synthesis.seconds is {list(self.seconds)}; expected is [shortest, longest]"
            )


@dataclass(frozen=True)
class Clip:
    """One clip of one data set.

    split: or challenge, or part of WavCaps; key: what the sound is drawn by (equal scene, seconds
    and key are the same sound); id: on Freesound, of a video, or WavCaps' own number; title: of a
    clip of Clotho.
    """

    dataset: str
    split: str
    scene: Scene
    seconds: float
    key: tuple[int | str, ...]
    id: str = ""
    title: str = ""

    @property
    def file_name(self) -> str:
        """The name in the source's tables."""
        if self.dataset == "clotho":
            return f"{self.title}.wav"
        if self.dataset == "audiocaps":
            return f"Y{self.id}.wav"
        return f"{'Y' if self.split == 'AudioSet_SL' else ''}{self.id}.flac"

    @property
    def name(self) -> str:
        return f"{self.dataset}/{self.split}/{self.file_name}"

    @property
    def is_own(self) -> bool:
        """Whether its sound was made for this place, not planted from another."""
        return self.key[2:4] == (self.dataset, self.split)


@dataclass(frozen=True)
class Catalogue:
    """Clips by split: Clotho's and the challenge's, AudioCaps' splits, WavCaps' parts."""

    clotho: dict[str, list[Clip]]
    audiocaps: dict[str, list[Clip]]
    wavcaps: dict[str, list[Clip]]

    @property
    def trained(self) -> set[str]:
        """Combinations that occur in training, planted leaks not counted."""
        parts = [self.clotho["development"], *self.audiocaps.values(), *self.wavcaps.values()]
        return {clip.scene.combination for clips in parts for clip in clips if clip.is_own}


def catalogue(settings: Settings) -> Catalogue:
    """All clips, a function of the settings."""
    seed = settings.seed
    divided = divide(seed)
    counts = {
        "development": settings.development - SHARED["development"],
        "audiocaps": settings.audiocaps,
        "wavcaps": settings.wavcaps,
    }
    plans = {
        name: training_scenes(count, divided.training, keyed("scenes", name, seed))
        for name, count in counts.items()
    }
    development = plans["development"]
    trained = {scene.combination for scene in development}
    clotho, shared = {"development": development}, list[Scene]()
    for split in ("evaluation", "validation", "challenge"):
        scenes_found = scenes_to_find(
            getattr(settings, split) - SHARED.get(split, 0),
            development,
            divided.validation if split == "validation" else divided.evaluation,
            keyed("scenes", split, seed),
            # validation gets one of evaluation's scenes besides, so it must not have it already
            without=shared if split == "validation" else (),
        )
        # Only scenes that training may have are shared with it.
        known = [scene for scene in scenes_found if scene.combination in trained]
        shared += known[: SHARES[split]]
        clotho[split] = scenes_found
    clips_made = Catalogue(
        {split: _clips("clotho", split, clotho[split], settings) for split in CLOTHO},
        _apportioned("audiocaps", plans["audiocaps"], AUDIOCAPS, settings),
        _apportioned("wavcaps", plans["wavcaps"], WAVCAPS, settings),
    )
    _number(clips_made, seed)
    _share_between_splits(clips_made.clotho, shared)
    for clips in clips_made.clotho.values():
        tags = [CLASSES[clip.scene.first]["tags"][0].capitalize() for clip in clips]
        clips[:] = [
            replace(clip, title=f"{tag} {number}")
            for number, (clip, tag) in enumerate(zip(clips, tags, strict=True), start=1)
        ]
    _leak(clips_made.clotho, clips_made.wavcaps["FreeSound"], LEAKED, seed)
    _leak(clips_made.audiocaps, clips_made.wavcaps["AudioSet_SL"], LEAKED_VIDEOS, seed)
    return clips_made


def _clips(dataset: str, split: str, scenes: Sequence[Scene], settings: Settings) -> list[Clip]:
    shortest, longest = settings.seconds
    clips = []
    for number, scene in enumerate(scenes):
        key = ("clip", settings.seed, dataset, split, number)
        # Two sounds in turn need time: the longer half of the lengths.
        least = (shortest + longest) / 2 if scene.relation == "then" else shortest
        length = keyed("seconds", *key).uniform(least, longest)
        clips.append(Clip(dataset, split, scene, round(length * RATE) / RATE, key))
    return clips


def _apportioned(
    dataset: str, scenes: Sequence[Scene], shares: Mapping[str, float | None], settings: Settings
) -> dict[str, list[Clip]]:
    sizes = {part: round(len(scenes) * share) for part, share in shares.items() if share}
    remaining, clips = iter(scenes), {}
    for part in shares:
        size = sizes.get(part, len(scenes) - sum(sizes.values()))
        clips[part] = _clips(dataset, part, list(islice(remaining, size)), settings)
    return clips


def _number(clips: Catalogue, seed: int) -> None:
    """Give every clip an id of its own: of Freesound, of WavCaps, or of a video."""
    others = (clips.wavcaps[part] for part in ("FreeSound", "BBC_Sound_Effects", "SoundBible"))
    numbered = [*clips.clotho.values(), *others]
    on_youtube = [*clips.audiocaps.values(), clips.wavcaps["AudioSet_SL"]]
    numbers = keyed("sound ids", seed).choice(
        np.arange(156, 400_000), sum(map(len, numbered)), replace=False
    )
    letters = keyed("video ids", seed).integers(0, 64, (sum(map(len, on_youtube)), 11))
    videos = ("".join(_LETTERS[letter] for letter in row) for row in letters)
    for groups, ids in ((numbered, map(str, numbers)), (on_youtube, videos)):
        for members in groups:
            members[:] = [replace(clip, id=next(ids)) for clip in members]


def _share_between_splits(clotho: dict[str, list[Clip]], shared: Sequence[Scene]) -> None:
    """Add recordings that two splits share: two to development, one to validation.

    shared: two scenes of evaluation, the second of which goes to validation, and one of validation.
    """
    sources = ("evaluation", "evaluation", "validation")
    targets = ("development", "validation", "development")
    for scene, source, split in zip(shared, sources, targets, strict=True):
        clip = next(clip for clip in clotho[source] if clip.scene == scene and clip.is_own)
        clotho[split].insert(6, replace(clip, split=split))


def _leak(
    sources: dict[str, list[Clip]], target: list[Clip], most_by_split: dict[str, int], seed: int
) -> None:
    """Replace clips of `target`, from its first on, by recordings of `sources`."""
    scale = min(1.0, LEAKED_PART * len(target) / sum(most_by_split.values()))
    place = 0
    for split, most in most_by_split.items():
        # the last of a split may be a file that is missing on purpose; what two splits share is
        # left to the splits: one clip of WavCaps an id
        taken = {clip.id for clip in target[:place]}
        known = [clip for clip in sources[split][:-1] if clip.id not in taken]
        count = min(max(1, round(most * scale)), len(known))
        chosen = keyed("leaks", seed, split).choice(len(known), count, replace=False)
        for i in sorted(chosen.tolist()):
            own = target[place]
            target[place] = replace(known[i], dataset=own.dataset, split=own.split)
            place += 1


def scene_table(clips_made: Catalogue) -> pd.DataFrame:
    """The content of every clip except the challenge's, whose truth is not published."""
    labelled = {split: clips_made.clotho[split] for split in LABELLED}
    trained = clips_made.trained
    rows = [
        {
            "clip": clip.name,
            "split": split,
            **asdict(clip.scene),
            "combination": clip.scene.combination,
            "seen": int(clip.scene.combination in trained),
        }
        for split, clips in (labelled | clips_made.audiocaps | clips_made.wavcaps).items()
        for clip in clips
    ]
    return pd.DataFrame(rows)


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
