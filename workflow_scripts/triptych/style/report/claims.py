"""The claims of the style-transfer paper, each with a criterion fixed before any result was seen.

This module: the criteria, what a run must be like to test them, and the claims that loss
histories and images decide. `claims_style_speed` has those that seconds decide.

What depends on a backbone (loss trends, optimizers, initialisations) is a statement about the
paper's: VGG-19 and AlexNet trained on ImageNet. Another backbone has other losses, so its runs
are shown but test nothing. What depends on seconds needs the paper's architectures and a GPU,
but not its weights. What is said of videos holds for any network on any device. All but that needs
float32 or TF32.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from triptych.present.palette import label
from triptych.present.tables import TIMES
from triptych.present.verdicts import Verdict, decide, other_precision
from triptych.style.report.labels import (
    ARCHITECTURE_LABELS,
    INITIALISATION_LABELS,
    OPTIMIZER_LABELS,
    RATES_LABELS,
)
from triptych.style.report.tables import PAPER_ARCHITECTURES, PAPER_EVALUATIONS
from triptych.style.report.tables_history import backbone_name, described, history_long, smoothed

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
        f"batches, a full-width judge, and {ENOUGH_PAIRS} pairs."
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
        f"{PAPER_BATCHES:,} batches, and {ENOUGH_FRAMES} frames of any film."
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


def backbones_share_a_trend(runs: pd.DataFrame, history: pd.DataFrame) -> Verdict:
    """style-backbone-loss-trend (Figure 2): see CRITERIA. runs, history: of all experiments."""
    chosen = described(runs, "backbones")
    long = history_long(history, runs, experiment="backbones", scale="")
    obstacles = paper_weights(chosen, tuple(PAPER_ARCHITECTURES.values()))
    obstacles += other_size(chosen) + few_evaluations(chosen) + imprecise(chosen)
    obstacles += cut_histories(chosen, long)
    if set(chosen["backbone"]) != {"vgg", "alexnet"}:
        obstacles.append("not both backbones were run")
    failures, measured, ends = [], [], []
    for _, run in chosen.iterrows():
        name = backbone_name(str(run["architecture"]), str(run["weights"]))
        line = smoothed(relative_total(long, str(run["run"])))
        rise = (line / line.cummin()).max()
        ends.append(line.iloc[-1])
        measured.append(f"{name}: ends at {line.iloc[-1]:.2g} of its first loss")
        if run["status"] != "finished":
            failures.append(f"{name} {str(run['status']).replace('_', ' ')}")
        if not rise <= RISE:
            failures.append(f"{name} rises to {rise:.2g} times its lowest loss")
    if ends and max(ends) >= ORDER_OF_MAGNITUDE * min(ends):
        failures.append(f"the final losses differ by a factor of {max(ends) / min(ends):.3g}")
    return decide(
        "style-backbone-loss-trend",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval="one run of each backbone: no interval",
    )


def lbfgs_ends_lowest(runs: pd.DataFrame) -> Verdict:
    """style-lbfgs-lowest (Figure 5): see CRITERIA. runs: of all experiments."""
    chosen = described(runs, "optimizers")
    obstacles = optimizer_obstacles(chosen)
    failures, measured = [], []
    for architecture, of_vgg in chosen.groupby("architecture", sort=False):
        name = label(ARCHITECTURE_LABELS, str(architecture))
        losses = _final_losses(of_vgg)
        measured += [f"{name}, {text}" for text in _losses_text(losses)]
        at_authors = losses.get("authors", {})
        for optimizer in OPTIMIZERS[1:]:
            if {"lbfgs", optimizer} <= set(at_authors) and not (
                at_authors["lbfgs"] < at_authors[optimizer]
            ):
                failures.append(
                    f"{name}: {label(OPTIMIZER_LABELS, optimizer)} ends at "
                    f"{at_authors[optimizer]:.3g}, not above L-BFGS's {at_authors['lbfgs']:.3g}"
                )
    return decide(
        "style-lbfgs-lowest",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval="one run of each: no interval",
    )


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


def sgd_fails(runs: pd.DataFrame, history: pd.DataFrame, quality: pd.DataFrame) -> Verdict:
    """style-sgd-fails (Figures 5 and 6): see CRITERIA."""
    chosen = described(runs, "optimizers")
    long = history_long(history, runs, experiment="optimizers", scale="")
    obstacles = optimizer_obstacles(chosen) + cut_histories(chosen, long)
    failures: list[str] = []
    measured: list[str] = []
    for architecture, of_vgg in chosen.groupby("architecture", sort=False):
        name = label(ARCHITECTURE_LABELS, str(architecture))
        measured += [f"{name}, {text}" for text in _losses_text(_final_losses(of_vgg))]
        authors = of_vgg[of_vgg["rates"] == "authors"].drop_duplicates("optimizer")
        if {"lbfgs", "sgd"} <= set(authors["optimizer"]):
            found = _sgd_beside_lbfgs(authors, long, quality)
            for parts, texts in zip((obstacles, failures, measured), found, strict=True):
                parts += [f"{name}: {text}" for text in texts]
    return decide(
        "style-sgd-fails",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval="one run of each: no interval",
    )


def _sgd_beside_lbfgs(
    authors: pd.DataFrame, long: pd.DataFrame, quality: pd.DataFrame
) -> tuple[list[str], list[str], list[str]]:
    """Obstacles, failures and what was measured, of one backbone's runs at the authors' rates."""
    obstacles: list[str] = []
    failures: list[str] = []
    measured: list[str] = []
    by_optimizer = authors.set_index("optimizer")
    losses = _final_losses(authors)["authors"]
    sgd, lbfgs = by_optimizer.loc["sgd"], by_optimizer.loc["lbfgs"]
    if np.isinf(losses["lbfgs"]):
        failures.append("L-BFGS did not finish either")
    if not losses["sgd"] >= FAR_ABOVE * losses["lbfgs"]:
        factor = losses["sgd"] / losses["lbfgs"]
        failures.append(f"SGD ends at {factor:.3g} times the loss of L-BFGS")
    line = relative_total(long, str(sgd["run"]))
    rise = float((line / line.cummin()).max()) if len(line) else np.nan
    measured.append(f"SGD's loss rises to {rise:.3g} times its lowest")
    if not (rise >= FLUCTUATION or sgd["status"] != "finished"):
        failures.append(f"SGD's loss never rises above {rise:.3g} times its lowest")
    structure = [quality_of(quality, "optimizers", str(r["run"])) for r in (sgd, lbfgs)]
    if any(np.isnan(value) for value in structure):
        obstacles.append("the structure of an image was not measured")
    else:
        measured.append(f"SSIM: SGD {structure[0]:.2f}, L-BFGS {structure[1]:.2f}")
        if sgd["status"] == "finished" and structure[0] > NO_STRUCTURE * structure[1]:
            failures.append(
                f"SGD's image keeps structure (SSIM {structure[0]:.2f} against {structure[1]:.2f})"
            )
    return obstacles, failures, measured


def content_start_keeps_structure(runs: pd.DataFrame, quality: pd.DataFrame) -> Verdict:
    """style-content-init (Section IV-A 2): see CRITERIA."""
    chosen = described(runs, "initialisations")
    obstacles = paper_weights(chosen, ("vgg19", "alexnet"))
    obstacles += few_evaluations(chosen) + imprecise(chosen)
    structure = {
        (str(run["content"]), str(run["painting"]), str(run["initialisation"])): quality_of(
            quality, "initialisations", str(run["run"])
        )
        for _, run in chosen.iterrows()
    }
    failures, measured = [], []
    for content, painting in dict.fromkeys(key[:2] for key in structure):
        kept = {i: structure.get((content, painting, i), np.nan) for i in STARTS}
        measured.append(
            f"{content}: "
            + ", ".join(f"from {label(INITIALISATION_LABELS, i)} {v:.2f}" for i, v in kept.items())
        )
        for other in STARTS[1:]:
            if np.isnan(kept["content"]) or np.isnan(kept[other]):
                obstacles.append(f"{content} was not run or not measured from every start")
            elif not kept["content"] > kept[other]:
                failures.append(
                    f"on {content} a start from {label(INITIALISATION_LABELS, other)} keeps as much"
                )
    return decide(
        "style-content-init",
        obstacles=list(dict.fromkeys(obstacles)),
        failures=failures,
        measured="SSIM to the content: " + "; ".join(measured),
        interval="one run of each: no interval",
    )


def relative_total(long: pd.DataFrame, run: str) -> pd.Series:
    """One run's finite total loss over its first, by evaluation."""
    line = long[(long["run"] == run) & (long["term"] == "total")].set_index("evaluation")["value"]
    return line[np.isfinite(line)].sort_index()


def _final_losses(chosen: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Final total loss by rates and optimizer; infinite for a run that did not finish."""
    losses: dict[str, dict[str, float]] = {}
    for _, run in chosen.iterrows():
        loss = float(run["total_loss_final"]) if run["status"] == "finished" else np.inf
        losses.setdefault(str(run["rates"]), {}).setdefault(str(run["optimizer"]), loss)
    return losses


def _losses_text(losses: dict[str, dict[str, float]]) -> list[str]:
    def worded(loss: float) -> str:
        return "stopped" if np.isinf(loss) else f"{loss:.3g}"

    return [
        f"final total loss at {label(RATES_LABELS, rates)}: "
        + ", ".join(f"{label(OPTIMIZER_LABELS, o)} {worded(loss)}" for o, loss in of_rates.items())
        for rates, of_rates in losses.items()
    ]


def quality_of(
    quality: pd.DataFrame, experiment: str, run: str, measure: str = "ssim_luma"
) -> float:
    """A measure of an image of Version 1 (nan where it was not measured)."""
    rows = quality[
        (quality["version"] == 1) & (quality["experiment"] == experiment) & (quality["run"] == run)
    ]
    return float(rows[measure].iloc[0]) if len(rows) else np.nan
