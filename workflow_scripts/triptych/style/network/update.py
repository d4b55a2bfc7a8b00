"""One update of a transformation network's weights, in portions that the memory holds."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from triptych.core.device import keyed_generator, training_precision
from triptych.core.oom_retry import OomRetry
from triptych.core.training_loop import all_finite
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.perceptual import TERMS, Disturbance, PerceptualLoss
from triptych.style.network.training_data import TrainingSettings, batch_corners

CPU = torch.device("cpu")

OWN_RATE = 6.0
"""Times the learning rate for what styles that share a network have of their own: scales of one and
shifts of zero at first, which at the convolutions' rate, the same for all, take long to part."""

ADVICE = (
    "Lower style.training.schedule.size or style.network.width, or take a GPU with more memory; "
    "precision bf16 halves what an image takes."
)


class Updates:
    """A network's optimiser, and how many images go through the network at a time.

    That is a whole batch, and less where memory runs out: every term of the loss is a mean over
    images, and nothing in the network mixes them, so that gradients of parts add up.
    """

    def __init__(
        self,
        network: TransformationNetwork,
        loss: PerceptualLoss,
        settings: TrainingSettings,
        device: torch.device,
    ) -> None:
        self._network, self._loss = network, loss
        self._settings, self._device = settings, device
        own = network.of_styles() if network.architecture.styles > 1 else {}
        groups = [
            {
                "params": [
                    value
                    for name, value in network.named_parameters()
                    if value.requires_grad and (name in own) == of_a_style
                ],
                "times": OWN_RATE if of_a_style else 1.0,
            }
            for of_a_style in (False, True)
        ]
        groups = [group for group in groups if group["params"]]
        self._adam = torch.optim.Adam(groups, settings.learning_rate, fused=True)
        self._scaler = torch.amp.GradScaler(device.type, enabled=settings.precision == "fp16")
        self._portion = OomRetry(settings.batch, "images", ADVICE)

    def step(self, images: Tensor, styles: Tensor | None, number: int, rate: float) -> Tensor:
        """Move the weights once, by batch `number` [N, 3, S, S] in [0, 1]; the terms, [TERMS].

        Of [N, 6, S, S] the last three channels are what the content is that of. styles:
        the number of each image's style, [N], where the network has several.
        """
        for group in self._adam.param_groups:
            group["lr"] = rate * group["times"]
        disturbance = None
        if self._loss.settings.temporal_weight:
            generator = keyed_generator(CPU, "disturbed", self._settings.seed, number)
            disturbance = self._loss.disturbance(images[:, :3], generator)
        corners = batch_corners(self._settings, number)
        values = self._portion.run(
            lambda size: self._gradients(images, styles, corners, disturbance, size)
        )
        self._scaler.step(self._adam)
        self._scaler.update()
        return values

    def _gradients(
        self,
        images: Tensor,
        styles: Tensor | None,
        corners: Tensor,
        disturbance: Disturbance | None,
        size: int,
    ) -> Tensor:
        self._adam.zero_grad()
        values = torch.zeros(len(TERMS), device=self._device)
        for first in range(0, len(images), size):
            part = slice(first, first + size)
            terms, total = self._terms(
                images[part],
                None if styles is None else styles[part],
                corners[part],
                disturbance.of(part) if disturbance else None,
            )
            share = len(images[part]) / len(images)
            self._scaler.scale(total * share).backward()
            nothing = values.new_zeros(())
            each = [terms.get(name, nothing).detach().float() for name in TERMS]
            values += torch.stack(each) * share
        return values

    def _terms(
        self,
        images: Tensor,
        styles: Tensor | None,
        corners: Tensor,
        disturbance: Disturbance | None,
    ) -> tuple[dict[str, Tensor], Tensor]:
        """The terms of some images, means over these, and their sum."""
        with training_precision(self._device, self._settings.precision):
            of_styles = self._network if styles is None else self._network.of_each(styles)
            # Of a film's frames, too, the grain stays while what they show moves.
            network = partial(of_styles, corners=corners)
            images, contents = images[:, :3], images[:, -3:]
            stylised = network(images)
            terms = self._loss.terms(contents, stylised, styles)
            if disturbance is not None:
                terms["temporal"] = self._loss.temporal(network, images, stylised, disturbance)
            return terms, torch.stack(list(terms.values())).sum()

    def finite(self) -> bool:
        """Whether every weight is a finite number."""
        return all_finite(self._network.parameters())

    def state(self) -> dict[str, Any]:
        """Weights, Adam's moments, the loss scale and how many images fit at a time."""
        return {
            "network": self._network.state_dict(),
            "adam": self._adam.state_dict(),
            "scaler": self._scaler.state_dict(),
            "portion": self._portion.size,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what `state` returned."""
        self._network.load_state_dict(state["network"])
        self._adam.load_state_dict(state["adam"])
        self._scaler.load_state_dict(state["scaler"])
        self._portion.size = state["portion"]
