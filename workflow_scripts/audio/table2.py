"""Table 2. Retrieval by every system of this run.

Percent, with 95% bootstrap intervals over recordings, each with all its captions, which hold no
noise between trainings. One clip is right for each query. Ensembles: members as listed in the
config, or chosen by the validation split. Bag of words: on the clips' keywords. A published number
stands beside a row only where it is of the same models and recordings; no other row is comparable
with the table below.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from triptych.audio.report.rows import (
    CLOTHO_EVALUATION,
    KEYS,
    METRICS,
    NUMBERS,
    AudioStudy,
    PairModel,
    evaluation_rows,
    gaps,
    interval_cells,
    interval_texts,
    pair_of,
    read_rows,
    records,
)
from triptych.core.job import job
from triptych.report.tables import DASH, Table, number, signed, with_cells, write_table

RUN, REPLICATED, DIFFERENCE, PUBLISHED = "run", "replicated", "difference", "published"
WRITERS = {"template": "template", "authors": "authors' GPT", "openai": "GPT"}
"""What wrote the new captions, by the back end."""
KINDS = (
    "finetuned_gpt",
    "finetuned_human",
    "pretrained",
    "ensemble_published",
    "ensemble_selected",
    "untrained",
    "keywords",
    "chance",
)
"""Kinds of systems, in the table's order."""
UNSEEN = "unseen_map_at_10"
"""mAP@10 of the queries of scenes that combine sounds as no training scene does."""
HEADERS = {**METRICS, UNSEEN: "mAP@10, unseen"}
NAMES = {
    "audio": "Audio model",
    "segment": "Segment",
    "overlap": "Overlap",
    "text": "Text model",
    "finetuned": "Fine-tuned",
    "gpt": "New captions",
}
"""Headers of the columns that name a system."""


def numbers(
    metrics: pd.DataFrame,
    queries: pd.DataFrame,
    ensembles: pd.DataFrame,
    published: pd.DataFrame,
    study: AudioStudy,
    *,
    scale: str,
) -> pd.DataFrame:
    """Every system of this run, then every published row; one row a cell, in percent.

    metrics, queries, ensembles: rows of these files; published: of audio_table2.csv. `block`: of
    the evaluated corpus and of none (`run`), of the replicated one (`replicated`), the mean gain of
    its systems in percentage points (`difference`), or as printed (`published`). A run's row holds
    the published number too where `comparable`: Clotho's whole evaluation split, published weights.
    """
    blocks = {RUN: [study.evaluated, ""]}
    if study.replicated:
        blocks[REPLICATED] = [study.replicated]
    parts = [
        _own_cells(block, metrics, corpora, ensembles, published, study)
        for block, corpora in blocks.items()
    ]
    if study.replicated:
        rows = evaluation_rows(queries, [study.evaluated, study.replicated])
        mean = interval_cells(gaps(rows, study.replicated, study.evaluated))
        presets = f"{study.replicated} minus {study.evaluated}"
        parts.append(mean.assign(block=DIFFERENCE, corpus=presets))
    frame = pd.concat([*parts, _published_cells(published)], ignore_index=True)
    long = with_cells(frame.assign(data=study.data), unit="percent", scale=scale)
    long.loc[long["block"] == DIFFERENCE, "unit"] = "percentage points"
    return long


def _own_cells(
    block: str,
    metrics: pd.DataFrame,
    corpora: Collection[str],
    ensembles: pd.DataFrame,
    published: pd.DataFrame,
    study: AudioStudy,
) -> pd.DataFrame:
    """Scores of the systems of some corpora, and published ones where they are comparable."""
    rows = evaluation_rows(metrics, corpora)
    unseen = (rows["subset"] == "unseen") & (rows["metric"] == "map_at_10")
    rows["metric"] = rows["metric"].mask(unseen, UNSEEN)
    rows = in_order(rows[unseen | (rows["subset"] == "all")], study).reset_index(drop=True)
    rows[["value", "low", "high"]] *= 100
    listed = ensembles[ensembles["corpus"].isin(corpora)]
    members = {str(name): [*models] for name, models in listed.groupby("name")["member"]}
    whole = published["ensemble_member"].count()
    names = pd.DataFrame([_names(row, study, members, whole) for row in records(rows)])
    printed = published.melt("system", list(METRICS), "metric", "published").dropna()
    printed = printed.rename(columns={"system": "published_row"})
    cells = pd.concat([names, rows], axis=1).merge(printed, "left")
    if not on_clotho(rows, study):
        cells["published"] = np.nan
    cells = cells.assign(block=block, comparable=cells["published"].notna())
    columns = [*names.drop(columns="published_row"), *KEYS, "kind", "metric", *NUMBERS]
    return cells[["block", *columns, "comparable", "published"]]


def in_order(rows: pd.DataFrame, study: AudioStudy) -> pd.DataFrame:
    """Rows by kind (KINDS), then by the order of the configured pairs, then by seed."""
    pairs = {pair: place for place, pair in enumerate(study.pairs)}
    models = zip(rows["audio_model"], rows["text_model"], strict=True)
    places = pd.DataFrame(
        {
            "kind": rows["kind"].map(KINDS.index),
            "pair": [pairs.get(pair, -1) for pair in models],
            "later": rows["seed"] != study.first_seed,
            "seed": rows["seed"],
        }
    )
    return rows.loc[places.sort_values([*places], kind="stable").index]


def on_clotho(rows: pd.DataFrame, study: AudioStudy) -> bool:
    """Whether these rows of metrics.csv are of all queries of Clotho's evaluation split."""
    counts = CLOTHO_EVALUATION.items()
    return not study.synthesised and all((rows[column] == count).all() for column, count in counts)


def _names(
    row: Mapping[str, Any], study: AudioStudy, members: Mapping[str, Sequence[str]], whole: int
) -> dict[str, object]:
    """A system as a reader knows it, and the `system` of audio_table2.csv that is the same one.

    members: models of each ensemble by its name. whole: number of the published one's.
    """
    name, stage, captions = str(row["audio_model"]), row["stage"], row["captions"]
    if row["system"] == "baseline":
        return {"audio": "Bag of words" if name == "keywords" else name.capitalize()}
    if row["system"] == "ensemble":
        pairs = [study.pairs[pair_of(member)] for member in members[name]]
        paper = name == "published" and len(pairs) == whole and all(map(_as_published, pairs))
        chosen = {"published": "as listed", "selected": "by validation"}[name]
        of_members = f"Ensemble of {len(pairs)}, {chosen}"
        return {"audio": of_members, "published_row": "ensemble" if paper else ""}
    pair = study.pairs[name, row["text_model"]]
    trained, finetuned = stage != "untrained", stage == "finetuned"
    paper = _as_published(pair) and not (finetuned and row["seed"] != study.first_seed)
    by_template = captions == "gpt" and study.backend == "template"
    published_row = "/".join(filter(None, ("-".join(pair.weights), stage, captions)))
    return {
        "audio": pair.audio if trained else f"{pair.audio}, untrained",
        "segment_seconds": pair.segment_seconds,
        "overlap": {True: "yes", False: "no", None: ""}[pair.overlap],
        "text": pair.text,
        "finetuned": "yes" if finetuned else "no",
        "gpt": WRITERS[study.backend] if captions == "gpt" else "no",
        "shown_seed": row["seed"] if trained else "",
        "published_row": published_row if paper and not by_template else "",
    }


def _as_published(pair: PairModel) -> bool:
    return all(pair.weights) and not pair.projection_hidden


def _published_cells(published: pd.DataFrame) -> pd.DataFrame:
    """The published rows, one row a printed cell."""
    names = {
        "audio_model": "audio",
        "segment_s": "segment_seconds",
        "text_model": "text",
        "gpt_augmented": "gpt",
        "submission_id": "submission",
        "source": "origin",
    }
    rows = published.drop(columns="system").rename(columns=names)
    described = [column for column in rows if column not in METRICS]
    cells = rows.melt(described, list(METRICS), "metric", "published", ignore_index=False)
    # What the paper leaves open (a dash) is no cell; its row has others.
    cells = cells.sort_index(kind="stable").dropna(subset="published")
    return cells.assign(block=PUBLISHED, comparable=False)


def tables(long: pd.DataFrame, title: str, caption: str) -> list[Table]:
    """This run's table with what a replicated corpus changes, and the published one."""
    texts = ["overlap", "text", "finetuned", "gpt", "shown_seed", "ensemble_member", "submission"]
    frame = long.assign(
        **long[texts].map(_text),
        segment=[
            DASH if pd.isna(length) else f"{length:g} s" for length in long["segment_seconds"]
        ],
        header=long["metric"].map(HEADERS),
    )
    theirs = frame["block"] == PUBLISHED
    printed = replace(_published_table(frame[theirs]), folded=True)
    return [_run_table(frame[~theirs], title, caption), printed]


def _text(value: Any) -> str:
    """A cell as text: whole numbers without decimals, a dash where there is nothing."""
    if pd.isna(value) or value == "":
        return DASH
    return f"{value:g}" if isinstance(value, float) else str(value)


def _run_table(rows: pd.DataFrame, title: str, caption: str) -> Table:
    ours = rows[rows["block"] != DIFFERENCE]
    corpora = ours[ours["system"] == "model"].groupby("block", sort=False)["corpus"].first()
    headers = [header for metric, header in HEADERS.items() if (ours["metric"] == metric).any()]
    if ours["published"].notna().any():
        headers[1:1] = ["published", "difference"]
    keys = {**NAMES, "shown_seed": "Seed"}
    name = f"{corpora.get(REPLICATED)} minus {corpora[RUN]}, mean, in points"
    mean = rows[rows["block"] == DIFFERENCE]
    mean = mean.assign(block=REPLICATED, **dict.fromkeys(keys, DASH)).assign(audio=name)
    ours = ours.sort_values("kind", key=lambda kinds: kinds.map(KINDS.index), kind="stable")
    cells = pd.concat([ours, mean])
    groups = dict(corpora) if len(corpora) > 1 else {RUN: ""}
    cells["group"] = cells["block"].map(groups)
    cells["cell"] = interval_texts(cells)
    best = cells[cells["metric"] == "map_at_10"]
    published = best.assign(
        header="published", cell=[number(value, 2) for value in best["published"]]
    )
    difference = best.assign(header="difference", cell=best["difference"].map(signed))
    first = ours.iloc[0]
    return Table.spread(
        pd.concat([cells, published, difference]),
        keys,
        list(product(groups.values(), headers)),
        name="audio_table2",
        title=title,
        caption=(
            f"{first['data'].capitalize()}, {first['scale']} scale: "
            f"{number(ours['queries'].max(), 0)} queries, {number(ours['clips'].max(), 0)} clips. "
            f"{caption}"
        ),
    )


def _published_table(theirs: pd.DataFrame) -> Table:
    origin = theirs["origin"].str.replace("this report", "the report")
    others = {
        "Member": theirs["ensemble_member"],
        "Submission": theirs["submission"],
        "Source": origin,
    }
    cells = [theirs.assign(cell=[number(value, 2) for value in theirs["published"]])]
    cells += [theirs.assign(header=header, cell=cell) for header, cell in others.items()]
    return Table.spread(
        pd.concat(cells).assign(group=""),
        {**NAMES, "gpt": "GPT captions"},
        name="audio_table2_published",
        title="Table 2, as published: Clotho's evaluation split.",
        caption=(
            "Percent, one run each, without intervals; members of the ensemble and the report's "
            "four submissions are numbered. The report trained on all of WavCaps, which "
            "holds recordings of the split that it tests on. PaSST-S15 is printed as having no "
            "overlap; its stride is 10 of 16 in the text and in the code. Rows from a README are "
            "finished models of others."
        ),
    )


if __name__ == "__main__":
    with job(snakemake):
        files, params = snakemake.input, snakemake.params
        metrics, queries, ensembles = (
            read_rows(path) for path in (files.metrics, files.queries, files.ensembles)
        )
        published = pd.read_csv(files.published)
        study = AudioStudy.read(**params.study)
        long = numbers(metrics, queries, ensembles, published, study, scale=params.scale)
        write_table(long, tables(long, params.title, params.caption), snakemake.output)
