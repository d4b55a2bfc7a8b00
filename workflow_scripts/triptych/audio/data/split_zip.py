"""Zip archives in several parts (X.z01, X.z02, ..., X.zip), read without joining them.

WavCaps comes like this, 5 GB a part; joining FreeSound's would need another half terabyte. So
`zipfile` reads the parts as one file that ends as an archive of one part does (PKWARE's
APPNOTE.TXT, sections 4.3.14 to 4.3.16).
"""

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import cast

from triptych.core.errors import InputError

CHUNK_BYTES = 1 << 20
END = struct.Struct("<4s4H2LH")  # end of central directory
LOCATOR = struct.Struct("<4sLQL")  # where its 64-bit form lies
END64 = struct.Struct("<4sQ2H2L4Q")
FULL16 = 0xFFFF
ALIKE = 0.9  # of the largest part: headers are not split, so that parts differ by some bytes
MOST_PARTS = 10_000  # of any archive; a damaged number of parts may be in the billions


class DamagedMember(InputError):
    """One member's bytes are not what the archive says; others may be whole."""


class SplitZip:
    """The members of an archive by name, read from its parts as they are, by several threads."""

    def __init__(self, archive: str | os.PathLike[str]) -> None:
        """`archive` is the last part, X.zip. Raises InputError naming absent or short parts."""
        self._archive = Path(archive)
        last, locator = self._end()
        if not 0 <= last < MOST_PARTS:
            raise InputError(
                f"{self._archive} claims to have {last + 1} parts, expected 1 to {MOST_PARTS}: its "
                "end is damaged; fetch it again"
            )
        names = [self._archive.with_suffix(f".z{n:02d}") for n in range(1, last + 1)]
        parts = [*names, self._archive]
        if absent := [part.name for part in parts if not part.is_file()]:
            raise InputError(
                f"{self._archive} has {len(parts)} parts, of which {', '.join(absent[:9])} are not "
                "beside it; fetch what is missing"
            )
        sizes = {part.name: part.stat().st_size for part in names}
        if short := [name for name, size in sizes.items() if size < ALIKE * max(sizes.values())]:
            raise InputError(
                f"{self._archive}: bytes are missing in {', '.join(short)}: all parts but the last "
                "have about one size; delete and fetch again"
            )
        joined = _Joined(parts)
        try:
            joined.tail = self._tail(joined, locator)
            buffered = io.BufferedReader(cast(io.RawIOBase, joined))
            packed = zipfile.ZipFile(buffered, metadata_encoding="utf-8")
            self.members = {
                entry.filename: _placed(entry, joined.starts[entry.volume])
                for entry in packed.infolist()
                if not entry.is_dir()
            }
        except (zipfile.BadZipFile, struct.error, IndexError, ValueError) as error:
            raise InputError(
                f"{self._archive}: its list of members is damaged ({error}); a part is not of this "
                "archive, or was cut short: fetch it again"
            ) from None
        self._packed, self._parts = packed, parts

    def stream(self, name: str) -> Iterator[bytes]:
        """A member's bytes, chunk by chunk. Raises KeyError, and DamagedMember at the latest with
        the last chunk when they are not those that were put in.
        """
        member = self.members[name]
        try:
            with self._packed.open(member) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    yield chunk
        except NotImplementedError as error:
            raise DamagedMember(f"{self._archive}: {name} can't be unpacked: {error}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
            raise DamagedMember(
                f"{self._archive}: {name} is damaged ({error}: less or more than its "
                f"{member.file_size} bytes, or others); it begins in "
                f"{self._parts[member.volume].name}: delete that part to have it fetched again"
            ) from None

    def _end(self) -> tuple[int, tuple[int, ...] | None]:
        """The number of the last part, and part and place of the end's 64-bit form."""
        try:
            with self._archive.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(max(0, size - END.size - FULL16 - LOCATOR.size))
                tail = stream.read()
        except OSError as error:
            raise InputError(f"{self._archive} cannot be read: {error.strerror}") from None
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) < at + END.size:
            raise InputError(
                f"{self._archive}: not the last part of a zip archive, or cut short: it has no "
                "list of members at its end; fetch it again"
            )
        self._short_end = END.unpack_from(tail, at)
        before = tail[max(0, at - LOCATOR.size) : at]
        if not before.startswith(b"PK\x06\x07"):
            return self._short_end[1], None
        _, part, offset, parts = LOCATOR.unpack(before)
        return parts - 1, (part, offset)

    def _tail(self, joined: "_Joined", locator: tuple[int, ...] | None) -> tuple[int, bytes]:
        """Where the directory ends, and what follows it in an archive of one part."""
        _, _, part, _, count, size, offset, _ = self._short_end
        if locator is not None:
            joined.seek(joined.starts[locator[0]] + locator[1])
            *_, part, _, count, size, offset = END64.unpack(joined.read(END64.size))
        directory = joined.starts[part] + offset
        end = directory + size
        record = END64.pack(b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, directory)
        record += LOCATOR.pack(b"PK\x06\x07", 0, end, 1)
        return end, record + END.pack(b"PK\x05\x06", *(FULL16,) * 4, *(0xFFFFFFFF,) * 2, 0)


def _placed(member: zipfile.ZipInfo, start: int) -> zipfile.ZipInfo:
    """A member by its place in all parts together; start: of the part that it begins in."""
    placed = zipfile.ZipInfo(member.filename)
    for name in ("orig_filename", "compress_type", "flag_bits", "CRC", "volume"):
        setattr(placed, name, getattr(member, name))
    placed.compress_size, placed.file_size = member.compress_size, member.file_size
    placed.header_offset = start + member.header_offset
    return placed


class _Joined(io.RawIOBase):
    """Parts in their order as one file, whose last bytes may be others. One thread at a time."""

    def __init__(self, parts: list[Path]) -> None:
        self._parts, self._position = parts, 0
        self.starts = [0, *accumulate(part.stat().st_size for part in parts)]
        self.tail = self.starts[-1], b""

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        size = self.tail[0] + len(self.tail[1])
        self._position = max(0, offset + (0, self._position, size)[whence])
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        at, (end, tail) = self._position, self.tail
        if at >= end:
            data = tail[at - end : at - end + len(buffer)]
        else:
            part = max(n for n, start in enumerate(self.starts[:-1]) if start <= at)
            with self._parts[part].open("rb") as stream:
                stream.seek(at - self.starts[part])
                data = stream.read(min(len(buffer), end - at))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
