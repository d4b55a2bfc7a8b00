"""The leak ledger: which clips a model may be trained on, and why each other one may not.

WavCaps and Clotho come from the same sites, and Clotho's splits share recordings. A corpus leaves
out nothing, as the report did, or is strict: then neither the Freesound ids of four published lists
are trained on nor any recording of a Clotho split that the run doesn't train on, wherever it
occurs, Clotho's other splits included. The lists speak of WavCaps alone. What AudioCaps and
WavCaps' AudioSet clips share leaks nothing, since AudioCaps isn't evaluated. Clips without a usable
recording are always left out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from triptych.audio.data import clotho, wavcaps
from triptych.audio.data.tables import read_rows, read_table, sound_id
from triptych.core.errors import InputError

LISTS = (
    "blacklist_clotho.full.v2.csv",
    "blacklist_exclude_all_ac.json",
    "blacklist_exclude_test_ac.json",
    "dcase2025_task6_excluded_freesound_ids.csv",
)
"""Files of the published lists: aac-datasets', two of WavCaps' authors, the challenge's of 2025."""
UNREADABLE, LISTED, PROTECTED = "unreadable", "leak list", "protected recording"
REMOVED_COLUMNS = ("clip", "dataset", "split", "sound_id", "youtube_id", "reason", "source")


class LeakError(RuntimeError):
    """A recording that a model is judged by is among those that it would be trained on."""


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


def read_leak_list(path: str | Path) -> frozenset[str]:
    """The Freesound ids of a list in WavCaps' JSON ({"FreeSound": [...]}) or as CSV (id, sound_id).

    The pseudo-id "Not found" is dropped. Raises InputError for another layout.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(
            f"the leak list {path} is missing; expected in that folder are "
            f"{', '.join(LISTS)} (addresses: resources/sources.yaml, leaks)"
        )
    if path.suffix == ".json":
        try:
            content = json.loads(path.read_text(encoding="utf-8-sig"))
            sounds = [str(item) for item in content["FreeSound"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f'{path} isn\'t {{"FreeSound": [...]}} ({error!r}); fetch it again'
            ) from None
    else:
        table = read_rows(path)
        column = next((name for name in ("sound_id", "id") if name in table.columns), None)
        if column is None:
            raise InputError(f"{path} has no column sound_id or id")
        sounds = [row[column] for row in table.rows]
    return frozenset(sound_id(item, path) for item in sounds) - {""}


def read_leak_lists(folder: str | Path) -> dict[str, frozenset[str]]:
    """The Freesound ids of LISTS, all in one folder, by the files' names."""
    return {name: read_leak_list(Path(folder) / name) for name in LISTS}


def unreadable_clips(shards: Sequence[str | Path]) -> dict[str, str]:
    """{clip: problem} of the shard folders."""
    tables = [read_table(Path(folder) / "problems.csv") for folder in shards]
    return {clip: problem for table in tables for clip, problem in table.to_numpy()}


def exclude(
    clips: pd.DataFrame,
    splits: Sequence[str],
    leaks: Mapping[str, frozenset[str]] | None,
    unreadable: Mapping[str, str],
) -> Ledger:
    """Decide the role of every clip.

    clips: of all data sets, one after another; splits: Clotho's that the run trains on; leaks:
    Freesound ids by the list's name, or None to leave leaks in. The challenge's set is protected
    always, Clotho's other splits when they aren't in `splits`.
    """
    clips = clips.reset_index(drop=True)
    serves = (clips["dataset"] == clotho.DATASET) & ~clips["split"].isin(splits)
    protected = clips[serves & (clips["sound_id"] != "")]
    of_wavcaps = clips["dataset"] == wavcaps.DATASET
    broken = clips[clips["clip"].isin(unreadable)]
    removed = [broken.assign(reason=UNREADABLE, source=broken["clip"].map(unreadable))]
    if leaks is not None:
        for name, sound_ids in leaks.items():
            listed = clips[of_wavcaps & clips["sound_id"].isin(sound_ids)]
            removed.append(listed.assign(reason=LISTED, source=name))
        owners = protected[["sound_id", "clip"]].rename(columns={"clip": "source"})
        removed.append(clips[~serves].merge(owners, on="sound_id").assign(reason=PROTECTED))
    place = pd.Series(clips.index, index=clips["clip"])
    table = pd.concat(removed, ignore_index=True)
    table = table.assign(place=table["clip"].map(place))
    table = table.sort_values(["place", "reason", "source"], ignore_index=True)
    table = table[list(REMOVED_COLUMNS)]
    roles = clips.assign(role=clips["split"].where(serves, "train"))
    remaining = ~clips["clip"].isin(table["clip"])
    manifest = roles.loc[remaining, ["clip", "dataset", "split", "role"]]
    counts = _counts(clips, manifest, table, set(protected["sound_id"]))
    return Ledger(manifest.reset_index(drop=True), table, counts)


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


def _counts(
    clips: pd.DataFrame, manifest: pd.DataFrame, removed: pd.DataFrame, protected: set[str]
) -> pd.DataFrame:
    gone = clips["clip"].isin(removed["clip"])
    unusable = clips["clip"].isin(removed["clip"][removed["reason"] == UNREADABLE])
    train = clips["clip"].isin(manifest["clip"][manifest["role"] == "train"])
    marked = clips[["dataset", "split"]].assign(
        listed=1,
        unreadable=unusable,
        excluded=gone & ~unusable,
        train=train,
        leaked=train & clips["sound_id"].isin(protected),
    )
    return marked.groupby(["dataset", "split"], sort=False).sum().astype(int).reset_index()
