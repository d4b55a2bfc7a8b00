"""Tables beyond the paper: quality, when a network pays, the networks and the videos."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from triptych.core.statistics import Interval, mean_interval
from triptych.report.palette import label, spoken
from triptych.report.tables import DASH, TIMES, Table, number, with_cells
from triptych.report.timings import duration
from triptych.style.report.labels import (
    BACKBONE_COLOURS,
    MEASURE_LABELS,
    ORIGIN_LABELS,
    VARIANT_LABELS,
)
from triptych.style.report.tables import BATCHED

GROUPED = "paintings"
"""Version 1's runs of this experiment differ in their content and count together."""

EXPERIMENT_LABELS = {
    "paintings": "Figures 1 and 7",
    "backbones": "backbone",
    "losses": "content loss",
    "optimizers": "optimizer",
    "initialisations": "initialisation",
    "presets": "preset",
    "sizes": "size",
}


def quality_long(quality: pd.DataFrame, stylised: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Each measure's mean and 95% interval over images.

    quality: rows of quality.csv. stylised: rows of stylised/*/runs.csv, for the origin of
    Version 2's networks. Version 1's results count together by painting in the experiment
    `paintings`, and run by run elsewhere, since their settings differ; Version 2's by painting.
    """
    origins = stylised.drop_duplicates("painting").set_index("painting")["origin"]
    frame = quality.copy()
    frame["experiment"] = frame["experiment"].fillna("")
    alone = (frame["version"] == 1) & (frame["experiment"] != GROUPED)
    frame["result"] = frame["run"].where(alone, frame["painting"])
    frame.loc[frame["version"] == 2, "experiment"] = ""
    rows = []
    for key, group in frame.groupby(["version", "experiment", "painting", "result"], sort=False):
        assert isinstance(key, tuple)
        named = dict(zip(("version", "experiment", "painting", "result"), key, strict=True))
        named["origin"] = origins.get(named["painting"], "") if named["version"] == 2 else ""
        for measure in MEASURE_LABELS:
            values = group[measure].dropna().to_numpy()
            interval = mean_interval(values) if len(values) else Interval(*[np.nan] * 3)
            rows.append(
                {
                    **named,
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
    frame = frame.sort_values(["order"], kind="stable")
    rows = []
    for key, cells in frame.groupby(
        ["version", "experiment", "painting", "result", "origin"], sort=False
    ):
        assert isinstance(key, tuple)
        version, experiment, painting, result, origin = key
        named = f"Version 1, {label(EXPERIMENT_LABELS, str(experiment))}"
        if version == 2:
            named = f"Version 2, network {label(ORIGIN_LABELS, str(origin))}"
        elif experiment != GROUPED:
            named = f"{named} {str(result).replace('_', ' ')}"
        line = [named, spoken(str(painting))]
        line.append(number(cells["images"].max(), 0))
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
        columns=tuple(
            ("", header) for header in ("Result", "Style", "Images", *MEASURE_LABELS.values())
        ),
        rows=tuple(rows),
        keys=2,
    )


def training_seconds(losses: pd.DataFrame) -> pd.DataFrame:
    """Batches and seconds of each network's training; `seconds` in losses.csv run on from the
    first batch."""
    last = (
        losses[losses["variant"] == "plain"]
        .groupby("painting", as_index=False)
        .agg(batches=("batch", "max"), seconds=("seconds", "max"))
    )
    return last


def shipped_losses(paths: Sequence[str | Path]) -> pd.DataFrame:
    """Losses of the shipped networks, {painting}.csv each; empty where none is shipped."""
    columns = ["painting", "variant", "batch", "seconds"]
    frames = [pd.read_csv(path).assign(painting=Path(path).stem) for path in paths]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def breakeven_long(
    trained: pd.DataFrame, shipped: pd.DataFrame, table1: pd.DataFrame, *, scale: str
) -> pd.DataFrame:
    """Images after which a network's training has paid, by size and backbone of Version 1.

    trained, shipped: rows of losses.csv of the networks trained in this run and of those that
    the repository carries. table1: as `table1_long` returns it; where it scales Version 1 to
    the evaluations that the paper ran, those seconds count.
    `value` = training seconds / (seconds of Version 1 - seconds of Version 2), and empty where
    Version 1 isn't slower.
    """
    seconds = table1[(table1["unit"] == "seconds") & table1["value"].notna()]
    # `scaled` stands after `run`, so that the last of both is the scaled one where there is one.
    ordered = seconds.sort_values("counts")
    counted = ordered.groupby(["size", "column"], as_index=False).last()
    first = counted[counted["column"].isin(BATCHED)]
    network = counted[counted["column"] == "network"].set_index("size")["value"]
    rows = []
    for origin, losses in (("trained", trained), ("shipped", shipped)):
        for _, cost in training_seconds(losses).iterrows():
            for _, cell in first.iterrows():
                if cell["size"] not in network.index:
                    continue
                gain = cell["value"] - network[cell["size"]]
                rows.append(
                    {
                        "painting": cost["painting"],
                        "origin": origin,
                        "batches": int(cost["batches"]),
                        "training_seconds": float(cost["seconds"]),
                        "size": int(cell["size"]),
                        "backbone": cell["column"],
                        "evaluations": cell["evaluations"],
                        "seconds_version_1": cell["value"],
                        "seconds_version_2": network[cell["size"]],
                        "value": cost["seconds"] / gain if gain > 0 else np.nan,
                    }
                )
    return with_cells(pd.DataFrame(rows), unit="images", scale=scale)


def breakeven_table(long: pd.DataFrame) -> Table:
    """Lay out `breakeven_long`: a row a network, columns size and backbone."""
    cases = list(dict.fromkeys(zip(long["size"], long["backbone"], strict=True)))
    cases.sort(key=lambda case: (case[0], list(BACKBONE_COLOURS).index(case[1])))
    names = {"vgg": "VGG", "alexnet": "AlexNet"}
    rows = []
    for key, cells in long.groupby(["painting", "origin"], sort=False):
        assert isinstance(key, tuple)
        first = cells.iloc[0]
        line = [
            spoken(str(key[0])),
            label(ORIGIN_LABELS, str(key[1])),
            number(first["batches"], 0),
            duration(first["training_seconds"]),
        ]
        indexed = cells.set_index(["size", "backbone"])["value"]
        for case in cases:
            images = indexed.get(case, np.nan)
            line.append(DASH if pd.isna(images) else f"{np.ceil(images):,.0f}")
        rows.append(tuple(line))
    evaluations = int(long["evaluations"].max())
    return Table(
        name="style_breakeven",
        title="When a network pays.",
        caption=(
            f"Images after which Version 2, training included, has taken less time than Version 1 "
            f"at {evaluations} evaluations an image (Table I). The training of shipped networks "
            "was timed where they were trained, perhaps on another machine."
        ),
        columns=(
            ("", "Style"),
            ("", "Network"),
            ("", "Batches"),
            ("", "Training"),
            *((f"images at {size} px", names.get(column, column)) for size, column in cases),
        ),
        rows=tuple(rows),
        keys=2,
    )


def networks_table(stylised: pd.DataFrame, parity: pd.DataFrame) -> Table:
    """The networks that this run used, shipped or trained, with their export's parity.

    stylised: rows of stylised/*/runs.csv. parity: rows of parity.csv, of any of the networks.
    """
    largest: dict[tuple[str, str], float] = {}
    for _, row in parity.iterrows():
        key = str(row["painting"]), str(row["variant"])
        largest[key] = max(largest.get(key, 0.0), float(row["largest_difference"]))
    rows = []
    for painting, group in stylised.groupby("painting", sort=False):
        first = group.iloc[0]
        largest_image = group.iloc[int((group["height"] * group["width_px"]).argmax())]
        variant = "shipped" if first["origin"] == "shipped" else "plain"
        exported = largest.get((str(painting), variant))
        rows.append(
            (
                spoken(str(painting)),
                label(ORIGIN_LABELS, str(first["origin"])),
                number(first["width"], 0),
                number(first["batches"], 0),
                f"{largest_image['width_px']:.0f} {TIMES} {largest_image['height']:.0f}",
                duration(float(largest_image["seconds"])),
                "yes" if str(largest_image["tiled"]).lower() == "true" else "no",
                _precisions(group),
                DASH if exported is None else f"{exported:.1e}",
            )
        )
    headers = ("Style", "Network", "Channels", "Batches", "Largest image", "Time", "Tiled")
    columns = (*headers, "Precision", "ONNX")
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
        columns=tuple(("", each) for each in columns),
        rows=tuple(rows),
        keys=2,
    )


def _precisions(group: pd.DataFrame) -> str:
    """What a network's photographs were computed in, and the lowest likeness to float32's."""
    names, lowest = ", ".join(sorted(set(group["precision"]))), group["psnr_to_float32"].min()
    return f"{names}, {lowest:.0f} dB" if np.isfinite(lowest) else names


def read_variants(paths: Sequence[str | Path]) -> pd.DataFrame:
    """CSV files in folders {painting}/{variant}, as one frame with both as columns."""
    frames = []
    for path in map(Path, paths):
        frame = pd.read_csv(path)
        named = {"painting": path.parent.parent.name, "variant": path.parent.name}
        frames.append(frame.assign(**{k: v for k, v in named.items() if k not in frame}))
    if not frames:
        raise ValueError("at least one CSV file expected, got none")
    return pd.concat(frames, ignore_index=True)


def properties_table(properties: pd.DataFrame) -> Table:
    """What was read back from the video files: rows of properties.csv, by `read_variants`."""
    sources = properties[properties["file"] == "source"].head(1)
    written = properties[properties["file"] != "source"]
    rows = []
    for _, row in pd.concat([sources, written]).iterrows():
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
        columns=tuple(("", header) for header in headers),
        rows=tuple(rows),
    )
