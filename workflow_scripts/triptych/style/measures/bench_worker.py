"""One side of the bench, in a process of its own: `python -m` this module, and the side.

The sides are kept apart since ours tells the C library to keep freed memory, which would speed up
the plain side too. Reads a line of JSON a task, [name, size, width, repeats], from standard
input and answers each with a line: the seconds of each repeat, or bytes for "memory".
"""

import json
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torchvision.models import vgg

from triptych.core.device import choose_device
from triptych.core.memory import keep_freed_memory, peak_memory
from triptych.style.backbones.backbone import (
    ARCHITECTURES,
    IMAGENET_MEAN,
    IMAGENET_STD,
    Backbone,
    from_torchvision,
)
from triptych.style.feedforward.fast import PreparedNetwork
from triptych.style.feedforward.network import Architecture, TransformationNetwork
from triptych.style.feedforward.perceptual import LossSettings, PerceptualLoss
from triptych.style.feedforward.stylize import stylise
from triptych.style.feedforward.tiling import stylise_tiled
from triptych.style.feedforward.training import TrainingRun, initial_network
from triptych.style.feedforward.training_data import TrainingSettings
from triptych.style.measures import plain
from triptych.style.optimisation.gatys import optimise
from triptych.style.optimisation.objective import Objective
from triptych.style.optimisation.presets import preset

Precision = Literal["float32", "bf16"]

DEVICE = choose_device("auto")
IMAGES = 16
"""Images of "optimise", and EVALUATIONS of each."""
EVALUATIONS = 20
PAPER_EVALUATIONS = 700
LARGE = (2480, 4032)
"""Height and width of the paper's large photograph."""


@cache
def vgg_layers(name: str) -> torch.nn.Sequential:
    """torchvision's convolutional layers with random weights; their speed is that of any."""
    torch.manual_seed(0)
    layers = vgg.make_layers(vgg.cfgs[{"vgg16": "D", "vgg19": "E"}[name]])
    return layers.to(DEVICE).eval().requires_grad_(False)


def backbone(name: str) -> Backbone:
    """Ours with the random weights of `vgg_layers`, so that both compute the same."""
    state = {f"features.{key}": value for key, value in vgg_layers(name).state_dict().items()}
    weights = from_torchvision(state, name)
    return Backbone(
        ARCHITECTURES[name], weights, mean=IMAGENET_MEAN, std=IMAGENET_STD, pooling="max"
    ).to(DEVICE)


def image(*shape: int) -> Tensor:
    """Random images [*shape] in [0, 1]."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(0)).to(DEVICE)


def plain_forward(size: int, width: int) -> Callable[[], object]:
    """Stylise one image of size x size with the plain network of that width."""
    network, images = plain.PlainNetwork(width).to(DEVICE), 255 * image(1, 3, size, size)

    def call() -> Tensor:
        with torch.no_grad():
            return network(images)

    return call


def our_forward(precision: Precision, size: int, width: int) -> Callable[[], object]:
    """The same with ours, prepared once."""
    network = TransformationNetwork(Architecture(width, "nearest")).to(DEVICE)
    return partial(PreparedNetwork(network, precision), image(1, 3, size, size))


def plain_step(size: int, width: int) -> Callable[[], object]:
    """A training step on 4 images of size x size, as pytorch/examples trains."""
    layers, network = vgg_layers("vgg16"), plain.PlainNetwork(width).to(DEVICE)
    with torch.no_grad():
        painting = plain.standardised(image(1, 3, size, size))
        features = plain.features_at(layers, painting, plain.VGG16_STYLE)
    grams = [plain.gram(each) for each in features]
    adam = torch.optim.Adam(network.parameters(), 1e-3)
    images = 255 * image(4, 3, size, size)
    return partial(plain.train_step, network, layers, grams, adam, images)


def our_step(precision: Precision, size: int, width: int) -> Callable[[], object]:
    """A training step on 4 images with the same layers and weights, our way."""
    settings = LossSettings(
        content_layer="relu2_2",
        style_layers=("relu1_2", "relu2_2", "relu3_3", "relu4_3"),
        scaling="mean",
        content_weight=1e5,
        style_weight=1e10,
        total_variation_weight=0.0,
    )
    loss = PerceptualLoss(backbone("vgg16"), settings, [image(3, size, size)])
    training = TrainingSettings(
        batches=10**6,
        batch=4,
        size=size,
        learning_rate=1e-3,
        schedule="constant",
        flips=False,
        checkpoint_every=10**6,
        log_every=10**6,
        precision=precision,
        seed=0,
    )
    # It writes no checkpoint in so few batches.
    network = initial_network(Architecture(width, "nearest"), training.seed)
    run = TrainingRun(network, loss, training, DEVICE, Path("unused"))
    return partial(run.step, (255 * image(4, 3, size, size)).byte())


def plain_closure(size: int, width: int) -> Callable[[], object]:
    """Loss and gradient of one image of Version 1 by VGG-19, nothing rearranged."""
    layers, start = vgg_layers("vgg19"), image(1, 3, size, size).requires_grad_()
    with torch.no_grad():
        painting = plain.standardised(image(1, 3, size, size))
        *style, content = plain.features_at(
            layers, painting, (*plain.VGG19_STYLE, plain.VGG19_CONTENT)
        )
    grams = [plain.gram(each) for each in style]

    def call() -> None:
        start.grad = None
        plain.closure_loss(layers, start, content, grams).backward()

    return call


def our_closure(precision: Precision, size: int, width: int) -> Callable[[], object]:
    """Loss and gradient of one image of Version 1 by `Objective`."""
    # The plain closure's layers and pooling; only the way to compute them differs.
    choices = preset("tuned", "vgg19", precision=precision, pooling="max")
    given = list(image(2, 3, size, size))
    objective = Objective(backbone("vgg19"), choices, given[:1], given[1:])
    images = image(1, 3, size, size).requires_grad_()
    return lambda: torch.autograd.grad(objective.terms(images).total.sum(), images)


def plain_optimise(size: int, width: int) -> Callable[[], object]:
    """One image after the other, each by PyTorch's own L-BFGS."""
    layers, contents = vgg_layers("vgg19"), image(IMAGES, 3, size, size)
    with torch.no_grad():
        indices = (*plain.VGG19_STYLE, plain.VGG19_CONTENT)
        grams = [
            plain.gram(each)
            for each in plain.features_at(layers, plain.standardised(contents[:1]), indices)[:-1]
        ]

    def call() -> None:
        for start in contents.split(1):
            with torch.no_grad():
                target = plain.features_at(layers, plain.standardised(start), indices)[-1]
            moved = start.clone().requires_grad_()
            lbfgs = torch.optim.LBFGS([moved], max_iter=EVALUATIONS, max_eval=EVALUATIONS)

            def closure(
                moved: Tensor = moved,
                target: Tensor = target,
                lbfgs: torch.optim.LBFGS = lbfgs,
            ) -> Tensor:
                lbfgs.zero_grad()
                loss = plain.closure_loss(layers, moved, target, grams)
                loss.backward()
                return loss

            lbfgs.step(closure)

    return call


def our_optimise(precision: Precision, size: int, width: int) -> Callable[[], object]:
    """All images at once, each with its own L-BFGS."""
    choices = preset("tuned", "vgg19", precision=precision, pooling="max", history=100)
    network, contents = backbone("vgg19"), image(IMAGES, 3, size, size)
    painting = contents[:1]
    return lambda: optimise(contents, painting, network, choices, EVALUATIONS, seeds=[0] * IMAGES)


def plain_large(size: int, width: int) -> Callable[[], object]:
    """Stylise an image of LARGE pixels whole."""
    network, images = plain.PlainNetwork(width).to(DEVICE), 255 * image(1, 3, *LARGE)

    def call() -> Tensor:
        with torch.no_grad():
            return network(images)

    return call


def our_large(precision: Precision, size: int, width: int) -> Callable[[], object]:
    """In tiles on a CPU, as `stylise` chooses on a GPU."""
    network = TransformationNetwork(Architecture(width, "nearest")).to(DEVICE)
    if DEVICE.type == "cpu":
        return partial(stylise_tiled, network, image(3, *LARGE))
    return partial(stylise, network, image(1, 3, *LARGE), precision=precision)


def our_image(precision: Precision, size: int, width: int) -> Callable[[], object]:
    """One whole image of Version 1, with as many evaluations as the paper's."""
    choices = preset("tuned", "vgg19", precision=precision, pooling="max")
    network, content, painting = backbone("vgg19"), image(1, 3, size, size), image(1, 3, size, size)
    return lambda: optimise(content, painting, network, choices, PAPER_EVALUATIONS, seeds=[0])


SIDES: dict[str, dict[str, Callable[[int, int], Callable[[], object]]]] = {
    "plain": {
        "forward": plain_forward,
        "step": plain_step,
        "closure": plain_closure,
        "optimise": plain_optimise,
        "large": plain_large,
    },
    **{
        precision: {
            "forward": partial(our_forward, precision),
            "step": partial(our_step, precision),
            "closure": partial(our_closure, precision),
            "optimise": partial(our_optimise, precision),
            "large": partial(our_large, precision),
            "image": partial(our_image, precision),
        }
        for precision in ("float32", "bf16")
    },
}


def main(side: str) -> None:
    """Answer the tasks of standard input until it ends."""
    calls: dict[tuple[str, int, int], Callable[[], object]] = {}
    if side != "plain" and DEVICE.type == "cpu":
        keep_freed_memory()
    for line in sys.stdin:
        name, size, width, repeats = json.loads(line)
        key = name, size, width
        if key not in calls:
            calls.clear()  # one task's tensors at a time
            calls[key] = SIDES[side][name](size, width)
            if name != "image" and (name != "large" or DEVICE.type == "cuda"):
                calls[key]()
        seconds = [_seconds(calls[key]) for _ in range(repeats)]
        peak = peak_memory()
        if DEVICE.type == "cuda":
            peak = torch.cuda.max_memory_allocated()
        print(json.dumps({"seconds": seconds, "peak_bytes": peak}), flush=True)


def _seconds(call: Callable[[], object]) -> float:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


if __name__ == "__main__":
    main(sys.argv[1])
