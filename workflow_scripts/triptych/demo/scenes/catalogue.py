"""All clips of the demo's data before any is heard: scenes, names, numbers, planted leaks.

The leaks are those of the real data: recordings of Clotho and AudioCaps that are in WavCaps too,
under the same id and with the same sound, and recordings that two splits of Clotho share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pandas as pd

from triptych.demo.scenes.mixing import Scene
from triptych.demo.scenes.names import NOT_FOUND, file_names, sound_ids, video_ids
from triptych.demo.scenes.plan import divide, scenes_to_find, training_scenes
from triptych.demo.scenes.signals import RATE, keyed

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
        if self.seconds[0] > self.seconds[1]:
            raise ValueError(
                f"audio.synthesis.seconds is {list(self.seconds)}; expected is [shortest, longest]"
            )


@dataclass(frozen=True)
class Clip:
    """One clip of one data set.

    split: of Clotho (or challenge) and AudioCaps, part of WavCaps; key: what the sound is drawn by,
    equal scene, seconds and key are the same sound; file_name: as in the source's tables; sound_id:
    on Freesound, WavCaps' own number for BBC and SoundBible; video_id: on YouTube.
    """

    dataset: str
    split: str
    scene: Scene
    seconds: float
    key: tuple[int | str, ...]
    file_name: str = ""
    sound_id: str = ""
    video_id: str = ""

    @property
    def name(self) -> str:
        """The clip's identifier throughout the study."""
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
    made = Catalogue(
        {split: _clips("clotho", split, clotho[split], settings) for split in CLOTHO},
        _apportioned("audiocaps", plans["audiocaps"], AUDIOCAPS, settings),
        _apportioned("wavcaps", plans["wavcaps"], WAVCAPS, settings),
    )
    _number(made, seed)
    _share_between_splits(made.clotho, shared)
    _title(made.clotho, seed)
    _leak(made.clotho, made.wavcaps["FreeSound"], LEAKED, seed)
    _leak(made.audiocaps, made.wavcaps["AudioSet_SL"], LEAKED_VIDEOS, seed)
    for clips in made.audiocaps.values():
        clips[:] = [replace(clip, file_name=f"Y{clip.video_id}.wav") for clip in clips]
    for part, clips in made.wavcaps.items():
        stems = [f"Y{c.video_id}" if part == "AudioSet_SL" else c.sound_id for c in clips]
        clips[:] = [
            replace(clip, file_name=f"{stem}.flac") for clip, stem in zip(clips, stems, strict=True)
        ]
    return made


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
    dataset: str, scenes: Sequence[Scene], shares: Mapping[str, float | None], settings: Settings
) -> dict[str, list[Clip]]:
    sizes = {part: round(len(scenes) * share) for part, share in shares.items() if share}
    left, clips = iter(scenes), {}
    for part in shares:
        size = sizes.get(part, len(scenes) - sum(sizes.values()))
        clips[part] = _clips(dataset, part, list(islice(left, size)), settings)
    return clips


def _number(made: Catalogue, seed: int) -> None:
    """Give every clip an id of its own, but for two of each labelled split, which nobody found."""
    from_freesound = [*made.clotho.values(), made.wavcaps["FreeSound"]]
    numbered = [*from_freesound, made.wavcaps["BBC_Sound_Effects"], made.wavcaps["SoundBible"]]
    numbers = iter(sound_ids(sum(map(len, numbered)), keyed("sound ids", seed)))
    for clips in numbered:
        clips[:] = [replace(clip, sound_id=next(numbers)) for clip in clips]
    for split in LABELLED:
        clips = made.clotho[split]
        in_turn = [i for i, clip in enumerate(clips) if clip.scene.relation == "then"]
        for place in in_turn[:2]:
            clips[place] = replace(clips[place], sound_id=NOT_FOUND)
    on_youtube = [*made.audiocaps.values(), made.wavcaps["AudioSet_SL"]]
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
            source = known[i]
            target[place] = replace(
                target[place],
                scene=source.scene,
                seconds=source.seconds,
                key=source.key,
                sound_id=source.sound_id,
                video_id=source.video_id,
            )
            place += 1


def scene_table(made: Catalogue) -> pd.DataFrame:
    """What every clip truly holds; but for the challenge's, whose truth nobody is told."""
    rows, trained = [], made.trained
    labelled = {split: made.clotho[split] for split in LABELLED}
    for split, clips in (labelled | made.audiocaps | made.wavcaps).items():
        tested = split in ("validation", "evaluation")
        partners = {clip.scene: clip.name for clip in clips} if tested else {}
        for clip in clips:
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
                    "seen": int(scene.combination in trained),
                    "tempo": scene.tempo,
                    "distance": scene.distance,
                    "count": scene.count,
                    "order_partner": partners.get(scene.swapped(), "") if swapped else "",
                }
            )
    return pd.DataFrame(rows)
