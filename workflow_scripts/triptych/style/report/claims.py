"""The claims of the style-transfer paper, each with a criterion fixed before any result was seen.

This module: the criteria, and what a run must be like to test them. The verdicts: `claims_losses`
has those that loss histories decide, `claims_images` those that images do, `claims_speed` those
that seconds do.

What depends on a backbone (loss trends, optimizers, initialisations) is a statement about the
paper's: VGG-19 and AlexNet trained on ImageNet. Another backbone has other losses, so its runs
are shown but test nothing. What depends on seconds needs the paper's architectures and a GPU,
but not its weights. What is said of videos holds for any network on any device. All but that needs
float32 or TF32.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from triptych.report.palette import label
from triptych.report.tables import TIMES
from triptych.report.verdicts import other_precision
from triptych.style.report.labels import ARCHITECTURE_LABELS, OPTIMIZER_LABELS
from triptych.style.report.tables import PAPER_EVALUATIONS
from triptych.style.report.tables_history import backbone_name

PAPER_SIZE = 512
PAPER_SIZES = (256, 512, 1024)
ENOUGH_EVALUATIONS = 500  # the authors' comparisons of optimizers made 500, the others 700 or 1,200
ENOUGH_IMAGES = 20
ENOUGH_REPEATS = 5
LOWEST_SPEEDUP = 228  # the smallest of Table I
ABOUT_FIVE = (4.0, 6.0)
FOUR_K = (4032, 2480)
FOUR_K_SECONDS = 3.0
ORDER_OF_MAGNITUDE = 10.0
RISE = 1.05
SAME_TREND = 2.0
FAR_ABOVE = 100.0
FLUCTUATION = 2.0
NO_STRUCTURE = 0.5
ENOUGH_PAIRS = 4
ENOUGH_FRAMES = 100
PAPER_BATCHES = 29_571  # one epoch of train2017 in batches of 4
LOST = 10.0
FLICKER = 2.0
PRECISIONS = ("float32", "tf32")

# What the claims compare, by the names that the results bear.
OPTIMIZERS = ("lbfgs", "adam", "sgd")
STARTS = ("content", "noise", "style")
CONTENT_LOSSES = ("l1", "smooth_l1", "huber", "mse")

_COUNTS = "It counts with networks trained on COCO; else it is seen on other data."

CRITERIA = {
    "style-speedup": (
        "At 256, 512 and 1024 pixels, against both backbones at "
        f"{PAPER_EVALUATIONS} evaluations, Version 2 is at least {LOWEST_SPEEDUP} times as fast, "
        "the smallest ratio of Table I: the lower end of the 95% interval (images "
        f"paired) of the ratio of seconds. Needs the paper's architectures, a GPU, {ENOUGH_IMAGES} "
        "images, and evaluations that were all run rather than scaled."
    ),
    "style-4k": (
        f"Every image of at least {FOUR_K[0]}{TIMES}{FOUR_K[1]} pixels that was stylised took at "
        f"most {FOUR_K_SECONDS:g} s on a GPU, with a network of the paper's width."
    ),
    "style-alexnet-faster": (
        "At 512 pixels and equal evaluations, seconds with VGG-19 over seconds with AlexNet lie "
        f"between {ABOUT_FIVE[0]:g} and {ABOUT_FIVE[1]:g}. Needs both architectures on a GPU and "
        f"{ENOUGH_IMAGES} images; the ratio hangs on the device, weights do not matter."
    ),
    "style-backbone-loss-trend": (
        "The total loss with each backbone, smoothed by a running median over a tenth of the "
        f"evaluations, never rises more than {100 * (RISE - 1):.0f}% above its lowest so far, and "
        "both final losses relative to their first differ by less than a factor of "
        f"{ORDER_OF_MAGNITUDE:g}. Needs VGG-19 and AlexNet with ImageNet weights at {PAPER_SIZE} "
        f"pixels and {ENOUGH_EVALUATIONS} evaluations."
    ),
    "style-loss-function-time": (
        "Each of Huber and MSE takes less time than each of L1 and smooth L1: the 95% "
        "interval of the paired difference in mean seconds lies below 0. And the final relative "
        f"losses of all four lie within a factor of {SAME_TREND:g}. Needs VGG-19 with ImageNet "
        f"weights, {ENOUGH_EVALUATIONS} evaluations and {ENOUGH_REPEATS} repeats."
    ),
    "style-lbfgs-lowest": (
        "At the authors' learning rates and equal evaluations, on each VGG that was run, the final "
        "total loss of L-BFGS is below those of Adam and SGD (a run that diverged counts as "
        "above). The tuned rates are stated beside it and do not decide. Needs a VGG with "
        "ImageNet weights and "
        f"{ENOUGH_EVALUATIONS} evaluations."
    ),
    "style-sgd-fails": (
        "At the authors' learning rate, on each VGG that was run, SGD ends at least "
        f"{FAR_ABOVE:g} times as high as L-BFGS or diverges, its loss rises at least once to "
        f"{FLUCTUATION:g} times its lowest so far, "
        "and its image keeps at most half of the structure (SSIM of luminance to the content) that "
        "L-BFGS's keeps (a run that diverged has no image but its last good state, and counts as "
        "without one). Needs a VGG with ImageNet weights and "
        f"{ENOUGH_EVALUATIONS} evaluations. Tuned rates are stated and do not decide."
    ),
    "style-content-init": (
        "On every content image, SSIM of luminance to the content is higher when starting from "
        "the content image than from noise and from the style image. Needs a backbone with "
        "ImageNet weights, since how much structure a result keeps hangs on the losses, and "
        f"{ENOUGH_EVALUATIONS} evaluations."
    ),
    "style-video": (
        "The frames per second of the fastest batch of several frames exceed those of one frame at "
        "a time: the lower end of the 95% interval of the ratio (repeats paired) is "
        "above 1. And the written video has the source's frames per second, frames, width and "
        "height. Any network on any device can test this."
    ),
    "style-versions-differ": (
        "Over pairs of content and style, Version 1's images are nearer to the style and Version "
        "2's keep more outlines: the 95% interval of the paired difference of Gram distances on a "
        "backbone that neither was made with lies below 0, and that of the correlations of edge "
        "maps with the content's above 0. Needs VGG-19 with ImageNet weights and "
        f"{ENOUGH_EVALUATIONS} evaluations, networks of the paper's width and {PAPER_BATCHES:,} "
        f"batches, a full-width judge, and {ENOUGH_PAIRS} pairs. {_COUNTS}"
    ),
    "style-adam-content": (
        "At the authors' learning rates, on each VGG that was run, Adam's image keeps more of the "
        "content (SSIM of luminance) and is farther from the style (Gram distance) than L-BFGS's. "
        f"Needs a VGG with ImageNet weights and {ENOUGH_EVALUATIONS} evaluations."
    ),
    "style-alexnet-1024": (
        "By the authors' settings AlexNet at 1024 pixels does not finish or ends at "
        f"{LOST:g} times its lowest loss or more; AlexNet at 512 and VGG-19 at 1024 pixels finish "
        f"below that. Needs ImageNet weights and {PAPER_EVALUATIONS} evaluations."
    ),
    "style-video-consistency": (
        "Along the source's optical flow, frames of the network trained without a temporal term "
        f"change at most {FLICKER:g} times as much as the source's own: the upper end of the 95% "
        "interval of the mean ratio of warped errors over frames, which are not independent. The "
        f"paper has no number; the {FLICKER:g} is ours. Needs a network of the paper's width and "
        f"{PAPER_BATCHES:,} batches, and {ENOUGH_FRAMES} frames of any film. {_COUNTS}"
    ),
}


def paper_weights(runs: pd.DataFrame, architectures: Sequence[str]) -> list[str]:
    """Why these runs' backbones are not the paper's (nothing where they are)."""
    used = runs[["architecture", "weights"]].drop_duplicates().itertuples(index=False)
    other = [
        backbone_name(str(architecture), str(weights))
        for architecture, weights in used
        if architecture not in architectures or weights != "imagenet"
    ]
    if not other:
        return []
    wanted = " or ".join(label(ARCHITECTURE_LABELS, name) for name in architectures)
    return [f"the backbone is not {wanted} with ImageNet weights but {', '.join(other)}"]


def imprecise(rows: pd.DataFrame) -> list[str]:
    """Whether something was computed in less than the paper's precision; rows: with `precision`."""
    return other_precision(rows["precision"], PRECISIONS)


def cut_histories(runs: pd.DataFrame, long: pd.DataFrame) -> list[str]:
    """Runs whose history lacks evaluations that they made. long: as `history_long` returns it."""
    totals = long[long["term"] == "total"]
    there = totals.groupby("run")["evaluation"].nunique()
    return [
        f"the history of {run['run']} has {int(there.get(run['run'], 0))} of "
        f"{int(run['evaluations_done'])} evaluations"
        for _, run in runs.iterrows()
        if there.get(run["run"], 0) < run["evaluations_done"]
    ]


def few_evaluations(runs: pd.DataFrame) -> list[str]:
    """Whether the shortest run was asked for fewer evaluations than the claims on losses need."""
    fewest = int(runs["evaluations"].min())
    if fewest >= ENOUGH_EVALUATIONS:
        return []
    return [f"{fewest:,} evaluations were made, at least {ENOUGH_EVALUATIONS:,} are needed"]


def other_size(runs: pd.DataFrame) -> list[str]:
    """Whether a run's size is not the paper's."""
    sizes = sorted({int(size) for size in runs["size"]} - {PAPER_SIZE})
    if not sizes:
        return []
    return [f"images were {', '.join(map(str, sizes))} pixels, not {PAPER_SIZE}"]


def optimizer_obstacles(chosen: pd.DataFrame) -> list[str]:
    """Why these runs of the experiment `optimizers` cannot test its claims."""
    found = paper_weights(chosen, ("vgg19", "vgg16")) + few_evaluations(chosen)
    found += imprecise(chosen)
    for architecture, of_vgg in chosen.groupby("architecture", sort=False):
        ran = set(of_vgg[of_vgg["rates"] == "authors"]["optimizer"])
        missing = [label(OPTIMIZER_LABELS, name) for name in OPTIMIZERS if name not in ran]
        if missing:
            name = label(ARCHITECTURE_LABELS, str(architecture))
            found.append(f"{', '.join(missing)} was not run at the authors' rates on {name}")
    if chosen["evaluations"].nunique() > 1:
        found.append("the optimizers did not make equal evaluations")
    return found


def relative_total(long: pd.DataFrame, run: str) -> pd.Series:
    """One run's finite total loss over its first, by evaluation."""
    line = long[(long["run"] == run) & (long["term"] == "total")].set_index("evaluation")["value"]
    return line[np.isfinite(line)].sort_index()


def quality_of(
    quality: pd.DataFrame, experiment: str, run: str, measure: str = "ssim_luma"
) -> float:
    """A measure of an image of Version 1 (nan where it was not measured)."""
    rows = quality[
        (quality["version"] == 1) & (quality["experiment"] == experiment) & (quality["run"] == run)
    ]
    return float(rows[measure].iloc[0]) if len(rows) else np.nan
