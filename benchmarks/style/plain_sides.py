"""The bench's plain sides: `plain.py` as it is, compiled, in bf16, and both."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.style import plain
from benchmarks.style.inputs import (
    BATCH,
    DEVICE,
    EVALUATIONS,
    IMAGES,
    LARGE,
    STYLES,
    image,
    vgg_layers,
)


@dataclass(frozen=True)
class Plain:
    """How plain code is run; each task takes the size in pixels and the network's width."""

    compiled: bool
    bf16: bool

    def _made(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function) if self.compiled else function

    def _precision(self) -> AbstractContextManager[object]:
        return torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled=self.bf16)

    def _inference(self, network: plain.PlainNetwork, *given: Tensor) -> Callable[[], object]:
        forward = self._made(network.to(DEVICE))

        def call() -> object:
            with torch.no_grad(), self._precision():
                return forward(*given)

        return call

    def forward(self, size: int, width: int) -> Callable[[], object]:
        """Stylise one image of size x size."""
        return self._inference(plain.PlainNetwork(width), 255 * image(1, 3, size, size))

    def conditional(self, size: int, width: int) -> Callable[[], object]:
        """Stylise one image in BATCH of a conditional network's styles."""
        images = 255 * image(1, 3, size, size).repeat(BATCH, 1, 1, 1)
        styles = torch.arange(BATCH, device=DEVICE)
        return self._inference(plain.PlainNetwork(width, STYLES), images, styles)

    def large(self, size: int, width: int) -> Callable[[], object]:
        """Stylise an image of LARGE pixels whole."""
        return self._inference(plain.PlainNetwork(width), 255 * image(1, 3, *LARGE))

    def step(self, size: int, width: int) -> Callable[[], object]:
        """A training step on BATCH images of size x size, as pytorch/examples trains."""
        return self._step(size, plain.PlainNetwork(width), None)

    def conditional_step(self, size: int, width: int) -> Callable[[], object]:
        """A training step of the conditional network, each image in a style of its own."""
        network = plain.PlainNetwork(width, STYLES)
        return self._step(size, network, torch.arange(BATCH, device=DEVICE))

    def _step(
        self, size: int, network: plain.PlainNetwork, styles: Tensor | None
    ) -> Callable[[], object]:
        layers, network = vgg_layers("vgg16"), network.to(DEVICE)
        paintings = image(1 if styles is None else len(styles), 3, size, size)
        with torch.no_grad():
            features = plain.features_at(layers, plain.standardised(paintings), plain.VGG16_STYLE)
        grams = [plain.gram(each) for each in features]
        adam = torch.optim.Adam(network.parameters(), 1e-3)
        images, loss = 255 * image(BATCH, 3, size, size), self._made(plain.training_loss)

        def call() -> None:
            adam.zero_grad()
            with self._precision():
                value = loss(network, layers, grams, images, styles)
            value.backward()
            adam.step()

        return call

    def closure(self, size: int, width: int) -> Callable[[], object]:
        """Loss and gradient of one image of Version 1 by VGG-19."""
        start = image(1, 3, size, size)
        *style, content = _vgg19(start)
        grams = [plain.gram(each) for each in style]
        return partial(self._gradient(), start.requires_grad_(), content, grams)

    def optimise(self, size: int, width: int) -> Callable[[], object]:
        """One image after the other, each by PyTorch's own L-BFGS."""
        contents, gradient = image(IMAGES, 3, size, size), self._gradient()
        grams = [plain.gram(each) for each in _vgg19(contents[:1])[:-1]]

        def call() -> None:
            for start in contents.split(1):
                target = _vgg19(start)[-1]
                moved = start.clone().requires_grad_()
                lbfgs = torch.optim.LBFGS([moved], max_iter=EVALUATIONS, max_eval=EVALUATIONS)
                lbfgs.step(partial(gradient, moved, target, grams))

        return call

    def _gradient(self) -> Callable[[Tensor, Tensor, list[Tensor]], Tensor]:
        """Of an image, content and Gram matrices: the loss; the gradient is the image's."""
        layers, compute = vgg_layers("vgg19"), self._made(plain.closure_loss)

        def call(moved: Tensor, content: Tensor, grams: list[Tensor]) -> Tensor:
            moved.grad = None
            with self._precision():
                loss: Tensor = compute(layers, moved, content, grams)
            loss.backward()
            return loss

        return call


def _vgg19(painting: Tensor) -> list[Tensor]:
    """What Version 1 compares with: features of the style layers, and of the content layer."""
    indices = (*plain.VGG19_STYLE, plain.VGG19_CONTENT)
    with torch.no_grad():
        return plain.features_at(vgg_layers("vgg19"), plain.standardised(painting), indices)
