"""Kinds, parts and stated lengths of sound files, from their bytes alone."""

import io
import mimetypes
import os
import re
import struct
from typing import BinaryIO

SUFFIXES = (
    *(".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".aifc", ".au", ".caf"),
    *(".w64", ".rf64", ".mp2", ".m4a", ".m4b", ".aac", ".ac3", ".amr", ".ape", ".mka", ".tta"),
    *(".wma", ".wv", ".3gp", ".avi", ".flv", ".mkv", ".mov", ".mp4", ".m4v", ".mpeg", ".mpg"),
    *(".mts", ".ogv", ".ts", ".webm", ".wmv", ".vob", ".m2ts", ".m2t", ".mpga", ".mp1", ".mxf"),
    *(".dsf", ".dff", ".sph", ".dts", ".eac3", ".mpc", ".tak", ".voc", ".rm", ".f4v", ".m2p"),
)
"""Names of sound files and films end like this; a folder's other files are looked into."""

BEGINNINGS = re.compile(
    rb"RIFF....(WAVE|AVI )|RF64|BW64|riff\x2e\x91|fLaC|OggS|ID3|FORM....AIF[CF]|\.snd|caff|"
    rb"....ftyp|\x1aE\xdf\xa3|\0\0\x01\xba|0&\xb2u|FLV|#!AMR|MAC |wvpk|TTA1|DSD |NIST_1A|"
    rb"\x7f\xfe\x80\x01|DTSHDHDR|\x06\x0e\x2b\x34|Creative Voice|MPCK|MP\+|tBaK|FRM8",
    re.DOTALL,
)
"""How sound files and films begin that name what they are."""
UNKNOWN_BYTES = (0x7FFFF000, 0x80000000, 0xFFFFFFFF)
"""About what programs that write a WAV into a pipe put in place of its length."""

FIRST_PAGE, FIRST_PAGE_BYTES = re.compile(rb"OggS\0\x02\0{8}"), 14
"""How an Ogg's first page of a track begins."""
FIRST_PAGES, BLOCK = 1000, 1 << 20
"""Bytes in which those of tracks that begin together lie, and that are searched at a time."""


class ByteRange(io.RawIOBase):
    """`size` bytes of a file from `offset` on, as a file of their own, which has no name."""

    def __init__(self, stream: BinaryIO, offset: int, size: int) -> None:
        self._stream, self._offset, self._size, self._position = stream, offset, size, 0
        self.hidden: int | None = None  # first of four bytes that are read as 255

    @property
    def size(self) -> int:
        return self._size

    def part(self, offset: int, size: int) -> "ByteRange":
        return ByteRange(self._stream, self._offset + offset, size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as there is something left; the count of bytes."""
        if self._position >= self._size:  # perhaps by more than a file system can count
            return 0
        self._stream.seek(self._offset + self._position)
        data = self._stream.read(min(len(buffer), self._size - self._position))
        buffer[: len(data)] = data
        if self.hidden is not None:
            first = self.hidden - self._position
            for place in range(max(0, first), min(len(data), first + 4)):
                buffer[place] = 255
        self._position += len(data)
        return len(data)

    def seek(self, target: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte of the range, as `io.IOBase.seek` does; never before its start."""
        self._position = max(0, (0, self._position, self._size)[whence] + target)
        return self._position


def links(stream: ByteRange) -> list[ByteRange]:
    """A file's parts, each a file of its own: several of a chained Ogg, one of all others."""
    size, starts, last = stream.size, [0], 0
    stream.seek(0)
    for place in range(0, size if stream.read(4) == b"OggS" else 0, BLOCK):
        stream.seek(place)
        for match in FIRST_PAGE.finditer(stream.read(BLOCK + FIRST_PAGE_BYTES - 1)):
            begin = place + match.start()
            if begin - last > FIRST_PAGES:
                starts.append(begin)
            last = begin
    ends = [*starts[1:], size]
    return [stream.part(start, end - start) for start, end in zip(starts, ends, strict=True)]


def without_rest(stream: ByteRange) -> tuple[ByteRange, float]:
    """A WAV to the end of its data; how many times as long as it is a WAV or AVI is by its header.

    A length counts unless it is unknown, or of more than 4 GB, for which a header has no room: then
    it is hidden, so that FFmpeg reads to the end. Other files come as they are.
    """
    size = stream.size
    stream.seek(0)
    start = stream.read(36).ljust(36, b"\0")
    kind, length, place = start[:4], struct.unpack_from("<I", start, 4)[0], 0
    if start[8:12] == b"WAVE":
        place, length = 4, 0
        while kind != b"data":
            place += 8 + length + length % 2
            stream.seek(place)
            if len(head := stream.read(8)) < 8:
                return stream, 1.0
            kind, length = struct.unpack("<4sI", head)
    elif start[8:12] != b"AVI ":
        return stream, 1.0
    if start[:4] in (b"RF64", b"BW64") and length == UNKNOWN_BYTES[-1]:
        length = struct.unpack_from("<Q", start, 28)[0]
    ends = place + 8 + length
    unknown = not length or length >= 1 << 62
    unknown = unknown or any(abs(length - mark) < 64 for mark in UNKNOWN_BYTES)
    behind = stream.read(8) if place else b""  # another chunk, where there are no samples
    if len(behind) == 8 and abs(ends + 8 + struct.unpack("<4sI", behind)[1] - size) < 2:
        unknown = False
    if place and (unknown or (start[:4] == b"RIFF" and size - ends >= 1 << 32)):
        stream.hidden = place + 4
    elif place and ends <= size:
        return stream.part(0, ends), 1.0
    return stream, 1.0 if unknown else max(1.0, length / max(1, size - place - 8))


def may_be_sound(path: str | os.PathLike[str]) -> bool | None:
    """Whether a file is named as sound or a film, or begins as one; None where a decoder must try.

    Texts, and files whose names are of another known kind, are no sound.
    """
    if os.path.splitext(path)[1].lower() in SUFFIXES:
        return True
    try:
        with open(path, "rb") as stream:
            start = stream.read(512)
    except OSError:
        return False
    if BEGINNINGS.match(start):
        return True
    kind = mimetypes.guess_type(os.fspath(path))[0] or "audio"
    known = not kind.startswith(("audio/", "video/", "audio", "application/octet"))
    text = all(byte >= 32 or byte in b"\t\r\n\f\x1b" for byte in start)
    return False if known or text else None
