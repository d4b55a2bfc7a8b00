"""Tables of the style study: seconds an image beside the published ones (Table I), and quality."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

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

PAPER_ARCHITECTURES = {"alexnet": "alexnet", "vgg": "vgg19"}
PAPER_EVALUATIONS = 700  # their notebook's; the text gives no number
PAPER_WIDTH = 32  # channels of the network's first layer

COLUMNS = {
    "alexnet": ("Version 1, AlexNet", "v1_alexnet_s"),
    "vgg": ("Version 1, VGG", "v1_vgg_s"),
    "network": ("Version 2, network", "v2_s"),
}
SPEEDUPS = ("speedup_low", "speedup_high")
RUN, SCALED = "run", "scaled"

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
    cells = []
    done = timing[timing["evaluations_done"] == timing["evaluations"]]
    for (backbone, size), group in done.groupby(["backbone", "size"]):
        first = group.iloc[0]
        run = int(first["evaluations"])
        # Repeats of one image are no new images: they are averaged first.
        images = group.groupby("image")["seconds"].mean()
        stated = int(first["evaluations_stated"]) or run
        for count, evaluations in {RUN: run, **({SCALED: stated} if stated != run else {})}.items():
            factor = evaluations / run if run else 1.0
            cells.append(
                {
                    "size": size,
                    "column": backbone,
                    "architecture": architectures.get(str(backbone), f"width {width}"),
                    "counts": count,
                    "evaluations": evaluations,
                    "images": len(images),
                    "batch": int(group["batch"].max()),
                    "value": factor * images.mean(),
                    "deviation": factor * images.std(ddof=1) if len(images) > 1 else np.nan,
                    "minimum": factor * images.min(),
                    "maximum": factor * images.max(),
                    "device": str(first["device"]),
                    "threads": int(first["threads"]),
                    "precision": str(first["precision"]),
                }
            )
    frame = _with_published(pd.DataFrame(cells), published)
    papers = {**PAPER_ARCHITECTURES, "network": f"width {PAPER_WIDTH}"}
    frame["comparable"] = [
        is_gpu(row["device"])
        and row["architecture"] == papers.get(row["column"])
        and (row["column"] == "network" or row["evaluations"] == PAPER_EVALUATIONS)
        for _, row in frame.iterrows()
    ]
    seconds = with_cells(frame, unit="seconds", scale=scale)
    return pd.concat([seconds, _speedups(frame, published, scale)], ignore_index=True)


def _with_published(frame: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Published seconds beside ours, and rows without a value for what was not timed."""
    names = {source: column for column, (_, source) in COLUMNS.items()}
    printed = published.rename(columns={**names, "image_size": "size"}).melt(
        "size", list(COLUMNS), "column", "published"
    )
    both = frame.merge(printed, on=["size", "column"], how="outer")
    order = list(COLUMNS)
    return both.fillna({"counts": RUN, "device": "", "architecture": ""}).sort_values(
        ["size", "column", "counts"],
        key=lambda column: column.map(order.index) if column.name == "column" else column,
    )


def _speedups(frame: pd.DataFrame, published: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Smallest and largest speed-up of the network over the two backbones, by size and count."""
    printed = published.set_index("image_size")
    rows = []
    for size, of_size in frame.groupby("size"):
        network = of_size[of_size["column"] == "network"]["value"]
        # Where nothing was scaled, what was run is what the table states.
        for count in dict.fromkeys(of_size["counts"]):
            first = of_size[(of_size["column"] != "network") & (of_size["counts"] == count)]
            ratios = first["value"] / network.iloc[0]
            for column, ratio in zip(SPEEDUPS, (ratios.min(), ratios.max()), strict=True):
                rows.append(
                    {
                        **{"size": size, "column": column, "counts": count, "value": ratio},
                        "published": printed[column].get(size, np.nan),
                        "evaluations": first["evaluations"].max(),
                        "comparable": bool(of_size["comparable"].all()),
                    }
                )
    return with_cells(pd.DataFrame(rows), unit="times as fast", scale=scale)


def table1_table(long: pd.DataFrame) -> Table:
    """Lay out Table I: a row a size, published beside ours."""
    scaled = bool((long["counts"] == SCALED).any())
    shown = SCALED if scaled else RUN
    compared = _is_true(long["comparable"])
    columns = [("", "Size")]
    for column, (name, _) in COLUMNS.items():
        columns += [(name, "published"), (name, "ours")]
        if scaled and column != "network":
            cells = long[(long["column"] == column) & (long["counts"] == SCALED)]
            columns.append((name, f"scaled to {cells['evaluations'].max():.0f}"))
        if compared.any():
            columns.append((name, "difference"))
    columns += [("Speed-up", "published"), ("Speed-up", "ours")]
    rows = []
    for size, of_size in long.groupby("size"):
        line = [f"{size} {TIMES} {size}"]
        for column in COLUMNS:
            cells = of_size[of_size["column"] == column].set_index("counts")
            line += [as_printed(cells["published"].iloc[0]), _seconds(cells, RUN)]
            if scaled and column != "network":
                line.append(_seconds(cells, SCALED))
            if compared.any():
                cell = cells.loc[[shown if shown in cells.index else RUN]]
                same = _is_true(cell["comparable"]).iloc[0]
                line.append(percent(cell["difference_percent"].iloc[0], 1) if same else DASH)
        speed = of_size[of_size["column"].isin(SPEEDUPS)].set_index(["column", "counts"])
        line += [_range(speed, RUN, "published"), _range(speed, shown, "value")]
        rows.append(line)
    title = "Seconds to stylise an image."
    return Table("style_table1", title, _caption(long, scaled), columns, rows)


def _is_true(column: pd.Series) -> pd.Series:
    """Truth values, also where a CSV file gave them back as text."""
    return column.astype(str).str.lower() == "true"


def _seconds(cells: pd.DataFrame, count: str) -> str:
    value, deviation = (float(cells[c].get(count, np.nan)) for c in ("value", "deviation"))
    if np.isnan(value):
        return DASH
    # Three digits that count, at least one and at most four decimals.
    digits = int(np.clip(2 - np.floor(np.log10(value)), 1, 4 if value < 0.1 else 3))
    text = number(value, digits)
    if count == RUN and not np.isnan(deviation):
        text += f" ± {number(deviation, digits)}"
    return text


def _range(speed: pd.DataFrame, count: str, column: str) -> str:
    if ("speedup_low", count) not in speed.index:
        count = RUN
    ends = [float(speed[column].get((end, count), np.nan)) for end in SPEEDUPS]
    if any(pd.isna(end) for end in ends):
        return DASH
    low, high = (number(end, 0 if end >= 10 else 1) for end in ends)
    return f"{low}{DASH}{high}{TIMES}" if low != high else f"{low}{TIMES}"


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
    if not _is_true(long.loc[long["value"].notna(), "comparable"]).all():
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
