"""Table 1, and published checkpoints beside what their authors print."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from triptych.audio.report.rows import CLOTHO_EVALUATION, METRICS, records
from triptych.report.statistics import Interval
from triptych.report.tables import DASH, Table, number, plain, with_cells

PRINTED = {"dcase2025": "DCASE 2025 baseline", "salsa": "Salsa (DCASE 2024)"}
"""Published checkpoints by their names in resources/published/audio_table2.csv."""
COUNTS = ("asked", "without", "new", "good")
"""Of captions: those asked for new ones and those that got none; new ones as they came, and those
that keep the rules."""


def table1_long(example: Mapping[str, Any], *, scale: str) -> pd.DataFrame:
    """Table 1: the parts of one query and of its answer, a row each. example: of
    captions/example.json.

    `taken_up` holds the keywords of which a word stands in an answer and not in the caption.
    """
    caption, keywords = str(example["caption"]), [str(word) for word in example["keywords"]]
    query = {
        "instruction": str(example["instruction"]),
        "caption": caption,
        "keywords": ", ".join(keywords),
    }
    rows = [(part, text, "") for part, text in query.items()]
    for place, answer in enumerate(map(str, example["response"]), start=1):
        rows.append((f"answer {place}", answer, ", ".join(taken_up(keywords, answer, caption))))
    return pd.DataFrame(rows, columns=["part", "value", "taken_up"]).assign(
        backend=str(example["backend"]),
        model=str(example["model"] or ""),
        **{count: example[count] for count in COUNTS},
        published="",
        difference="",
        difference_percent="",
        unit="text",
        scale=scale,
    )


def taken_up(keywords: Sequence[str], answer: str, caption: str) -> list[str]:
    """Keywords of which a word of at least three letters is new in the answer."""
    new = _stems(answer) - _stems(caption)
    return [keyword for keyword in keywords if _stems(keyword) & new]


def _stems(text: str) -> set[str]:
    """Words cut so that `bird` is `birds` and `rain` is `raining`."""
    words = re.findall(r"[a-z]{3,}", text.lower())
    return {re.sub(r"(ing|es|s)$", "", word) or word for word in words}


def table1_table(long: pd.DataFrame) -> Table:
    """Lay out `table1_long`."""
    first = long.iloc[0]
    by = {
        "template": "a template without any language model",
        "authors": "the authors' published captions",
    }.get(str(first["backend"]), f"the language model {first['model']}")
    asked, without, new, good = (int(first[count]) for count in COUNTS)
    taken = long["taken_up"].astype(object).fillna("").replace("", DASH)
    return Table(
        name="audio_table1",
        title="Table 1. One query and its answer.",
        caption=(
            f"Answered by {by}. The last column names the keywords that an answer adds to the "
            "caption (the paper prints them in red). "
            f"{asked:,} captions were asked for: {without:,} got none, and of new ones there are "
            f"{new:,} as they came and {good:,} that keep the prompt's rules; a corpus trains on "
            "one kind (new_captions)."
        ),
        columns=plain("Part", "Text", "Keywords taken up"),
        rows=tuple(zip(long["part"].str.capitalize(), long["value"], taken, strict=True)),
        prose=True,
    )


def published_long(metrics: pd.DataFrame, published: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """One row a checkpoint and measure, in percent.

    metrics: of `scoring.published.score_models`; published: of audio_table2.csv.
    """
    rows = metrics[metrics["subset"] == "all"].drop(columns=["split", "subset"])
    rows[["value", "low", "high"]] *= 100
    printed = published.set_index("audio_model")
    rows["published"] = [
        printed.loc[PRINTED[name], metric]
        for name, metric in zip(rows["checkpoint"], rows["metric"], strict=True)
    ]
    return with_cells(rows, unit="percent", scale=scale)


def published_table(long: pd.DataFrame) -> Table:
    """Lay out `published_long`."""
    return Table(
        name="audio_published",
        title="Published checkpoints, scored here.",
        caption=(
            f"Each model on {long['clips'].min()} clips of Clotho's evaluation split, of "
            f"{CLOTHO_EVALUATION['clips']}, in float32, beside what its authors print. "
            "Intervals are over recordings with all their captions: a difference between two runs "
            "of one model comes from resampling, precision and how long captions are cut, and is "
            "expected to be far smaller."
        ),
        columns=plain("Checkpoint", "Measure", "published", "here", "95%", "difference"),
        rows=[
            (
                PRINTED[row["checkpoint"]],
                METRICS[row["metric"]],
                number(row["published"], 2),
                number(row["value"], 2),
                Interval(row["value"], row["low"], row["high"]).ends(),
                number(row["difference"], 2),
            )
            for row in records(long)
        ],
        keys=2,
    )
