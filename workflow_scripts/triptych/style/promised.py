"""The files of a run that has not begun, as far as its config says what will stand in them.

The judge of the claims reads them before a run as it reads a run's own after it, so that what a
claim needs is written down once. Losses, seconds and qualities are made up, and as a run would wish
them: every run finishes. They say whether a claim will be decided, never how.
"""

from typing import TYPE_CHECKING, Any

import pandas as pd

from triptych.report.verdicts import Verdict
from triptych.style.optimisation.presets import CONTENT_LOSSES, NOTEBOOK, OURS, timed_choices
from triptych.style.study import verdicts_on

if TYPE_CHECKING:
    from triptych.style.workflow import Workflow

GPU, CPU = "a GPU", "the processor's cores"
"""A device as files describe it (`tables.is_gpu`)."""
PHOTOGRAPH = (427, 640)
"""Height and width of most bundled photographs."""


def foreseen(workflow: "Workflow", on_gpu: bool) -> list[Verdict]:
    """The judge's verdicts on a run that has not begun: whether each claim will be decided, never
    how. workflow: of its config."""
    return verdicts_on(promised_files(workflow, on_gpu), workflow.claims[1])


def promised_files(wing: "Workflow", on_gpu: bool) -> dict[str, pd.DataFrame]:
    """What the claims read, by `Workflow.claims`' names."""
    config, device = wing.config, GPU if on_gpu else CPU
    runs = wing.experiment_table.assign(status="finished", total_loss_final=1.0)
    runs = runs.assign(evaluations_done=runs["evaluations"])
    stylised = _stylised(wing).assign(device=device, seconds=1.0)
    videos = [{"painting": painting, "variant": str(kind)} for painting, kind in wing.filmed]
    return {
        "runs": runs,
        "history": _history(runs),
        "timing": _timing(config).assign(device=device, seconds=1.0),
        "loss_timing": _loss_timing(config["timing"]["losses"]),
        "quality": _quality(runs, stylised),
        "stylised_runs": stylised,
        "speed": pd.DataFrame(
            {
                **video,
                "batch": batch,
                "repeat": repeat,
                "frames_per_second": batch,
                "device": device,
            }
            for video in videos
            for batch in (1, config["video"]["batch"])
            for repeat in range(config["video"]["speed"]["repeats"])
        ),
        "properties": pd.DataFrame(
            {**video, "file": file}
            | dict.fromkeys(("frames_per_second", "frames", "width", "height"), 24)
            for video in videos
            for file in ("source", "video")
        ),
        "flicker": pd.DataFrame(
            {**video, "frame": frame, "ratio": 1.0}
            for video in videos
            for frame in range(1, config["video"]["film"]["frames"])
        ),
    }


def _history(runs: pd.DataFrame) -> pd.DataFrame:
    """Every evaluation of every run; the loss stays what it was."""
    long = runs.loc[runs.index.repeat(runs["evaluations"]), ["experiment", "run"]]
    evaluation = long.groupby(["experiment", "run"]).cumcount() + 1
    return long.assign(evaluation=evaluation, total=1.0, style=0.5, content=0.5)


def _timing(config: dict[str, Any]) -> pd.DataFrame:
    """Table I: Version 1 by both settings, Version 2 for each photograph and repeat."""
    timing, rows = config["timing"], []
    for size in timing["sizes"]:
        for kind, count in ((NOTEBOOK, timing["notebook"]), (OURS, timing["photographs"])):
            for role in ("alexnet", "vgg"):
                choices = timed_choices(kind, config["backbones"][role]["architecture"])
                made = timing["evaluations"]
                rows += [
                    {"version": 1, "backbone": role, "size": size, "image": image, "repeat": 0}
                    | {"settings": kind, "evaluations": made, "precision": choices.precision}
                    for image in range(count)
                ]
        rows += [
            {"version": 2, "backbone": "network", "size": size, "image": image, "repeat": repeat}
            | {"settings": "", "evaluations": 0, "precision": config["stylised"]["precision"]}
            for image in range(timing["photographs"])
            for repeat in range(timing["repeats"])
        ]
    frame = pd.DataFrame(rows)
    return frame.assign(evaluations_done=frame["evaluations"])


def _loss_timing(losses: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(
        {"content_loss": name, "repeat": repeat, "evaluations": losses["evaluations"]}
        for repeat in range(losses["repeats"])
        for name in CONTENT_LOSSES
    ).assign(seconds=1.0)


def _stylised(wing: "Workflow") -> pd.DataFrame:
    """Every photograph by every network. Of a shipped one what it was trained for isn't in the
    config, and is less than an epoch."""
    config = wing.config
    trained = config["training"]["schedule"]["batches"]
    sizes = {
        name: config["contents"][name].get("size") or PHOTOGRAPH for name in wing.shown_contents
    }
    return pd.DataFrame(
        {"painting": painting, "content": content, "height": height, "width_px": width}
        | {"batches": 0 if kind == "shipped" else trained, "width": config["network"]["width"]}
        for painting, kind in wing.shown.items()
        for content, (height, width) in sizes.items()
    ).assign(precision=config["stylised"]["precision"])


def _quality(runs: pd.DataFrame, stylised: pd.DataFrame) -> pd.DataFrame:
    """Of every image of both versions."""
    first = runs[["experiment", "run", "content", "painting"]].assign(version=1)
    second = stylised[["content", "painting"]].assign(version=2, experiment="", run="")
    measures = dict.fromkeys(("ssim_luma", "gram_distance", "edge_correlation"), 0.5)
    return pd.concat([first, second], ignore_index=True).assign(**measures)
