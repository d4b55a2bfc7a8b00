"""A writer of zip archives in parts, from the format's description (APPNOTE.TXT), for the tests.

It shares nothing with the reader: headers are put together byte by byte.
"""

import zlib
from pathlib import Path

FULL32 = b"\xff\xff\xff\xff"


def _number(value: int, width: int) -> bytes:
    return value.to_bytes(width, "little")


def write_split_zip(
    target: Path,
    members: dict[str, bytes],
    part_bytes: int | None,
    deflate: bool = False,
    wide: bool = False,
    comment: bytes = b"",
) -> list[Path]:
    """Write X.z01, X.z02, ... and X.zip (`target`), cut every `part_bytes`; their paths.

    `wide` puts sizes and offsets into the 64-bit fields, as for archives beyond 4 GB.
    """
    data = b"PK\x07\x08" if part_bytes else b""
    central = b""

    def place(offset: int) -> tuple[int, int]:
        return divmod(offset, part_bytes) if part_bytes else (0, offset)

    for name, content in members.items():
        part, offset = place(len(data))
        body = content
        if deflate:
            squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
            body = squeeze.compress(content) + squeeze.flush()
        about = (
            _number(45 if wide else 20, 2)
            + _number(1 << 11, 2)  # names in UTF-8
            + _number(8 if deflate else 0, 2)
            + bytes(4)  # time and date
            + _number(zlib.crc32(content), 4)
        )
        sizes = _number(len(body), 4) + _number(len(content), 4)
        encoded = name.encode()
        data += b"PK\x03\x04" + about + sizes
        data += _number(len(encoded), 2) + _number(9, 2) + encoded
        data += b"\x55\x54\x05\x00\x01\x00\x00\x00\x00" + body  # a field that the reader skips
        extra = b"\x55\x54\x05\x00\x01\x00\x00\x00\x00"
        if wide:
            field = _number(len(content), 8) + _number(len(body), 8)
            field += _number(offset, 8) + _number(part, 4)
            extra += _number(1, 2) + _number(len(field), 2) + field
        central += b"PK\x01\x02" + _number(20 + 256 * 3, 2) + about
        central += FULL32 + FULL32 if wide else sizes
        central += _number(len(encoded), 2) + _number(len(extra), 2) + bytes(2)
        central += b"\xff\xff" if wide else _number(part, 2)
        central += bytes(6) + (FULL32 if wide else _number(offset, 4)) + encoded + extra
    part, offset = place(len(data))
    data += central
    last = place(len(data))[0]
    count, tail = len(members), b""
    if wide:
        record_part, record_offset = place(len(data))
        tail += b"PK\x06\x06" + _number(44, 8) + _number(45, 2) * 2
        tail += _number(last, 4) + _number(part, 4) + _number(count, 8) * 2
        tail += _number(len(central), 8) + _number(offset, 8)
        tail += b"PK\x06\x07" + _number(record_part, 4) + _number(record_offset, 8)
        tail += _number(last + 1, 4)
    tail += b"PK\x05\x06"
    if wide:
        tail += b"\xff\xff" * 4 + FULL32 * 2
    else:
        tail += _number(last, 2) + _number(part, 2) + _number(count, 2) * 2
        tail += _number(len(central), 4) + _number(offset, 4)
    tail += _number(len(comment), 2) + comment
    pieces = [data[i * part_bytes : (i + 1) * part_bytes] for i in range(last)] if last else []
    pieces.append((data[last * part_bytes :] if part_bytes else data) + tail)
    paths = [target.with_suffix(f".z{number + 1:02d}") for number in range(last)] + [target]
    target.parent.mkdir(parents=True, exist_ok=True)
    for path, piece in zip(paths, pieces, strict=True):
        path.write_bytes(piece)
    return paths
