"""All clips of the demo's data before any is heard: scenes, names, numbers, planted leaks.

The leaks are those of the real data: recordings of Clotho and AudioCaps that are in WavCaps too,
under the same id and with the same sound, and recordings that two splits of Clotho share.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice

import numpy as np
import pandas as pd

from triptych.demo.scenes.language import WORDS
from triptych.demo.scenes.mixing import Scene
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
    and key are the same sound); file_name: as in the source's tables; sound_id: on Freesound, or
    WavCaps' own number; video_id: on YouTube.
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
        clips[:] = [
            replace(clip, file_name=f"{title(clip.scene, number)}.wav")
            for number, clip in enumerate(clips)
        ]
    _leak(clips_made.clotho, clips_made.wavcaps["FreeSound"], LEAKED, seed)
    _leak(clips_made.audiocaps, clips_made.wavcaps["AudioSet_SL"], LEAKED_VIDEOS, seed)
    for clips in clips_made.audiocaps.values():
        clips[:] = [replace(clip, file_name=f"Y{clip.video_id}.wav") for clip in clips]
    for part, clips in clips_made.wavcaps.items():
        stems = [f"Y{c.video_id}" if part == "AudioSet_SL" else c.sound_id for c in clips]
        clips[:] = [
            replace(clip, file_name=f"{stem}.flac") for clip, stem in zip(clips, stems, strict=True)
        ]
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
    from_freesound = [*clips.clotho.values(), clips.wavcaps["FreeSound"]]
    numbered = [*from_freesound, clips.wavcaps["BBC_Sound_Effects"], clips.wavcaps["SoundBible"]]
    numbers = iter(sound_ids(sum(map(len, numbered)), keyed("sound ids", seed)))
    for members in numbered:
        members[:] = [replace(clip, sound_id=next(numbers)) for clip in members]
    on_youtube = [*clips.audiocaps.values(), clips.wavcaps["AudioSet_SL"]]
    letters = keyed("video ids", seed).integers(0, 64, (sum(map(len, on_youtube)), 11))
    videos = iter("".join(_LETTERS[letter] for letter in row) for row in letters)
    for members in on_youtube:
        members[:] = [replace(clip, video_id=next(videos)) for clip in members]


def sound_ids(count: int, generator: np.random.Generator) -> list[str]:
    """Freesound ids, all different."""
    return list(map(str, generator.choice(np.arange(156, 400_000), count, replace=False)))


def title(scene: Scene, number: int) -> str:
    """A recording's name, different for each number."""
    tag: str = WORDS["classes"][scene.first]["tags"][0]
    return f"{tag.capitalize()} {number + 1}"


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
        taken = {(clip.sound_id, clip.video_id) for clip in target[:place]}
        known = [c for c in sources[split][:-1] if (c.sound_id, c.video_id) not in taken]
        count = min(max(1, round(most * scale)), len(known))
        chosen = keyed("leaks", seed, split).choice(len(known), count, replace=False)
        for i in sorted(chosen.tolist()):
            new_place = {"dataset": target[place].dataset, "split": target[place].split}
            target[place] = replace(known[i], **new_place, file_name=target[place].file_name)
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
