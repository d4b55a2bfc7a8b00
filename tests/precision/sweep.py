"""All places that compute in half precision on a CPU, each against float64; run as a script.

The parent sets ONEDNN_MAX_CPU_ISA, which oneDNN reads once a process. Prints JSON: how many
comparisons were made, and those beyond their bound as sentences.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from products import DTYPES, Call, allowed, errors, named, recorded, relative

from triptych.apps.pictures.catalogue import backbone_file
from triptych.audio.models.audio_encoders.passt import Settings as PasstSettings
from triptych.audio.models.mel import LogMel
from triptych.audio.models.passt import Kept, Passt
from triptych.core.device import precision_context, training_precision
from triptych.rl.algorithms.bcq import Bcq, actor_loss, critic_loss, critic_target, vae_loss
from triptych.rl.networks.algorithm import Widths
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.networks.stacked import Parameters
from triptych.rl.tasks.transitions import Transitions
from triptych.style.data.backbone import load_backbone
from triptych.style.network.architecture import Architecture
from triptych.style.network.fast import PreparedNetwork, Stage
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.perceptual import LossSettings, PerceptualLoss
from triptych.style.optimise.choices import preset
from triptych.style.optimise.objective import Objective

CPU = torch.device("cpu")
ROOT = Path(__file__).parents[2]
WIDTHS = (8, 12, 16, 24, 32, 64)
TRAINED_WIDTHS = (8, 16, 24)
TRAINED = ("float32", "bf16")
"""fp16 is for GPUs; tf32 is float32 here."""
TASKS = {"hopper": (11, 3), "halfcheetah": (17, 6)}
NARROW, PAPER = Widths((64, 64), (64, 64), 192), Widths((400, 300), (400, 300), 750)
Found = Iterator[tuple[str, float, float]]


def noise(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def prepared_stages() -> Found:
    """Every stage of the network of Version 2 as it's prepared for inference."""
    for width in WIDTHS:
        for upsampling in ("nearest", "transposed"):
            torch.manual_seed(width)
            network = TransformationNetwork(Architecture(width, upsampling, (0, 1))).eval()
            for precision, dtype in DTYPES.items():
                prepared = PreparedNetwork(network, precision)
                stages = {f"exit {n}": stage for n, stage in enumerate(prepared.exit)}
                stages |= {f"halving block {n}": s for n, s in enumerate(prepared.blocks[1])}
                if upsampling == "nearest":  # the others are the same
                    stages |= {f"entry {n}": stage for n, stage in enumerate(prepared.entry)}
                    stages |= {"block": prepared.blocks[0][0], "last": prepared.last}
                for name, stage in stages.items():
                    what = f"{name} of width {width}, {upsampling}, {precision}"
                    yield what, *stage_error(stage, dtype)


def stage_error(stage: Stage, dtype: torch.dtype) -> tuple[float, float]:
    x = noise(1, stage.weight.shape[1], 16, 32).to(dtype, memory_format=torch.channels_last)
    stage = dataclasses.replace(stage, norm=None)
    exact = dataclasses.replace(
        stage,
        weight=stage.weight.double(),
        bias=None if stage.bias is None else stage.bias.double(),
    )
    with torch.no_grad():
        found, truth = stage.applied(x), exact.applied(x.double())
    return relative(found, truth), allowed(stage.weight[0].numel(), dtype)


def style_training(width: int) -> None:
    """The loss of a network of Version 2 on a batch."""
    torch.manual_seed(0)
    network = TransformationNetwork(Architecture(width, "nearest", (0,)))
    losses = LossSettings(("relu3_2",), ("relu1_2", "relu4_2"), "relative", 0.3, 1.0, 0.3)
    backbone = load_backbone(backbone_file(), pooling="average")
    loss = PerceptualLoss(backbone, losses, [noise(3, 32, 32).sigmoid()])
    images = noise(2, 3, 32, 32).sigmoid()
    with training_precision(CPU, "bf16"):
        loss.terms(images, network(images))


def closure(architecture: str) -> None:
    """One evaluation of Version 1."""
    choices = preset("tuned", architecture, precision="bf16")
    embedded = ROOT / f"resources/style/{architecture}.safetensors"
    path = backbone_file() if architecture == "vgg16" else embedded
    backbone = load_backbone(path, pooling=choices.pooling)
    content, painting = noise(2, 3, 64, 64).sigmoid()
    objective = Objective(backbone, choices, [content], [painting])
    objective.evaluated(content.flatten()[None], content.shape, 1)


def audio() -> None:
    """A training step's and an evaluation's way through PaSST, at the demo's width and PaSST's."""
    mel = LogMel()(0.1 * noise(1, 16000))
    for dim, heads, stride in ((128, 4, 16), (768, 12, 10)):
        torch.manual_seed(0)
        passt = Passt(PasstSettings(dim, (stride, stride), 64, 1, heads, (0, 0)))
        rows, columns = passt.settings.grid(mel.shape[-1])
        kept = Kept(torch.arange(0, rows - 1), torch.arange(1, columns))
        with precision_context(CPU, "bf16"):
            passt(mel, kept), passt(mel)


def stacked_losses(
    widths: Widths, task: str, runs: int, poisoned: int | None = None
) -> tuple[Parameters, dict[str, torch.Tensor]]:
    """Parameters of stacked BCQ runs, one of them without numbers, and losses [K] on a batch."""
    observed, acted = TASKS[task]
    random = np.random.default_rng(0)
    transitions = Transitions(
        *(random.standard_normal((300, n)).astype(np.float32) for n in (observed, acted)),
        random.standard_normal(300).astype(np.float32),
        random.standard_normal((300, observed)).astype(np.float32),
        np.zeros(300, np.float32),
    )
    seeds, batch, samples = list(range(runs)), 40, 2
    data = DeviceData(transitions, CPU, torch.float32)
    settings = Bcq(0.99, 0.05, 0.75, samples)
    index, drawn = Draws(seeds, data, batch, settings).at(0)
    chosen = data.batch(index)
    parameters = Bcq.initialise(widths, observed, acted, seeds)
    if poisoned is not None:
        for value in parameters.values():
            value[poisoned] = torch.nan
    for value in parameters.values():
        value.requires_grad_()
    with precision_context(CPU, "bf16"):
        target = critic_target(parameters, parameters, chosen, drawn["target"], settings).detach()
        losses = {
            "vae": vae_loss(parameters, parameters, chosen, drawn),
            "critic": critic_loss(parameters, chosen, target),
            "actor": actor_loss(parameters, parameters, chosen, drawn, settings),
        }
    return parameters, losses


def stacked_runs_stay_apart() -> Found:
    """A run without numbers leaves its neighbours' losses and gradients as they are, to the bit."""
    for widths, task in ((NARROW, "hopper"), (NARROW, "halfcheetah"), (PAPER, "halfcheetah")):
        results = []
        for poisoned in (None, 2):
            parameters, losses = stacked_losses(widths, task, 4, poisoned)
            total = torch.stack([each.sum() for each in losses.values()]).sum()
            gradients = torch.autograd.grad(total, list(parameters.values()))
            results.append({**losses, **dict(zip(parameters, gradients, strict=True))})
        for name, clean in results[0].items():
            beside = results[1][name][[0, 1, 3]]
            apart = not torch.equal(clean[[0, 1, 3]], beside)
            yield f"{name} of {task} beside a run without numbers", float(apart), 0.0


def found_in(what: str, run: Callable[[], object]) -> Found:
    calls: list[Call] = recorded(run)
    if not calls:
        raise RuntimeError(f"{what}: no product was seen")
    for call in calls:
        for precision in TRAINED:
            for which, error, bound in errors(call, precision):
                yield f"{what}: {which} of {named(call)} in {precision}", error, bound


def sweep() -> Found:
    yield from prepared_stages()
    for width in TRAINED_WIDTHS:
        yield from found_in(f"a style update, width {width}", partial(style_training, width))
    for architecture in ("vgg16", "narrow_alexnet"):
        yield from found_in(f"Version 1, {architecture}", partial(closure, architecture))
    yield from found_in("PaSST", audio)
    for widths in (NARROW, PAPER):
        for task in TASKS:
            yield from found_in(f"BCQ, {task}", partial(stacked_losses, widths, task, 2))
    yield from stacked_runs_stay_apart()


def main() -> None:
    torch.set_num_threads(1)
    count, wrong = 0, []
    for what, error, bound in sweep():
        count += 1
        if not error <= bound:
            wrong.append(f"{what}: {error:.2g} from float64, {bound:.2g} is allowed")
    print(json.dumps({"count": count, "wrong": wrong}))


if __name__ == "__main__":
    main()
