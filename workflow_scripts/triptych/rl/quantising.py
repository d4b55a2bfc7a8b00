"""Weights as int8 with float32 scales of outputs and inputs; 0 stays 0, as does what was pruned.

Inputs have scales as well since a policy for raw observations has the normalisation of each input
in its first weights: they differ a hundredfold by input, and with a scale for each output alone
Hopper's policies lose half their score (docs/performance.md, "Deployed").
"""

import math

import numpy as np

LARGEST = 127  # not -128, so that the codes of w and -w are each other's negatives


def quantised(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, int8 of the weight's shape [out, ...]; scales of outputs [out] and inputs [...].

    An input's scale is its largest |w|. An output's is the largest of its |w / the input's scale|,
    over 127; a code is w over both, rounded to the nearest, ties to even. All in float32. What has
    no weights has the scale 0.
    """
    rows = weight.astype(np.float32).reshape(len(weight), math.prod(weight.shape[1:]))
    inputs = np.abs(rows).max(axis=0, initial=0)
    codes = np.divide(rows, inputs, out=np.zeros_like(rows), where=inputs > 0)
    outputs = np.abs(codes).max(axis=1, initial=0) / np.float32(LARGEST)
    np.divide(codes, outputs[:, None], out=codes, where=outputs[:, None] > 0)
    codes = np.rint(codes).clip(-LARGEST, LARGEST)
    return codes.astype(np.int8).reshape(weight.shape), outputs, inputs


def restored(codes: np.ndarray, outputs: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Codes times their output's scale, times their input's; float32 of the codes' shape."""
    return codes * outputs.reshape(-1, *(1,) * (codes.ndim - 1)) * inputs.reshape(codes.shape[1:])
