"""Facts of a run of the style study that its claims need, and the data that they compare."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from triptych.style.optimise.choices import NOTEBOOK, timed_choices
from triptych.style.report.runs import described, history_long
from triptych.style.report.tables import PAPER_ARCHITECTURES, is_gpu

PAPER_SIZE = 512
PAPER_SIZES = (256, 512, 1024)
OPTIMIZERS = ("lbfgs", "adam", "sgd")
STARTS = ("content", "noise", "style")
CONTENT_LOSSES = ("l1", "smooth_l1", "huber", "mse")
PAIR = ["content", "painting"]
EXPERIMENTS = ("backbones", "losses", "optimizers", "initialisations", "paintings", "sizes")
PHOTOGRAPH = (427, 640)
"""Height and width of most bundled photographs, where config doesn't say."""


@dataclass(frozen=True)
class Run:
    """Data that the claims compare, by the names of `Workflow.claims`' files.

    timing: without images that diverged. architectures: by role
    """

    runs: pd.DataFrame
    history: pd.DataFrame
    quality: pd.DataFrame
    timing: pd.DataFrame
    loss_timing: pd.DataFrame
    stylised: pd.DataFrame
    speed: pd.DataFrame
    properties: pd.DataFrame
    flicker: pd.DataFrame
    architectures: Mapping[str, str]

    def chosen(self, experiment: str) -> pd.DataFrame:
        """An experiment's runs."""
        return described(self.runs, experiment)

    def line(self, experiment: str, run: str) -> pd.Series:
        """One run's finite total loss over its first, by evaluation."""
        long = history_long(self.history, self.chosen(experiment), scale="")
        chosen = long[(long["run"] == run) & (long["term"] == "total")]
        line = chosen.set_index("evaluation")["value"]
        return line[np.isfinite(line)].sort_index()

    def measure(self, experiment: str, run: str, measure: str = "ssim_luma") -> float:
        """A measure of an image of Version 1 (nan where it was not measured)."""
        of = self.quality
        rows = of[(of["version"] == 1) & (of["experiment"] == experiment) & (of["run"] == run)]
        return float(rows[measure].iloc[0]) if len(rows) else np.nan


def read_run(
    frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> tuple[Run, dict[str, Any]]:
    """Data that the claims compare, and the facts of a run, from the files and settings that
    `Workflow.claims` names."""
    of = {**frames, "timing": like_for_like(frames["timing"])}
    run = Run(stylised=of.pop("stylised_runs"), architectures=settings["architectures"], **of)
    stylised, flicker = run.stylised, run.flicker
    pixels = stylised["height"] * stylised["width_px"]
    videos = run.properties.groupby(["painting", "variant"])["file"].agg(set)
    quality = run.quality
    first = quality[(quality["version"] == 1) & (quality["experiment"] == "paintings")]
    wide = run.loss_timing.pivot_table(index="repeat", columns="content_loss", values="seconds")
    frames_of = flicker.groupby("painting")["ratio"].count()
    facts = {
        "pairs": len(first.merge(quality[quality["version"] == 2], on=PAIR)),
        "timed losses": set(wide),
        "loss repeats": len(wide.dropna()),
        "videos": len(videos),
        "unread": [name for name, files in videos.items() if not {"source", "video"} <= files],
        "frames": int(frames_of.min()) if len(frames_of) else 0,
        "timing devices": _not_gpus(run.timing["device"]),
        "large devices": _not_gpus(stylised.loc[pixels == pixels.max(), "device"]),
        **_speed_facts(run.speed),
        **_experiment_facts(run.runs, run),
        **_timing_facts(run.timing),
        **_stylised_facts(stylised, settings["timed"], flicker["painting"]),
        **_setting_facts(settings),
    }
    return run, facts


def planned_facts(workflow: Any, on_gpu: bool) -> dict[str, Any]:
    """The facts of a run that has not begun. workflow: the Workflow of its config."""
    config, settings = workflow.config, workflow.claims[1]
    runs, timing = pd.DataFrame(workflow.runs), config["timing"]
    shown = [
        {"painting": painting, "content": content, "height": height, "width_px": width}
        # Of a shipped network the config doesn't say how long it was trained: less than an epoch.
        | {"batches": 0 if kind == "shipped" else config["training"]["schedule"]["batches"]}
        for painting, kind in workflow.shown.items()
        for content in workflow.shown_contents
        for height, width in [config["contents"][content].get("size") or PHOTOGRAPH]
    ]
    stylised = pd.DataFrame(shown).assign(
        width=config["network"]["width"], precision=config["stylised"]["precision"]
    )
    video, losses = config["video"], timing["losses"]
    devices = [] if on_gpu else ["the processor"]
    precisions = {
        timed_choices(NOTEBOOK, config["backbones"][role]["architecture"]).precision
        for role in PAPER_ARCHITECTURES
    }
    sizes = set(PAPER_SIZES) & set(timing["sizes"])
    images = min(timing["notebook"], timing["photographs"])
    first = runs[runs["experiment"] == "paintings"]
    return {
        "pairs": len(first.merge(stylised[PAIR], on=PAIR)),
        "timed losses": set(CONTENT_LOSSES),
        "loss repeats": losses["repeats"],
        "videos": len(workflow.filmed),
        "video batches": int(video["batch"] > 1 and len(workflow.filmed) > 0),
        "video repeats": video["speed"]["repeats"] * len(workflow.filmed),
        "frames": video["film"]["frames"] - 1,
        "timing devices": devices,
        "large devices": devices,
        "timing precision": precisions | {config["stylised"]["precision"]},
        "notebook precision": precisions,
        "notebook evaluations": timing["evaluations"],
        "compared images": timing["notebook"] if PAPER_SIZE in sizes else 0,
        "timed images": images if sizes == set(PAPER_SIZES) else 0,
        **_experiment_facts(runs),
        **_stylised_facts(
            stylised, settings["timed"], {painting for painting, _ in workflow.filmed}
        ),
        **_setting_facts(settings),
    }


def like_for_like(timing: pd.DataFrame) -> pd.DataFrame:
    """Seconds without images that diverged: theirs are of fewer evaluations."""
    return timing[timing["evaluations_done"] == timing["evaluations"]]


def by_image(timing: pd.DataFrame, backbone: str, size: int) -> pd.Series:
    """Seconds of each image, repeats averaged."""
    cells = timing[(timing["backbone"] == backbone) & (timing["size"] == size)]
    return cells.groupby("image")["seconds"].mean()


def _setting_facts(settings: Mapping[str, Any]) -> dict[str, Any]:
    roles = settings["architectures"]
    return {
        "roles": {f"{role} {roles[role]}" for role in PAPER_ARCHITECTURES},
        "judge": not roles["validation"].startswith("narrow"),
        "photographs": {settings["photographs"]},
        "film": {settings["film"]},
    }


def _experiment_facts(runs: pd.DataFrame, run: Run | None = None) -> dict[str, Any]:
    """Backbones, evaluations and precision of each experiment, and what single ones are about; with
    a run that has ended also what its histories and images lack."""
    facts: dict[str, Any] = {}
    of = {name: described(runs, name) for name in EXPERIMENTS}
    for name, chosen in of.items():
        pairs = chosen[["architecture", "weights"]].drop_duplicates().itertuples(index=False)
        facts |= {
            f"{name} backbones": {f"{architecture} {weights}" for architecture, weights in pairs},
            f"{name} evaluations": int(chosen["evaluations"].min()) if len(chosen) else 0,
            f"{name} precision": set(chosen["precision"]),
        }
        if run is not None:
            by_run = run.history[run.history["experiment"] == name].groupby("run")["evaluation"]
            evaluations_done = chosen.set_index("run")["evaluations_done"]
            whole = (
                by_run.nunique().reindex(evaluations_done.index, fill_value=0) >= evaluations_done
            )
            facts[f"{name} cut"] = [str(cut_run) for cut_run in evaluations_done.index[~whole]]
    optimizers, sizes, starts = of["optimizers"], of["sizes"], of["initialisations"]
    authors, losses = optimizers[optimizers["rates"] == "authors"], of["losses"]
    seen = losses
    shown, backbones = authors, of["backbones"]
    if run is not None:
        first = run.quality[run.quality["version"] == 1].dropna(subset="ssim_luma")
        images = first.groupby("experiment")["run"].agg(set)
        shown = authors[authors["run"].isin(images.get("optimizers", []))]
        starts = starts[starts["run"].isin(images.get("initialisations", []))]
        backbones = backbones[backbones["run"].isin(images.get("backbones", []))]
        finite = run.history[np.isfinite(run.history["total"])]
        ended = finite.loc[finite["experiment"] == "losses", "run"]
        losses = losses[losses["run"].isin(ended)]
        seen = of["losses"][of["losses"]["run"].isin(images.get("losses", []))]
    vggs = optimizers["architecture"].nunique()
    contents = of["initialisations"][PAIR].drop_duplicates()
    return facts | {
        "backbones sizes": set(of["backbones"]["size"].astype(int)),
        "backbones roles": set(of["backbones"]["backbone"]),
        "backbones measured": set(backbones["backbone"]),
        "losses measured": set(seen["content_loss"]),
        "losses kinds": set(losses["content_loss"]),
        "optimizers run": _in_every(authors, "optimizer", vggs),
        "optimizers measured": _in_every(shown, "optimizer", vggs),
        "optimizers equal": optimizers["evaluations"].nunique() == 1,
        "starts": _in_every(starts, "initialisation", len(contents)),
        "sizes rates": set(sizes["rates"]),
        "sizes cases": set(sizes["backbone"] + " " + sizes["size"].astype(str)),
    }


def _in_every(rows: pd.DataFrame, column: str, groups: int) -> set[str]:
    """Values that stand in as many groups as there are."""
    keys = ["architecture"] if column == "optimizer" else PAIR
    counts = rows[[column, *keys]].drop_duplicates()[column].value_counts()
    return set(counts.index[counts >= groups])


def _timing_facts(timing: pd.DataFrame) -> dict[str, Any]:
    """Facts of Table I: images timed by both compared versions, and how."""
    first = timing[timing["version"] == 1]

    def shared(one: str, other: str, size: int) -> int:
        return len(
            by_image(timing, one, size).index.intersection(by_image(timing, other, size).index)
        )

    return {
        "timing precision": set(timing["precision"]),
        "notebook precision": set(first["precision"]),
        "notebook evaluations": int(first["evaluations"].min()) if len(first) else 0,
        "equal evaluations": first.loc[first["size"] == PAPER_SIZE, "evaluations"].nunique() <= 1,
        "compared images": shared("vgg", "alexnet", PAPER_SIZE),
        "timed images": min(
            shared(role, "network", size) for role in PAPER_ARCHITECTURES for size in PAPER_SIZES
        ),
    }


def _stylised_facts(stylised: pd.DataFrame, timed: str, filmed: Collection[str]) -> dict[str, Any]:
    """Widths, training and precision of the networks that made certain images."""
    pixels = stylised["height"] * stylised["width_px"]
    chosen = {
        "timed": stylised[stylised["painting"] == timed],
        "large": stylised[pixels == pixels.max()],
        "all": stylised,
        "filmed": stylised[stylised["painting"].isin(filmed)],
    }
    facts: dict[str, Any] = {"pixels": int(pixels.max()) if len(pixels) else 0}
    for name, rows in chosen.items():
        facts |= {
            f"{name} widths": set(rows["width"].astype(int)),
            f"{name} batches": int(rows["batches"].min()) if len(rows) else 0,
            f"{name} precision": set(rows["precision"]),
        }
    return facts


def _speed_facts(speed: pd.DataFrame) -> dict[str, Any]:
    """Batches larger than one frame that were timed beside it, and how often."""
    wide = rates(speed)
    several = [batch for batch in map(int, wide.columns) if batch > 1] if 1 in wide else []
    best = wide[several].mean().idxmax() if several else None
    return {
        "video batches": len(several),
        "video repeats": len(wide[[1, best]].dropna()) if several else 0,
    }


def rates(speed: pd.DataFrame) -> pd.DataFrame:
    """Frames per second: a row a repeat of a video, a column a size of batches."""
    repeats = ["painting", "variant", "repeat"]
    return speed.pivot_table(index=repeats, columns="batch", values="frames_per_second")


def _not_gpus(devices: pd.Series) -> list[str]:
    return sorted({str(device) for device in devices if not is_gpu(str(device))})
