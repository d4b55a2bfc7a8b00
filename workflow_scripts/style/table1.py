"""Table I. Seconds to stylise an image.

Ours are by the settings of the authors' notebook, too: one image at a time, a history of 100 pairs,
pixels clamped inside the closure. Images are crops held out of the training.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import label
from triptych.report.tables import (
    DASH,
    TIMES,
    Table,
    as_printed,
    number,
    percent,
    with_cells,
    write_table,
)
from triptych.style.report.labels import ARCHITECTURE_LABELS
from triptych.style.report.paper import PAPER_ARCHITECTURES, PAPER_EVALUATIONS, PAPER_WIDTH, is_gpu

COLUMNS = {
    "alexnet": ("Version 1, AlexNet", "v1_alexnet_s"),
    "vgg": ("Version 1, VGG", "v1_vgg_s"),
    "network": ("Version 2, network", "v2_s"),
}
SPEEDUPS = ("speedup_low", "speedup_high")
RUN, SCALED = "run", "scaled"
CELL = ["size", "column", "counts"]
"""What tells one number of Table I from another."""


def numbers(
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


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """Lay out the seconds: a row a size, published beside ours. A difference and a speed-up of
    scaled seconds stand in the place of those of seconds that were run."""
    cells: list[tuple[Any, str, str, str]] = []
    for row in long[long["unit"] == "seconds"].to_dict("records"):
        place = row["size"], COLUMNS[row["column"]][0]
        if row["counts"] == RUN:
            cells.append((*place, "published", as_printed(row["published"])))
            cells.append((*place, "ours", _seconds(row["value"], row["deviation"])))
        else:
            stated = f"scaled to {row['evaluations']:.0f}"
            cells.append((*place, stated, _seconds(row["value"])))
        if row["comparable"] and not np.isnan(row["difference_percent"]):
            cells.append((*place, "difference", percent(row["difference_percent"], 1)))
    for (size, _), ends in long[long["unit"] != "seconds"].groupby(["size", "counts"]):
        cells.append((size, "Speed-up", "published", _range(*ends["published"])))
        cells.append((size, "Speed-up", "ours", _range(*ends["value"])))
    frame = pd.DataFrame(cells, columns=["size", "group", "header", "cell"])
    groups = [*(name for name, _ in COLUMNS.values()), "Speed-up"]
    shown = frame[["group", "header"]].drop_duplicates().itertuples(index=False, name=None)
    return Table.spread(
        frame.assign(row=frame["size"].map(f"{{0}} {TIMES} {{0}}".format)),
        {"row": "Size"},
        sorted(shown, key=lambda column: groups.index(column[0])),
        name="style_table1",
        title=title,
        caption=_caption(long, caption),
    )


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


def _caption(long: pd.DataFrame, caption: str) -> str:
    """What was timed here, and the caption."""
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
        f"{PAPER_EVALUATIONS} evaluations by the authors' notebook.",
        caption,
    ]
    if (long["counts"] == SCALED).any():
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


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        long = numbers(
            read_frames(snakemake.input.timing),
            pd.read_csv(snakemake.input.published),
            architectures=params.architectures,
            width=params.width,
            scale=params.scale,
        )
        write_table(long, table(long, params.title, params.caption), snakemake.output)
