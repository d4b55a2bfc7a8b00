"""Acting with one trained policy, by numpy and by torch, with dense and with sparse weights.

Arrays are a dict in torch's layout ("actor.l1.weight" [out, in], "actor.l1.bias" [out]), with
the layer names of the reference implementation (sfujim/BCQ, continuous_BCQ/BCQ.py); where networks
see scaled observations, with "observations.shift" and "observations.scale" [S]. Every kernel
offers the same parts, if the arrays have their networks:

    actor(inputs)                   [B, S+A] state and action -> [B, A] perturbation
    bcq(observations, latents)      [B, S], [B, n, L] -> actions [B, A], index of the chosen [B]
    bc(observations, latents)       [B, S], [B, L] -> actions [B, A]

Inputs and results are float32 numpy arrays for every kernel. `draw_latents` makes the latents.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from triptych.rl.algorithms.bcq import BC_LATENT_CLIP, BCQ_LATENT_CLIP
from triptych.rl.networks.stacked import MAX_ACTION
from triptych.rl.pruning.storage import SCALE, SHIFT

Arrays = Mapping[str, np.ndarray]
Layers = Sequence[tuple[np.ndarray, np.ndarray]]
"""Weight [out, in] and bias [out] of each layer, in order; ReLU between layers."""

LAYERS = {
    "actor": ("actor.l1", "actor.l2", "actor.l3"),
    "critic": ("critic.l1", "critic.l2", "critic.l3"),  # Q1: the only one that acting needs
    "decoder": ("vae.d1", "vae.d2", "vae.d3"),
}
NEEDED = {
    "actor": ("actor",),
    "BCQ policy": ("decoder", "actor", "critic"),
    "BC policy": ("decoder",),
}
"""The networks behind each part."""


@dataclass(frozen=True)
class ActingSettings:
    """Settings of acting: range of actions, BCQ's perturbation, clip of the latent, candidates.

    The values are sfujim/BCQ's (latent_clip_bc: BEAR's), for files that carry no settings.
    """

    candidates: int = 100
    phi: float = 0.05
    max_action: float = MAX_ACTION
    latent_clip_bcq: float = BCQ_LATENT_CLIP
    latent_clip_bc: float = BC_LATENT_CLIP


def parts_of(arrays: Arrays) -> list[str]:
    """The parts that these arrays allow, among "actor", "BCQ policy" and "BC policy"."""
    present = networks_of(arrays)
    return [part for part, needed in NEEDED.items() if all(name in present for name in needed)]


def networks_of(arrays: Arrays) -> dict[str, Layers]:
    """The three-layer networks that acting needs, as far as the arrays hold them.

    Raises ValueError where the shapes of one do not fit together.
    """
    networks: dict[str, Layers] = {
        network: [(arrays[f"{name}.weight"], arrays[f"{name}.bias"]) for name in names]
        for network, names in LAYERS.items()
        if all(f"{name}.{kind}" in arrays for name in names for kind in ("weight", "bias"))
    }
    for network, layers in networks.items():
        shapes = [(weight.shape, bias.shape) for weight, bias in layers]
        fits = all(len(weight) == 2 and bias == weight[:1] for weight, bias in shapes)
        if not fits or any(shapes[i][0][0] != shapes[i + 1][0][1] for i in (0, 1)):
            raise ValueError(
                f"the layers of the {network} do not fit together: expected weights [out, in] and "
                f"biases [out] of three layers, found {', '.join(map(str, shapes))}"
            )
    return networks


def scale_observations(arrays: Arrays, observations: np.ndarray) -> np.ndarray:
    """The inputs [B, S] of a policy's networks: (s - shift) * scale, in the observations' type."""
    if SHIFT not in arrays:
        return observations
    return (observations - arrays[SHIFT]) * arrays[SCALE]


def draw_latents(generator: np.random.Generator, shape: tuple[int, ...], clip: float) -> np.ndarray:
    """Standard normal latents, clipped to +-clip, float32."""
    return generator.standard_normal(shape, dtype=np.float32).clip(-clip, clip)


class NumpyDense:
    """Matrix products of numpy, zeros and all; in float64 it is the reference of the others."""

    def __init__(
        self, arrays: Arrays, settings: ActingSettings, dtype: type[np.floating] = np.float32
    ) -> None:
        self.networks = {
            network: [(weight.astype(dtype), bias.astype(dtype)) for weight, bias in layers]
            for network, layers in networks_of(arrays).items()
        }
        self.settings, self._arrays = settings, arrays

    def _mlp(self, network: str, x: np.ndarray) -> np.ndarray:
        (w1, b1), (w2, b2), (w3, b3) = self.networks[network]
        x = np.maximum(x @ w1.T + b1, 0)
        x = np.maximum(x @ w2.T + b2, 0)
        return x @ w3.T + b3

    def actor(self, inputs: np.ndarray) -> np.ndarray:
        """phi * max_action * tanh(network), [B, A]."""
        scale = self.settings.phi * self.settings.max_action
        return scale * np.tanh(self._mlp("actor", inputs))

    def candidates(
        self, observations: np.ndarray, latents: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """All n actions [B, n, A] that BCQ considers, and their values Q1 [B, n]."""
        batch, n, _ = latents.shape
        states = scale_observations(self._arrays, observations).repeat(n, axis=0)
        proposed = self._decode(states, latents.reshape(batch * n, -1))
        moved = proposed + self.actor(np.concatenate((states, proposed), axis=1))
        moved = moved.clip(-self.settings.max_action, self.settings.max_action)
        values = self._mlp("critic", np.concatenate((states, moved), axis=1))
        return moved.reshape(batch, n, -1), values.reshape(batch, n)

    def bcq(self, observations: np.ndarray, latents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The action of the highest Q1 among the candidates, [B, A], and its number [B]."""
        actions, values = self.candidates(observations, latents)
        chosen = values.argmax(axis=1)
        return actions[np.arange(len(chosen)), chosen], chosen

    def bc(self, observations: np.ndarray, latents: np.ndarray) -> np.ndarray:
        """max_action * tanh(decoder), [B, A]."""
        return self._decode(scale_observations(self._arrays, observations), latents)

    def _decode(self, states: np.ndarray, latents: np.ndarray) -> np.ndarray:
        inputs = np.concatenate((states, latents), axis=1)
        return self.settings.max_action * np.tanh(self._mlp("decoder", inputs))


class Torch:
    """Torch on the CPU, with dense weights or with weights in compressed sparse rows (CSR)."""

    def __init__(
        self, arrays: Arrays, settings: ActingSettings, layout: Literal["dense", "csr"]
    ) -> None:
        self.settings, self._arrays = settings, arrays
        self.csr = layout == "csr"
        self.networks = {
            network: [self._layer(weight, bias) for weight, bias in layers]
            for network, layers in networks_of(arrays).items()
        }

    def _layer(self, weight: np.ndarray, bias: np.ndarray) -> tuple[Tensor, Tensor]:
        dense, offset = torch.tensor(weight), torch.tensor(bias)
        if not self.csr:
            return dense, offset
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            return dense.to_sparse_csr(), offset[:, None]  # rows are columns of the product

    def _mlp(self, network: str, x: Tensor) -> Tensor:
        (w1, b1), (w2, b2), (w3, b3) = self.networks[network]
        if self.csr:
            x = (w1 @ x.T).add_(b1).relu_()
            x = (w2 @ x).add_(b2).relu_()
            return (w3 @ x).add_(b3).T
        x = functional.linear(x, w1, b1).relu_()
        x = functional.linear(x, w2, b2).relu_()
        return functional.linear(x, w3, b3)

    def _decode(self, states: Tensor, latents: Tensor) -> Tensor:
        x = torch.cat((states, latents), 1)
        return self._mlp("decoder", x).tanh().mul_(self.settings.max_action)

    def _perturbation(self, inputs: Tensor) -> Tensor:
        scale = self.settings.phi * self.settings.max_action
        return self._mlp("actor", inputs).tanh().mul_(scale)

    @torch.inference_mode()
    def actor(self, inputs: np.ndarray) -> np.ndarray:
        """phi * max_action * tanh(network), [B, A]."""
        return self._perturbation(torch.from_numpy(inputs)).numpy()

    @torch.inference_mode()
    def bcq(self, observations: np.ndarray, latents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equal to `NumpyDense.bcq`, with all candidates in memory at once."""
        batch, n, _ = latents.shape
        seen = torch.from_numpy(scale_observations(self._arrays, observations))
        states = seen.repeat_interleave(n, 0)
        proposed = self._decode(states, torch.from_numpy(latents).reshape(batch * n, -1))
        moved = proposed + self._perturbation(torch.cat((states, proposed), 1))
        moved = moved.clamp_(-self.settings.max_action, self.settings.max_action)
        values = self._mlp("critic", torch.cat((states, moved), 1))
        chosen = values.reshape(batch, n).argmax(1)
        return moved.reshape(batch, n, -1)[torch.arange(batch), chosen].numpy(), chosen.numpy()

    @torch.inference_mode()
    def bc(self, observations: np.ndarray, latents: np.ndarray) -> np.ndarray:
        """max_action * tanh(decoder), [B, A]."""
        seen = torch.from_numpy(scale_observations(self._arrays, observations))
        return self._decode(seen, torch.from_numpy(latents)).numpy()
