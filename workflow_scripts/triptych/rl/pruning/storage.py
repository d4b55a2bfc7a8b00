"""Bytes of a pruned network: as the paper stored it, and packed.

The paper's Table 1 and Figure 4 give the size of the file that `torch.save` writes, once for
the dense arrays and once for the same arrays as COO tensors (`dense_bytes`, `coo_bytes`). The
packed format stores one bit a position and the values that are left; docs/packed-format.md
specifies it byte by byte.

A network is a dict of arrays in torch's layout: "l1.weight" [out, in], "l1.bias" [out].
"""

import hashlib
import io
import json
import os
import struct
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from triptych.core.files import atomic_path

Values = Literal["fp32", "fp16"]

MAGIC = b"\x89TPK\r\n\x1a\n"  # not text, and broken by any end-of-line conversion
VERSION, SCALED_VERSION = 1, 2  # the second: networks see (observations - shift) * scale
SHIFT, SCALE = "observations.shift", "observations.scale"
"""Arrays [S] of the observations' scaling among a policy's; always stored as fp32."""
PREAMBLE = struct.Struct("<8sIIQ32s")  # magic, version, header bytes, payload bytes, SHA-256
ALIGNMENT = 8
TYPES: dict[str, np.dtype[Any]] = {"fp32": np.dtype("<f4"), "fp16": np.dtype("<f2")}


def dense_bytes(parameters: Mapping[str, np.ndarray]) -> int:
    """Bytes that `torch.save` writes for the arrays as a dense state dict (Table 1, row 1)."""
    return _saved_bytes(parameters, sparse=False)


def coo_bytes(parameters: Mapping[str, np.ndarray]) -> int:
    """Bytes that `torch.save` writes for the arrays as COO tensors, biases too (Table 1, rows 2-4).

    Zeros are dropped, whichever their sign; indices are torch's int64.
    """
    return _saved_bytes(parameters, sparse=True)


def packed_bytes(arrays: Mapping[str, np.ndarray], values: Values) -> int:
    """Bytes of the packed file of `arrays` with empty metadata."""
    return len(_encode(arrays, {}, values)[0])


def pack(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    metadata: Mapping[str, Any],
    values: Values,
) -> float:
    """Write `arrays` and `metadata` to a packed file; return the largest rounding error.

    arrays: float32 or float16, any shape, finite. metadata: what JSON can hold. With "fp32"
    every value comes back bit for bit, except that -0.0 in an array of two or more dimensions
    comes back as +0.0. With "fp16" each value is rounded once, to the nearest. Raises ValueError
    for what cannot be stored, naming the array.
    """
    content, error = _encode(arrays, metadata, values)
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)
    return error


def _saved_bytes(parameters: Mapping[str, np.ndarray], sparse: bool) -> int:
    import torch  # seconds to import, and the packed format does without it

    tensors = OrderedDict((name, torch.tensor(array)) for name, array in parameters.items())
    if sparse:
        tensors = OrderedDict((name, tensor.to_sparse()) for name, tensor in tensors.items())
    buffer = io.BytesIO()  # torch.save writes a file's own name into each of its records
    torch.save(tensors, buffer)
    return buffer.getbuffer().nbytes


def _encode(
    arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any], values: Values
) -> tuple[bytes, float]:
    entries: list[dict[str, Any]] = []
    payload = bytearray()
    largest_error = 0.0
    for name, array in arrays.items():
        own: Values = "fp32" if name in (SHIFT, SCALE) else values
        stored, error = _rounded(name, np.asarray(array), own)
        largest_error = max(largest_error, error)
        entry: dict[str, Any] = {"name": name, "shape": list(stored.shape)}
        if stored.ndim >= 2:
            # Row-major, least significant bit first; != also drops -0.0.
            nonzero = stored.ravel() != 0
            bits = np.packbits(nonzero, bitorder="little").tobytes()
            deflated = _deflated(bits)
            smaller = len(deflated) < len(bits)
            mask = deflated if smaller else bits
            entry |= {"mask": "zlib" if smaller else "raw", "mask_bytes": len(mask)}
            _append(payload, mask)
            stored = stored.ravel()[nonzero]
        entry["values"] = stored.size
        _append(payload, stored.tobytes())
        entries.append(entry)
    about = {"arrays": entries, "values": values, "largest_rounding_error": largest_error}
    text = json.dumps({**about, "metadata": dict(metadata)}, separators=(",", ":"), allow_nan=False)
    header = text.encode("ascii") + b" " * (-len(text) % ALIGNMENT)
    digest = hashlib.sha256(header + payload).digest()
    version = SCALED_VERSION if SHIFT in arrays else VERSION
    preamble = PREAMBLE.pack(MAGIC, version, len(header), len(payload), digest)
    return preamble + header + bytes(payload), largest_error


@lru_cache(maxsize=32)  # one policy's masks, which are the same in fp32 and fp16
def _deflated(bits: bytes) -> bytes:
    return zlib.compress(bits, level=9)


def _rounded(name: str, array: np.ndarray, values: Values) -> tuple[np.ndarray, float]:
    """The array as the file keeps it, and the largest rounding error."""
    if array.dtype not in (np.dtype(np.float32), np.dtype(np.float16)):
        raise ValueError(
            f"array {name!r} is {array.dtype}; the packed format holds float32 or float16: "
            "convert it first"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"array {name!r} holds NaN or infinity; a network must be finite")
    with np.errstate(over="ignore"):
        stored = array.astype(TYPES[values])
    if not np.isfinite(stored).all():
        raise ValueError(
            f"array {name!r} reaches {np.abs(array).max():g}, beyond {values}'s "
            f"{np.finfo(TYPES[values]).max:g}: store it with values fp32"
        )
    difference = np.abs(array.astype(np.float64) - stored.astype(np.float64))
    return stored, float(difference.max(initial=0.0))


def _append(payload: bytearray, block: bytes) -> None:
    payload += block
    payload += b"\0" * (-len(payload) % ALIGNMENT)
