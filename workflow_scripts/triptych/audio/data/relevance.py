"""Multi-positive labels: the clips of Clotho's evaluation split that fit a caption of another one.

The file (metadata_eval.csv of CPJKU/dcase2025_task6_baseline, from xieh97's crowd-sourced
ratings) has the columns `query` and `audio_filenames`, the latter a Python list of strings. Of its
1,037 lists, 991 hold the query's own clip: the labels replace the single one, they don't add to it.
"""

import ast
from pathlib import Path

import pandas as pd

from triptych.audio.data.tables import RELEVANCE_COLUMNS, clip_id, read_strings
from triptych.core.errors import InputError

SPLIT = "evaluation"


def read_relevance(path: str | Path, clips: pd.DataFrame, captions: pd.DataFrame) -> pd.DataFrame:
    """split, caption, clip: one row a caption and clip that fits it, once, in the file's order.

    `clips` and `captions` are Clotho's; a caption is matched by its exact text.
    Raises InputError for a query that is no caption of the evaluation split and for a file name
    that is none of its clips, since such labels would belong to another version of Clotho.
    """
    known = set(clips["clip"][clips["split"] == SPLIT])
    texts = set(captions["caption"][captions["clip"].isin(known)])
    rows: dict[tuple[str, str, str], None] = {}
    for row in read_strings(path, ("query", "audio_filenames")).to_dict("records"):
        if row["query"] not in texts:
            raise InputError(f"{path}: {row['query']!r} is no caption of Clotho's {SPLIT} split")
        for name in _names(row["audio_filenames"], path):
            clip = clip_id("clotho", SPLIT, name)
            if clip not in known:
                raise InputError(f"{path}: {name!r} is no file of Clotho's {SPLIT} split")
            rows[SPLIT, row["query"], clip] = None
    return pd.DataFrame(list(rows), columns=list(RELEVANCE_COLUMNS))


def _names(text: str, path: str | Path) -> list[str]:
    try:
        names = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path}: {text!r} isn't a list of file names, ['a.wav', 'b.wav']")
    return names
