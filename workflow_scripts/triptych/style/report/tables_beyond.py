"""Tables beyond the paper: quality, seconds to a loss, when a network pays, networks and videos."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from triptych.report.palette import label, spoken
from triptych.report.statistics import Interval, mean_interval
from triptych.report.tables import DASH, TIMES, Table, number, with_cells
from triptych.report.timings import duration
from triptych.style.report.labels import (
    BACKBONE_COLOURS,
    BACKBONE_LABELS,
    EXPERIMENT_LABELS,
    MEASURE_LABELS,
    OPTIMIZER_LABELS,
    ORIGIN_LABELS,
    RATES_LABELS,
    VARIANT_LABELS,
)
from triptych.style.report.tables import BATCHED

GROUPED = "paintings"
"""Version 1's runs of this experiment differ in their content and count together."""

RESULT = ["version", "experiment", "painting", "result", "origin"]
"""What tells one result from another in the table of quality."""


def quality_long(quality: pd.DataFrame, stylised: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Each measure's mean and 95% interval over images.

    quality: rows of quality.csv. stylised: rows of stylised/*/runs.csv, for the origin of
    Version 2's networks. Version 1's results count together by painting in the experiment
    `paintings`, and run by run elsewhere, since their settings differ; Version 2's by painting.
    """
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
            interval = mean_interval(values) if len(values) else Interval(*[np.nan] * 3)
            rows.append(
                {
                    **group.iloc[0][RESULT],
                    "measure": measure,
                    "images": len(values),
                    "value": interval.estimate,
                    "low": interval.low,
                    "high": interval.high,
                }
            )
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
            text = number(cell["value"], digits)
            if pd.notna(cell["low"]):
                text += f" [{cell['low']:.{digits}f}, {cell['high']:.{digits}f}]"
            line.append(text)
        rows.append(tuple(line))
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
        columns=_plain("Result", "Style", "Images", *MEASURE_LABELS.values()),
        rows=tuple(rows),
        keys=2,
    )


def targets_long(targets: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Seconds to reach a relative loss, one row a backbone, optimizer, rates and target.

    targets: rows of timing/targets.csv; `value` is empty where the loss was not reached.
    """
    frame = targets.copy()
    frame["reached"] = frame["reached"].astype(str).str.lower() == "true"
    frame["value"] = frame.pop("seconds").where(frame["reached"])
    frame["evaluations"] = frame["evaluations"].where(frame["reached"])
    return with_cells(frame, unit="seconds", scale=scale)


def targets_table(long: pd.DataFrame) -> Table:
    """Lay out `targets_long`: a row a setting, a column a target."""
    # Other experiments vary what this table has no column for.
    long = long[long["experiment"].isin(["optimizers", "backbones"])]
    levels = sorted(set(long["relative_loss"]), reverse=True)
    order = list(BACKBONE_COLOURS)
    long = long.sort_values("backbone", key=lambda names: names.map(order.index), kind="stable")
    rows = []
    for _, cells in long.groupby(["backbone", "optimizer", "rates"], sort=False):
        first = cells.iloc[0]
        line = [
            label(BACKBONE_LABELS, str(first["backbone"])),
            label(OPTIMIZER_LABELS, str(first["optimizer"])),
            label(RATES_LABELS, str(first["rates"])),
        ]
        for level in levels:
            found = cells[cells["relative_loss"] == level]
            text = DASH
            if len(found):
                cell = found.iloc[0]
                seconds = f"{duration(cell['value'])} ({number(cell['evaluations'], 0)})"
                text = seconds if cell["reached"] else "not reached"
            line.append(text)
        rows.append(tuple(line))
    first = long.iloc[0]
    return Table(
        name="style_targets",
        title="Seconds to reach a loss.",
        caption=(
            f"Version 1 at {int(first['size'])} px on {first['device']}: seconds until the total "
            "loss first falls to a share of what it was at the start, and in brackets the "
            "evaluations. The paper compares equal numbers of steps instead. A loss is relative "
            "to its own backbone, so compare optimizers within a backbone."
        ),
        columns=(
            *_plain("Backbone", "Optimizer", "Learning rates"),
            *(("to a relative loss of", f"{level:g}") for level in levels),
        ),
        rows=tuple(rows),
        keys=3,
    )


def breakeven_long(
    trained: pd.DataFrame, shipped: Sequence[str | Path], table1: pd.DataFrame, *, scale: str
) -> pd.DataFrame:
    """Images after which a network's training has paid, by size and backbone of Version 1.

    trained: rows of losses.csv of the networks trained in this run, whose seconds run on from the
    first batch. shipped: such files of the networks that the repository carries, {painting}.csv.
    table1: as `table1_long` returns it; where it scales Version 1 to the evaluations that the
    paper ran, those seconds count.
    `value` = training seconds / (seconds of Version 1 - seconds of Version 2), and empty where
    Version 1 isn't slower.
    """
    carried = [pd.read_csv(path).assign(painting=Path(path).stem) for path in shipped]
    costs = []
    for origin, frames in (("trained", [trained]), ("shipped", carried)):
        if frames:
            losses = pd.concat(frames)
            plain = losses[losses["variant"] == "plain"].groupby("painting", as_index=False)
            cost = plain.agg(batches=("batch", "max"), training_seconds=("seconds", "max"))
            costs.append(cost.assign(origin=origin))
    seconds = table1[(table1["unit"] == "seconds") & table1["value"].notna()]
    # `scaled` stands after `run`, so that the last of both is the scaled one where there is one.
    counted = seconds.sort_values("counts").groupby(["size", "column"], as_index=False).last()
    network = counted[counted["column"] == "network"].set_index("size")["value"]
    first = counted[counted["column"].isin(BATCHED) & counted["size"].isin(network.index)]
    first = first[["size", "column", "evaluations", "value"]].rename(
        columns={"column": "backbone", "value": "seconds_version_1"}
    )
    first["seconds_version_2"] = first["size"].map(network)
    long = pd.concat(costs).merge(first, how="cross")
    gain = long["seconds_version_1"] - long["seconds_version_2"]
    long["value"] = long["training_seconds"] / gain.where(gain > 0)
    long.insert(1, "origin", long.pop("origin"))
    return with_cells(long, unit="images", scale=scale)


def breakeven_table(long: pd.DataFrame) -> Table:
    """Lay out `breakeven_long`: a row a network, columns size and backbone."""
    cases = list(dict.fromkeys(zip(long["size"], long["backbone"], strict=True)))
    cases.sort(key=lambda case: (case[0], list(BACKBONE_COLOURS).index(case[1])))
    rows = []
    for _, cells in long.groupby(["painting", "origin"], sort=False):
        first, images = cells.iloc[0], cells.set_index(["size", "backbone"])["value"]
        rows.append(
            (
                spoken(str(first["painting"])),
                label(ORIGIN_LABELS, str(first["origin"])),
                number(first["batches"], 0),
                duration(first["training_seconds"]),
                *(number(np.ceil(images.get(case, np.nan)), 0) for case in cases),
            )
        )
    return Table(
        name="style_breakeven",
        title="When a network pays.",
        caption=(
            "Images after which Version 2, training included, has taken less time than Version 1 "
            f"at {int(long['evaluations'].max())} evaluations an image (Table I). The training of "
            "shipped networks was timed where they were trained, perhaps on another machine."
        ),
        columns=(
            *_plain("Style", "Network", "Batches", "Training"),
            *((f"images at {size} px", label(BACKBONE_LABELS, name)) for size, name in cases),
        ),
        rows=tuple(rows),
        keys=2,
    )


def networks_table(stylised: pd.DataFrame, parity: pd.DataFrame) -> Table:
    """The networks that this run used, shipped or trained, with their export's parity.

    stylised: rows of stylised/*/runs.csv. parity: rows of parity.csv, of any of the networks.
    """
    largest = parity.groupby(["painting", "variant"])["largest_difference"].max()
    rows = []
    for painting, group in stylised.groupby("painting", sort=False):
        image = group.iloc[int((group["height"] * group["width_px"]).argmax())]
        variant = "shipped" if image["origin"] == "shipped" else "plain"
        names, lowest = ", ".join(sorted(set(group["precision"]))), group["psnr_to_float32"].min()
        exported = largest.get((painting, variant))
        rows.append(
            (
                spoken(str(painting)),
                label(ORIGIN_LABELS, str(image["origin"])),
                number(image["width"], 0),
                number(image["batches"], 0),
                f"{image['width_px']:.0f} {TIMES} {image['height']:.0f}",
                duration(float(image["seconds"])),
                "yes" if str(image["tiled"]).lower() == "true" else "no",
                f"{names}, {lowest:.0f} dB" if np.isfinite(lowest) else names,
                DASH if exported is None else f"{exported:.1e}",
            )
        )
    headers = ("Style", "Network", "Channels", "Batches", "Largest image", "Time", "Tiled")
    return Table(
        name="style_networks",
        title="Networks.",
        caption=(
            "Shipped networks come with the repository, trained by the same rules in a longer run; "
            "the others were trained by this run. Time: of the largest image stylised, on "
            f"{stylised['device'].iloc[0]}. Precision: what its photographs were computed in, and "
            "the lowest likeness to float32's result among them (decibels, in the middle of the "
            "image; what is under 30 is computed in float32 instead). ONNX: largest difference "
            "of an output (0 to 1) between PyTorch and onnxruntime."
        ),
        columns=_plain(*headers, "Precision", "ONNX"),
        rows=tuple(rows),
        keys=2,
    )


def read_variants(paths: Sequence[str | Path]) -> pd.DataFrame:
    """CSV files in folders {painting}/{variant}, as one frame with both as columns."""
    frames = []
    for path in map(Path, paths):
        frame = pd.read_csv(path)
        named = {"painting": path.parent.parent.name, "variant": path.parent.name}
        frames.append(frame.assign(**{k: v for k, v in named.items() if k not in frame}))
    return pd.concat(frames, ignore_index=True)


def properties_table(properties: pd.DataFrame) -> Table:
    """What was read back from the video files: rows of properties.csv, by `read_variants`."""
    source = properties["file"] == "source"
    rows = []
    for _, row in pd.concat([properties[source].head(1), properties[~source]]).iterrows():
        name = "Source"
        if row["file"] != "source":
            kind = "H.264" if row["file"] == "video" else "lossless"
            style = f"{spoken(str(row['painting']))}, {label(VARIANT_LABELS, str(row['variant']))}"
            name = f"{style}: {kind}"
        codec = row["audio_codec"]
        silent = pd.isna(codec) or not codec
        rows.append(
            (
                name,
                f"{row['frames_per_second']:.6g}",
                number(row["frames"], 0),
                f"{row['width']:.0f} {TIMES} {row['height']:.0f}",
                f"{row['duration_seconds']:.3f} s",
                "variable" if str(row["variable_frame_times"]).lower() == "true" else "constant",
                "none" if silent else f"{codec}, {row['audio_seconds']:.2f} s",
            )
        )
    headers = ("File", "Frames a second", "Frames", "Size", "Duration", "Frame times", "Sound")
    return Table(
        name="style_video_properties",
        title="Videos.",
        caption="Read back from the files that were written.",
        columns=_plain(*headers),
        rows=tuple(rows),
    )


def _plain(*headers: str) -> tuple[tuple[str, str], ...]:
    """Headers of one level."""
    return tuple(("", header) for header in headers)
