"""A writer of zip archives in parts, from Python's own of one part, for the tests."""

import io
import struct
import zipfile
from pathlib import Path


def write_split_zip(
    target: Path,
    members: dict[str, bytes],
    part_bytes: int | None,
    deflate: bool = False,
    wide: bool = False,
) -> list[Path]:
    """Write X.z01, X.z02, ... and X.zip (`target`), cut every `part_bytes`; their paths.

    wide: with the end's 64-bit form, as for archives beyond 4 GB.
    """
    stream, size = io.BytesIO(), part_bytes or 1 << 40
    stream.write(b"PK\x07\x08" if part_bytes else b"")
    with zipfile.ZipFile(stream, "w", 8 * deflate) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    data, end = bytearray(stream.getvalue()[:-22]), stream.getvalue()[-22:]
    *_, count, length, directory, _ = struct.unpack("<4s4H2LH", end)
    at = directory
    for _ in members:  # where each begins: the part, and the place in it
        part, place = divmod(struct.unpack_from("<L", data, at + 42)[0], size)
        struct.pack_into("<H", data, at + 34, part)
        struct.pack_into("<L", data, at + 42, place)
        at += 46 + sum(struct.unpack_from("<3H", data, at + 28))
    last, (part, place) = at // size, divmod(directory, size)
    if wide:
        where = 44, 45, 45, last, part, count, count, length, place
        tail = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", *where)
        tail += struct.pack("<4sLQL", b"PK\x06\x07", *divmod(at, size), last + 1)
        tail += b"PK\x05\x06" + b"\xff" * 16 + bytes(2)
    else:
        tail = struct.pack("<4s4H2LH", end[:4], last, part, count, count, length, place, 0)
    paths = [target.with_suffix(f".z{n:02d}") for n in range(1, last + 1)] + [target]
    target.parent.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(paths):
        path.write_bytes(data[number * size : (number + 1) * size])
    with target.open("ab") as file:
        file.write(tail)
    return paths
