"""Style transfer at a glance.

A photograph painted by both versions, how many times as long the one takes as the other, and what
of the run isn't the paper's.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.files import Files, named_files
from triptych.report.palette import spoken
from triptych.report.statistics import ratio_interval
from triptych.report.summary import Summary, photographs, write_summary
from triptych.report.tables import TIMES, number
from triptych.style.data.missing import missing_among
from triptych.style.report.claims_needs import BATCHES
from triptych.style.report.labels import ARCHITECTURE_LABELS
from triptych.style.report.paper import PAPER_ARCHITECTURES, is_gpu
from triptych.style.report.runs import of_pair

SHOWN_WEIGHTS = {"hed": "trained further on edges", "embedded": "trained on few photographs"}
"""What weights are that aren't the paper's."""


def summary(
    files: Files, backbones: Mapping[str, Sequence[str]], sources: Collection[str]
) -> Summary:
    """A photograph painted by both versions, and how long they take: of those that a network
    painted the first whose pictures could be had.

    files: by the names of the rule's inputs. backbones: architecture and weights by role. sources:
    of Version 1's paintings.
    """
    for painted, content in zip(files["painted"], files["contents"], strict=True):
        pictures = [Path(path) for path in (painted, content, files["painting"][0])]
        if not missing_among(pictures):
            break
    pair = {"content": pictures[1].stem, "painting": pictures[2].stem}
    stylised, timed = read_frames(files["stylised"]), read_frames(files["table1"])
    timed = timed.dropna(subset="value")
    names = [spoken(name) for name in pair.values()]
    texts = [
        f"The photograph {names[0]} painted in the style of {names[1]} by a network",
        f"The photograph {names[0]} as it was before it was painted",
        f"The painting {names[1]}, whose style the network has learned",
    ]
    caption = "By a network in one pass (Version 2); the photograph; the painting"
    runs = of_pair(read_frames(files["runs"]), pair)["run"]
    optimised = [Path(folder, f"{run}.png") for folder in files["images"] for run in runs]
    if optimised := [picture for picture in optimised if picture.exists()]:
        pictures.insert(1, optimised[0])
        texts.insert(1, f"The photograph {names[0]} in the style of {names[1]}, pixels optimised")
        caption = caption.replace("; ", "; its pixels optimised (Version 1); ", 1)
    seconds = _digits(of_pair(stylised, pair)["seconds"].mean())
    selection, timing = read_frames(files["selection"]), read_frames(files["timing"])
    return Summary(
        sentence=f"A network (Version 2) paints *{names[0]}* in the style of *{names[1]}* in one "
        f"pass of {seconds} s. {_learnt_nothing(selection) or _speedup(timing)}",
        numbers=_seconds(timed),
        limits=_limits(timed, stylised, backbones, sources),
        photographs=photographs(pictures, texts),
        caption=f"{caption}.",
    )


def _seconds(timed: pd.DataFrame) -> list[tuple[str, str]]:
    """Seconds of both versions and their ratio, at the largest size that both were timed at; of
    Version 1 a step's where not all were run, and how many there are."""
    sizes = timed.pivot_table(index="size", columns="column", values="value", aggfunc="size")
    size = sizes.reindex(columns=["network", "vgg"]).dropna().index.max()
    cells = timed[timed["size"] == size].drop_duplicates(["column", "counts"])
    run = cells[cells["counts"] != "scaled"].set_index("column")
    run = run.reindex(["network", "vgg", "speedup_high"])
    papers = [
        "" if pd.isna(value) else f" (paper: {_digits(value)})"
        for value in run["published"].where(run["comparable"].eq(True))
    ]
    network, optimised, faster = run["value"]
    steps = run["evaluations"]["vgg"]
    one_pass = (f"{_digits(network)} s", f"one pass, {number(size, 0)} pixels{papers[0]}")
    scaled = cells[(cells["counts"] == "scaled") & (cells["column"] == "vgg")]
    if len(scaled):
        return [
            one_pass,
            (f"{_digits(optimised / steps)} s", "one step of Version 1 with VGG"),
            (number(scaled["evaluations"].iloc[0], 0), "steps in the paper"),
        ]
    return [
        one_pass,
        (f"{_digits(optimised)} s", f"{number(steps, 0)} evaluations of VGG{papers[1]}"),
        (f"{_digits(faster)}{TIMES}", f"as fast in one pass{papers[2]}"),
    ]


def _speedup(timing: pd.DataFrame) -> str:
    """How many times as long Version 1, or a step of it where not all were run, takes as Version 2,
    with its interval over photographs, at the largest size that both were timed at."""
    timing = timing[timing["evaluations_done"] == timing["evaluations"]]
    images = timing.pivot_table("seconds", index=["size", "image"], columns="backbone")
    both = images.reindex(columns=["vgg", "network"]).dropna()
    if both.empty:
        return "Both versions were not timed on one photograph."
    size = both.index.get_level_values("size").max()
    both = both.loc[size]
    first = timing[(timing["backbone"] == "vgg") & (timing["size"] == size)].iloc[0]
    run = int(first["evaluations"])
    stated = int(first["evaluations_stated"]) or run
    where, over = f"at {size:,} pixels", f"{len(both)} photograph{'s' if len(both) > 1 else ''}"
    what = f"Changing a photograph's pixels in {run:,} steps (Version 1)"
    seconds = both["vgg"].to_numpy()
    if stated != run:  # what is scaled up is no measurement: one step is
        what = f"One of the {stated:,} steps by which the paper's Version 1 changes pixels"
        seconds = seconds / run
    ratio = ratio_interval(seconds, both["network"].to_numpy())
    if ratio.low <= 1:
        return f"{what} was not seen to take longer than a pass {where}: timed on {over}."
    likely = f"{over}: no interval"
    if math.isfinite(ratio.low):
        likely = f"95% interval over {over}: {_digits(ratio.low)} to {_digits(ratio.high)}"
    return f"{what} takes **{_digits(ratio.estimate)} times** as long as a pass {where} ({likely})."


def _learnt_nothing(selection: pd.DataFrame) -> str:
    """A sentence on the networks that this run trained in vain: no checkpoint's loss on held-out
    photographs is below the first one's. "" if there is none."""
    vain = []
    for name, rows in selection.groupby("painting", sort=False):
        losses = rows.sort_values("batch")["total"]
        if len(losses) > 1 and not losses.min() < losses.iloc[0]:
            vain.append(f"*{spoken(str(name))}*")
    if not vain:
        return ""
    return (
        f"**What this run trained ({', '.join(vain)}) learnt nothing**: its loss on held-out "
        "photographs did not fall, so its seconds say nothing of what they buy."
    )


def _limits(
    timed: pd.DataFrame,
    stylised: pd.DataFrame,
    backbones: Mapping[str, Sequence[str]],
    sources: Collection[str],
) -> str:
    """What of a run isn't the paper's, a sentence each; "" if nothing."""
    limits = []
    for role, paper in reversed(PAPER_ARCHITECTURES.items()):
        ours, weights = backbones[role]
        if (ours, weights) != (paper, "imagenet"):
            named, instead = ARCHITECTURE_LABELS[ours], ARCHITECTURE_LABELS[paper]
            how = SHOWN_WEIGHTS.get(weights, f"{weights} weights")
            limits.append(f"{named} ({how}) stands in for {instead}")
    if "shipped" in sources:
        limits.append("a program drew the paintings")
    devices = timed.loc[timed["unit"] == "seconds", "device"]
    if not all(map(is_gpu, devices)):
        limits.append("seconds are a processor's, the paper's a GPU's")
    trained = stylised.drop_duplicates("painting").set_index("painting")
    if shipped := [spoken(name) for name in trained.index[trained["origin"] == "shipped"]]:
        limits.append(f"the repository ships the network of {' and '.join(shipped)}")
    for name, batches in trained.loc[trained["origin"] != "shipped", "batches"].items():
        if batches < BATCHES:
            limits.append(
                f"{spoken(str(name))}'s was trained for {batches:,.0f} of the paper's "
                f"{BATCHES:,} batches"
            )
    if not limits:
        return ""
    return f"Not as in the paper, so its numbers are not to be expected: {'; '.join(limits)}."


def _digits(value: float) -> str:
    """A number with the digits that one reads at a glance."""
    return number(value, 3 if value < 0.1 else 2 if value < 10 else 0)


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        shown = summary(named_files(snakemake.input), params.backbones, params.sources)
        write_summary(shown, snakemake.output[0])
