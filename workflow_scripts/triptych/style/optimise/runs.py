"""Run the rows of an experiment of Version 1, those of equal choices together, resumably."""

import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import describe_device
from triptych.core.stopping import Stop
from triptych.core.training_loop import LoopSettings, TrainingLoop
from triptych.style.data.architectures import ARCHITECTURES
from triptych.style.data.backbone import Backbone, load_backbone, normalised
from triptych.style.data.images import read_image, resize
from triptych.style.optimise.choices import COLUMNS, FROM_PRESET, Choices, preset
from triptych.style.optimise.gatys import FINISHED, HISTORY, Optimisation, Optimised, images_at_once
from triptych.style.optimise.scales import (
    MARGIN,
    CoarseToFine,
    equal_scales,
    in_colours,
    refining,
    with_margin,
    with_moments,
    without_margin,
)

logger = logging.getLogger(__name__)

SAVE_EVERY_SECONDS = 60.0
"""Within a group; each finished group is saved as well."""

RUN_COLUMNS = [
    *COLUMNS,
    "height",
    "width",
    "status",
    "reason",
    "evaluations_done",
    "seconds",
    "batch",
    "content_loss_final",
    "style_loss_final",
    "total_loss_final",
    "relative_loss_final",
    "device",
]
"""Columns of runs.csv; `run` tells runs apart that differ in another choice."""
HISTORY_COLUMNS = ["experiment", "run", *HISTORY[1:]]


@dataclass(frozen=True)
class OptimisedRuns:
    """An experiment's results: RUN_COLUMNS, HISTORY_COLUMNS, and images [3, H, W] by run."""

    runs: pd.DataFrame
    history: pd.DataFrame
    images: dict[str, Tensor]


@dataclass(frozen=True)
class Inputs:
    """Files by name or role, and photographs [N, 3, H, W] to normalise backbones on, if any."""

    contents: Mapping[str, str | os.PathLike[str]]
    paintings: Mapping[str, str | os.PathLike[str]]
    backbones: Mapping[str, str | os.PathLike[str]]
    calibration: Tensor | None = None


@dataclass(frozen=True)
class Group:
    """Rows that are optimised at once: equal choices, backbone, shape and evaluations."""

    rows: list[dict[str, Any]]
    choices: Choices
    contents: list[Tensor]
    paintings: list[Tensor]


def run_experiment(
    rows: Sequence[Mapping[str, Any]],
    inputs: Inputs,
    device: torch.device,
    memory_bytes: float,
    checkpoint: Checkpoint,
    stop: Stop,
) -> OptimisedRuns:
    """Optimise every row (`choices.COLUMNS`) of one experiment, from `checkpoint` on.

    Raises `Stopped` after saving when `stop` asks.
    """
    if not rows:  # every picture is missing
        return _collected([], [])
    experiment = _Experiment(rows, inputs, device, memory_bytes)
    total = sum(row["evaluations"] for row in rows)
    loop_settings = LoopSettings(
        total, ("evaluation", "evaluations"), save_seconds=SAVE_EVERY_SECONDS
    )
    loop = TrainingLoop(experiment, loop_settings, checkpoint, lambda: stop.reason)
    loop.restore(device)
    loop.run(str(rows[0]["experiment"]), experiment.step)
    return _collected(experiment.results, rows)


class _Experiment:
    """Groups of rows, optimised one after another. An image that diverges leaves its group."""

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        inputs: Inputs,
        device: torch.device,
        memory_bytes: float,
    ) -> None:
        self._rows, self._inputs, self._device = rows, inputs, device
        self._memory_bytes = memory_bytes
        self._backbones: dict[tuple[str, str, bool], Backbone] = {}
        self._going: tuple[Group, Optimisation | CoarseToFine] | None = None
        self._waiting: list[Group] | None = None  # not known before `restore`
        self.results: list[dict[str, Any]] = []

    @property
    def done(self) -> int:
        """Evaluations of all images; one that stops early counts as if it had gone on."""
        done = sum(run["evaluations"] for result in self.results for run in result["runs"])
        if self._going:
            group, optimisation = self._going
            done += optimisation.done * len(group.rows)
        return done

    @property
    def evaluation_due(self) -> bool:
        return self._going is not None and self._going[1].finished

    def step(self) -> None:
        """Evaluate every image of a group once."""
        if self._going is None:
            if self._waiting is None:
                over = {run["run"] for result in self.results for run in result["runs"]}
                fresh = [row for row in self._rows if row["run"] not in over]
                self._waiting = grouped(fresh, self._inputs, self._device, self._memory_bytes)
            self._going = self._begun(self._waiting.pop(0))
        self._going[1].advance()

    def _begun(self, group: Group) -> tuple[Group, Optimisation | CoarseToFine]:
        first, choices = group.rows[0], group.choices
        key = (first["backbone"], choices.pooling, choices.normalised)
        if key not in self._backbones:
            path = self._inputs.backbones[first["backbone"]]
            backbone = load_backbone(path, pooling=choices.pooling).to(self._device)
            if choices.normalised:
                assert self._inputs.calibration is not None
                batches = self._inputs.calibration.split(8)
                backbone = normalised(backbone, (batch.to(self._device) for batch in batches))
            self._backbones[key] = backbone
        backbone, through = (
            self._backbones[key],
            equal_scales(first["scales"], first["evaluations"]),
        )
        if len(through) == 1:
            return group, Optimisation(
                group.contents,
                group.paintings,
                backbone,
                choices,
                first["evaluations"],
            )
        contents = with_margin(torch.stack(group.contents))
        return group, CoarseToFine(
            contents,
            in_colours(contents, group.paintings),
            group.paintings,
            backbone,
            choices,
            through,
            stroke=1.0,
            finest=refining(choices),
        )

    def check_divergence(self) -> str:
        return ""

    def evaluate(self) -> bool:
        """Add the finished group to the results."""
        assert self._going is not None
        group, optimisation = self._going
        result = optimisation.result()
        if isinstance(optimisation, CoarseToFine):
            for reason in optimisation.reasons:
                logger.warning("%s: stopped %s", ", ".join(r["run"] for r in group.rows), reason)
            coloured = with_moments(result.images, group.paintings)
            height, width = group.contents[0].shape[1:]
            result = replace(result, images=without_margin(coloured, height, width))
        self.results.append(_record(result, group.rows, self._device))
        self._going = None
        return True

    def state(self) -> dict[str, Any]:
        if self._going is None:
            return {"finished": self.results, "running": [], "state": None}
        group, optimisation = self._going
        running = [row["run"] for row in group.rows]
        return {"finished": self.results, "running": running, "state": optimisation.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.results = state["finished"]
        begun = [row for row in self._rows if row["run"] in state["running"]]
        for group in grouped(begun, self._inputs, self._device, math.inf):
            self._going = self._begun(group)
            self._going[1].restore(state["state"])


def grouped(
    rows: Sequence[Mapping[str, Any]], inputs: Inputs, device: torch.device, memory_bytes: float
) -> list[Group]:
    """Group rows by what must be equal within a batch, as many as memory holds."""
    alike: dict[tuple[Any, ...], list[tuple[dict[str, Any], Tensor, Tensor]]] = {}
    for row in rows:
        changes = {key: row[key] for key in FROM_PRESET}
        choices = preset(row["preset"], row["architecture"], **changes)
        content, painting = (
            read_image(path).to(device)
            for path in (inputs.contents[row["content"]], inputs.paintings[row["painting"]])
        )
        # Scales reduce the painting themselves, and take its colours from the whole of it.
        side = row["size"] if row["scales"] == 1 else min(painting.shape[1:])
        painting = resize(painting, side, choices.aspect)
        content = resize(content, row["size"], choices.aspect)
        key = (
            row["backbone"],
            row["architecture"],
            choices,
            content.shape,
            row["scales"],
            row["evaluations"],
        )
        alike.setdefault(key, []).append((dict(row), content, painting))
    groups = []
    for (_, architecture, choices, (_, height, width), *_), members in alike.items():
        largest = choices
        if members[0][0]["scales"] > 1:
            largest = refining(choices)
            height, width = height + 2 * MARGIN, width + 2 * MARGIN
        at_once = images_at_once(ARCHITECTURES[architecture], largest, height, width, memory_bytes)
        for first in range(0, len(members), at_once):
            columns = zip(*members[first : first + at_once], strict=True)
            group_rows, contents, paintings = (list(column) for column in columns)
            groups.append(Group(group_rows, choices, contents, paintings))
    return groups


def usable_memory(device: torch.device, granted_mb: float | None) -> float:
    """Bytes that a batch may take: most of a GPU, or a quarter of what a job on a CPU was granted,
    which gains little from larger batches."""
    if device.type == "cuda":
        return 0.7 * torch.cuda.get_device_properties(device).total_memory
    return 0.25e6 * (granted_mb or 4000)


def _record(
    result: Optimised, rows: Sequence[dict[str, Any]], device: torch.device
) -> dict[str, Any]:
    """A finished group as plain values and tensors, as a checkpoint holds them."""
    runs, histories = [], []
    for number, row in enumerate(rows):
        history = result.history.loc[result.history["image"] == number]
        status, reason = result.statuses[number], result.reasons[number]
        # A stopped image is the best of the last scale, whose losses are the only ones of its size.
        coarser = (
            row["evaluations"] - equal_scales(row["scales"], row["evaluations"])[-1].evaluations
        )
        ends = history[history["evaluation"] > coarser]
        totals = ends["total"].fillna(math.inf).tolist()
        last = ends.iloc[-1 if status == FINISHED else totals.index(min(totals))]
        height, width = result.images.shape[2:]
        runs.append(
            {
                **row,
                "height": height,
                "width": width,
                "status": status,
                "reason": reason,
                "evaluations_done": result.evaluations_done[number],
                "seconds": result.seconds,
                "batch": len(rows),
                "content_loss_final": float(last["content"]),
                "style_loss_final": float(last["style"]),
                "total_loss_final": float(last["total"]),
                "relative_loss_final": float(last["total"] / history["total"].iloc[0]),
                "device": describe_device(device),
            }
        )
        if reason:
            logger.warning("%s: %s, %s", row["run"], status, reason)
        names = {"experiment": row["experiment"], "run": row["run"]}
        histories += history.drop(columns="image").assign(**names).to_dict("records")
    return {"runs": runs, "history": histories, "images": result.images}


def _collected(
    finished: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> OptimisedRuns:
    """All groups, in the order of the experiment table."""
    order = {row["run"]: place for place, row in enumerate(rows)}

    def table(part: str, columns: Sequence[str]) -> pd.DataFrame:
        records = [record for group in finished for record in group[part]]
        records.sort(key=lambda record: order[record["run"]])
        return pd.DataFrame(records, columns=list(columns))

    images: dict[str, Tensor] = {}
    for group in finished:
        images |= zip((run["run"] for run in group["runs"]), group["images"], strict=True)
    runs, history = table("runs", RUN_COLUMNS), table("history", HISTORY_COLUMNS)
    return OptimisedRuns(runs, history, {run: images[run] for run in order})
