"""The audio paper's headline numbers, beside this run's. Each is a claim's."""

import numpy as np
import pandas as pd

from triptych.report.scoreboard import Headline

UNIT = " mAP@10"
BEST, ENSEMBLE, FINETUNED, PRETRAINED = 38.56, 41.42, 38.00, 36.27
"""Of Table 2."""
PAIR = ["audio_model", "text_model"]


def headlines(table2: pd.DataFrame) -> list[Headline]:
    """mAP@10 of the best model and of the ensemble, and what fine-tuning and new captions gain.

    table2: the long table. The gains are those of the pair that was fine-tuned with both kinds of
    captions, in points.
    """
    rows = table2[(table2["block"] == "run") & (table2["metric"] == "map_at_10")]
    rows = rows[rows["corpus"].isin(["clean"]) | rows["corpus"].isna()]
    single, ensemble = _of(rows, "finetuned_gpt"), _of(rows, "ensemble_published")
    main = rows[rows["kind"] == "finetuned_human"][PAIR].drop_duplicates()
    of_main = rows.merge(main, on=PAIR)
    gpt, human, pretrained = (
        _of(of_main, kind)["value"].mean()
        for kind in ("finetuned_gpt", "finetuned_human", "pretrained")
    )
    best = single.sort_values("value").tail(1)
    return [
        _points("audio-best-single", BEST, best["value"].mean(), UNIT, _ends(best)),
        _points("audio-ensemble", ENSEMBLE, ensemble["value"].mean(), UNIT, _ends(ensemble)),
        _points("audio-finetune-helps", FINETUNED - PRETRAINED, human - pretrained, " points"),
        _points("audio-gpt-helps", BEST - FINETUNED, gpt - human, " points"),
    ]


def _of(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    return rows[rows["kind"] == kind]


def _ends(row: pd.DataFrame) -> str:
    if row.empty:
        return ""
    low, high = (float(np.mean(row[end])) for end in ("low", "high"))
    return f"[{low:.2f}, {high:.2f}]"


def _points(claim: str, published: float, ours: float, unit: str, interval: str = "") -> Headline:
    return Headline("", "", published, ours, unit, 2, interval, claim=claim, points=True)
