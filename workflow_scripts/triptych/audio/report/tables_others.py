"""The tables beside Table 2: captions, other ensembles, questions beyond the paper, recordings."""

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
    shown,
    system_label,
    with_interval,
)
from triptych.report.tables import DASH, MINUS, Table, number, with_cells

BEST = 10
"""Ensembles that are shown, the best first, beside the listed one and its neighbours."""

MEASURES: Mapping[str, tuple[str, str]] = {
    "single": ("one right clip", "mAP@10"),
    "multiple_10": ("all right clips", "mAP@10"),
    "multiple_16": ("all right clips", "mAP@16"),
    "seen": ("combinations of events", "seen, mAP@10"),
    "unseen": ("combinations of events", "unseen, mAP@10"),
}
"""What is asked of every system: the headings of its column."""


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


def ensembles_long(subsets: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
    """Every ensemble by corpus, best first: mAP@10 in percent, differences to the listed one in
    points.
    """
    order = {corpus: place for place, corpus in enumerate((study.evaluated, study.replicated))}
    rows = subsets[subsets["corpus"].isin(list(order))].copy()
    rows["order"] = rows["corpus"].map(order)
    rows = rows.sort_values(["order", "place"], kind="stable")
    listed = {
        row["corpus"]: _pairs(row) for row in records(rows) if row["removed"] == row["added"] == 0
    }
    changed = [_changed(row, listed[row["corpus"]], study) for row in records(rows)]
    frame = pd.DataFrame(
        {
            **{name: rows[name] for name in ("corpus", "place", "models", "removed", "added")},
            "changed": changed,
            "members": rows["members"],
            "value": 100 * rows["map_at_10"],
            **{name: 100 * rows[name] for name in ("low", "high")},
            "points_value": 100 * rows["difference"],
            **{f"points_{end}": 100 * rows[f"difference_{end}"] for end in ("low", "high")},
            "validation": 100 * rows["validation_map_at_10"],
            "data": study.data(),
        }
    )
    return with_cells(frame.reset_index(drop=True), unit="percent", scale=scale)


def _pairs(row: dict[str, object]) -> list[str]:
    return [member.split("/")[0] for member in str(row["members"]).split()]


def _changed(row: dict[str, object], listed: list[str], study: AudioStudy) -> str:
    pairs = _pairs(row)

    def names(pairs: list[str]) -> str:
        return ", ".join(study.pair_label(*pair.split("-")) for pair in pairs)

    more = [pair for pair in pairs if pair not in listed]
    fewer = [pair for pair in listed if pair not in pairs]
    if more:
        return f"with {names(more)}"
    if len(pairs) < len(fewer):
        return f"only {names(pairs)}"
    return f"without {names(fewer)}" if fewer else "as listed"


def ensembles_tables(long: pd.DataFrame) -> list[Table]:
    """Lay out `ensembles_long`: of each corpus the best, the listed one and its neighbours."""
    parts = long.groupby("corpus", sort=False)
    names = ["audio_ensembles", "audio_ensembles_replicated"]
    return [
        _ensembles_table(name, str(corpus), part)
        for name, (corpus, part) in zip(names, parts, strict=False)
    ]


def _ensembles_table(name: str, corpus: str, long: pd.DataFrame) -> Table:
    others = long[(long["removed"] > 0) | (long["added"] > 0)]
    near = (long["removed"] + long["added"]) <= 1
    chosen = long["validation"] == long["validation"].max()
    shown = long[near | chosen | (long["place"] <= BEST)]
    rows = tuple(
        (
            f"{row['place']:.0f}",
            f"{row['models']:.0f}",
            str(row["changed"]),
            with_interval(row),
            _points(row),
            number(row["validation"], 2),
        )
        for row in records(shown)
    )
    place = long.loc[~long.index.isin(others.index), "place"].iloc[0]
    worse = int((others["points_high"] < 0).sum())
    better = int((others["points_low"] > 0).sum())
    return Table(
        name=name,
        title=f"Every other ensemble, corpus {corpus}: {long['data'].iloc[0]}, "
        f"{long['scale'].iloc[0]} scale.",
        caption=(
            f"All {len(long):,} sets: each subset of the listed members, and all of them with each "
            f"set of the other pairs. The listed one is in place {place:.0f}. mAP@10 on the "
            "evaluation split in percent, with 95% intervals over recordings; points: minus the "
            f"listed one, with intervals that hold for all {len(others):,} comparisons at once "
            f"(the bootstrap's largest deviation). So {worse} are worse beyond chance and "
            f"{better} better. The best of so many is ahead by chance too; whoever may not look at "
            "the evaluation split takes the one that is best on validation. Shown are the best, "
            "that one, and those with one model fewer or more; all are in audio_ensembles.csv."
        ),
        columns=headers("Place", "Models", "Members", "mAP@10", "Points", "Validation mAP@10"),
        rows=rows,
        keys=3,
    )


def _points(row: dict[str, float]) -> str:
    if row["removed"] == row["added"] == 0:
        return "0"
    ends = f"[{row['points_low']:+.2f}, {row['points_high']:+.2f}]"
    return f"{row['points_value']:+.2f} {ends}".replace("-", MINUS)


def beyond_long(metrics: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
    """One run of every system of the evaluation split on every question of MEASURES, in percent."""
    rows = of_corpora(metrics, [study.evaluated, ""])
    rows["measure"] = [_measure(row) for row in records(rows)]
    rows = first_seeds(in_order(rows[rows["measure"] != ""], study), study)
    frame = pd.DataFrame(
        {
            "kind": rows["kind"],
            "label": [system_label(row, study) for row in records(rows)],
            **{key: rows[key] for key in ("audio_model", "text_model", "captions", "seed")},
            "system": rows["system"],
            "measure": rows["measure"],
            **{name: 100 * rows[name] for name in ("value", "low", "high")},
            **{name: rows[name] for name in ("queries", "clips")},
            "data": study.data(),
        }
    )
    return with_cells(frame.reset_index(drop=True), unit="percent", scale=scale)


def _measure(row: Mapping[str, object]) -> str:
    metric, subset, relevance = row["metric"], row["subset"], row["relevance"]
    if subset == "all" and relevance == "multiple":
        return {"map_at_10": "multiple_10", "map_at_16": "multiple_16"}.get(str(metric), "")
    if metric == "map_at_10" and relevance == "single":
        return {"all": "single", "seen": "seen", "unseen": "unseen"}.get(str(subset), "")
    return ""


def beyond_table(long: pd.DataFrame) -> Table:
    """Lay out `beyond_long`: a row a system, a column a question that the data ask."""
    measures = [name for name in MEASURES if (long["measure"] == name).any()]
    rows = [
        (str(name), *shown(cells, measures, "measure", 1))
        for name, cells in long.groupby("label", sort=False)
    ]
    queries = long.drop_duplicates("measure").set_index("measure")["queries"]
    counted = ", ".join(
        f"{group} ({header}) {queries[name]:,.0f}"
        for name, (group, header) in MEASURES.items()
        if name in queries and pd.notna(queries[name])
    )
    return Table(
        name="audio_beyond_table",
        title="Beyond the paper: every system on every question.",
        caption=(
            f"{str(long['data'].iloc[0]).capitalize()}, evaluation split, percent, 95% bootstrap "
            f"intervals over recordings. Queries: {counted}."
        ),
        columns=(("", "System"), *(MEASURES[name] for name in measures)),
        rows=tuple(rows),
    )


def first_seeds(rows: pd.DataFrame, study: AudioStudy) -> pd.DataFrame:
    """One run of each system: fine-tuned models of the first seed, the others as they are."""
    others = (rows["stage"] == "finetuned") & (rows["seed"] != study.first_seed)
    return rows[~others]
