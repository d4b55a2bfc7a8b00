"""All clips of the demo's data before any is heard: scenes, names, numbers, planted leaks.

The leaks are those of the real data: recordings of Clotho and AudioCaps that are in WavCaps too,
under the same id and with the same sound, and recordings that two splits of Clotho share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from triptych.demo.scenes.mixing import Scene
from triptych.demo.scenes.names import NOT_FOUND, file_names, sound_ids, video_ids
from triptych.demo.scenes.plan import divide, scenes_to_find, training_scenes
from triptych.demo.scenes.signals import RATE, keyed

LABELLED = ("development", "validation", "evaluation")
CLOTHO = (*LABELLED, "challenge")
WAVCAPS = ("AudioSet_SL", "BBC_Sound_Effects", "FreeSound", "SoundBible")

AUDIOCAPS_TESTED = 0.1
"""Part of AudioCaps' clips in val, and in test."""
WAVCAPS_PARTS = {"AudioSet_SL": 0.25, "BBC_Sound_Effects": 0.125, "SoundBible": 0.125}
"""The rest is FreeSound."""

LEAKED = {"evaluation": 20, "validation": 6, "challenge": 4, "development": 8}
"""Clips of Clotho that are in WavCaps' FreeSound too; at most LEAKED_PART of a small FreeSound."""
SHARED = {"development": 2, "validation": 1}
"""Clips of these splits that a later split has too."""
SHARES = {"evaluation": 2, "validation": 1, "challenge": 0}
"""Clips of these splits that an earlier split has too."""
LEAKED_VIDEOS = {"train": 4, "val": 2, "test": 2}
"""Clips of AudioCaps that are in WavCaps' AudioSet too."""
LEAKED_PART = 0.5


@dataclass(frozen=True)
class Settings:
    """How many clips of each kind, how long, and which ones."""

    development: int
    validation: int
    evaluation: int
    challenge: int
    audiocaps: int
    wavcaps: int
    seconds: Sequence[float]
    """Shortest and longest clip"""
    seed: int

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(
                    f"audio.synthesis.{name} is {getattr(self, name)}; expected are {least} clips "
                    "or more, so that every oddity of the real files has its place"
                )
        shortest, longest = self.seconds
        if not 1 <= shortest <= longest:
            raise ValueError(
                f"audio.synthesis.seconds is {list(self.seconds)}; expected is "
                "[shortest, longest], 1 second or more"
            )


_LEAST = {
    "development": 24,
    "validation": 12,
    "evaluation": 12,
    "challenge": 4,
    "audiocaps": 10,
    "wavcaps": 32,
}


@dataclass(frozen=True)
class Clip:
    """One clip of one data set."""

    dataset: str
    split: str
    """split of Clotho (or challenge) and AudioCaps, part of WavCaps"""
    scene: Scene
    seconds: float
    key: tuple[int | str, ...]
    """what the sound is drawn by: equal scene, seconds and key are the same sound"""
    file_name: str = ""
    """as in the source's tables"""
    sound_id: str = ""
    """on Freesound; WavCaps' own number for BBC and SoundBible"""
    video_id: str = ""
    """on YouTube"""

    @property
    def name(self) -> str:
        """The clip's identifier throughout the study."""
        return f"{self.dataset}/{self.split}/{self.file_name}"

    @property
    def is_own(self) -> bool:
        """Whether its sound was made for this place, not planted from another."""
        return self.key[2:4] == (self.dataset, self.split)

    def with_sound_of(self, other: "Clip") -> "Clip":
        """This clip with another one's sound and ids."""
        return replace(
            self,
            scene=other.scene,
            seconds=other.seconds,
            key=other.key,
            sound_id=other.sound_id,
            video_id=other.video_id,
        )


@dataclass(frozen=True)
class Catalogue:
    """Clips by split: Clotho's and the challenge's, AudioCaps' splits, WavCaps' parts."""

    clotho: dict[str, list[Clip]]
    audiocaps: dict[str, list[Clip]]
    wavcaps: dict[str, list[Clip]]
    trained: frozenset[str]
    """combinations that occur in training, planted leaks not counted"""


def catalogue(settings: Settings) -> Catalogue:
    """All clips, a function of the settings."""
    seed = settings.seed
    divided = divide(seed)
    plans = {
        name: training_scenes(count, divided.training, keyed("scenes", name, seed))
        for name, count in (
            ("development", settings.development - SHARED["development"]),
            ("audiocaps", settings.audiocaps),
            ("wavcaps", settings.wavcaps),
        )
    }
    clotho = {"development": plans["development"]}
    shared: list[Scene] = []
    for split in ("evaluation", "validation", "challenge"):
        held_out = divided.validation if split == "validation" else divided.evaluation
        count = getattr(settings, split) - SHARED.get(split, 0)
        # validation gets one of evaluation's scenes besides, so it must not have it already
        clotho[split] = scenes_to_find(
            count,
            plans["development"],
            held_out,
            keyed("scenes", split, seed),
            but=shared if split == "validation" else (),
        )
        shared += _shareable(clotho[split], plans["development"])[: SHARES[split]]
    of_clotho = {split: _clips("clotho", split, clotho[split], settings) for split in CLOTHO}
    of_audiocaps = _apportioned(
        "audiocaps", plans["audiocaps"], _audiocaps_sizes(settings), settings
    )
    of_wavcaps = _apportioned("wavcaps", plans["wavcaps"], _wavcaps_sizes(settings), settings)
    _number(of_clotho, of_audiocaps, of_wavcaps, seed)
    _share_between_splits(of_clotho, shared)
    _title(of_clotho, seed)
    _leak(of_clotho, of_wavcaps["FreeSound"], LEAKED, seed)
    _leak(of_audiocaps, of_wavcaps["AudioSet_SL"], LEAKED_VIDEOS, seed)
    for split, clips in of_audiocaps.items():
        of_audiocaps[split] = [replace(clip, file_name=f"Y{clip.video_id}.wav") for clip in clips]
    for part, clips in of_wavcaps.items():
        of_wavcaps[part] = [
            replace(clip, file_name=f"{_wavcaps_stem(clip)}.flac") for clip in clips
        ]
    training = [of_clotho["development"], *of_audiocaps.values(), *of_wavcaps.values()]
    trained = frozenset(
        clip.scene.combination for clips in training for clip in clips if clip.is_own
    )
    return Catalogue(of_clotho, of_audiocaps, of_wavcaps, trained)


def _wavcaps_stem(clip: Clip) -> str:
    return f"Y{clip.video_id}" if clip.split == "AudioSet_SL" else clip.sound_id


def _clips(dataset: str, split: str, scenes: Sequence[Scene], settings: Settings) -> list[Clip]:
    shortest, longest = settings.seconds
    clips = []
    for number, scene in enumerate(scenes):
        key = ("clip", settings.seed, dataset, split, number)
        # two sounds in turn need time: the longer half of the lengths
        least = (shortest + longest) / 2 if scene.relation == "then" else shortest
        length = keyed("seconds", *key).uniform(least, longest)
        clips.append(Clip(dataset, split, scene, round(length * RATE) / RATE, key))
    return clips


def _apportioned(
    dataset: str, scenes: Sequence[Scene], sizes: dict[str, int], settings: Settings
) -> dict[str, list[Clip]]:
    bounds = np.cumsum([0, *sizes.values()]).tolist()
    return {
        split: _clips(dataset, split, scenes[begin:end], settings)
        for split, begin, end in zip(sizes, bounds[:-1], bounds[1:], strict=True)
    }


def _audiocaps_sizes(settings: Settings) -> dict[str, int]:
    tested = round(settings.audiocaps * AUDIOCAPS_TESTED)
    return {"train": settings.audiocaps - 2 * tested, "val": tested, "test": tested}


def _wavcaps_sizes(settings: Settings) -> dict[str, int]:
    sizes = {part: round(settings.wavcaps * size) for part, size in WAVCAPS_PARTS.items()}
    sizes["FreeSound"] = settings.wavcaps - sum(sizes.values())
    return {part: sizes[part] for part in WAVCAPS}


def _number(
    clotho: dict[str, list[Clip]],
    audiocaps: dict[str, list[Clip]],
    wavcaps: dict[str, list[Clip]],
    seed: int,
) -> None:
    """Give every clip an id of its own, but for two of each labelled split, which nobody found."""
    from_freesound = [*clotho.values(), wavcaps["FreeSound"]]
    others = [wavcaps["BBC_Sound_Effects"], wavcaps["SoundBible"]]
    count = sum(map(len, [*from_freesound, *others]))
    numbers = iter(sound_ids(count, keyed("sound ids", seed)))
    for clips in [*from_freesound, *others]:
        clips[:] = [replace(clip, sound_id=next(numbers)) for clip in clips]
    for split in LABELLED:
        in_turn = [i for i, clip in enumerate(clotho[split]) if clip.scene.relation == "then"]
        for place in in_turn[:2]:
            clotho[split][place] = replace(clotho[split][place], sound_id=NOT_FOUND)
    on_youtube = [*audiocaps.values(), wavcaps["AudioSet_SL"]]
    videos = iter(video_ids(sum(map(len, on_youtube)), keyed("video ids", seed)))
    for clips in on_youtube:
        clips[:] = [replace(clip, video_id=next(videos)) for clip in clips]


def _title(clotho: dict[str, list[Clip]], seed: int) -> None:
    """Name Clotho's files; a few begin with a blank, one name is in two splits, two have colons."""
    for split, clips in clotho.items():
        names = file_names([clip.scene for clip in clips], keyed("names", seed, split))
        if split == "development":
            names[1], names[2] = f" {names[1]}", f" {names[2]}"
        elif split == "validation":
            names[1] = f" {names[1]}"
        elif split == "evaluation":
            names[4] = clotho["development"][4].file_name
        else:
            names[0], names[1] = "Rooftop w: tin gutter.wav", "Crossing : wet road.wav"
        clips[:] = [replace(clip, file_name=name) for clip, name in zip(clips, names, strict=True)]


def _shareable(scenes: Sequence[Scene], trained: Sequence[Scene]) -> list[Scene]:
    """Scenes that training may have, and whose swapped partner wouldn't be alone."""
    combinations = {scene.combination for scene in trained}
    return [
        scene for scene in scenes if scene.relation != "then" and scene.combination in combinations
    ]


def _share_between_splits(clotho: dict[str, list[Clip]], shared: Sequence[Scene]) -> None:
    """Add recordings that two splits share: two to development, one to validation.

    shared: two scenes of evaluation, the second of which goes to validation, and one of validation.
    """
    for scene, source, split in zip(
        shared,
        ("evaluation", "evaluation", "validation"),
        ("development", "validation", "development"),
        strict=True,
    ):
        clip = next(clip for clip in clotho[source] if clip.scene == scene and clip.is_own)
        clotho[split].insert(6, replace(clip, split=split))


def _leak(
    sources: dict[str, list[Clip]], target: list[Clip], wanted: dict[str, int], seed: int
) -> None:
    """Replace clips of `target`, from its first on, by recordings of `sources`."""
    scale = min(1.0, LEAKED_PART * len(target) / sum(wanted.values()))
    place = 0
    for split, most in wanted.items():
        # the last of a split may be a file that is missing on purpose
        known = [clip for clip in sources[split][:-1] if clip.sound_id != NOT_FOUND]
        # what two splits share is left to the splits: one clip of WavCaps an id
        taken = {(clip.sound_id, clip.video_id) for clip in target[:place]}
        known = [clip for clip in known if (clip.sound_id, clip.video_id) not in taken]
        count = min(max(1, round(most * scale)), len(known))
        chosen = keyed("leaks", seed, split).choice(len(known), count, replace=False)
        for i in sorted(chosen.tolist()):
            target[place] = target[place].with_sound_of(known[i])
            place += 1


def scene_table(clips: Catalogue) -> pd.DataFrame:
    """What every clip truly holds; but for the challenge's, whose truth nobody is told."""
    rows = []
    groups = [{split: clips.clotho[split] for split in LABELLED}, clips.audiocaps, clips.wavcaps]
    for split, members in (item for group in groups for item in group.items()):
        tested = split in ("validation", "evaluation")
        partners = {clip.scene: clip.name for clip in members} if tested else {}
        for clip in members:
            scene = clip.scene
            swapped = scene.relation == "then"
            rows.append(
                {
                    "clip": clip.name,
                    "split": split,
                    "relation": scene.relation,
                    "first": scene.first,
                    "second": scene.second,
                    "combination": scene.combination,
                    "seen": int(scene.combination in clips.trained),
                    "tempo": scene.tempo,
                    "distance": scene.distance,
                    "count": scene.count,
                    "order_partner": partners.get(scene.swapped(), "") if swapped else "",
                }
            )
    return pd.DataFrame(rows)
