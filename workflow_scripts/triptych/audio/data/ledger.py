"""The leak ledger: which clips a model may be trained on, and why each other one may not.

WavCaps and Clotho come from the same sites, and Clotho's splits share recordings. Policies:

    none           nothing is left out, as in the report
    wavcaps_test   WavCaps' own list for its published results: Clotho's validation and evaluation,
                   and AudioCaps' val and test among its AudioSet clips
    dcase          the challenge's list of 2025: Clotho's evaluation and the challenge's sets, but
                   not Clotho's validation, by which a model is chosen
    strict         the Freesound ids of all lists, and every recording of a Clotho split that the
                   run doesn't train on, wherever it occurs, Clotho's other splits included

A list speaks of WavCaps: applied to Clotho itself, those that name the development split would
leave nothing. What AudioCaps and WavCaps' AudioSet clips have in common leaks nothing, since no
split of AudioCaps is evaluated here; `strict` keeps it and the column `repeated` counts it.
Clips without a usable recording are left out under every policy.
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
    """What `exclude` decided.

    manifest: clip, dataset, split, role (train, or the split that it serves).
    removed: one row a removed clip and reason. counts: one row a split, where
    listed = unreadable + excluded + train (+ those that serve otherwise); leaked = training clips
    that are recordings of a protected split; repeated = training clips whose recording another
    training clip has too.
    """

    manifest: pd.DataFrame
    removed: pd.DataFrame
    counts: pd.DataFrame


def read_leak_list(path: str | Path) -> LeakList:
    """A list in WavCaps' JSON ({"FreeSound": [...], "AudioSet": [...]}) or as CSV (id, sound_id).

    "Not found", a pseudo-id that all of them contain, is dropped: it would name every clip
    whose id is unknown. Raises InputError for another layout.
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
    _check_policy(policy)
    return [read_leak_list(Path(folder) / name) for name in LISTS[policy]]


def unreadable_clips(shards: Sequence[str | Path], clips: pd.DataFrame) -> dict[str, str]:
    """{clip: problem} from the problems.csv of the shard folders.

    Raises InputError where a listed clip is in neither file of any folder, since the folders
    then belong to another listing.
    """
    problems: dict[str, str] = {}
    stored: set[str] = set()
    for folder in map(Path, shards):
        stored.update(read_table(folder / "index.csv")["clip"])
        table = read_table(folder / "problems.csv")
        problems.update(zip(table["clip"], table["problem"], strict=True))
    lost = [clip for clip in clips["clip"] if clip not in stored and clip not in problems]
    if lost:
        raise InputError(
            f"{len(lost)} listed clips are neither in the shards nor among their problems, "
            f"the first is {lost[0]!r}: make the shards anew from these clips"
        )
    return problems


def exclude(
    clips: pd.DataFrame,
    splits: Sequence[str],
    policy: str,
    lists: Sequence[LeakList] = (),
    unreadable: Mapping[str, str] | None = None,
) -> Ledger:
    """Decide the role of every clip.

    `clips` holds those of all data sets, one after another; `splits` are Clotho's that the run
    trains on (AudioCaps and WavCaps are training data in all their parts). The challenge's set is
    protected always, Clotho's other splits when they aren't in `splits`.
    Raises InputError for an unknown policy or split and for a list that the policy lacks.
    """
    _check_policy(policy)
    for split in splits:
        if split not in clotho.LABELLED:
            raise InputError(
                f"a corpus can't train on Clotho's split {split!r}; "
                f"expected are some of {', '.join(clotho.LABELLED)}"
            )
    missing = set(LISTS[policy]) - {leaks.name for leaks in lists}
    if missing:
        raise InputError(f"exclude: {policy} needs the leak list(s) {', '.join(sorted(missing))}")
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
    kept = ~clips["clip"].isin(removed["clip"])
    manifest = roles.loc[kept, ["clip", "dataset", "split", "role"]]
    counts = _counts(clips, manifest, removed, set(protected["sound_id"]))
    return Ledger(manifest.reset_index(drop=True), removed, counts)


def prove_no_leak(manifest: pd.DataFrame, clips: pd.DataFrame, splits: Sequence[str]) -> None:
    """Raise LeakError if a training clip is, or is the recording of, a protected Clotho clip.

    Looks at the manifest alone, whatever made it: no leak list, no reason, no policy.
    """
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


def _check_policy(policy: str) -> None:
    if policy not in LISTS:
        raise InputError(f"exclude is {policy!r}; expected is one of {', '.join(LISTS)}")


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
    found = clips["sound_id"].isin(leaks.sound_ids - {""})
    if videos:
        found |= clips["youtube_id"].isin(leaks.youtube_ids - {""})
    return _reason(clips[found & (clips["dataset"] == wavcaps.DATASET)], LISTED, leaks.name)


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
        repeated=_repeated(clips, train, "sound_id") | _repeated(clips, train, "youtube_id"),
    )
    return marked.groupby(["dataset", "split"], sort=False).sum().astype(int).reset_index()


def _repeated(clips: pd.DataFrame, train: pd.Series, column: str) -> pd.Series:
    known = train & (clips[column] != "")
    return known & clips[column].where(known).duplicated(keep=False)
