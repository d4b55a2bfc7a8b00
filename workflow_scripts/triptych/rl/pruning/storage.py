"""How many bytes a pruned network takes: as the paper stored it, and packed.

The paper's Table 1 and Figure 4 give the size of the file that `torch.save` writes, once for
the dense arrays and once for the same arrays as COO tensors (`dense_bytes`, `coo_bytes`). The
packed format stores one bit a position and the values that are left; docs/packed-format.md
specifies it byte by byte.

A network is a dict of arrays in torch's layout: "l1.weight" [out, in], "l1.bias" [out].
"""

import hashlib
import io
import json
import math
import os
import struct
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from triptych.core.files import atomic_path

Values = Literal["fp32", "fp16"]

MAGIC = b"\x89TPK\r\n\x1a\n"  # not text, and broken by any end-of-line conversion
VERSION = 1
PREAMBLE = struct.Struct("<8sIIQ32s")  # magic, version, header bytes, payload bytes, SHA-256
ALIGNMENT = 8
LARGEST_ARRAY = 1 << 28  # elements; 1 GiB of float32
TYPES: dict[str, np.dtype[Any]] = {"fp32": np.dtype("<f4"), "fp16": np.dtype("<f2")}


class PackedFileError(ValueError):
    """A file that is not a whole packed file of a known version."""


@dataclass(frozen=True)
class Packed:
    """What a packed file holds.

    arrays: float32 arrays by name, in the order of the file. metadata: what `pack` was given.
    largest_rounding_error: the largest |stored - original| over all elements (0.0 for fp32).
    """

    arrays: dict[str, np.ndarray]
    metadata: dict[str, Any]
    largest_rounding_error: float


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


def as_read(arrays: Mapping[str, np.ndarray], values: Values) -> dict[str, np.ndarray]:
    """The float32 arrays that a reader of their packed file has."""
    return _decode(_encode(arrays, {}, values)[0]).arrays


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


def unpack(path: str | os.PathLike[str]) -> Packed:
    """Read a packed file; raise PackedFileError if anything about it is not as specified."""
    content = Path(path).read_bytes()
    try:
        return _decode(content)
    except PackedFileError as problem:
        raise PackedFileError(f"{path}: {problem}") from None


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
        stored, error = _rounded(name, np.asarray(array), values)
        largest_error = max(largest_error, error)
        entry: dict[str, Any] = {"name": name, "shape": list(stored.shape)}
        if stored.ndim >= 2:
            # Row-major, least significant bit first; != also drops -0.0.
            kept = stored.ravel() != 0
            bits = np.packbits(kept, bitorder="little").tobytes()
            deflated = _deflated(bits)
            smaller = len(deflated) < len(bits)
            mask = deflated if smaller else bits
            entry |= {"mask": "zlib" if smaller else "raw", "mask_bytes": len(mask)}
            _append(payload, mask)
            stored = stored.ravel()[kept]
        entry["values"] = stored.size
        _append(payload, stored.tobytes())
        entries.append(entry)
    about = {"arrays": entries, "values": values, "largest_rounding_error": largest_error}
    text = json.dumps({**about, "metadata": dict(metadata)}, separators=(",", ":"), allow_nan=False)
    header = text.encode("ascii") + b" " * (-len(text) % ALIGNMENT)
    digest = hashlib.sha256(header + payload).digest()
    preamble = PREAMBLE.pack(MAGIC, VERSION, len(header), len(payload), digest)
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


def _decode(content: bytes) -> Packed:
    if len(content) < PREAMBLE.size or content[: len(MAGIC)] != MAGIC:
        raise PackedFileError("not a packed network (it does not begin as one)")
    _, version, header_bytes, payload_bytes, digest = PREAMBLE.unpack_from(content)
    if version != VERSION:
        raise PackedFileError(f"version {version} of the format; this program reads {VERSION}")
    expected = PREAMBLE.size + header_bytes + payload_bytes
    if len(content) != expected:
        raise PackedFileError(f"it has {len(content)} bytes and should have {expected}")
    if hashlib.sha256(content[PREAMBLE.size :]).digest() != digest:
        raise PackedFileError("its bytes are not those that were written (SHA-256 differs)")
    # The digest proves that a file is whole, not that its writer was right: check the rest too.
    try:
        header = json.loads(content[PREAMBLE.size : PREAMBLE.size + header_bytes])
        return _checked(header, content[PREAMBLE.size + header_bytes :])
    except PackedFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as problem:
        raise PackedFileError(f"its header is not as specified: {problem!r}") from problem


def _checked(header: dict[str, Any], payload: bytes) -> Packed:
    """What a header and a payload say, if they fit together."""
    blocks, arrays = _Blocks(payload), dict[str, np.ndarray]()
    for entry in header["arrays"]:
        name = entry["name"]
        if not isinstance(name, str) or name in arrays:
            raise PackedFileError(f"its header names an array {name!r} twice or not by text")
        arrays[name] = _read_array(entry, TYPES[header["values"]], blocks)
    if blocks.position != len(payload):
        raise PackedFileError("its payload is longer than its arrays")
    if not isinstance(header["metadata"], dict):
        raise PackedFileError("its metadata is not a JSON object")
    return Packed(arrays, header["metadata"], float(header["largest_rounding_error"]))


class _Blocks:
    """The blocks of a payload, one after another, each begun at a multiple of ALIGNMENT."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.position = 0

    def take(self, length: int) -> bytes:
        end = self.position + length
        if length < 0 or end > len(self.payload):
            raise PackedFileError("its payload is shorter than its arrays")
        block = self.payload[self.position : end]
        self.position = min(end + -end % ALIGNMENT, len(self.payload))
        return block


def _read_array(entry: dict[str, Any], numbers: np.dtype[Any], blocks: _Blocks) -> np.ndarray:
    name, shape, count = entry["name"], entry["shape"], entry["values"]
    if not all(type(size) is int and size >= 0 for size in [*shape, count]):
        raise PackedFileError(f"array {name!r} has a size that is not a whole number")
    elements = math.prod(shape)
    if elements > LARGEST_ARRAY:
        raise PackedFileError(f"array {name!r} claims {elements} elements; at most {LARGEST_ARRAY}")
    positions: np.ndarray | slice = slice(None)
    if len(shape) >= 2:
        positions = _read_mask(entry, elements, blocks)
    expected = elements if isinstance(positions, slice) else int(positions.sum())
    if count != expected:
        raise PackedFileError(f"array {name!r} announces {count} values and has {expected} places")
    array = np.zeros(elements, dtype=np.float32)
    array[positions] = np.frombuffer(blocks.take(count * numbers.itemsize), dtype=numbers)
    array = array.reshape(shape)
    if not np.isfinite(array).all():
        raise PackedFileError(f"array {name!r} holds NaN or infinity")
    return array


def _read_mask(entry: dict[str, Any], elements: int, blocks: _Blocks) -> np.ndarray:
    name, size = entry["name"], -(-elements // 8)
    block = blocks.take(entry["mask_bytes"])
    if entry["mask"] == "zlib":
        inflater = zlib.decompressobj()
        try:
            # One byte more than expected: enough to see a mask that is too long, no bomb.
            bits = inflater.decompress(block, size + 1)
        except zlib.error as problem:
            raise PackedFileError(f"the mask of {name!r} does not inflate: {problem}") from None
        if not inflater.eof or inflater.unused_data:
            raise PackedFileError(f"the mask of {name!r} is not one whole zlib stream")
    elif entry["mask"] == "raw":
        bits = block
    else:
        raise PackedFileError(f"the mask of {name!r} is {entry['mask']!r}, not 'raw' or 'zlib'")
    if len(bits) != size:
        raise PackedFileError(f"the mask of {name!r} has {len(bits)} bytes; {size} are needed")
    flags = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
    if flags[elements:].any():
        raise PackedFileError(f"the mask of {name!r} marks places beyond its end")
    return flags[:elements].astype(bool)
