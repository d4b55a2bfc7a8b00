"""Tables of the style study's claims, and what several of them need."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from triptych.report.claims import Need, at_least, no, one_of
from triptych.style.optimise.choices import NOTEBOOK, timed_choices
from triptych.style.report.labels import ARCHITECTURE_LABELS
from triptych.style.report.paper import PAPER, PAPER_ARCHITECTURES, PAPER_WIDTH, is_gpu
from triptych.style.report.runs import with_measures

SIZE = PAPER["optimize"]["size"]
BATCHES = PAPER["training"]["schedule"]["batches"]
CONTENT_LOSSES = tuple(PAPER["experiments"]["losses"]["vary"]["content_loss"])
ENOUGH_EVALUATIONS = PAPER["experiments"]["optimizers"]["evaluations"]
"""The authors' comparisons of optimizers made 500, the others 700 or 1,200."""
PRECISIONS = ("float32", "tf32")
IMAGENET, COCO = "imagenet", "coco"
VGG19, ALEXNET = PAPER_ARCHITECTURES["vgg"], PAPER_ARCHITECTURES["alexnet"]
PAIR, RUN = ["content", "painting"], ["experiment", "run"]
CURVE = ("evaluations_recorded", "end", "rise", "over_lowest", "smooth_end", "smooth_rise")
"""Columns that `curve` gives."""

Rows = Sequence[Mapping[Any, Any]]
"""Version 1's runs, by column."""


@dataclass(frozen=True)
class Tables:
    """Data that the claims compare, by the names of `Workflow.claims`' files.

    results: Version 1's runs, with the columns CURVE of their losses, the measures of their images
        (nan where there is none), and `final`: the total loss, infinite if a run did not finish
    quality: measures of Version 2's images
    timing: without images that diverged, whose seconds are of fewer evaluations
    architectures: by role. main: the painting whose network is timed
    """

    results: pd.DataFrame
    quality: pd.DataFrame
    timing: pd.DataFrame
    loss_timing: pd.DataFrame
    stylised_runs: pd.DataFrame
    speed: pd.DataFrame
    properties: pd.DataFrame
    flicker: pd.DataFrame
    architectures: Mapping[str, str]
    main: str

    def chosen(self, experiment: str) -> pd.DataFrame:
        """An experiment's runs; none where every picture is missing."""
        return self.results[self.results["experiment"] == experiment].reset_index(drop=True)

    def rows(self, experiment: str) -> Rows:
        """An experiment's runs, as `Workflow.rows` has them before the run."""
        return self.chosen(experiment).to_dict("records")


def tables_of(
    frames: Mapping[str, pd.DataFrame], plan: Any, became: Mapping[str, Collection[str]]
) -> Tables:
    """The data of a run, from the files that `Workflow.claims` names. plan: the Workflow of its
    config. became: precisions that its jobs chose, by rule; here rows say their own."""
    tables = dict(frames)
    runs, history, quality = (tables.pop(name) for name in ("runs", "history", "quality"))
    second, timing = quality["version"] == 2, tables["timing"]
    curves = pd.DataFrame(
        [[*key, *curve(rows)] for key, rows in history.groupby(RUN)], columns=[*RUN, *CURVE]
    )
    results = runs.assign(
        final=runs["total_loss_final"].where(runs["status"] == "finished", np.inf)
    ).merge(curves.astype(dict.fromkeys(RUN, object)), "left", on=RUN)
    tables |= {
        "results": with_measures(results, quality),
        "quality": quality[second],
        "timing": timing[timing["evaluations_done"] == timing["evaluations"]],
    }
    return Tables(**tables, architectures=plan.architectures, main=plan.main)


def curve(history: pd.DataFrame) -> tuple[float, ...]:
    """CURVE of a run: its number of evaluations; of its finite total loss over the first: the last
    value, the largest over the lowest so far, the last over the lowest; and the last and the
    largest over the lowest so far once more, of its running median over a tenth of the run."""
    ordered = history.sort_values("evaluation", kind="stable")
    line = ordered["total"] / ordered["total"].iloc[0]
    line = line[np.isfinite(line)]
    recorded = history["evaluation"].nunique()
    if line.empty:
        return recorded, *[np.nan] * (len(CURVE) - 1)
    # Steps of a line search that overshoot are no trend.
    window = max(len(line) // 10 | 1, 3)
    smooth = line.rolling(window, center=True, min_periods=1).median()
    rise, smooth_rise = ((values / values.cummin()).max() for values in (line, smooth))
    last = line.iloc[-1]
    return recorded, last, rise, last / line.min(), smooth.iloc[-1], smooth_rise


# What claims need: of a study's Workflow, or of what a run found of it.


def is_precise(precisions: Iterable[str], substitute: str = "") -> Need:
    return one_of("float32 or TF32", precisions, PRECISIONS, substitute)


def of_experiment(rows: Rows, backbones: Collection[str], least: int = 0) -> Iterator[Need]:
    """Needs of each claim on the runs of an experiment. least: evaluations, if not the usual."""
    least = least or ENOUGH_EVALUATIONS
    named = " or ".join(ARCHITECTURE_LABELS[backbone] for backbone in backbones)
    found = {f"{row['architecture']} {row['weights']}" for row in rows}
    weights = [f"{backbone} {IMAGENET}" for backbone in backbones]
    yield one_of(f"{named} with ImageNet weights", found, weights, "other weights")
    fewest = min((row["evaluations"] for row in rows), default=0)
    yield at_least(f"{least} evaluations", fewest, least, "fewer evaluations")
    yield is_precise({row["precision"] for row in rows}, "lower precision")


def is_whole(rows: Rows) -> Need:
    made = [row for row in rows if "evaluations_done" in row]
    cut = [r["run"] for r in made if not r["evaluations_recorded"] >= r["evaluations_done"]]
    return no("a whole loss history of every run", cut)


def measured(rows: Rows) -> Rows:
    """The runs whose images were measured, or will be."""
    return [row for row in rows if not np.isnan(row.get("ssim_luma", 0))]


def in_every(rows: Rows, column: str, keys: Sequence[str], every: Rows) -> set[str]:
    """Values of a column that stand in as many groups of `keys` as there are in `every`."""
    groups = {tuple(row[key] for key in keys) for row in every}
    found: dict[str, set[Any]] = {}
    for row in rows:
        found.setdefault(row[column], set()).add(tuple(row[key] for key in keys))
    return {value for value, own in found.items() if len(own) >= len(groups)}


def are_gpus(devices: Iterable[str]) -> Need:
    return no("a GPU", [device for device in devices if not is_gpu(device)])


def device_of(plan: Any) -> list[str]:
    return ["GPU" if plan.on_gpu else "cpu"]


def is_wide(widths: Iterable[int]) -> Need:
    what = f"a network of the paper's width, {PAPER_WIDTH} channels"
    return one_of(what, map(int, widths), (PAPER_WIDTH,))


def is_trained(batches: Iterable[int]) -> Need:
    what = f"networks trained for {BATCHES:,} batches"
    return at_least(what, int(min(batches, default=0)), BATCHES, "shorter training")


def batches_of(plan: Any, paintings: Iterable[str]) -> list[int]:
    """Batches of the networks of these paintings. Of a shipped one the config doesn't say how long
    it was trained: less than an epoch."""
    batches = plan.config["training"]["schedule"]["batches"]
    return [0 if plan.shown[name] == "shipped" else batches for name in paintings]


def has_network(plan: Any) -> Need:
    return is_wide([plan.config["network"]["width"]])


def network_found(rows: pd.DataFrame) -> list[Need]:
    """Widths, training and precision of the networks that made these images."""
    return [is_wide(rows["width"]), is_trained(rows["batches"]), is_precise(rows["precision"])]


def of_timing(plan: Any, *precisions: str) -> Iterator[Need]:
    """Needs of each claim on Version 1's seconds. precisions: of what is timed beside it."""
    wanted = [f"{role} {paper}" for role, paper in PAPER_ARCHITECTURES.items()]
    ours = {role: plan.architectures[role] for role in PAPER_ARCHITECTURES}
    choices = (timed_choices(NOTEBOOK, architecture) for architecture in ours.values())
    found = [f"{role} {architecture}" for role, architecture in ours.items()]
    yield one_of("VGG-19 and AlexNet as backbones", found, wanted)
    yield are_gpus(device_of(plan))
    yield is_precise({*precisions, *(choice.precision for choice in choices)})


def images_timed(plan: Any, sizes: Collection[int]) -> int:
    """Images that both versions are timed with at each of these sizes."""
    timing = plan.config["timing"]
    whole = set(sizes) <= set(timing["sizes"])
    return min(timing["photographs"], timing["notebook"]) if whole else 0


def timed_with_both(timing: pd.DataFrame, one: str, other: str, size: int) -> tuple[Any, Any]:
    """Seconds of each image that both were timed with, repeats averaged."""
    of_size = timing[timing["size"] == size]
    images = of_size.pivot_table("seconds", index="image", columns="backbone")
    both = images.reindex(columns=[one, other]).dropna()
    return both[one].to_numpy(), both[other].to_numpy()


def has_coco(plan: Any) -> Need:
    source = plan.config["photographs"]["source"]
    return one_of("networks trained on COCO", [source], [COCO], "other photographs")
