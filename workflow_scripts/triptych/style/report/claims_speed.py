"""The claims of the style-transfer paper that seconds and video files decide.

The criteria stand in `claims.CRITERIA`.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from triptych.core.statistics import difference_interval, ratio_interval
from triptych.report.palette import label, spoken
from triptych.report.tables import TIMES
from triptych.report.verdicts import Verdict, decide
from triptych.style.optimisation.presets import OURS
from triptych.style.report.claims import (
    ABOUT_FIVE,
    CONTENT_LOSSES,
    ENOUGH_IMAGES,
    ENOUGH_REPEATS,
    FOUR_K,
    FOUR_K_SECONDS,
    LOWEST_SPEEDUP,
    PAPER_SIZE,
    PAPER_SIZES,
    SAME_TREND,
    cut_histories,
    few_evaluations,
    imprecise,
    paper_weights,
    relative_total,
)
from triptych.style.report.labels import ARCHITECTURE_LABELS, CONTENT_LOSS_LABELS
from triptych.style.report.tables import (
    PAPER_ARCHITECTURES,
    PAPER_EVALUATIONS,
    PAPER_WIDTH,
    is_gpu,
)
from triptych.style.report.tables_history import described, history_long

KEPT = ("frames_per_second", "frames", "width", "height")
SAME_RATE = 1e-3  # containers round a frame's duration to their time base


def network_is_faster(
    timing: pd.DataFrame, architectures: Mapping[str, str], stylised: pd.DataFrame
) -> Verdict:
    """style-speedup (Table I): see CRITERIA.

    timing: rows of timing/images.csv. stylised: rows of stylised/*/runs.csv of the network timed.
    """
    timing = like_for_like(timing)
    obstacles = time_obstacles(timing, architectures) + other_width(stylised)
    first = timing[timing["version"] == 1]
    fewest = int(first["evaluations"].min()) if len(first) else 0
    if fewest < PAPER_EVALUATIONS:
        obstacles.append(
            f"{fewest} evaluations of {PAPER_EVALUATIONS} were run; seconds scaled to more are "
            "no measurement"
        )
    failures, measured, intervals = [], [], []
    sizes = sorted({*PAPER_SIZES, *(int(size) for size in timing["size"])})
    for size in sizes:
        network = _by_image(timing, "network", size)
        for backbone in PAPER_ARCHITECTURES:
            seconds = _by_image(timing, backbone, size)
            shared = seconds.index.intersection(network.index)
            name = f"{label(ARCHITECTURE_LABELS, architectures[backbone])} at {size}"
            if shared.empty:
                if size in PAPER_SIZES:
                    obstacles.append(f"{name} pixels was not timed")
                continue
            ratio = ratio_interval(seconds[shared].to_numpy(), network[shared].to_numpy())
            measured.append(f"{name}: {ratio.estimate:.3g}{TIMES}")
            intervals.append(f"{name} {ratio.ends()}")
            if size in PAPER_SIZES and len(shared) < ENOUGH_IMAGES:
                obstacles.append(f"{name}: {len(shared)} images of {ENOUGH_IMAGES}")
            if size in PAPER_SIZES and not ratio.low >= LOWEST_SPEEDUP:
                failures.append(f"{name}: {ratio.estimate:.3g}{TIMES}")
    return decide(
        "style-speedup",
        obstacles=list(dict.fromkeys(obstacles)),
        failures=failures,
        measured=f"Version 1 at {fewest} evaluations over Version 2: " + "; ".join(measured),
        interval=", ".join(intervals),
    )


def like_for_like(timing: pd.DataFrame) -> pd.DataFrame:
    """Version 2, and Version 1 by the notebook's settings, without images that diverged: their
    seconds are of fewer evaluations."""
    done = timing["evaluations_done"] == timing["evaluations"]
    return timing[done & (timing["settings"].fillna("") != OURS)]


def time_obstacles(timing: pd.DataFrame, architectures: Mapping[str, str]) -> list[str]:
    """Why seconds of these architectures on this device cannot test a claim on seconds."""
    found = []
    for role, wanted in PAPER_ARCHITECTURES.items():
        if architectures[role] != wanted:
            given = label(ARCHITECTURE_LABELS, architectures[role])
            found.append(f"the backbone is {given}, not {label(ARCHITECTURE_LABELS, wanted)}")
    return found + no_gpu(timing["device"]) + imprecise(timing)


def other_width(stylised: pd.DataFrame) -> list[str]:
    """Whether a network, by the images that it made, is not as wide as the paper's."""
    widths = sorted({int(width) for width in stylised["width"]} - {PAPER_WIDTH})
    if stylised.empty:
        return ["how wide the network is was not recorded"]
    listed = ", ".join(map(str, widths))
    return [f"the network has {listed} channels, not {PAPER_WIDTH}"] if widths else []


def no_gpu(devices: pd.Series) -> list[str]:
    """The devices, where one is not a GPU."""
    other = sorted({str(device) for device in devices if not is_gpu(str(device))})
    return [f"the claim is about a GPU, this was measured on {', '.join(other)}"] if other else []


def _by_image(timing: pd.DataFrame, backbone: str, size: int) -> pd.Series:
    """Seconds of each image, repeats averaged."""
    cells = timing[(timing["backbone"] == backbone) & (timing["size"] == size)]
    return cells.groupby("image")["seconds"].mean()


def large_images_take_seconds(stylised: pd.DataFrame) -> Verdict:
    """style-4k (Sections IV-B and V-A): see CRITERIA. stylised: rows of stylised/*/runs.csv."""
    pixels = stylised["height"] * stylised["width_px"]
    large = stylised[pixels >= FOUR_K[0] * FOUR_K[1]]
    obstacles = []
    shown = large
    if large.empty:
        obstacles.append(f"no image of {FOUR_K[0]}{TIMES}{FOUR_K[1]} pixels was stylised")
        shown = stylised[pixels == pixels.max()]
    obstacles += no_gpu(shown["device"])
    obstacles += other_width(shown) + imprecise(shown)
    measured = [
        f"{row['width_px']:.0f}{TIMES}{row['height']:.0f} by {spoken(str(row['painting']))} in "
        f"{row['seconds']:.2f} s on {row['device']}"
        for _, row in shown.iterrows()
    ]
    failures = [
        f"{row['seconds']:.2f} s for {spoken(str(row['painting']))}"
        for _, row in large.iterrows()
        if not row["seconds"] <= FOUR_K_SECONDS
    ]
    return decide(
        "style-4k",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval="one measurement of each: no interval",
    )


def alexnet_is_faster(timing: pd.DataFrame, architectures: Mapping[str, str]) -> Verdict:
    """style-alexnet-faster (Section V-B): see CRITERIA. timing: rows of timing/images.csv."""
    timing = like_for_like(timing)
    obstacles = time_obstacles(timing[timing["version"] == 1], architectures)
    failures, measured, intervals = [], [], []
    first = timing[timing["version"] == 1]
    for size in sorted({int(size) for size in first["size"]}):
        vgg, alexnet = (_by_image(first, name, size) for name in ("vgg", "alexnet"))
        shared = vgg.index.intersection(alexnet.index)
        if shared.empty:
            if size == PAPER_SIZE:
                obstacles.append(f"one of the backbones was not timed at {size} pixels")
            continue
        ratio = ratio_interval(vgg[shared].to_numpy(), alexnet[shared].to_numpy())
        measured.append(f"{size} pixels: {ratio.estimate:.2f}{TIMES}")
        intervals.append(f"{size} pixels {ratio.ends()}")
        at_size = first[first["size"] == size]
        if size == PAPER_SIZE and at_size["evaluations"].nunique() > 1:
            obstacles.append("the backbones did not make equal evaluations")
        if size == PAPER_SIZE and len(shared) < ENOUGH_IMAGES:
            obstacles.append(f"{len(shared)} images of {ENOUGH_IMAGES}")
        if size == PAPER_SIZE and not ABOUT_FIVE[0] <= ratio.estimate <= ABOUT_FIVE[1]:
            failures.append(f"AlexNet is {ratio.estimate:.2f} times as fast")
    if PAPER_SIZE not in set(first["size"]):
        obstacles.append(f"{PAPER_SIZE} pixels was not timed")
    return decide(
        "style-alexnet-faster",
        obstacles=obstacles,
        failures=failures,
        measured="VGG over AlexNet at " + ", ".join(measured),
        interval=", ".join(intervals),
    )


def loss_functions_differ_in_time(
    timing: pd.DataFrame, runs: pd.DataFrame, history: pd.DataFrame
) -> Verdict:
    """style-loss-function-time (Figure 4): see CRITERIA. timing: rows of timing/losses.csv."""
    chosen = described(runs, "losses")
    obstacles = paper_weights(chosen, ("vgg19",)) + few_evaluations(chosen) + imprecise(chosen)
    wide = timing.pivot_table(index="repeat", columns="content_loss", values="seconds")
    missing = [label(CONTENT_LOSS_LABELS, loss) for loss in CONTENT_LOSSES if loss not in wide]
    if missing:
        obstacles.append(f"{', '.join(missing)} was not timed")
    whole = wide.dropna()
    if len(whole) < ENOUGH_REPEATS:
        obstacles.append(f"{len(whole)} repeats of {ENOUGH_REPEATS} were timed")
    failures, intervals = [], []
    for fast in ("huber", "mse"):
        for slow in ("l1", "smooth_l1"):
            if fast not in wide or slow not in wide:
                continue
            both = wide[[fast, slow]].dropna()
            gap = difference_interval(both[fast].to_numpy(), both[slow].to_numpy())
            name = " minus ".join(label(CONTENT_LOSS_LABELS, loss) for loss in (fast, slow))
            intervals.append(f"{name} {gap.ends(4)} s")
            if not gap.high < 0:
                result = "takes longer" if gap.low > 0 else "no difference"
                failures.append(f"{name}: {result}")
    long = history_long(history, runs, experiment="losses", scale="")
    ends = {}
    for _, run in chosen.iterrows():
        line = relative_total(long, str(run["run"]))
        if len(line):
            ends[str(run["content_loss"])] = float(line.iloc[-1])
    obstacles += cut_histories(chosen, long)
    lost = [label(CONTENT_LOSS_LABELS, loss) for loss in CONTENT_LOSSES if loss not in ends]
    if lost:
        obstacles.append(f"{', '.join(lost)} has no loss")
    if ends and max(ends.values()) > SAME_TREND * min(ends.values()):
        factor = max(ends.values()) / min(ends.values())
        failures.append(f"the final relative losses differ by a factor of {factor:.2g}")
    means = {
        label(CONTENT_LOSS_LABELS, loss): wide[loss].mean()
        for loss in CONTENT_LOSSES
        if loss in wide
    }
    evaluations = int(timing["evaluations"].iloc[0])
    return decide(
        "style-loss-function-time",
        obstacles=obstacles,
        failures=failures,
        measured=f"Seconds for {evaluations} evaluations: "
        + ", ".join(f"{name} {seconds:.3g}" for name, seconds in means.items())
        + "; final relative loss: "
        + ", ".join(f"{label(CONTENT_LOSS_LABELS, k)} {v:.2g}" for k, v in ends.items()),
        interval=", ".join(intervals),
    )


def videos_are_batched_and_kept(speed: pd.DataFrame, properties: pd.DataFrame) -> Verdict:
    """style-video (Section IV-B 11): see CRITERIA.

    speed, properties: rows of every speed.csv and properties.csv, as `read_variants` reads them.
    """
    obstacles, failures, measured, interval = [], [], [], ""
    repeats = ["painting", "variant", "repeat"]
    wide = speed.pivot_table(index=repeats, columns="batch", values="frames_per_second")
    means = wide.mean()
    several = means[means.index > 1]
    if 1 not in means or several.empty:
        obstacles.append("speed was not measured at batch 1 and at a larger batch")
    else:
        best = int(several.index[int(several.argmax())])
        both = wide[[1, best]].dropna()
        ratio = ratio_interval(both[best].to_numpy(), both[1].to_numpy())
        device = str(speed["device"].iloc[0])
        measured.append(
            "frames a second: "
            + ", ".join(f"batch {batch} {rate:.3g}" for batch, rate in means.items())
            + f" on {device}"
        )
        interval = f"batch {best} over batch 1 {ratio.ends(3)}"
        if np.isnan(ratio.low):
            obstacles.append("one repeat gives no interval")
        elif not ratio.low > 1:
            failures.append(
                f"batches are not clearly faster than single frames on {device} "
                f"({ratio.estimate:.2f}{TIMES} at best)"
            )
    for key, frame in properties.groupby(["painting", "variant"], sort=False):
        assert isinstance(key, tuple)
        by_file = frame.set_index("file").to_dict("index")
        name = f"{spoken(str(key[0]))} ({key[1]})"
        if not {"source", "video"} <= set(by_file):
            obstacles.append(f"{name}: the video was not read back")
            continue
        source, video = by_file["source"], by_file["video"]
        changed = [kept for kept in KEPT if not _same(source[kept], video[kept])]
        measured.append(
            f"{name}: {video['frames_per_second']:.6g} frames a second, {video['frames']:.0f} "
            f"frames, {video['width']:.0f}{TIMES}{video['height']:.0f}"
        )
        failures += [
            f"{name}: {kept.replace('_', ' ')} {video[kept]:g}, the source's {source[kept]:g}"
            for kept in changed
        ]
    if properties.empty:
        obstacles.append("no video was written")
    return decide(
        "style-video",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval=interval,
    )


def _same(one: float, other: float) -> bool:
    return abs(float(one) - float(other)) <= SAME_RATE * abs(float(one))
