"""Table 1, and the numbers of every system beyond the paper."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from triptych.audio.report.rows import (
    AudioStudy,
    headers,
    in_order,
    of_corpora,
    records,
    system_label,
)
from triptych.report.tables import DASH, Table, with_cells


def table1_long(example: Mapping[str, Any], *, scale: str) -> pd.DataFrame:
    """Table 1: the parts of one query and of its answer, a row each. example: of
    captions/example.json.

    `taken_up` holds the keywords of which a word stands in an answer and not in the caption.
    """
    keywords = [str(word) for word in example["keywords"]]
    rows = [
        ("instruction", str(example["instruction"]), ""),
        ("caption", str(example["caption"]), ""),
        ("keywords", ", ".join(keywords), ""),
    ]
    for place, answer in enumerate(example["response"], start=1):
        taken = taken_up(keywords, str(answer), str(example["caption"]))
        rows.append((f"answer {place}", str(answer), ", ".join(taken)))
    frame = pd.DataFrame(rows, columns=["part", "value", "taken_up"])
    return frame.assign(
        backend=str(example["backend"]),
        model=str(example["model"] or ""),
        **dict.fromkeys(("published", "difference", "difference_percent"), ""),
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
    taken = long["taken_up"].fillna("").astype(str)
    rows = tuple(
        (str(part).capitalize(), str(value), words or DASH)
        for part, value, words in zip(long["part"], long["value"], taken, strict=True)
    )
    return Table(
        name="audio_table1",
        title="Table 1. One query and its answer.",
        caption=(
            f"Answered by {by}. The last column names the keywords that an answer adds to the "
            "caption (the paper prints them in red)."
        ),
        columns=headers("Part", "Text", "Keywords taken up"),
        rows=rows,
        prose=True,
    )


def beyond_long(metrics: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
    """One run of every system of the evaluation split on every question that the data ask.

    In percent. `measure`: single (all queries, mAP@10), seen and unseen (those of combinations of
    events that training has or lacks).
    """
    rows = of_corpora(metrics, [study.evaluated, ""])
    rows = rows[rows["metric"] == "map_at_10"]
    rows = first_seeds(in_order(rows, study), study)
    frame = pd.DataFrame(
        {
            "kind": rows["kind"],
            "label": [system_label(row, study) for row in records(rows)],
            **{key: rows[key] for key in ("audio_model", "text_model", "captions", "seed")},
            "system": rows["system"],
            "measure": rows["subset"].replace("all", "single"),
            **{name: 100 * rows[name] for name in ("value", "low", "high")},
            **{name: rows[name] for name in ("queries", "clips")},
            "data": study.data(),
        }
    )
    return with_cells(frame.reset_index(drop=True), unit="percent", scale=scale)


def first_seeds(rows: pd.DataFrame, study: AudioStudy) -> pd.DataFrame:
    """One run of each system: fine-tuned models of the first seed, the others as they are."""
    others = (rows["stage"] == "finetuned") & (rows["seed"] != study.first_seed)
    return rows[~others]
