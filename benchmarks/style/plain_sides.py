"""The bench's plain sides: `plain.py` as it is, compiled, in bf16, and both."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmarks.style import plain
from benchmarks.style.inputs import (
    BATCH,
    DEVICE,
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

    def step(self, size: int, width: int) -> Callable[[], object]:
        """A training step on BATCH images of size x size, as pytorch/examples trains."""
        network, layers = plain.PlainNetwork(width).to(DEVICE), vgg_layers("vgg16")
        grams = [plain.gram(each) for each in _features(layers, plain.VGG16_STYLE, size)]
        adam = torch.optim.Adam(network.parameters(), 1e-3)
        images, loss = 255 * image(BATCH, 3, size, size), self._made(plain.training_loss)

        def call() -> None:
            adam.zero_grad()
            with self._precision():
                value = loss(network, layers, grams, images)
            value.backward()
            adam.step()

        return call

    def closure(self, size: int, width: int) -> Callable[[], object]:
        """Loss and gradient of one image of Version 1 by VGG-19."""
        layers, compute = vgg_layers("vgg19"), self._made(plain.closure_loss)
        *style, content = _features(layers, (*plain.VGG19_STYLE, plain.VGG19_CONTENT), size)
        grams, moved = [plain.gram(each) for each in style], image(1, 3, size, size)
        moved.requires_grad_()

        def call() -> None:
            moved.grad = None
            with self._precision():
                loss = compute(layers, moved, content, grams)
            loss.backward()

        return call


def _features(layers: torch.nn.Sequential, indices: Sequence[int], size: int) -> list[Tensor]:
    """What comes out of a painting's layers, which losses compare with."""
    with torch.no_grad():
        return plain.features_at(layers, plain.standardised(image(1, 3, size, size)), indices)
