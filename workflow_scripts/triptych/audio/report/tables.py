"""Table 2 of the audio study: retrieval by system, this run's and as published.

Published are numbers of Clotho's evaluation split, from models with published weights. Ours stand
beside them only where both hold; elsewhere they are two tables and no number meets another.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from triptych.audio.report.rows import (
    CLOTHO_EVALUATION,
    KEYS,
    METRICS,
    PAPER_MEMBERS,
    AudioStudy,
    by_metric,
    headers,
    in_order,
    of_corpora,
    records,
    system_label,
    with_interval,
)
from triptych.audio.report.tables_leaks import VALUES, interval_cell
from triptych.report.tables import DASH, MINUS, Table, number, with_cells

RUN, REPLICATED, PUBLISHED = "run", "replicated", "published"
YES, NO = "yes", "no"
DIFFERENCE, MEAN = "difference", "mean"
"""The block of the presets' differences, and the system that is the mean of all."""
_SYSTEM = [key for key in KEYS if key != "corpus"]


def table2_long(
    metrics: pd.DataFrame,
    queries: pd.DataFrame,
    ensembles: pd.DataFrame,
    published: pd.DataFrame,
    study: AudioStudy,
    *,
    scale: str,
) -> pd.DataFrame:
    """Table 2: every system of this run, then every published row; one row a cell, in percent.

    metrics, queries, ensembles: rows of these files; published: of audio_table2.csv. `block`: of
    the evaluated corpus and of none (`run`), of the replicated one (`replicated`), the difference
    of these two in percentage points (`difference`), or as printed (`published`). A run's row holds
    the published number too where `comparable`: Clotho's whole evaluation split, published weights.
    """
    ids = published[published["system"].notna()].set_index("system")
    printed = {(str(key), name): ids.loc[key, name] for key in ids.index for name in METRICS}
    blocks = {RUN: [study.evaluated, ""]}
    if study.replicated:
        blocks[REPLICATED] = [study.replicated]
    parts = [
        _own_cells(block, metrics, corpora, ensembles, printed, study)
        for block, corpora in blocks.items()
    ]
    differences = preset_differences(queries, study)
    parts += [differences.assign(block=DIFFERENCE)] if len(differences) else []
    frame = pd.concat([*parts, _published_rows(published)], ignore_index=True)
    long = with_cells(frame.assign(data=study.data()), unit="percent", scale=scale)
    long.loc[long["block"] == DIFFERENCE, "unit"] = "percentage points"
    return long


def _own_cells(
    block: str,
    metrics: pd.DataFrame,
    corpora: Sequence[str],
    ensembles: pd.DataFrame,
    printed: Mapping[tuple[str, str], float],
    study: AudioStudy,
) -> pd.DataFrame:
    rows = of_corpora(metrics, corpora)
    chosen = rows["metric"].isin(list(METRICS))
    chosen &= (rows["subset"] == "all") & (rows["relevance"] == "single")
    rows = in_order(rows[chosen], study)
    real = on_clotho(rows, study)
    ours = ensembles[ensembles["corpus"].isin(list(corpora))]
    members = ours.groupby("name").size()
    cells = []
    for row in records(rows):
        comparable = real and _comparable(row, study, ours)
        match = printed.get((published_id(row, study), row["metric"])) if comparable else None
        cells.append(
            {
                "block": block,
                **_described(row, study, members),
                **{name: row[name] for name in (*KEYS, "kind", "metric")},
                **{end: 100 * row[end] for end in ("value", "low", "high")},
                **{name: row[name] for name in ("queries", "clips")},
                "comparable": match is not None,
                "published": np.nan if match is None else match,
            }
        )
    return pd.DataFrame(cells)


def on_clotho(rows: pd.DataFrame, study: AudioStudy) -> bool:
    """Whether these rows of metrics.csv are of all queries of Clotho's evaluation split."""
    if study.sources["clotho"] == "synthesised" or rows.empty:
        return False
    return all((rows[column] == count).all() for column, count in CLOTHO_EVALUATION.items())


def _comparable(row: Mapping[str, Any], study: AudioStudy, ensembles: pd.DataFrame) -> bool:
    if row["system"] == "ensemble":
        members = ensembles.loc[ensembles["name"] == row["audio_model"], "member"]
        pairs = [str(member).split("/")[0].split("-") for member in members]
        paper = all(study.as_published(audio, text) for audio, text in pairs)
        return row["audio_model"] == "published" and len(pairs) == PAPER_MEMBERS and paper
    first = row["stage"] != "finetuned" or row["seed"] == study.first_seed
    return first and study.as_published(row["audio_model"], row["text_model"])


def _described(row: Mapping[str, Any], study: AudioStudy, members: pd.Series) -> dict[str, object]:
    """A row's first columns as a reader knows them."""
    name = str(row["audio_model"])
    cells: dict[str, object] = {"audio": name, "segment_seconds": np.nan}
    cells |= dict.fromkeys(("overlap", "text", "finetuned", "gpt", "shown_seed"), "")
    if row["system"] == "baseline":
        return cells | {"audio": "Bag of words" if name == "keywords" else name.capitalize()}
    if row["system"] == "ensemble":
        chosen = {"published": "as listed", "selected": "by validation"}.get(name, name)
        of = f"Ensemble of {members[name]}" if name in members else "Ensemble"
        return cells | {"audio": f"{of}, {chosen}"}
    if audio := study.audio.get(name):
        overlap = {True: YES, False: NO, None: ""}[audio.overlap]
        cells |= {"segment_seconds": audio.segment_seconds, "overlap": overlap}
    text = study.text.get(row["text_model"])
    remark = ", untrained" if row["stage"] == "untrained" else ""
    return cells | {
        "audio": (audio.label if audio else name) + remark,
        "text": text.label if text else str(row["text_model"]),
        "finetuned": YES if row["stage"] == "finetuned" else NO,
        "gpt": study.captions_label(str(row["captions"])),
        "shown_seed": "" if row["stage"] == "untrained" else str(row["seed"]),
    }


def published_id(row: Mapping[str, Any], study: AudioStudy) -> str:
    """The `system` of resources/published/audio_table2.csv that a row of ours corresponds to."""
    if row["system"] == "ensemble":
        return "ensemble"
    if row["stage"] not in ("finetuned", "pretrained"):
        return ""
    captions = str(row["captions"])
    if captions == "gpt" and study.backend == "template":
        captions = study.backend
    pair = "-".join(study.weights(row["audio_model"], row["text_model"]))
    return f"{pair}/{row['stage']}" + (f"/{captions}" if captions else "")


def _published_rows(published: pd.DataFrame) -> pd.DataFrame:
    """The published rows, one row a printed cell."""
    names = {
        "audio": "audio_model",
        "segment_seconds": "segment_s",
        "overlap": "overlap",
        "text": "text_model",
        "finetuned": "finetuned",
        "gpt": "gpt_augmented",
        "ensemble_member": "ensemble_member",
        "submission": "submission_id",
        "origin": "source",
    }
    empty = ("text_model", "finetuned", "gpt_augmented", "overlap", "source")
    rows = [
        {
            "block": PUBLISHED,
            **{column: row[printed] for column, printed in names.items()},
            "metric": metric,
            "published": row[metric],
            "comparable": False,
        }
        for _, row in published.fillna(dict.fromkeys(empty, "")).iterrows()
        for metric in METRICS
    ]
    frame = pd.DataFrame(rows)
    # What the paper leaves open (a dash) is no cell; its row has others.
    return frame[frame["published"].notna()]


HEADERS = ("Audio model", "Segment", "Overlap", "Text model", "Fine-tuned", "New captions")


def table2_tables(long: pd.DataFrame) -> list[Table]:
    """Lay out `table2_long`: this run's table, what a replicated corpus changes, the published."""
    keys = ("overlap", "text", "finetuned", "gpt", "shown_seed", "origin", *KEYS)
    frame = long.astype({key: object for key in keys}).fillna(dict.fromkeys(keys, ""))
    ours = frame[frame["block"].isin([RUN, REPLICATED])]
    differences, theirs = (frame[frame["block"] == name] for name in (DIFFERENCE, PUBLISHED))
    beside = bool((ours["comparable"].astype(str).str.lower() == "true").any())
    return [_run_table(ours, differences, beside), _published_table(theirs, beside)]


def _run_table(ours: pd.DataFrame, differences: pd.DataFrame, beside: bool) -> Table:
    blocks = [name for name in (RUN, REPLICATED) if (ours["block"] == name).any()]
    corpora = ours[ours["system"] == "model"].groupby("block")["corpus"].first()
    columns = list(headers(*HEADERS, "Seed"))
    for block in blocks:
        group = str(corpora.get(block, "")) if len(blocks) > 1 else ""
        for metric, header in METRICS.items():
            columns.append((group, header))
            if beside and metric == "map_at_10":
                columns += [(group, "published"), (group, "difference")]
    keys = ["kind", "audio_model", "text_model", "captions", "seed", "system"]
    rows = []
    for _, cells in ours.fillna({key: "" for key in keys}).groupby(keys, sort=False):
        line = [*_first_columns(cells.iloc[0]), _text(cells.iloc[0]["shown_seed"]) or DASH]
        for block in blocks:
            line += _metric_cells(by_metric(cells[cells["block"] == block]), beside)
        rows.append(tuple(line))
    if len(differences):
        width = len(columns) - len(HEADERS) - 1 - len(_metric_cells({}, beside))
        mean = by_metric(differences[differences["system"] == MEAN])
        name = f"{corpora[REPLICATED]} minus {corpora[RUN]}, mean, in points"
        rows.append((name, *[DASH] * (len(HEADERS) + width), *_metric_cells(mean, beside)))
    first = ours.iloc[0]
    return Table(
        name="audio_table2",
        title=f"Table 2, this run: {first['data']}, {first['scale']} scale.",
        caption=(
            "Percent, with 95% bootstrap intervals over recordings, each with all its captions, "
            "which hold no noise between trainings: "
            f"{number(ours['queries'].max(), 0)} queries, {number(ours['clips'].max(), 0)} clips. "
            "One clip is right for each query. Ensembles: members as listed in the config, or "
            "chosen by the validation split. Bag of words: on the clips' keywords. "
            + (
                "Published numbers stand beside rows of the same models on the same split."
                if beside
                else "No row is comparable with the published table below: other recordings, "
                "other models, or both."
            )
        ),
        columns=tuple(columns),
        rows=tuple(rows),
        keys=len(HEADERS) + 1,
    )


def _metric_cells(by_name: Mapping[str, Mapping[str, Any]], beside: bool) -> list[str]:
    """The numbers of one row and corpus, the published one and the difference to it behind the
    first."""
    line = []
    for metric in METRICS:
        cell = by_name.get(metric)
        digits = 2 if metric == "map_at_10" else 1
        line.append(DASH if cell is None else with_interval(cell, digits))
        if beside and metric == "map_at_10":
            theirs, gap = (
                float("nan") if cell is None else float(cell[name])
                for name in ("published", "difference")
            )
            signed = DASH if pd.isna(gap) else f"{gap:+.2f}".replace("-", MINUS)
            line += [number(theirs, 2), signed]
    return line


def _published_table(theirs: pd.DataFrame, beside: bool) -> Table:
    names = (*HEADERS[:-1], "GPT captions")
    rows = []
    keys = ["audio", "text", "finetuned", "gpt", "origin"]
    for _, cells in theirs.groupby(keys, sort=False):
        printed = cells.set_index("metric")["published"].to_dict()
        line = list(_first_columns(cells.iloc[0]))
        line += [number(printed.get(metric, np.nan), 2) for metric in METRICS]
        row = cells.iloc[0]
        line += [_text(row[name]) or DASH for name in ("ensemble_member", "submission")]
        rows.append((*line, str(row["origin"]).replace("this report", "the report")))
    return Table(
        name="audio_table2_published",
        title="Table 2, as published: Clotho's evaluation split.",
        caption=(
            "Percent, one run each, without intervals; members of the ensemble and the report's "
            "four submissions are numbered. The report trained on all of WavCaps, which "
            "holds recordings of the split that it tests on. PaSST-S15 is printed as having no "
            "overlap; its stride is 10 of 16 in the text and in the code. Rows from a README are "
            "finished models of others." + ("" if beside else " Not comparable with this run.")
        ),
        columns=headers(*names, *METRICS.values(), "Member", "Submission", "Source"),
        rows=tuple(rows),
        keys=len(names),
    )


def _first_columns(row: pd.Series) -> tuple[str, ...]:
    seconds = row["segment_seconds"]
    segment = DASH if pd.isna(seconds) else f"{seconds:g} s"
    others = (_text(row[name]) or DASH for name in ("overlap", "text", "finetuned", "gpt"))
    return (str(row["audio"]), segment, *others)


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value).removesuffix(".0")


def preset_differences(queries: pd.DataFrame, study: AudioStudy) -> pd.DataFrame:
    """The replicated corpus' systems minus the evaluated one's, in percentage points.

    A row a system that was run with both and a metric, with its interval over clips, paired by
    query; at the end the mean over the systems (system `mean`).
    """
    if not study.replicated:
        return pd.DataFrame()
    rows = in_order(of_corpora(queries, [study.evaluated, study.replicated]), study)
    ranks = {
        tuple(map(str, key)): part.set_index(["clip", "query"])["rank"]
        for key, part in rows.groupby([*_SYSTEM, "corpus"], sort=False)
    }
    both = [key[:-1] for key in ranks if key[-1] == study.evaluated]
    both = [key for key in both if (*key, study.replicated) in ranks]
    cells = []
    for metric, value in VALUES.items():
        gaps = []
        for system in both:
            one, other = (ranks[*system, c] for c in (study.replicated, study.evaluated))
            shared = one.index.intersection(other.index)
            gaps.append(100 * (value(one[shared]) - value(other[shared])))
            cells.append(
                {**dict(zip(_SYSTEM, system, strict=True)), **interval_cell(metric, gaps[-1])}
            )
        if gaps:
            mean = pd.concat(gaps, axis=1).dropna().mean(axis=1)
            cells.append(
                {**dict.fromkeys(_SYSTEM, ""), "system": MEAN, **interval_cell(metric, mean)}
            )
    frame = pd.DataFrame(cells)
    if frame.empty:
        return frame
    kinds = rows.drop_duplicates(_SYSTEM).set_index(_SYSTEM)["kind"].to_dict()
    frame["kind"] = [kinds.get(tuple(row), MEAN) for row in frame[_SYSTEM].to_numpy()]
    frame["label"] = [
        f"mean of the {len(both)}" if row["system"] == MEAN else system_label(row, study)
        for row in records(frame)
    ]
    return frame.assign(corpus=f"{study.replicated} minus {study.evaluated}")
