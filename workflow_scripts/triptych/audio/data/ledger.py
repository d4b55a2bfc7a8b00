"""The leak ledger: which clips a model may be trained on, and why each other one may not.

WavCaps and Clotho come from the same sites, and Clotho's splits share recordings. Policies:

    none           nothing is left out, as in the report
    wavcaps_test   WavCaps' own list for its published results
    dcase          the challenge's list of 2025, without Clotho's validation
    strict         the Freesound ids of all lists, and every recording of a Clotho split that the
                   run doesn't train on, wherever it occurs, Clotho's other splits included

A list speaks of WavCaps alone. What AudioCaps and WavCaps' AudioSet clips share leaks nothing,
since AudioCaps isn't evaluated. Clips without a usable recording are left out under every policy.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from triptych.audio.data import clotho, wavcaps
from triptych.audio.data.tables import read_strings, read_table, sound_id, youtube_id
from triptych.core.errors import InputError

logger = logging.getLogger(__name__)

WAVCAPS_TEST = "blacklist_exclude_test_ac.json"
WAVCAPS_ALL = "blacklist_exclude_all_ac.json"
DCASE = "dcase2025_task6_excluded_freesound_ids.csv"
CLOTHO_FULL = "blacklist_clotho.full.v2.csv"
LISTS = {
    "none": (),
    "wavcaps_test": (WAVCAPS_TEST,),
    "dcase": (DCASE,),
    "strict": (CLOTHO_FULL, WAVCAPS_ALL, WAVCAPS_TEST, DCASE),
}
# Only here do a list's YouTube ids count: they are AudioCaps', a test set of WavCaps' authors.
SPARES_AUDIOCAPS = "wavcaps_test"
UNREADABLE, EMPTY = "unreadable", "empty recording"
LISTED, PROTECTED = "leak list", "protected recording"
REMOVED_COLUMNS = ("clip", "dataset", "split", "sound_id", "youtube_id", "reason", "source")


class LeakError(RuntimeError):
    """A recording that a model is judged by is among those that it would be trained on."""


@dataclass(frozen=True)
class LeakList:
    """Recordings that somebody wants kept out of training; `name` is the file's."""

    name: str
    sound_ids: frozenset[str]
    youtube_ids: frozenset[str]


@dataclass(frozen=True)
class Ledger:
    """The decisions of `exclude`.

    manifest: clip, dataset, split, role (train, or the split that it serves). removed: a row a
    removed clip and reason. counts: a row a split; leaked are training clips that are recordings of
    a protected split.
    """

    manifest: pd.DataFrame
    removed: pd.DataFrame
    counts: pd.DataFrame


def read_leak_list(path: str | Path) -> LeakList:
    """A list in WavCaps' JSON ({"FreeSound": [...], "AudioSet": [...]}) or as CSV (id, sound_id).

    The pseudo-id "Not found" is dropped. Raises InputError for another layout.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(
            f"the leak list {path} is missing; expected in that folder are "
            f"{', '.join(LISTS['strict'])} (addresses: resources/sources.yaml, leaks)"
        )
    videos: list[str] = []
    if path.suffix == ".json":
        try:
            content = json.loads(path.read_text(encoding="utf-8-sig"))
            sounds = [str(item) for item in content["FreeSound"]]
            videos = [str(item) for item in content.get("AudioSet", [])]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(
                f'{path} isn\'t {{"FreeSound": [...], "AudioSet": [...]}} ({error!r}); '
                "fetch it again"
            ) from None
    else:
        table = read_strings(path, ())
        column = next((name for name in ("sound_id", "id") if name in table), None)
        if column is None:
            raise InputError(f"{path} has no column sound_id or id")
        sounds = table[column].tolist()
    return LeakList(
        path.name,
        frozenset(sound_id(item, path) for item in sounds) - {""},
        frozenset(youtube_id(item) for item in videos),
    )


def read_leak_lists(folder: str | Path, policy: str) -> list[LeakList]:
    """The lists that a policy needs, all in one folder under the names of their sources."""
    return [read_leak_list(Path(folder) / name) for name in LISTS[policy]]


def unreadable_clips(shards: Sequence[str | Path]) -> dict[str, str]:
    """{clip: problem} of the shard folders."""
    tables = [read_table(Path(folder) / "problems.csv") for folder in shards]
    return {clip: problem for table in tables for clip, problem in table.to_numpy()}


def exclude(
    clips: pd.DataFrame,
    splits: Sequence[str],
    policy: str,
    lists: Sequence[LeakList] = (),
    unreadable: Mapping[str, str] | None = None,
) -> Ledger:
    """Decide the role of every clip.

    clips: of all data sets, one after another; splits: Clotho's that the run trains on. The
    challenge's set is protected always, Clotho's other splits when they aren't in `splits`.
    """
    clips = clips.reset_index(drop=True)
    serves = (clips["dataset"] == clotho.DATASET) & ~clips["split"].isin(splits)
    protected = clips[serves & (clips["sound_id"] != "")]
    reasons = [_without_sound(clips, unreadable or {})]
    reasons += [
        _listed(clips, leaks, policy == SPARES_AUDIOCAPS)
        for leaks in lists
        if leaks.name in LISTS[policy]
    ]
    if policy == "strict":
        reasons.append(_same_recording(clips[~serves], protected))
    removed = _in_order(clips, pd.concat(reasons, ignore_index=True))
    roles = clips.assign(role=clips["split"].where(serves, "train"))
    remaining = ~clips["clip"].isin(removed["clip"])
    manifest = roles.loc[remaining, ["clip", "dataset", "split", "role"]]
    counts = _counts(clips, manifest, removed, set(protected["sound_id"]))
    return Ledger(manifest.reset_index(drop=True), removed, counts)


def prove_no_leak(manifest: pd.DataFrame, clips: pd.DataFrame, splits: Sequence[str]) -> None:
    """Raise LeakError if the manifest trains on a protected Clotho clip or on its recording."""
    training = set(manifest["clip"][manifest["role"] == "train"])
    known = clips.set_index("clip")
    protected = known[(known["dataset"] == clotho.DATASET) & ~known["split"].isin(splits)]
    ids = {identifier: clip for clip, identifier in protected["sound_id"].items() if identifier}
    leaks = [f"{clip} itself" for clip in training & set(protected.index)]
    leaks += [
        f"{clip} is {ids[identifier]} (Freesound {identifier})"
        for clip, identifier in known["sound_id"].items()
        if clip in training and identifier in ids
    ]
    if leaks:
        raise LeakError(
            f"{len(leaks)} training clips are recordings that the model is judged by, "
            f"the first: {sorted(leaks)[0]}"
        )


def _reason(clips: pd.DataFrame, reason: str, source: pd.Series | str) -> pd.DataFrame:
    return clips.assign(reason=reason, source=source)[list(REMOVED_COLUMNS)]


def _without_sound(clips: pd.DataFrame, unreadable: Mapping[str, str]) -> pd.DataFrame:
    broken = clips[clips["clip"].isin(unreadable)]
    empty = (clips["dataset"] == wavcaps.DATASET) & clips["youtube_id"].isin(wavcaps.EMPTY)
    return pd.concat(
        [
            _reason(broken, UNREADABLE, broken["clip"].map(unreadable)),
            _reason(clips[empty], EMPTY, "known empty files of WavCaps"),
        ]
    )


def _listed(clips: pd.DataFrame, leaks: LeakList, videos: bool) -> pd.DataFrame:
    """WavCaps' clips on a list. An unknown id is "" and on no list."""
    listed = clips["sound_id"].isin(leaks.sound_ids - {""})
    if videos:
        listed |= clips["youtube_id"].isin(leaks.youtube_ids - {""})
    return _reason(clips[listed & (clips["dataset"] == wavcaps.DATASET)], LISTED, leaks.name)


def _same_recording(training: pd.DataFrame, protected: pd.DataFrame) -> pd.DataFrame:
    """Training clips with a protected clip's Freesound id, a row for each such protected clip."""
    owners = protected[["sound_id", "clip"]].rename(columns={"clip": "owner"})
    pairs = training.merge(owners, on="sound_id")
    return _reason(pairs, PROTECTED, pairs["owner"])


def _in_order(clips: pd.DataFrame, removed: pd.DataFrame) -> pd.DataFrame:
    """In the order of the clips; of one clip, by reason and source."""
    position = pd.Series(range(len(clips)), index=clips["clip"])
    return (
        removed.assign(position=removed["clip"].map(position))
        .sort_values(["position", "reason", "source"], kind="stable")
        .drop(columns="position")
        .reset_index(drop=True)
    )


def _counts(
    clips: pd.DataFrame, manifest: pd.DataFrame, removed: pd.DataFrame, protected: set[str]
) -> pd.DataFrame:
    silent = set(removed["clip"][removed["reason"].isin((UNREADABLE, EMPTY))])
    gone = clips["clip"].isin(removed["clip"])
    unusable = clips["clip"].isin(silent)
    train = clips["clip"].isin(manifest["clip"][manifest["role"] == "train"])
    marked = clips[["dataset", "split"]].assign(
        listed=1,
        unreadable=unusable,
        excluded=gone & ~unusable,
        train=train,
        leaked=train & clips["sound_id"].isin(protected),
    )
    return marked.groupby(["dataset", "split"], sort=False).sum().astype(int).reset_index()
