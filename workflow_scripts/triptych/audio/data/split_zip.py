"""Zip archives in several parts (X.z01, X.z02, ..., X.zip), read without joining them.

WavCaps comes like this, 5 GB a part; joining FreeSound's would need another half terabyte. So
`zipfile` reads the parts as one file (PKWARE's APPNOTE.TXT, sections 4.3.14 to 4.3.16).
"""

import io
import os
import struct
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import cast

from triptych.core.errors import InputError

CHUNK_BYTES = 1 << 20
END = struct.Struct("<4s4H2LH")  # end of central directory
LOCATOR = struct.Struct("<4sLQL")  # where its 64-bit form lies
LONGEST_COMMENT = 0xFFFF


class DamagedMember(InputError):
    """One member's bytes are not what the archive says; others may be whole."""


class SplitZip:
    """The members of an archive by name, read from its parts as they are, by several threads."""

    def __init__(self, archive: str | os.PathLike[str]) -> None:
        """`archive` is the last part, X.zip. Raises InputError naming absent parts."""
        self._archive = Path(archive)
        end, locator = self._end()
        count = 1 + (END.unpack_from(end)[1] if locator is None else locator[3] - 1)
        names = [self._archive.with_suffix(f".z{number:02d}") for number in range(1, count)]
        if absent := [part.name for part in names if not part.is_file()]:
            raise InputError(
                f"{self._archive} has {count} parts, of which {', '.join(absent[:9])} are not "
                "beside it; fetch what is missing"
            )
        self._parts = [*names, self._archive]
        joined = _Joined(self._parts)
        if locator is not None:
            # zipfile refuses archives of several parts: this one says that it has one.
            mark, part, place, _ = locator
            joined.tail = LOCATOR.pack(mark, 0, joined.starts[part] + place, 1) + end
        try:
            self._packed = zipfile.ZipFile(
                io.BufferedReader(cast(io.RawIOBase, joined)), metadata_encoding="utf-8"
            )
            # zipfile counts a member's place from the start of the part with the list of members,
            # the archive from the start of the part in which the member begins.
            counted_from = joined.starts[bisect_right(joined.starts, self._packed.start_dir) - 1]
            self.members = {
                entry.filename: _moved(entry, joined.starts[entry.volume] - counted_from)
                for entry in self._packed.infolist()
                if not entry.is_dir()
            }
        except (zipfile.BadZipFile, struct.error, IndexError, ValueError) as error:
            raise InputError(
                f"{self._archive}: its list of members is damaged ({error}); a part is not of this "
                "archive, or was cut short: fetch it again"
            ) from None

    def stream(self, name: str) -> Iterator[bytes]:
        """A member's bytes, chunk by chunk. Raises KeyError, and DamagedMember at the latest with
        the last chunk when they are not those that were put in.
        """
        member = self.members[name]
        try:
            with self._packed.open(member) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
            raise DamagedMember(
                f"{self._archive}: {name} is damaged ({error}: less or more than its "
                f"{member.file_size} bytes, or others); it begins in "
                f"{self._parts[member.volume].name}: delete that part to have it fetched again"
            ) from None

    def _end(self) -> tuple[bytes, tuple[bytes, int, int, int] | None]:
        """The end of the central directory with the comment behind it, and the locator of its
        64-bit form where there is one.
        """
        try:
            with self._archive.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(max(0, size - END.size - LONGEST_COMMENT - LOCATOR.size))
                tail = stream.read()
        except OSError as error:
            raise InputError(f"{self._archive} cannot be read: {error.strerror}") from None
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) < at + END.size:
            raise InputError(
                f"{self._archive}: not the last part of a zip archive, or cut short: it has no "
                "list of members at its end; fetch it again"
            )
        before = tail[max(0, at - LOCATOR.size) : at]
        wide = before.startswith(b"PK\x06\x07")
        return tail[at:], LOCATOR.unpack(before) if wide else None


def _moved(member: zipfile.ZipInfo, by: int) -> zipfile.ZipInfo:
    """A member that begins so many bytes later."""
    moved = zipfile.ZipInfo(member.filename)
    for name in ("orig_filename", "compress_type", "compress_size", "file_size", "flag_bits"):
        setattr(moved, name, getattr(member, name))
    moved.CRC, moved.volume = member.CRC, member.volume
    moved.header_offset = member.header_offset + by
    return moved


class _Joined(io.RawIOBase):
    """Parts in their order as one file, whose last bytes read as `tail`. One thread at a time."""

    def __init__(self, parts: list[Path]) -> None:
        self._parts, self._position, self.tail = parts, 0, b""
        *self.starts, self._size = accumulate((p.stat().st_size for p in parts), initial=0)

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = max(0, offset + (0, self._position, self._size)[whence])
        return self._position

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        at, end = self._position, self._size - len(self.tail)
        if at >= end:
            data = self.tail[at - end : at - end + len(buffer)]
        else:
            part = bisect_right(self.starts, at) - 1
            with self._parts[part].open("rb") as stream:
                stream.seek(at - self.starts[part])
                data = stream.read(min(len(buffer), end - at))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
