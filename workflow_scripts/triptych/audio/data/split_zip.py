"""Zip archives in several parts (X.z01, X.z02, ..., X.zip), read without joining them.

WavCaps comes like this, 5 GB a part; joining FreeSound's would need another half terabyte. The
format is PKWARE's APPNOTE.TXT (sections 4.3 and 4.5): the central directory stands at the end of
the last part and tells for each member the part and the offset in it where the member begins; what
follows runs on from part to part as if they were one file. Stored and deflated members are read.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from triptych.core.errors import InputError

CHUNK_BYTES = 1 << 20
STORED, DEFLATED = 0, 8
ENCRYPTED, UTF8 = 1 << 0, 1 << 11  # flags of a member

END = struct.Struct("<4s4H2LH")  # end of central directory
END_SIGNATURE = b"PK\x05\x06"
LOCATOR = struct.Struct("<4sLQL")  # where its 64-bit form lies
LOCATOR_SIGNATURE = b"PK\x06\x07"
END64 = struct.Struct("<4sQ2H2L4Q")
END64_SIGNATURE = b"PK\x06\x06"
CENTRAL = struct.Struct("<4s6H3L5H2L")  # a member in the central directory
CENTRAL_SIGNATURE = b"PK\x01\x02"
LOCAL = struct.Struct("<4s5H3L2H")  # a member where it lies
LOCAL_SIGNATURE = b"PK\x03\x04"
ZIP64_FIELD = 1
UNIX = 3  # the system that an archive says it was made on
FULL16, FULL32 = 0xFFFF, 0xFFFFFFFF  # such a value stands in the 64-bit field instead
MOST_PARTS = 10_000  # of any archive; a damaged number of parts may be in the billions


class DamagedMember(InputError):
    """One member's bytes are not what the archive says; others may be whole."""


@dataclass(frozen=True, slots=True)
class Member:
    """`part`: where it begins, from 0; `position`: its local header's, counted through all parts;
    sizes in bytes.
    """

    part: int
    position: int
    method: int
    flags: int
    compressed: int
    size: int
    crc: int


class SplitZip:
    """The members of an archive by name (folders left out), read from its parts as they are.

    Holds no open file: may be shared by threads.
    """

    def __init__(self, archive: str | os.PathLike[str]) -> None:
        """`archive` is the last part, X.zip. Raises InputError naming absent or short parts."""
        self._archive = Path(archive)
        end, locator = self._read_end()
        last = end.last if locator is None else locator[2] - 1
        if not 0 <= last < MOST_PARTS:
            raise InputError(
                f"{self._archive} claims to have {last + 1} parts, expected 1 to {MOST_PARTS}: its "
                "end is damaged; fetch it again"
            )
        self._parts = [self._part(number, last) for number in range(last + 1)]
        absent = [part.name for part in self._parts if not part.is_file()]
        if absent:
            raise InputError(
                f"{self._archive} has {len(self._parts)} parts, of which "
                f"{', '.join(absent[:9])}{', ...' if len(absent) > 9 else ''} "
                f"{'is' if len(absent) == 1 else 'are'} not beside it; fetch what is missing"
            )
        sizes = [part.stat().st_size for part in self._parts]
        self._starts = [0, *accumulate(sizes)]
        if locator is not None:
            end = self._read_end64(locator[0], locator[1])
        if end.directory_part > last:
            raise self._wrong_directory(0, end)
        directory = self._starts[end.directory_part] + end.directory_offset
        self.members = self._read_directory(directory, end)
        self._check_sizes(end, directory)

    def stream(self, name: str) -> Iterator[bytes]:
        """A member's bytes, chunk by chunk. Raises KeyError, and DamagedMember at the latest with
        the last chunk when they are not those that were put in.
        """
        member = self.members[name]
        if member.flags & ENCRYPTED or member.method not in (STORED, DEFLATED):
            what = "encrypted" if member.flags & ENCRYPTED else f"by method {member.method}"
            raise DamagedMember(
                f"{self._archive}: {name} is compressed {what}; expected stored or deflated"
            )
        crc = size = 0
        try:
            for chunk in self._chunks(name, member):
                crc, size = zlib.crc32(chunk, crc), size + len(chunk)
                if size > member.size:
                    raise self._damaged(name, member, f"more than its {member.size} bytes")
                yield chunk
        except zlib.error as error:
            raise self._damaged(name, member, str(error)) from None
        if (crc, size) != (member.crc, member.size):
            raise self._damaged(name, member, f"{size} bytes of {member.size}, or others")

    def _chunks(self, name: str, member: Member) -> Iterator[bytes]:
        header = self._read(member.position, LOCAL.size)
        if len(header) < LOCAL.size or header[:4] != LOCAL_SIGNATURE:
            raise self._damaged(name, member, "no member begins there")
        *_, name_bytes, extra_bytes = LOCAL.unpack(header)
        position = member.position + LOCAL.size + name_bytes + extra_bytes
        end = position + member.compressed
        inflate = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == DEFLATED else None
        while position < end:
            data = self._read(position, min(CHUNK_BYTES, end - position))
            if not data:
                return
            position += len(data)
            if inflate is None:
                yield data
                continue
            while data:  # a little of it may stand for a lot
                yield inflate.decompress(data, CHUNK_BYTES)
                data = inflate.unconsumed_tail
        if inflate:
            yield inflate.flush()

    def _damaged(self, name: str, member: Member, what: str) -> DamagedMember:
        part = self._parts[member.part]
        return DamagedMember(
            f"{self._archive}: {name} is damaged ({what}); it begins in {part.name}: "
            "delete that part to have it fetched again"
        )

    def _part(self, number: int, last: int) -> Path:
        if number == last:
            return self._archive
        return self._archive.with_suffix(f".z{number + 1:02d}")

    def _part_at(self, position: int) -> int:
        return max(n for n, start in enumerate(self._starts[:-1]) if start <= position)

    def _read(self, position: int, count: int) -> bytes:
        """Up to `count` bytes from a position in the parts' sequence, across their borders."""
        data = b""
        while len(data) < count and position + len(data) < self._starts[-1]:
            here = position + len(data)
            number = self._part_at(here)
            with self._parts[number].open("rb") as part:
                part.seek(here - self._starts[number])
                chunk = part.read(count - len(data))
            if not chunk:
                break
            data += chunk
        return data

    def _read_end(self) -> "tuple[_End, tuple[int, int, int] | None]":
        """The end of the directory; part and offset of its 64-bit form, and how many parts."""
        try:
            with self._archive.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(max(0, size - END.size - FULL16 - LOCATOR.size))
                tail = stream.read()
        except OSError as error:
            raise InputError(f"{self._archive} cannot be read: {error.strerror}") from None
        at = tail.rfind(END_SIGNATURE)
        if at < 0 or len(tail) < at + END.size:
            raise InputError(
                f"{self._archive}: not the last part of a zip archive, or cut short: it has no "
                "list of members at its end; fetch it again"
            )
        _, last, part, _, count, length, offset, _ = END.unpack_from(tail, at)
        end = _End(last, part, count, length, offset)
        before = tail[max(0, at - LOCATOR.size) : at]
        if not before.startswith(LOCATOR_SIGNATURE):
            return end, None
        _, part, offset, parts = LOCATOR.unpack(before)
        return end, (part, offset, parts)

    def _read_end64(self, part: int, offset: int) -> "_End":
        position = self._starts[min(part, len(self._parts) - 1)] + offset
        record = self._read(position, END64.size)
        if len(record) < END64.size or not record.startswith(END64_SIGNATURE):
            raise InputError(
                f"{self._archive}: its 64-bit list of members is damaged; fetch the part again"
            )
        _, _, _, _, last, part, _, count, length, offset = END64.unpack(record)
        return _End(last, part, count, length, offset)

    def _read_directory(self, position: int, end: "_End") -> dict[str, Member]:
        data = self._read(position, end.directory_bytes)
        members: dict[str, Member] = {}
        at = 0
        for _ in range(end.members):
            if data[at : at + 4] != CENTRAL_SIGNATURE or len(data) < at + CENTRAL.size:
                raise self._wrong_directory(len(members), end)
            fields = CENTRAL.unpack_from(data, at)
            flags, method, crc = fields[3], fields[4], fields[7]
            name_bytes, extra_bytes, comment_bytes, part = fields[10:14]
            at += CENTRAL.size
            name = data[at : at + name_bytes]
            extra = data[at + name_bytes : at + name_bytes + extra_bytes]
            at += name_bytes + extra_bytes + comment_bytes
            size, compressed, offset, part = _wide(fields[9], fields[8], fields[16], part, extra)
            if name.endswith(b"/"):
                continue
            if part >= len(self._parts):
                raise self._wrong_directory(len(members), end)
            # Archives made under Unix hold the bytes of the file's name, whatever the flag says.
            unix = fields[1] >> 8 == UNIX
            text = name.decode("utf-8" if unix or flags & UTF8 else "cp437", "surrogateescape")
            position = self._starts[part] + offset
            members[text] = Member(part, position, method, flags, compressed, size, crc)
        return members

    def _wrong_directory(self, found: int, end: "_End") -> InputError:
        return InputError(
            f"{self._archive}: its list of members is damaged after {found} of {end.members}; a "
            "part is not of this archive, or was cut short"
        )

    def _check_sizes(self, end: "_End", directory: int) -> None:
        """Raise InputError for parts in which there is no room for the members they should hold."""
        ordered = sorted(self.members.values(), key=lambda member: (member.part, member.position))
        nexts = [(member.part, member.position) for member in ordered[1:]]
        for member, (part, position) in zip(
            ordered, [*nexts, (end.directory_part, directory)], strict=True
        ):
            needed = LOCAL.size + member.compressed
            if part != member.part:  # it fills the rest of its part, so count to the byte
                header = self._read(member.position, LOCAL.size)
                if header[:4] == LOCAL_SIGNATURE and len(header) == LOCAL.size:
                    needed += sum(LOCAL.unpack(header)[-2:])
            missing = member.position + needed - position
            if missing > 0:
                short = self._parts[member.part : max(part, member.part + 1)]
                raise InputError(
                    f"{self._archive}: at least {missing} bytes are missing in "
                    f"{' or '.join(part.name for part in short)}; delete and fetch again"
                )


@dataclass(frozen=True)
class _End:
    """What the end of the last part tells: numbers of parts begin with 0, sizes in bytes."""

    last: int
    directory_part: int
    members: int
    directory_bytes: int
    directory_offset: int


def _wide(
    size: int, compressed: int, offset: int, part: int, extra: bytes
) -> tuple[int, int, int, int]:
    """A member's four numbers, with those from its 64-bit field that did not fit (4.5.3)."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == ZIP64_FIELD:
            field, values = extra[at + 4 : at + 4 + length], []
            for value, full, form in (
                (size, FULL32, "<Q"),
                (compressed, FULL32, "<Q"),
                (offset, FULL32, "<Q"),
                (part, FULL16, "<L"),
            ):
                width = struct.calcsize(form)
                if value == full and len(field) >= width:
                    value, field = struct.unpack_from(form, field)[0], field[width:]
                values.append(value)
            return values[0], values[1], values[2], values[3]
        at += 4 + length
    return size, compressed, offset, part
