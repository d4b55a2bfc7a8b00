"""Acting with one trained policy outside a stack, with dense or sparse weights.

Arrays are a dict in torch's layout ("actor.l1.weight" [out, in], "actor.l1.bias" [out]), with
the layer names of the reference implementation (sfujim/BCQ, continuous_BCQ/BCQ.py); where networks
see scaled observations, with "observations.shift" and "observations.scale" [S].
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from triptych.rl.algorithms.bcq import BC_LATENT_CLIP, BCQ_LATENT_CLIP
from triptych.rl.networks.stacked import MAX_ACTION
from triptych.rl.pruning.storage import SCALE, SHIFT

Arrays = Mapping[str, np.ndarray]
Layers = Sequence[tuple[np.ndarray, np.ndarray]]
"""Weight [out, in] and bias [out] of each layer, in order; ReLU between layers."""
Network = Callable[[np.ndarray], np.ndarray]
"""The outputs [B, out] of inputs [B, in]."""

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
"""The networks behind each part of a policy."""


@dataclass(frozen=True)
class ActingSettings:
    """Settings of acting: range of actions, BCQ's perturbation, clip of the latent, candidates.

    The values are sfujim/BCQ's (latent_clip_bc: BEAR's).
    """

    candidates: int = 100
    phi: float = 0.05
    max_action: float = MAX_ACTION
    latent_clip_bcq: float = BCQ_LATENT_CLIP
    latent_clip_bc: float = BC_LATENT_CLIP


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


def numpy_dense(layers: Layers, dtype: type[np.floating] = np.float32) -> Network:
    """A network by numpy's products, zeros and all; in float64 the reference of the others."""
    (w1, b1), (w2, b2), (w3, b3) = ((w.astype(dtype), b.astype(dtype)) for w, b in layers)

    def network(x: np.ndarray) -> np.ndarray:
        x = np.maximum(x @ w1.T + b1, 0)
        x = np.maximum(x @ w2.T + b2, 0)
        return x @ w3.T + b3

    return network


def torch_dense(layers: Layers) -> Network:
    """A network by torch's linear layers, zeros and all."""
    (w1, b1), (w2, b2), (w3, b3) = ((torch.tensor(w), torch.tensor(b)) for w, b in layers)
    linear = torch.nn.functional.linear

    @torch.inference_mode()
    def network(inputs: np.ndarray) -> np.ndarray:
        x = linear(torch.from_numpy(inputs), w1, b1).relu_()
        return linear(linear(x, w2, b2).relu_(), w3, b3).numpy()

    return network


def torch_csr(layers: Layers) -> Network:
    """A network by torch's products with weights in compressed sparse rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        # Rows are columns of the product.
        csr = [(torch.tensor(w).to_sparse_csr(), torch.tensor(b)[:, None]) for w, b in layers]
    (w1, b1), (w2, b2), (w3, b3) = csr

    @torch.inference_mode()
    def network(inputs: np.ndarray) -> np.ndarray:
        x = (w1 @ torch.from_numpy(inputs).T).add_(b1).relu_()
        return (w3 @ (w2 @ x).add_(b2).relu_()).add_(b3).T.numpy()

    return network


class Policy:
    """A policy whose networks are computed by `kernel`.

    Observations are [B, S], latents [B, L] of BC and [B, n, L] of BCQ, actions [B, A], as float32
    numpy arrays. It has the parts (NEEDED) that the arrays allow.
    """

    def __init__(
        self, arrays: Arrays, settings: ActingSettings, kernel: Callable[[Layers], Network]
    ) -> None:
        self._networks = {name: kernel(layers) for name, layers in networks_of(arrays).items()}
        self._settings, self._arrays = settings, arrays

    def prepared(self, part: str, *inputs: np.ndarray) -> Callable[[], tuple[np.ndarray, ...]]:
        """A call that acts: actions [B, A], and of BCQ the numbers of the candidates chosen [B]."""
        parts: dict[str, Callable[..., tuple[np.ndarray, ...]]] = {
            "actor": self.perturbation,
            "BC policy": self.bc,
            "BCQ policy": self.bcq,
        }
        return partial(parts[part], *inputs)

    def perturbation(self, inputs: np.ndarray) -> tuple[np.ndarray]:
        """The actor's shift of actions, for states beside actions [B, S + A]."""
        scale = self._settings.phi * self._settings.max_action
        return (scale * np.tanh(self._networks["actor"](inputs)),)

    def bc(self, observations: np.ndarray, latents: np.ndarray) -> tuple[np.ndarray]:
        return (self._decode(self._scaled(observations), latents),)

    def bcq(self, observations: np.ndarray, latents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The action of the highest Q1 among the candidates, and its number."""
        actions, values = self.candidates(observations, latents)
        chosen = values.argmax(axis=1)
        return actions[np.arange(len(chosen)), chosen], chosen

    def candidates(
        self, observations: np.ndarray, latents: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """All n actions [B, n, A] that BCQ considers, and their values Q1 [B, n]."""
        batch, n, _ = latents.shape
        states = self._scaled(observations).repeat(n, axis=0)
        proposed = self._decode(states, latents.reshape(batch * n, -1))
        (shift,) = self.perturbation(np.concatenate((states, proposed), axis=1))
        moved = (proposed + shift).clip(-self._settings.max_action, self._settings.max_action)
        values = self._networks["critic"](np.concatenate((states, moved), axis=1))
        return moved.reshape(batch, n, -1), values.reshape(batch, n)

    def _decode(self, states: np.ndarray, latents: np.ndarray) -> np.ndarray:
        decoded = self._networks["decoder"](np.concatenate((states, latents), axis=1))
        return self._settings.max_action * np.tanh(decoded)

    def _scaled(self, observations: np.ndarray) -> np.ndarray:
        """Scale observations as the networks see them, (s - shift) * scale, in their own type."""
        if SHIFT not in self._arrays:
            return observations
        scaled: np.ndarray = (observations - self._arrays[SHIFT]) * self._arrays[SCALE]
        return scaled
