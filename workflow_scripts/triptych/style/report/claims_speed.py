"""Comparisons of times, networks and videos."""

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from triptych.report.claims import Finding
from triptych.report.palette import label, spoken
from triptych.report.statistics import (
    Interval,
    crossed_interval,
    difference_interval,
    mean_interval,
    ratio_interval,
)
from triptych.report.tables import TIMES
from triptych.style.report.claims_facts import (
    CONTENT_LOSSES,
    PAIR,
    PAPER_SIZE,
    PAPER_SIZES,
    Run,
    by_image,
    rates,
)
from triptych.style.report.labels import ARCHITECTURE_LABELS, CONTENT_LOSS_LOOKS
from triptych.style.report.tables import PAPER_ARCHITECTURES

LOWEST_SPEEDUP = 228  # the smallest of Table I
ABOUT_FIVE = (4.0, 6.0)
FOUR_K = (4032, 2480)
FOUR_K_SECONDS = 3.0
SAME_TREND = 2.0
FLICKER = 2.0
KEPT = ("frames_per_second", "frames", "width", "height")
SAME_RATE = 1e-3  # containers round a frame's duration to their time base


def network_is_faster(run: Run) -> Finding:
    """Seconds of Version 1 over those of Version 2 (Table I)."""
    timing = run.timing
    first = timing[timing["version"] == 1]
    fewest = int(first["evaluations"].min()) if len(first) else 0
    failures: list[str] = []
    unclear: list[str] = []
    measured, intervals = [], []
    for size in sorted({*PAPER_SIZES, *(int(size) for size in timing["size"])}):
        for backbone in PAPER_ARCHITECTURES:
            if (ratio := _times_as_fast(timing, backbone, "network", size)) is None:
                continue
            name = f"{label(ARCHITECTURE_LABELS, run.architectures[backbone])} at {size}"
            measured.append(f"{name}: {ratio.estimate:.3g}{TIMES}")
            intervals.append(f"{name} {ratio.ends()}")
            if size in PAPER_SIZES and not ratio.low >= LOWEST_SPEEDUP:
                slower = ratio.high < LOWEST_SPEEDUP
                (failures if slower else unclear).append(measured[-1])
    finding = f"Version 1 at {fewest} evaluations over Version 2: " + "; ".join(measured)
    return Finding(finding, ", ".join(intervals), failures, unclear)


def alexnet_is_faster(run: Run) -> Finding:
    """Seconds with VGG-19 over those with AlexNet (Section V-B)."""
    first = run.timing[run.timing["version"] == 1]
    failures, measured, intervals = [], [], []
    for size in sorted({int(size) for size in first["size"]}):
        if (ratio := _times_as_fast(first, "vgg", "alexnet", size)) is None:
            continue
        measured.append(f"{size} pixels: {ratio.estimate:.2f}{TIMES}")
        intervals.append(f"{size} pixels {ratio.ends()}")
        if size == PAPER_SIZE and not ABOUT_FIVE[0] <= ratio.estimate <= ABOUT_FIVE[1]:
            failures.append(f"AlexNet is {ratio.estimate:.2f} times as fast")
    return Finding("VGG over AlexNet at " + ", ".join(measured), ", ".join(intervals), failures)


def _times_as_fast(timing: pd.DataFrame, slow: str, fast: str, size: int) -> Interval | None:
    """Seconds of the one over those of the other, of images that both were timed with."""
    seconds, others = (by_image(timing, backbone, size) for backbone in (slow, fast))
    shared = seconds.index.intersection(others.index)
    if shared.empty:
        return None
    return ratio_interval(seconds[shared].to_numpy(), others[shared].to_numpy())


def large_images_take_seconds(run: Run) -> Finding:
    """Seconds of the largest images that were stylised (Sections IV-B and V-A)."""
    pixels = run.stylised["height"] * run.stylised["width_px"]
    large = pixels >= FOUR_K[0] * FOUR_K[1]
    failures, measured = [], []
    for _, row in run.stylised[large if large.any() else pixels == pixels.max()].iterrows():
        name, seconds = spoken(str(row["painting"])), f"{row['seconds']:.2f} s"
        size = f"{row['width_px']:.0f}{TIMES}{row['height']:.0f}"
        measured.append(f"{size} by {name} in {seconds} on {row['device']}")
        if not row["seconds"] <= FOUR_K_SECONDS:
            failures.append(f"{seconds} for {name}")
    return Finding("; ".join(measured), "one measurement of each: no interval", failures)


def loss_functions_differ_in_time(run: Run) -> Finding:
    """Seconds and final losses by content loss (Figure 4)."""
    timing = run.loss_timing
    wide = timing.pivot_table(index="repeat", columns="content_loss", values="seconds")
    failures: list[str] = []
    unclear: list[str] = []
    intervals = []
    for pair in itertools.product(("huber", "mse"), ("l1", "smooth_l1")):
        if not set(pair) <= set(wide):
            continue
        both = wide[[*pair]].dropna()
        gap = difference_interval(*(both[loss].to_numpy() for loss in pair))
        name = " minus ".join(CONTENT_LOSS_LOOKS[loss].label for loss in pair)
        intervals.append(f"{name} {gap.ends(4)} s")
        if gap.side() == 1:
            failures.append(f"{name}: takes longer")
        elif gap.side() == 0:
            unclear.append(f"{name}: no clear difference")
    lines = {
        row["content_loss"]: run.line("losses", row["run"])
        for _, row in run.chosen("losses").iterrows()
    }
    ends = {str(loss): float(line.iloc[-1]) for loss, line in lines.items() if len(line)}
    factor = max(ends.values()) / min(ends.values()) if ends else 1.0
    if factor > SAME_TREND:
        failures.append(f"the final relative losses differ by a factor of {factor:.2g}")
    seconds = {name: wide[name].mean() for name in CONTENT_LOSSES if name in wide}

    def told(values: Mapping[str, float], digits: int) -> str:
        return ", ".join(
            f"{CONTENT_LOSS_LOOKS[loss].label} {value:.{digits}g}" for loss, value in values.items()
        )

    return Finding(
        f"Seconds for {int(timing['evaluations'].iloc[0])} evaluations: {told(seconds, 3)}; "
        f"final relative loss: {told(ends, 2)}",
        ", ".join(intervals),
        failures,
        unclear,
    )


def videos_are_batched_and_kept(run: Run) -> Finding:
    """Frames per second by batch, and what videos keep of their source (Section IV-B 11)."""
    failures: list[str] = []
    unclear: list[str] = []
    measured, interval = [], ""
    wide = rates(run.speed)
    means = wide.mean()
    several = means[means.index > 1]
    if 1 in means and len(several):
        best = int(several.index[int(several.argmax())])
        both = wide[[1, best]].dropna()
        ratio = ratio_interval(both[best].to_numpy(), both[1].to_numpy())
        device = str(run.speed["device"].iloc[0])
        shown = ", ".join(f"batch {batch} {rate:.3g}" for batch, rate in means.items())
        measured.append(f"frames a second: {shown} on {device}")
        interval = f"batch {best} over batch 1 {ratio.ends(3)}"
        if (side := ratio.side(1)) < 1:
            faster = "not faster" if side else "not clearly faster"
            (failures if side else unclear).append(
                f"batches are {faster} than single frames on {device} ({ratio.estimate:.2f}{TIMES} "
                "at best)"
            )
    for key, frame in run.properties.groupby(["painting", "variant"], sort=False):
        by_file = frame.set_index("file").to_dict("index")
        if not {"source", "video"} <= set(by_file):
            continue
        name = f"{spoken(str(key[0]))} ({key[1]})"
        source, video = by_file["source"], by_file["video"]
        measured.append(
            f"{name}: {video['frames_per_second']:.6g} frames a second, {video['frames']:.0f} "
            f"frames, {video['width']:.0f}{TIMES}{video['height']:.0f}"
        )
        failures += [
            f"{name}: {property_name.replace('_', ' ')} {video[property_name]:g}, "
            f"the source's {source[property_name]:g}"
            for property_name in KEPT
            if not abs(source[property_name] - video[property_name])
            <= SAME_RATE * abs(source[property_name])
        ]
    return Finding("; ".join(measured), interval, failures, unclear)


def versions_differ(run: Run) -> Finding:
    """Style and outlines of both versions' images of the same content and painting (Figure 1)."""
    quality = run.quality
    first = quality[(quality["version"] == 1) & (quality["experiment"] == "paintings")]
    both = first.merge(quality[quality["version"] == 2], on=PAIR, suffixes=("_1", "_2"))
    failures: list[str] = []
    unclear: list[str] = []
    measured, intervals = [], []
    for measure, name, better in (
        ("gram_distance", "style distance, Version 1 minus 2", 1),
        ("edge_correlation", "edges kept, Version 2 minus 1", 2),
    ) * (len(both) > 0):
        columns = f"{measure}_{better}", f"{measure}_{3 - better}"
        gap = _over_pairs(both.assign(gap=both[columns[0]] - both[columns[1]]))
        measured.append(f"{name}: {gap.estimate:.2g}")
        intervals.append(f"{name} {gap.ends(3)}")
        if (side := gap.side()) == 0:
            unclear.append(f"{name}: the interval holds 0")
        elif (side < 0) != (better == 1):
            failures.append(f"{name} is {gap.estimate:.2g}")
    text = f"Over {len(both)} pairs, " + "; ".join(measured)
    return Finding(text, ", ".join(intervals), failures, unclear)


def _over_pairs(table: pd.DataFrame) -> Interval:
    """The mean `gap` over every content with every painting, or over those pairs that exist."""
    crossed = table.pivot_table("gap", index=PAIR[0], columns=PAIR[1]).to_numpy()
    return mean_interval(table["gap"]) if np.isnan(crossed).any() else crossed_interval(crossed)


def videos_stay_consistent(run: Run) -> Finding:
    """Warped errors of frames over the source's (Section VI-C)."""
    failures: list[str] = []
    unclear: list[str] = []
    measured, intervals = [], []
    for painting, of_video in run.flicker.groupby("painting", sort=False):
        ratios = of_video["ratio"].dropna().to_numpy()
        if not len(ratios):
            continue
        name, mean = spoken(str(painting)), mean_interval(ratios)
        measured.append(f"{name}: {mean.estimate:.2f}{TIMES} the source's")
        intervals.append(f"{name} {mean.ends(2)}")
        if not mean.high <= FLICKER:
            more = failures if mean.low > FLICKER else unclear
            more.append(f"{name} flickers {mean.estimate:.2f}{TIMES} as much as its source")
    text = "Warped error of stylised frames: " + "; ".join(measured)
    return Finding(text, ", ".join(intervals), failures, unclear)
