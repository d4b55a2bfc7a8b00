"""Table 1 of the audio study, one query with its answer, and what the caption stage did."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from triptych.report.tables import DASH, Table, number


def table1_long(example: Mapping[str, Any], *, scale: str) -> pd.DataFrame:
    """Table 1: the parts of one query and of its answer, a row each.

    example: of captions/example.json: backend, model, instruction, caption, keywords, response.
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
    frame["backend"], frame["model"] = str(example["backend"]), str(example["model"] or "")
    frame["published"] = ""
    frame["difference"] = frame["difference_percent"] = ""
    frame["unit"], frame["scale"] = "text", scale
    return frame


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
        columns=(("", "Part"), ("", "Text"), ("", "Keywords taken up")),
        rows=rows,
        prose=True,
    )


def captions_table(usage: pd.DataFrame) -> Table:
    """What the caption stage did and cost. usage: the one row of captions/usage.csv."""
    row = usage.iloc[0]
    backend = str(row["backend"])
    cost = DASH if pd.isna(row["cost"]) else f"{row['cost']:.2f} {row['currency']}"
    asked = backend == "openai"
    cells = (
        {"template": "template", "authors": "authors' captions"}.get(backend, backend),
        str(row["model"]) if asked and row["model"] else DASH,
        *(number(row[name], 0) for name in ("captions", "requests", "cached", "repaired")),
        number(row["rejected"], 0),
        number(row["input_tokens"], 0) if asked else DASH,
        number(row["output_tokens"], 0) if asked else DASH,
        cost if asked else DASH,
    )
    headers = ("Back end", "Model", "Captions", "Requests", "From the cache", "Repaired")
    others = ("Rejected", "Tokens in", "Tokens out", "Cost")
    return Table(
        name="audio_captions",
        title="The caption stage.",
        caption="Rejected answers are listed in results/audio/captions/rejected.csv, never used.",
        columns=tuple(("", header) for header in (*headers, *others)),
        rows=(cells,),
        keys=2,
    )
