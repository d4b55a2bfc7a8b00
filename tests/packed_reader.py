"""A reader of whole packed files, written from docs/packed-format.md alone."""

import hashlib
import json
import math
import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Packed(NamedTuple):
    """What a file holds."""

    arrays: dict[str, np.ndarray]
    metadata: dict[str, Any]
    largest_rounding_error: float


def unpack(path: Path | str) -> Packed:
    """Read a file that is as the document says."""
    content = Path(path).read_bytes()
    magic, version, header_bytes, payload_bytes, digest = struct.unpack_from("<8sIIQ32s", content)
    assert magic == bytes.fromhex("89 54 50 4b 0d 0a 1a 0a") and version in (1, 2)
    assert len(content) == 56 + header_bytes + payload_bytes
    assert hashlib.sha256(content[56:]).digest() == digest
    header, position = json.loads(content[56 : 56 + header_bytes]), 56 + header_bytes
    kind = {"fp32": "<f4", "fp16": "<f2"}[header["values"]]
    arrays = {}
    for entry in header["arrays"]:
        kept = np.ones(math.prod(entry["shape"]), bool)
        if "mask" in entry:
            bits = content[position : position + entry["mask_bytes"]]
            position += -(-len(bits) // 8) * 8
            bits = zlib.decompress(bits) if entry["mask"] == "zlib" else bits
            kept = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little").astype(bool)
            assert not kept[math.prod(entry["shape"]) :].any()
            kept = kept[: math.prod(entry["shape"])]
        scaling = entry["name"] in ("observations.shift", "observations.scale")
        assert version == 2 or not scaling
        values = np.frombuffer(content, "<f4" if scaling else kind, entry["values"], position)
        position += -(-values.nbytes // 8) * 8
        array = np.zeros(len(kept), np.float32)
        array[kept] = values
        arrays[entry["name"]] = array.reshape(entry["shape"])
    assert position == len(content)
    return Packed(arrays, header["metadata"], header["largest_rounding_error"])
