"""Comparisons of times, networks and videos."""

import itertools

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
    finding, measured, intervals = Finding(), [], []
    for size in sorted({*PAPER_SIZES, *(int(size) for size in timing["size"])}):
        for backbone in PAPER_ARCHITECTURES:
            if (ratio := _times_as_fast(timing, backbone, "network", size)) is None:
                continue
            name = f"{label(ARCHITECTURE_LABELS, run.architectures[backbone])} at {size}"
            text = f"{name}: {ratio.estimate:.3g}{TIMES}"
            measured.append(text)
            intervals.append(f"{name} {ratio.ends()}")
            if size in PAPER_SIZES:
                finding.require(ratio.side(LOWEST_SPEEDUP), text, text)
    finding.measured = f"Version 1 at {fewest} evaluations over Version 2: " + "; ".join(measured)
    finding.interval = ", ".join(intervals)
    return finding


def alexnet_is_faster(run: Run) -> Finding:
    """Seconds with VGG-19 over those with AlexNet (Section V-B)."""
    first = run.timing[run.timing["version"] == 1]
    finding, measured, intervals = Finding(), [], []
    for size in sorted({int(size) for size in first["size"]}):
        if (ratio := _times_as_fast(first, "vgg", "alexnet", size)) is None:
            continue
        measured.append(f"{size} pixels: {ratio.estimate:.2f}{TIMES}")
        intervals.append(f"{size} pixels {ratio.ends()}")
        if size == PAPER_SIZE and not ABOUT_FIVE[0] <= ratio.estimate <= ABOUT_FIVE[1]:
            finding.failures.append(f"AlexNet is {ratio.estimate:.2f} times as fast")
    finding.measured = "VGG over AlexNet at " + ", ".join(measured)
    finding.interval = ", ".join(intervals)
    return finding


def _times_as_fast(timing: pd.DataFrame, slow: str, fast: str, size: int) -> Interval | None:
    """Seconds of the one over those of the other, of images that both were timed with."""
    seconds, others = (by_image(timing, backbone, size) for backbone in (slow, fast))
    shared = seconds.index.intersection(others.index)
    if shared.empty:
        return None
    return ratio_interval(seconds[shared].to_numpy(), others[shared].to_numpy())


def large_images_take_seconds(run: Run) -> Finding:
    """Seconds of the largest images that were stylised (Sections IV-B and V-A)."""
    pixels = run.stylised_runs["height"] * run.stylised_runs["width_px"]
    large = pixels >= min(FOUR_K[0] * FOUR_K[1], pixels.max())
    finding, measured = Finding(interval="one measurement of each: no interval"), []
    for _, row in run.stylised_runs[large].iterrows():
        name, seconds = spoken(str(row["painting"])), f"{row['seconds']:.2f} s"
        size = f"{row['width_px']:.0f}{TIMES}{row['height']:.0f}"
        measured.append(f"{size} by {name} in {seconds} on {row['device']}")
        if not row["seconds"] <= FOUR_K_SECONDS:
            finding.failures.append(f"{seconds} for {name}")
    finding.measured = "; ".join(measured)
    return finding


def loss_functions_differ_in_time(run: Run) -> Finding:
    """Seconds and final losses by content loss (Figure 4)."""
    timing = run.loss_timing
    wide = timing.pivot_table(index="repeat", columns="content_loss", values="seconds")
    finding, intervals = Finding(), []
    names = {loss: CONTENT_LOSS_LOOKS[loss].label for loss in CONTENT_LOSSES}
    for pair in itertools.product(("huber", "mse"), ("l1", "smooth_l1")):
        if not set(pair) <= set(wide):
            continue
        both = wide[[*pair]].dropna()
        gap = difference_interval(*(both[loss].to_numpy() for loss in pair))
        name = " minus ".join(names[loss] for loss in pair)
        intervals.append(f"{name} {gap.ends(4)} s")
        finding.require(-gap.side(), f"{name}: takes longer", f"{name}: no clear difference")
    lines = {
        row["content_loss"]: run.line("losses", row["run"])
        for _, row in run.chosen("losses").iterrows()
    }
    ends = {str(loss): float(line.iloc[-1]) for loss, line in lines.items() if len(line)}
    factor = max(ends.values()) / min(ends.values()) if ends else 1.0
    if factor > SAME_TREND:
        finding.failures.append(f"the final relative losses differ by a factor of {factor:.2g}")
    seconds = ", ".join(f"{names[i]} {wide[i].mean():.3g}" for i in CONTENT_LOSSES if i in wide)
    trend = ", ".join(f"{CONTENT_LOSS_LOOKS[loss].label} {end:.2g}" for loss, end in ends.items())
    evaluations = int(timing["evaluations"].iloc[0])
    finding.measured = (
        f"Seconds for {evaluations} evaluations: {seconds}; final relative loss: {trend}"
    )
    finding.interval = ", ".join(intervals)
    return finding


def videos_are_batched_and_kept(run: Run) -> Finding:
    """Frames per second by batch, and what videos keep of their source (Section IV-B 11)."""
    finding, measured = Finding(), []
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
        finding.interval = f"batch {best} over batch 1 {ratio.ends(3)}"
        most = f"than single frames on {device} ({ratio.estimate:.2f}{TIMES} at best)"
        finding.require(
            ratio.side(1),
            f"batches are not faster {most}",
            f"batches are not clearly faster {most}",
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
        finding.failures += [
            f"{name}: {property_name.replace('_', ' ')} {video[property_name]:g}, "
            f"the source's {source[property_name]:g}"
            for property_name in KEPT
            if not abs(source[property_name] - video[property_name])
            <= SAME_RATE * abs(source[property_name])
        ]
    finding.measured = "; ".join(measured)
    return finding


def versions_differ(run: Run) -> Finding:
    """Style and outlines of both versions' images of the same content and painting (Figure 1)."""
    quality = run.quality
    first = quality[(quality["version"] == 1) & (quality["experiment"] == "paintings")]
    both = first.merge(quality[quality["version"] == 2], on=PAIR, suffixes=("_1", "_2"))
    finding, measured, intervals = Finding(), [], []
    for measure, name, better in (
        ("gram_distance", "style distance, Version 1 minus 2", 1),
        ("edge_correlation", "edges kept, Version 2 minus 1", 2),
    ) * (len(both) > 0):
        columns = f"{measure}_{better}", f"{measure}_{3 - better}"
        gap = _over_pairs(both.assign(gap=both[columns[0]] - both[columns[1]]))
        measured.append(f"{name}: {gap.estimate:.2g}")
        intervals.append(f"{name} {gap.ends(3)}")
        nearer = -gap.side() if better == 1 else gap.side()
        finding.require(nearer, f"{name} is {gap.estimate:.2g}", f"{name}: the interval holds 0")
    finding.measured = f"Over {len(both)} pairs, " + "; ".join(measured)
    finding.interval = ", ".join(intervals)
    return finding


def _over_pairs(table: pd.DataFrame) -> Interval:
    """The mean `gap` over every content with every painting, or over those pairs that exist."""
    crossed = table.pivot_table("gap", index=PAIR[0], columns=PAIR[1]).to_numpy()
    return mean_interval(table["gap"]) if np.isnan(crossed).any() else crossed_interval(crossed)


def videos_stay_consistent(run: Run) -> Finding:
    """Warped errors of frames over the source's (Section VI-C)."""
    finding, measured, intervals = Finding(), [], []
    for painting, of_video in run.flicker.groupby("painting", sort=False):
        ratios = of_video["ratio"].dropna().to_numpy()
        if not len(ratios):
            continue
        name, mean = spoken(str(painting)), mean_interval(ratios)
        measured.append(f"{name}: {mean.estimate:.2f}{TIMES} the source's")
        intervals.append(f"{name} {mean.ends(2)}")
        more = f"{name} flickers {mean.estimate:.2f}{TIMES} as much as its source"
        finding.require(-mean.side(FLICKER), more, more)
    finding.measured = "Warped error of stylised frames: " + "; ".join(measured)
    finding.interval = ", ".join(intervals)
    return finding
