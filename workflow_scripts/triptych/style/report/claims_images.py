"""The claims of the style-transfer paper on which image keeps what: versions, Adam, sizes, videos.

The criteria stand in `claims.CRITERIA`.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from triptych.core.statistics import difference_interval, mean_interval
from triptych.report.palette import label, spoken
from triptych.report.tables import TIMES
from triptych.report.verdicts import Verdict, decide
from triptych.style.report.claims import (
    ENOUGH_FRAMES,
    ENOUGH_PAIRS,
    FLICKER,
    LOST,
    PAPER_BATCHES,
    cut_histories,
    few_evaluations,
    imprecise,
    optimizer_obstacles,
    paper_weights,
    quality_of,
    relative_total,
)
from triptych.style.report.claims_speed import other_width
from triptych.style.report.labels import ARCHITECTURE_LABELS
from triptych.style.report.tables import PAPER_EVALUATIONS
from triptych.style.report.tables_history import backbone_name, described, history_long

PAIR = ["content", "painting"]
LARGEST, MIDDLE = 1024, 512


def versions_differ(
    runs: pd.DataFrame,
    stylised: pd.DataFrame,
    quality: pd.DataFrame,
    architectures: Mapping[str, str],
    photographs: str,
) -> Verdict:
    """style-versions-differ (Figure 1): see CRITERIA. stylised: rows of stylised/*/runs.csv;
    photographs: where those come from that networks are trained on."""
    chosen = described(runs, "paintings")
    obstacles = paper_weights(chosen, ("vgg19",)) + few_evaluations(chosen) + imprecise(chosen)
    obstacles += other_width(stylised) + short_training(stylised)
    judge = architectures["held_out"]
    if judge.startswith("narrow"):
        obstacles.append(f"the judge of style is {label(ARCHITECTURE_LABELS, judge)}")
    first = quality[(quality["version"] == 1) & (quality["experiment"] == "paintings")]
    second = quality[quality["version"] == 2]
    both = first.merge(second, on=PAIR, suffixes=("_1", "_2"))
    if len(both) < ENOUGH_PAIRS:
        obstacles.append(f"{len(both)} pairs of content and style of {ENOUGH_PAIRS}")
    failures, measured, intervals = [], [], []
    if len(both):
        for measure, name, better in (
            ("gram_distance", "style distance, Version 1 minus 2", 1),
            ("edge_correlation", "edges kept, Version 2 minus 1", 2),
        ):
            columns = f"{measure}_{better}", f"{measure}_{3 - better}"
            gap = difference_interval(*(both[column].to_numpy() for column in columns))
            measured.append(f"{name}: {gap.estimate:.2g}")
            intervals.append(f"{name} {gap.ends(3)}")
            holds = gap.high < 0 if better == 1 else gap.low > 0
            if not holds:
                failures.append(f"{name} is {gap.estimate:.2g}, not clear of 0 on its side")
    return decide(
        "style-versions-differ",
        obstacles=obstacles,
        failures=failures,
        measured=f"Over {len(both)} pairs, " + "; ".join(measured),
        interval=", ".join(intervals),
        other_data=other_photographs(photographs),
    )


def other_photographs(source: str) -> list[str]:
    """Whether networks were trained on other photographs than the paper's."""
    return [] if source == "coco" else [f"networks were trained on other data than COCO ({source})"]


def short_training(stylised: pd.DataFrame) -> list[str]:
    """Whether a network was trained for less than the paper's one epoch."""
    fewest = int(stylised["batches"].min()) if len(stylised) else 0
    if fewest >= PAPER_BATCHES:
        return []
    return [f"a network was trained for {fewest:,} batches of {PAPER_BATCHES:,}"]


def adam_keeps_content(runs: pd.DataFrame, quality: pd.DataFrame) -> Verdict:
    """style-adam-content (Figure 6): see CRITERIA."""
    chosen = described(runs, "optimizers")
    obstacles = optimizer_obstacles(chosen)
    failures, measured = [], []
    authors = chosen[chosen["rates"] == "authors"]
    for architecture, of_vgg in authors.groupby("architecture", sort=False):
        named = of_vgg.drop_duplicates("optimizer").set_index("optimizer")["run"]
        if not {"lbfgs", "adam"} <= set(named.index):
            continue
        name = label(ARCHITECTURE_LABELS, str(architecture))
        for measure, what in (("ssim_luma", "SSIM"), ("gram_distance", "style distance")):
            adam, lbfgs = (
                quality_of(quality, "optimizers", str(named[each]), measure)
                for each in ("adam", "lbfgs")
            )
            if np.isnan(adam) or np.isnan(lbfgs):
                obstacles.append(f"the {what} of an image was not measured")
                continue
            measured.append(f"{name}: {what} Adam {adam:.2f}, L-BFGS {lbfgs:.2f}")
            if not adam > lbfgs:
                failures.append(f"{name}: Adam's {what} is not above L-BFGS's")
    return decide(
        "style-adam-content",
        obstacles=list(dict.fromkeys(obstacles)),
        failures=failures,
        measured="; ".join(measured),
        interval="one run of each: no interval",
    )


def alexnet_fails_when_scaled(runs: pd.DataFrame, history: pd.DataFrame) -> Verdict:
    """style-alexnet-1024 (Section V-B): see CRITERIA."""
    chosen = described(runs, "sizes")
    long = history_long(history, runs, experiment="sizes", scale="")
    obstacles = paper_weights(chosen, ("vgg19", "alexnet")) + imprecise(chosen)
    obstacles += cut_histories(chosen, long)
    if set(chosen["rates"]) != {"authors"}:
        obstacles.append("the rates are not the authors'")
    if (fewest := int(chosen["evaluations"].min())) < PAPER_EVALUATIONS:
        obstacles.append(f"{fewest:,} evaluations of {PAPER_EVALUATIONS} were made")
    failures, measured = [], []
    for role, size, loses in (
        ("alexnet", LARGEST, True),
        ("alexnet", MIDDLE, False),
        ("vgg", LARGEST, False),
    ):
        of_case = chosen[(chosen["backbone"] == role) & (chosen["size"] == size)]
        if of_case.empty:
            obstacles.append(f"{role} was not run at {size} pixels")
            continue
        run = of_case.iloc[0]
        name = f"{backbone_name(str(run['architecture']), str(run['weights']))} at {size} pixels"
        line = relative_total(long, str(run["run"]))
        over = float(line.iloc[-1] / line.min()) if len(line) else np.nan
        measured.append(
            f"{name}: {str(run['status']).replace('_', ' ')}, ends at {over:.3g}{TIMES} its lowest"
        )
        lost = run["status"] != "finished" or over >= LOST
        if lost != loses:
            failures.append(f"{name} {'loses what it had' if lost else 'keeps what it had'}")
    return decide(
        "style-alexnet-1024",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval="one run of each: no interval",
    )


def videos_stay_consistent(
    flicker: pd.DataFrame, stylised: pd.DataFrame, photographs: str
) -> Verdict:
    """style-video-consistency (Section VI-C): see CRITERIA.

    flicker: rows of every flicker.csv. stylised: rows of stylised/*/runs.csv. photographs: as for
    `versions_differ`.
    """
    plain = flicker[flicker["variant"] != "temporal"]
    filmed = stylised[stylised["painting"].isin(plain["painting"])]
    obstacles = other_width(filmed) + short_training(filmed) + imprecise(filmed)
    if plain.empty:
        obstacles.append("no video was stylised without the temporal term")
    failures, measured, intervals = [], [], []
    for painting, of_video in plain.groupby("painting", sort=False):
        ratios = of_video["ratio"].dropna().to_numpy()
        name = spoken(str(painting))
        if len(ratios) < ENOUGH_FRAMES:
            obstacles.append(f"{name}: {len(ratios)} frames of {ENOUGH_FRAMES}")
        if not len(ratios):
            continue
        mean = mean_interval(ratios)
        measured.append(f"{name}: {mean.estimate:.2f}{TIMES} the source's")
        intervals.append(f"{name} {mean.ends(2)}")
        if not mean.high <= FLICKER:
            failures.append(f"{name} flickers {mean.estimate:.2f}{TIMES} as much as its source")
    return decide(
        "style-video-consistency",
        obstacles=list(dict.fromkeys(obstacles)),
        failures=failures,
        measured="Warped error of stylised frames: " + "; ".join(measured),
        interval=", ".join(intervals),
        other_data=other_photographs(photographs),
    )
