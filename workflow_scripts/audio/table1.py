"""Table 1. One query and its answer.

The last column names the keywords that an answer adds to the caption (the paper prints them in
red).
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.core.job import job
from triptych.report.tables import DASH, Table, plain, write_table

COUNTS = ("asked", "without", "new", "good")
"""Of captions: those asked for new ones and those that got none; new ones as they came, and those
that keep the rules."""


def numbers(example: Mapping[str, Any], *, scale: str) -> pd.DataFrame:
    """The parts of one query and of its answer, a row each. example: of captions/example.json.

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


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """Each part of the query and of its answer, and who answered."""
    first = long.iloc[0]
    by = {
        "template": "a template without any language model",
        "authors": "the authors' published captions",
    }.get(str(first["backend"]), f"the language model {first['model']}")
    asked, without, new, good = (int(first[count]) for count in COUNTS)
    taken = long["taken_up"].astype(object).fillna("").replace("", DASH)
    return Table(
        name="audio_table1",
        title=title,
        caption=(
            f"Answered by {by}. {caption} "
            f"{asked:,} captions were asked for: {without:,} got none, and of new ones there are "
            f"{new:,} as they came and {good:,} that keep the prompt's rules; a corpus trains on "
            "one kind (new_captions)."
        ),
        columns=plain("Part", "Text", "Keywords taken up"),
        rows=tuple(zip(long["part"].str.capitalize(), long["value"], taken, strict=True)),
        prose=True,
    )


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        example = json.loads(Path(snakemake.input.example).read_text(encoding="utf-8"))
        long = numbers(example, scale=params.scale)
        write_table(long, table(long, params.title, params.caption), snakemake.output)
