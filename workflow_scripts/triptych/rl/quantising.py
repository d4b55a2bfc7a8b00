"""Weights as int8 with a float32 scale for each output; 0 stays 0, so what was pruned stays so."""

import math

import numpy as np

LARGEST = 127  # not -128, so that the codes of w and -w are each other's negatives


def quantised(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes, int8 of the weight's shape [out, ...], and scales, float32 [out].

    An output's scale is its largest |w| over 127; a code is w over the scale, rounded to the
    nearest, ties to even. Outputs without weights have the scale 0.
    """
    rows = weight.astype(np.float32).reshape(len(weight), math.prod(weight.shape[1:]))
    scales = np.abs(rows).max(axis=1, initial=0) / np.float32(LARGEST)
    codes = np.zeros_like(rows)
    np.divide(rows, scales[:, None], out=codes, where=scales[:, None] > 0)
    codes = np.rint(codes).clip(-LARGEST, LARGEST)
    return codes.astype(np.int8).reshape(weight.shape), scales


def restored(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Codes times their output's scale, float32 of the codes' shape."""
    return codes.astype(np.float32) * scales.reshape(-1, *(1,) * (codes.ndim - 1))
