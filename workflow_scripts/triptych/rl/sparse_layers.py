"""Pruned layers made ready for the compiled loops of `kernels`, computing the same function.

Units that no longer reach the output are removed, and units that no input reaches are folded
into the next bias (`live_layers`). For strips, hidden units are then sorted by their number of
inputs, so that strips are either full or empty.
"""

from collections.abc import Sequence

import numpy as np

from triptych.rl.kernels import STRIP, UNROLLED, Compiled

Layers = Sequence[tuple[np.ndarray, np.ndarray]]
"""Weight [out, in] and bias [out] of each layer, in order; ReLU between layers."""

LARGEST_LAYER = 1 << 16  # columns are kept as uint16


def live_units(weights: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Which outputs of each layer [out] stay: those that inputs reach and that are read.

    All of the last layer's do. Repeated until nothing changes, as removing a unit may isolate
    others.
    """
    stays = [np.ones(len(weight), bool) for weight in weights]
    before = -1
    while before != (before := sum(int(each.sum()) for each in stays)):
        for i, weight in enumerate(weights[:-1]):
            inputs = stays[i - 1] if i else slice(None)
            reached = (weight[:, inputs] != 0).any(axis=1)
            read = (weights[i + 1][stays[i + 1]] != 0).any(axis=0)
            stays[i] &= reached & read
    return stays


def live_layers(layers: Layers) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same function with fewer hidden units: what those without inputs add is a constant."""
    result = []
    inputs = np.ones(layers[0][0].shape[1], bool)
    constants = np.zeros(0, layers[0][1].dtype)
    for (weight, bias), stays in zip(layers, live_units([w for w, _ in layers]), strict=True):
        bias = bias + weight[:, ~inputs] @ constants
        result.append((weight[stays][:, inputs], bias[stays]))
        constants, inputs = np.maximum(bias[~stays], 0), stays
    return result


def compile_strips(layers: Layers) -> Compiled:
    """Layers for one row at a time: for each strip of 16 outputs, its inputs in order."""
    return _compile(_sorted_by_inputs(live_layers(layers)), STRIP)


def compile_rows(layers: Layers) -> Compiled:
    """Layers for a block of rows: for each output unit, its inputs in order (CSR, padded)."""
    return _compile(live_layers(layers), 1)


def scratch(layers: Layers, rows: int) -> np.ndarray:
    """Room for the activations of one layer in `rows` rows: float32 [most units * rows]."""
    units = max(max(weight.shape) for weight, _ in layers)
    return np.zeros((units + STRIP) * rows, dtype=np.float32)


def _sorted_by_inputs(
    layers: list[tuple[np.ndarray, np.ndarray]],
) -> list[tuple[np.ndarray, np.ndarray]]:
    for i in range(len(layers) - 1):
        (weight, bias), (following, next_bias) = layers[i], layers[i + 1]
        order = np.argsort(-np.count_nonzero(weight, axis=1), kind="stable")
        layers[i], layers[i + 1] = (weight[order], bias[order]), (following[:, order], next_bias)
    return layers


def _compile(layers: Layers, height: int) -> Compiled:
    """Non-zero `height` x 1 pieces of each layer, output group by output group.

    Each group is filled up to a multiple of UNROLLED with zeros, so that the compiled loop
    needs no remainder.
    """
    values, columns, pointers, biases = [], [], [0], []
    for weight, bias in layers:
        if max(weight.shape) > LARGEST_LAYER:
            raise ValueError(f"a layer is {weight.shape}; at most {LARGEST_LAYER} units")
        padding = -len(weight) % height
        biases.append(np.pad(bias, (0, padding)))
        padded = np.pad(weight, ((0, padding), (0, 0)))
        # Not -1: a layer that pruning emptied has no units on one of its sides.
        for group in padded.reshape(len(padded) // height, height, weight.shape[1]):
            kept = np.flatnonzero((group != 0).any(axis=0))
            filling = -len(kept) % UNROLLED
            values.append(np.pad(group[:, kept].T, ((0, filling), (0, 0))).ravel())
            columns.append(np.pad(kept, (0, filling)))
            pointers.append(pointers[-1] + len(kept) + filling)
    sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
    return (
        np.concatenate(values).astype(np.float32),
        np.concatenate(columns).astype(np.uint16),
        np.array(pointers, dtype=np.uint64),
        np.concatenate(biases).astype(np.float32),
        np.array(sizes, dtype=np.uint64),
    )
