"""Tables of the style study: seconds an image beside the published ones (Table I), and quality."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from triptych.core.config import read_yaml
from triptych.core.provenance import SOURCE
from triptych.report.palette import label, spoken
from triptych.report.statistics import Interval, mean_interval
from triptych.report.tables import (
    DASH,
    TIMES,
    Table,
    as_printed,
    number,
    percent,
    plain,
    with_cells,
    with_interval,
)
from triptych.style.report.labels import (
    ARCHITECTURE_LABELS,
    EXPERIMENT_LABELS,
    MEASURE_LABELS,
    ORIGIN_LABELS,
)

PAPER = read_yaml(SOURCE / "config/paper/style.yaml")["style"]
"""The paper's values."""
PAPER_ARCHITECTURES = {r: PAPER["backbones"][r]["architecture"] for r in ("alexnet", "vgg")}
PAPER_EVALUATIONS = PAPER["timing"]["evaluations"]
PAPER_WIDTH = PAPER["network"]["width"]
"""Channels of the network's first layer."""

COLUMNS = {
    "alexnet": ("Version 1, AlexNet", "v1_alexnet_s"),
    "vgg": ("Version 1, VGG", "v1_vgg_s"),
    "network": ("Version 2, network", "v2_s"),
}
SPEEDUPS = ("speedup_low", "speedup_high")
RUN, SCALED = "run", "scaled"
CELL = ["size", "column", "counts"]
"""What tells one number of Table I from another."""

GROUPED = "paintings"
"""Version 1's runs of this experiment differ in their content and count together."""

RESULT = ["version", "experiment", "painting", "result", "origin"]
"""What tells one result from another in the table of quality."""


def is_gpu(device: str) -> bool:
    """Whether a device's description names a GPU: those of processors end in their cores."""
    return not (device.endswith(" cores") or device.startswith("cpu"))


def table1_long(
    timing: pd.DataFrame,
    published: pd.DataFrame,
    *,
    architectures: Mapping[str, str],
    width: int,
    scale: str,
) -> pd.DataFrame:
    """Table I: mean seconds an image, its spread over images, and the speed-up, by size.

    timing: rows of timing/images.csv. published: image_size, v1_alexnet_s, v1_vgg_s, v2_s,
    speedup_low, speedup_high. architectures: of the roles vgg and alexnet. width: of the network.

    An image that diverged is left out. `counts` tells the seconds of the evaluations that were run
    from those scaled in proportion to `evaluations_stated`; `comparable` whether architecture,
    evaluations and the kind of device are the paper's.
    """
    sources = {source: column for column, (_, source) in COLUMNS.items()}
    printed = published.rename(columns={**sources, "image_size": "size"}).melt(
        "size", [*COLUMNS, *SPEEDUPS], "column", "published"
    )
    timed = _mean_seconds(timing[timing["evaluations_done"] == timing["evaluations"]])
    machines = timed["column"].map(architectures).fillna(f"width {width}")
    timed.insert(2, "architecture", machines)
    frame = timed.merge(printed[printed["column"].isin(COLUMNS)], on=CELL[:2], how="outer")
    frame = frame.fillna({"counts": RUN, "device": "", "architecture": ""})
    place = frame["column"].map([*COLUMNS].index)
    frame = frame.assign(place=place).sort_values(["size", "place", "counts"]).drop(columns="place")
    papers = frame["column"].map({**PAPER_ARCHITECTURES, "network": f"width {PAPER_WIDTH}"})
    frame["comparable"] = (
        frame["device"].map(is_gpu)
        & (frame["architecture"] == papers)
        & ((frame["column"] == "network") | (frame["evaluations"] == PAPER_EVALUATIONS))
    )
    speedups = _speedups(frame).merge(printed, on=CELL[:2], how="left")
    parts = ((frame, "seconds"), (speedups, "times as fast"))
    cells = [with_cells(part, unit=unit, scale=scale) for part, unit in parts]
    return pd.concat(cells, ignore_index=True)


def _mean_seconds(timing: pd.DataFrame) -> pd.DataFrame:
    """Mean seconds an image by CELL, and how they were measured; of `evaluations_stated` too, in
    proportion, where these are others than those that were run."""
    keys = ["size", "backbone"]
    # Repeats of one image are no new images: they are averaged first.
    images = timing.groupby([*keys, "image"]).agg(
        dict.fromkeys(timing.columns.drop([*keys, "image"]), "first") | {"seconds": "mean"}
    )
    run = images.groupby(keys, as_index=False).agg(
        evaluations=("evaluations", "first"),
        stated=("evaluations_stated", "first"),
        images=("seconds", "size"),
        batch=("batch", "max"),
        value=("seconds", "mean"),
        deviation=("seconds", pd.Series.std),
        minimum=("seconds", "min"),
        maximum=("seconds", "max"),
        device=("device", "first"),
        threads=("threads", "first"),
        precision=("precision", "first"),
    )
    run = run.rename(columns={"backbone": "column"})
    run.insert(2, "counts", RUN)
    scaled = run[(run["stated"] > 0) & (run["stated"] != run["evaluations"])].assign(counts=SCALED)
    spread = ["value", "deviation", "minimum", "maximum"]
    scaled[spread] = scaled[spread].mul(scaled["stated"] / scaled["evaluations"], axis=0)
    scaled["evaluations"] = scaled["stated"]
    return pd.concat([run, scaled], ignore_index=True).drop(columns="stated")


def _speedups(frame: pd.DataFrame) -> pd.DataFrame:
    """Smallest and largest speed-up of the network over the two backbones, by size and count."""
    network = frame[frame["column"] == "network"].set_index("size")["value"]
    first = frame[frame["column"] != "network"]
    ratios = first.assign(value=first["value"] / first["size"].map(network))
    wide = ratios.groupby(["size", "counts"], as_index=False).agg(
        speedup_low=("value", "min"),
        speedup_high=("value", "max"),
        evaluations=("evaluations", "max"),
    )
    wide["comparable"] = wide["size"].map(frame.groupby("size")["comparable"].all())
    long = wide.melt(["size", "counts", "evaluations", "comparable"], SPEEDUPS, "column", "value")
    return long.sort_values(["size", "counts"], kind="stable")


def table1_table(long: pd.DataFrame) -> Table:
    """Lay out Table I: a row a size, published beside ours."""
    scaled = bool((long["counts"] == SCALED).any())
    long = long.assign(difference_percent=long["difference_percent"].where(long["comparable"]))
    seconds = long[long["unit"] == "seconds"]
    compared = seconds["difference_percent"].notna().any()
    columns = plain("Size")
    for column, (name, _) in COLUMNS.items():
        columns += [(name, "published"), (name, "ours")]
        if scaled and column != "network":
            stated = seconds[(seconds["column"] == column) & (seconds["counts"] == SCALED)]
            columns.append((name, f"scaled to {stated['evaluations'].max():.0f}"))
        if compared:
            columns.append((name, "difference"))
    columns += [("Speed-up", "published"), ("Speed-up", "ours")]
    sizes = sorted(set(long["size"]))
    every = pd.MultiIndex.from_product([sizes, [*COLUMNS, *SPEEDUPS], [RUN, SCALED]])
    cells: Any = long.set_index(CELL).reindex(every)
    best = cells.xs(SCALED, level=2).combine_first(cells.xs(RUN, level=2))
    rows = []
    for size in sizes:
        line = [f"{size} {TIMES} {size}"]
        for column in COLUMNS:
            run = cells.loc[(size, column, RUN)]
            line += [as_printed(run["published"]), _seconds(run["value"], run["deviation"])]
            if scaled and column != "network":
                line.append(_seconds(cells.at[(size, column, SCALED), "value"]))
            if compared:
                line.append(percent(best.at[(size, column), "difference_percent"], 1))
        speed = best.loc[[(size, end) for end in SPEEDUPS]]
        line += [_range(*speed["published"]), _range(*speed["value"])]
        rows.append(line)
    title = "Seconds to stylise an image."
    return Table("style_table1", title, _caption(long, scaled), columns, rows)


def _seconds(value: float, deviation: float = np.nan) -> str:
    """Seconds with three digits that count, at least one and at most four decimals."""
    if np.isnan(value):
        return DASH
    digits = int(np.clip(2 - np.floor(np.log10(value)), 1, 4 if value < 0.1 else 3))
    spread = "" if np.isnan(deviation) else f" ± {number(deviation, digits)}"
    return f"{number(value, digits)}{spread}"


def _range(low: float, high: float) -> str:
    if np.isnan(low + high):
        return DASH
    ends = dict.fromkeys(number(end, 0 if end >= 10 else 1) for end in (low, high))
    return f"{DASH.join(ends)}{TIMES}"


def _caption(long: pd.DataFrame, scaled: bool) -> str:
    ours = long[long["value"].notna() & (long["unit"] == "seconds") & (long["counts"] == RUN)]
    first = ours[ours["column"] != "network"]
    evaluations = sorted({int(count) for count in first["evaluations"].dropna()})
    named = [label(ARCHITECTURE_LABELS, str(name)) for name in first["architecture"].unique()]
    network = ours[ours["column"] == "network"]["architecture"]
    low, high = int(ours["images"].min()), int(ours["images"].max())
    parts = [
        f"Mean and standard deviation over {low if low == high else f'{low} to {high}'} images, "
        f"after a warm-up, on {ours['device'].iloc[0]}. Ours: {', '.join(named)} at "
        f"{', '.join(map(str, evaluations))} evaluations"
        + (f", network of {network.iloc[0]}" if len(network) else "")
        + f". Published: AlexNet, VGG-19 and a network of width {PAPER_WIDTH} on a Colab GPU; "
        f"{PAPER_EVALUATIONS} evaluations by the authors' notebook, and ours by its settings: one "
        "image at a time, a history of 100 pairs, pixels clamped inside the closure.",
    ]
    if scaled:
        parts.append(
            "Scaled seconds are in proportion to the evaluations and were not measured; the "
            "speed-up is that of the scaled seconds."
        )
    if not long.loc[long["value"].notna(), "comparable"].all():
        parts.append(
            "No difference is shown where architecture, evaluations or the kind of device are not "
            "the paper's."
        )
    return " ".join(parts)


def quality_long(quality: pd.DataFrame, stylised: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Each measure's mean and 95% interval over images, of rows of quality.csv and of
    stylised/*/runs.csv. Version 1's results count together by painting in the experiment
    `paintings`, and run by run elsewhere; Version 2's by painting."""
    origins = stylised.drop_duplicates("painting").set_index("painting")["origin"]
    frame, second = quality.copy(), quality["version"] == 2
    frame["experiment"] = frame["experiment"].fillna("").mask(second, "")
    together = second | (frame["experiment"] == GROUPED)
    frame["result"] = frame["run"].mask(together, frame["painting"])
    frame["origin"] = frame["painting"].map(origins).where(second).fillna("")
    rows = []
    for _, group in frame.groupby(RESULT, sort=False):
        for measure in MEASURE_LABELS:
            values = group[measure].dropna().to_numpy()
            of = mean_interval(values) if len(values) else Interval(*[np.nan] * 3)
            row = {**group.iloc[0][RESULT], "measure": measure, "images": len(values)}
            rows.append({**row, "value": of.estimate, "low": of.low, "high": of.high})
    return with_cells(pd.DataFrame(rows), unit="", scale=scale)


def quality_table(long: pd.DataFrame) -> Table:
    """Lay out `quality_long`: Version 2 first, then Version 1 experiment by experiment."""
    frame = long.fillna({"experiment": "", "origin": ""})
    order = {name: place for place, name in enumerate(["", *EXPERIMENT_LABELS])}
    frame["order"] = frame["experiment"].map(order).fillna(len(order))
    rows = []
    for _, cells in frame.sort_values("order", kind="stable").groupby(RESULT, sort=False):
        first = cells.iloc[0]
        named = f"Version 1, {label(EXPERIMENT_LABELS, str(first['experiment']))}"
        if first["version"] == 2:
            named = f"Version 2, network {label(ORIGIN_LABELS, str(first['origin']))}"
        elif first["experiment"] != GROUPED:
            named += f" {str(first['result']).replace('_', ' ')}"
        line = [named, spoken(str(first["painting"])), number(cells["images"].max(), 0)]
        for measure in MEASURE_LABELS:
            cell = cells[cells["measure"] == measure].iloc[0]
            digits = 2 if measure in ("ssim_luma", "edge_correlation") else 3
            line.append(with_interval(cell["value"], cell["low"], cell["high"], digits))
        rows.append(line)
    return Table(
        name="style_scores",
        title="Quality of every result.",
        caption=(
            "Mean and 95% interval over images; one image has none. Structure: "
            "structural similarity of luminance to the content; edges: correlation of edge maps. "
            "Both are best at 1. Style: distance of Gram matrices to the painting on a backbone "
            "that no result was optimised with; colour: sliced Wasserstein distance. Both are "
            "best at 0. A result that changes nothing keeps all structure and has no style."
        ),
        columns=plain("Result", "Style", "Images", *MEASURE_LABELS.values()),
        rows=rows,
        keys=2,
    )
