"""Results of a run that the style study's claims compare, and the facts that they need."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from triptych.style.optimise.choices import NOTEBOOK, timed_choices
from triptych.style.report.labels import MEASURE_LABELS
from triptych.style.report.runs import smoothed, with_measures
from triptych.style.report.tables import PAPER_ARCHITECTURES, is_gpu

PAPER_SIZE = 512
PAPER_SIZES = (256, 512, 1024)
OPTIMIZERS = ("lbfgs", "adam", "sgd")
STARTS = ("content", "noise", "style")
CONTENT_LOSSES = ("l1", "smooth_l1", "huber", "mse")
PAIR, RUN = ["content", "painting"], ["experiment", "run"]
EXPERIMENTS = ("backbones", "losses", "optimizers", "initialisations", "paintings", "sizes")
PHOTOGRAPH = (427, 640)
"""Height and width of most bundled photographs, where config doesn't say."""


CURVE = ("evaluations_recorded", "end", "rise", "over_lowest", "smooth_end", "smooth_rise")
"""Columns that `curve` gives."""


@dataclass(frozen=True)
class Run:
    """Data that the claims compare, by the names of `Workflow.claims`' files.

    results: Version 1's runs, with the columns CURVE of their losses, the measures of their images
        (nan where there is none), and `final`: the total loss, infinite if a run did not finish
    quality: measures of Version 2's images
    timing: without images that diverged, whose seconds are of fewer evaluations
    architectures: by role
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

    def chosen(self, experiment: str) -> pd.DataFrame:
        """An experiment's runs; none where every picture is missing."""
        return self.results[self.results["experiment"] == experiment].reset_index(drop=True)

    @property
    def pairs(self) -> pd.DataFrame:
        """Measures of both versions (suffixes _1 and _2) of the same content and painting."""
        first = self.chosen("paintings").dropna(subset="gram_distance")
        return first.merge(self.quality, on=PAIR, suffixes=("_1", "_2"))


def read_run(
    frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> tuple[Run, dict[str, Any]]:
    """Data that the claims compare, and the facts of a run, from the files and settings that
    `Workflow.claims` names."""
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
    run = Run(**tables, architectures=settings["architectures"])
    return run, facts_of(run, settings)


def curve(history: pd.DataFrame) -> tuple[float, ...]:
    """CURVE of a run: its number of evaluations; of its finite total loss over the first: the last
    value, the largest over the lowest so far, the last over the lowest; and the last and the
    largest over the lowest so far once more, of its running median."""
    ordered = history.sort_values("evaluation", kind="stable")
    line = ordered["total"] / ordered["total"].iloc[0]
    line = line[np.isfinite(line)]
    recorded = history["evaluation"].nunique()
    if line.empty:
        return recorded, *[np.nan] * (len(CURVE) - 1)
    smooth = smoothed(line)
    rise, smooth_rise = ((values / values.cummin()).max() for values in (line, smooth))
    last = line.iloc[-1]
    return recorded, last, rise, last / line.min(), smooth.iloc[-1], smooth_rise


def planned_facts(workflow: Any, on_gpu: bool) -> dict[str, Any]:
    """The facts of a run that has not begun. workflow: the Workflow of its config."""
    return facts_of(planned_run(workflow, "GPU" if on_gpu else "cpu"), workflow.claims[1])


def planned_run(workflow: Any, device: str) -> Run:
    """A run that has not begun: its rows, each with 1 for what will be measured."""
    config, timing, video = workflow.config, workflow.config["timing"], workflow.config["video"]
    precision = config["stylised"]["precision"]
    stylised = _product(painting=workflow.shown, content=workflow.shown_contents)
    sizes = [config["contents"][name].get("size") or PHOTOGRAPH for name in stylised["content"]]
    # Of a shipped network the config doesn't say how long it was trained: less than an epoch.
    batches = {"shipped": 0, "plain": config["training"]["schedule"]["batches"]}
    choices = {r: timed_choices(NOTEBOOK, workflow.architectures[r]) for r in PAPER_ARCHITECTURES}
    precisions = {role: choice.precision for role, choice in choices.items()}
    timed = _product(
        backbone=[*choices, "network"], size=timing["sizes"], image=range(timing["photographs"])
    )
    first = timed["backbone"] != "network"
    filmed = [painting for painting, _ in workflow.filmed]
    return Run(
        results=pd.DataFrame(workflow.runs).assign(
            evaluations_done=1, **dict.fromkeys([*CURVE, *MEASURE_LABELS], 1.0)
        ),
        quality=stylised,
        timing=timed.assign(
            version=first.map({True: 1, False: 2}),
            evaluations=timing["evaluations"],
            seconds=1.0,
            device=device,
            precision=timed["backbone"].map({**precisions, "network": precision}),
        )[~first | (timed["image"] < timing["notebook"])],
        loss_timing=_product(
            repeat=range(timing["losses"]["repeats"]),
            content_loss=workflow.names("content_loss", "losses"),
        ).assign(seconds=1.0),
        stylised_runs=stylised.assign(
            height=[height for height, _ in sizes],
            width_px=[width for _, width in sizes],
            batches=stylised["painting"].map(workflow.shown).map(batches),
            width=config["network"]["width"],
            device=device,
            precision=precision,
        ),
        speed=_product(
            painting=filmed, repeat=range(video["speed"]["repeats"]), batch={1, video["batch"]}
        ).assign(variant="", frames_per_second=1.0),
        properties=_product(painting=filmed, file=["source", "video"]).assign(variant=""),
        flicker=_product(painting=filmed, frame=range(1, video["film"]["frames"])).assign(
            ratio=1.0
        ),
        architectures=workflow.architectures,
    )


def _product(**columns: Iterable[Any]) -> pd.DataFrame:
    """A row for each combination of these values."""
    return pd.DataFrame(list(itertools.product(*columns.values())), columns=list(columns))


def facts_of(run: Run, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a run. settings: of `Workflow.claims`."""
    repeats = run.loss_timing.pivot_table(
        index="repeat", columns="content_loss", values="seconds"
    ).dropna()
    roles = run.architectures
    return {
        "pairs": len(run.pairs),
        "timed losses": set(run.loss_timing["content_loss"]),
        "loss repeats": len(repeats),
        "roles": {f"{role} {roles[role]}" for role in PAPER_ARCHITECTURES},
        "judge": not roles["validation"].startswith("narrow"),
        "photographs": {settings["photographs"]},
        "film": {settings["film"]},
        **_experiment_facts(run),
        **_timing_facts(run.timing),
        **_stylised_facts(run, settings["timed"]),
        **_video_facts(run),
    }


def _experiment_facts(run: Run) -> dict[str, Any]:
    """Backbones, evaluations and precision of each experiment, runs whose history is not whole, and
    what single experiments are about and have images of."""
    facts: dict[str, Any] = {}
    for name in EXPERIMENTS:
        chosen = run.chosen(name)
        cut = chosen["evaluations_recorded"].fillna(0) < chosen["evaluations_done"]
        facts |= {
            f"{name} backbones": set(chosen["architecture"] + " " + chosen["weights"]),
            f"{name} evaluations": int(chosen["evaluations"].min()) if len(chosen) else 0,
            f"{name} precision": set(chosen["precision"]),
            f"{name} cut": [str(cut_run) for cut_run in chosen.loc[cut, "run"]],
        }
    backbones, losses = run.chosen("backbones"), run.chosen("losses")
    optimizers, sizes, starts = (run.chosen(i) for i in ("optimizers", "sizes", "initialisations"))
    authors = optimizers[optimizers["rates"] == "authors"]
    vggs, contents = optimizers["architecture"].nunique(), starts[PAIR].drop_duplicates()
    return facts | {
        "backbones sizes": set(backbones["size"].astype(int)),
        "backbones roles": set(backbones["backbone"]),
        "backbones measured": set(_measured(backbones)["backbone"]),
        "losses measured": set(_measured(losses)["content_loss"]),
        "losses kinds": set(losses.loc[losses["end"].notna(), "content_loss"]),
        "optimizers run": _in_every(authors, "optimizer", ["architecture"], vggs),
        "optimizers measured": _in_every(_measured(authors), "optimizer", ["architecture"], vggs),
        "optimizers equal": optimizers["evaluations"].nunique() == 1,
        "starts": _in_every(_measured(starts), "initialisation", PAIR, len(contents)),
        "sizes rates": set(sizes["rates"]),
        "sizes cases": set(sizes["backbone"] + " " + sizes["size"].astype(str)),
    }


def _measured(results: pd.DataFrame) -> pd.DataFrame:
    """The runs whose images were measured."""
    return results.dropna(subset="ssim_luma")


def _in_every(rows: pd.DataFrame, column: str, keys: list[str], groups: int) -> set[str]:
    """Values that stand in as many groups of `keys` as there are."""
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
        "timing devices": _not_gpus(timing["device"]),
        "timing precision": set(timing["precision"]),
        "notebook precision": set(first["precision"]),
        "notebook evaluations": int(first["evaluations"].min()) if len(first) else 0,
        "equal evaluations": first.loc[first["size"] == PAPER_SIZE, "evaluations"].nunique() <= 1,
        "compared images": shared("vgg", "alexnet", PAPER_SIZE),
        "timed images": min(
            shared(role, "network", size) for role in PAPER_ARCHITECTURES for size in PAPER_SIZES
        ),
    }


def by_image(timing: pd.DataFrame, backbone: str, size: int) -> pd.Series:
    """Seconds of each image, repeats averaged."""
    cells = timing[(timing["backbone"] == backbone) & (timing["size"] == size)]
    return cells.groupby("image")["seconds"].mean()


def _stylised_facts(run: Run, timed: str) -> dict[str, Any]:
    """Widths, training and precision of the networks that made certain images."""
    stylised = run.stylised_runs
    pixels = stylised["height"] * stylised["width_px"]
    chosen = {
        "timed": stylised[stylised["painting"] == timed],
        "large": stylised[pixels == pixels.max()],
        "all": stylised,
        "filmed": stylised[stylised["painting"].isin(run.flicker["painting"])],
    }
    facts: dict[str, Any] = {
        "pixels": int(pixels.max()) if len(pixels) else 0,
        "large devices": _not_gpus(chosen["large"]["device"]),
    }
    for name, rows in chosen.items():
        facts |= {
            f"{name} widths": set(rows["width"].astype(int)),
            f"{name} batches": int(rows["batches"].min()) if len(rows) else 0,
            f"{name} precision": set(rows["precision"]),
        }
    return facts


def _video_facts(run: Run) -> dict[str, Any]:
    """Videos and frames, and how often batches of several frames were timed beside one frame."""
    videos = run.properties.groupby(["painting", "variant"])["file"].agg(set)
    frames = run.flicker.groupby("painting")["ratio"].count()
    wide = rates(run.speed)
    several = [batch for batch in map(int, wide.columns) if batch > 1] if 1 in wide else []
    best = wide[several].mean().idxmax() if several else None
    return {
        "videos": len(videos),
        "unread": [name for name, files in videos.items() if not {"source", "video"} <= files],
        "frames": int(frames.min()) if len(frames) else 0,
        "video batches": len(several),
        "video repeats": len(wide[[1, best]].dropna()) if several else 0,
    }


def rates(speed: pd.DataFrame) -> pd.DataFrame:
    """Frames per second: a row a repeat of a video, a column a size of batches."""
    repeats = ["painting", "variant", "repeat"]
    return speed.pivot_table(index=repeats, columns="batch", values="frames_per_second")


def _not_gpus(devices: pd.Series) -> list[str]:
    return sorted({str(device) for device in devices if not is_gpu(str(device))})
