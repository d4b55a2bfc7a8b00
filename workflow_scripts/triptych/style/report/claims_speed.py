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
    finding = Finding(heading=f"Version 1 at {fewest} evaluations over Version 2: ")
    for size in sorted({*PAPER_SIZES, *(int(size) for size in timing["size"])}):
        for backbone in PAPER_ARCHITECTURES:
            if (ratio := _times_as_fast(timing, backbone, "network", size)) is None:
                continue
            name = f"{label(ARCHITECTURE_LABELS, run.architectures[backbone])} at {size}"
            text = f"{name}: {ratio.estimate:.3g}{TIMES}"
            finding.add(text, f"{name} {ratio.ends()}")
            if size in PAPER_SIZES:
                finding.require(ratio.side(LOWEST_SPEEDUP), text, text)
    return finding


def alexnet_is_faster(run: Run) -> Finding:
    """Seconds with VGG-19 over those with AlexNet (Section V-B)."""
    first = run.timing[run.timing["version"] == 1]
    finding = Finding(heading="VGG over AlexNet at ")
    for size in sorted({int(size) for size in first["size"]}):
        if (ratio := _times_as_fast(first, "vgg", "alexnet", size)) is None:
            continue
        finding.add(f"{size} pixels: {ratio.estimate:.2f}{TIMES}", f"{size} pixels {ratio.ends()}")
        if size == PAPER_SIZE and not ABOUT_FIVE[0] <= ratio.estimate <= ABOUT_FIVE[1]:
            finding.failures.append(f"AlexNet is {ratio.estimate:.2f} times as fast")
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
    finding = Finding(interval="one measurement of each: no interval")
    for row in run.stylised_runs[large].to_dict("records"):
        name, seconds = spoken(row["painting"]), f"{row['seconds']:.2f} s"
        size = f"{row['width_px']:.0f}{TIMES}{row['height']:.0f}"
        finding.add(f"{size} by {name} in {seconds} on {row['device']}")
        if not row["seconds"] <= FOUR_K_SECONDS:
            finding.failures.append(f"{seconds} for {name}")
    return finding


def loss_functions_differ_in_time(run: Run) -> Finding:
    """Seconds and final losses by content loss (Figure 4)."""
    timing = run.loss_timing
    wide = timing.pivot_table(index="repeat", columns="content_loss", values="seconds")
    finding = Finding()
    names = {loss: CONTENT_LOSS_LOOKS[loss].label for loss in CONTENT_LOSSES}
    seconds = ", ".join(f"{names[i]} {wide[i].mean():.3g}" for i in CONTENT_LOSSES if i in wide)
    finding.add(f"Seconds for {timing['evaluations'].iloc[0]:.0f} evaluations: {seconds}")
    for pair in itertools.product(("huber", "mse"), ("l1", "smooth_l1")):
        if not set(pair) <= set(wide):
            continue
        both = wide[[*pair]].dropna()
        gap = difference_interval(*(both[loss].to_numpy() for loss in pair))
        name = " minus ".join(names[loss] for loss in pair)
        finding.add("", f"{name} {gap.ends(4)} s")
        finding.require(-gap.side(), f"{name}: takes longer", f"{name}: no clear difference")
    lines = run.chosen("losses").dropna(subset="end")
    ends = dict(zip(lines["content_loss"], lines["end"], strict=True))
    trend = ", ".join(f"{CONTENT_LOSS_LOOKS[loss].label} {end:.2g}" for loss, end in ends.items())
    finding.add(f"final relative loss: {trend}")
    factor = lines["end"].max() / lines["end"].min()
    if factor > SAME_TREND:
        finding.failures.append(f"the final relative losses differ by a factor of {factor:.2g}")
    return finding


def videos_are_batched_and_kept(run: Run) -> Finding:
    """Frames per second by batch, and what videos keep of their source (Section IV-B 11)."""
    finding = Finding()
    wide = rates(run.speed)
    means = wide.mean()
    several = means[means.index > 1]
    if 1 in means and len(several):
        best = int(several.index[int(several.argmax())])
        both = wide[[1, best]].dropna()
        ratio = ratio_interval(both[best].to_numpy(), both[1].to_numpy())
        device = str(run.speed["device"].iloc[0])
        shown = ", ".join(f"batch {batch} {rate:.3g}" for batch, rate in means.items())
        finding.add(
            f"frames a second: {shown} on {device}", f"batch {best} over batch 1 {ratio.ends(3)}"
        )
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
        finding.add(
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
    return finding


def versions_differ(run: Run) -> Finding:
    """Style and outlines of both versions' images of the same content and painting (Figure 1)."""
    both = run.pairs
    finding = Finding(heading=f"Over {len(both)} pairs, ")
    if both.empty:
        return finding
    for measure, name, better, other, claimed in (
        ("gram_distance", "style distance, Version 1 minus 2", 1, 2, -1),
        ("edge_correlation", "edges kept, Version 2 minus 1", 2, 1, 1),
    ):
        gap = _over_pairs(both.assign(gap=both[f"{measure}_{better}"] - both[f"{measure}_{other}"]))
        text = f"{name} is {gap.estimate:.2g}"
        finding.add(f"{name}: {gap.estimate:.2g}", f"{name} {gap.ends(3)}")
        finding.require(claimed * gap.side(), text, f"{name}: the interval holds 0")
    return finding


def _over_pairs(table: pd.DataFrame) -> Interval:
    """The mean `gap` over every content with every painting, or over those pairs that exist."""
    crossed = table.pivot_table("gap", index=PAIR[0], columns=PAIR[1]).to_numpy()
    return mean_interval(table["gap"]) if np.isnan(crossed).any() else crossed_interval(crossed)


def videos_stay_consistent(run: Run) -> Finding:
    """Warped errors of frames over the source's (Section VI-C)."""
    finding = Finding(heading="Warped error of stylised frames: ")
    ratios = run.flicker.dropna(subset="ratio").groupby("painting", sort=False)["ratio"]
    for painting, of_frames in ratios:
        name, mean = spoken(str(painting)), mean_interval(of_frames)
        finding.add(f"{name}: {mean.estimate:.2f}{TIMES} the source's", f"{name} {mean.ends()}")
        more = f"{name} flickers {mean.estimate:.2f}{TIMES} as much as its source"
        finding.require(-mean.side(FLICKER), more, more)
    return finding
