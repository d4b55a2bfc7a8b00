"""The real files of Clotho, AudioCaps, WavCaps and the leak lists, held to the known counts.

They are no part of the repository: TRIPTYCH_REAL_FILES names a folder with captions/clotho,
captions/audiocaps, captions/wavcaps and captions/leaks.
"""

import os
from pathlib import Path

import pandas as pd
import pytest

from triptych.audio.data.audiocaps import read_audiocaps
from triptych.audio.data.clotho import read_clotho
from triptych.audio.data.ledger import LISTS, exclude, prove_no_leak, read_leak_lists
from triptych.audio.data.wavcaps import read_wavcaps

REAL = Path(os.environ.get("TRIPTYCH_REAL_FILES", "nowhere")) / "captions"


@pytest.mark.skipif(not REAL.is_dir(), reason="the real files aren't here")
def test_real_files_have_the_known_counts_and_leave_no_leak():
    """WavCaps' real FreeSound isn't among them: in its place stand all listed ids and 10 others."""
    clotho, lists = read_clotho(REAL / "clotho"), read_leak_lists(REAL / "leaks")
    splits = {"development": 3839, "validation": 1045, "evaluation": 1045}
    assert clotho.clips["split"].value_counts()[list(splits)].to_dict() == splits
    assert len(clotho.captions) == 5 * sum(splits.values())
    # Without the pseudo-id, which each of them contains.
    assert [len(lists[name]) for name in LISTS] == [7942 - 1, 5905 - 1, 2078 - 1, 3080 - 1]

    sounds = [*sorted(set().union(*lists.values())), *map(str, range(90_000_000, 90_000_010))]
    made = pd.DataFrame({"dataset": "wavcaps", "split": "FreeSound", "sound_id": sounds})
    made["clip"] = "wavcaps/FreeSound/" + made["sound_id"]
    others = read_audiocaps(REAL / "audiocaps"), read_wavcaps(REAL / "wavcaps", ["SoundBible"])
    tables = [clotho.clips, *(other.clips for other in others), made]
    clips = pd.concat(tables, ignore_index=True).fillna("")
    ledger = exclude(clips, ["development"], lists, {})
    removed = ledger.removed[ledger.removed["dataset"] == "clotho"]
    assert set(removed["sound_id"]) == {"137692", "130603", "86163"}
    assert set(removed["split"]) == {"development"}
    counts = ledger.counts.set_index(["dataset", "split"])
    assert counts.loc[("clotho", "development"), "train"] == 3836
    assert counts.loc[("wavcaps", "FreeSound"), "train"] == 10
    assert counts["leaked"].sum() == 0
    prove_no_leak(ledger.manifest, clips, ["development"])
