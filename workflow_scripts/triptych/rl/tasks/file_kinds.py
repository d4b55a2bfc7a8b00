"""Kinds of files that people give in place of HDF5, known by their first bytes."""

import os
import zipfile
from codecs import getincrementaldecoder
from contextlib import suppress
from pathlib import Path

HDF5 = b"\x89HDF\r\n\x1a\n"
USER_BLOCKS = (0, 512, 1024, 2048, 4096, 8192)
"""Places at which HDF5's signature may stand."""
CONVERT = "Write its arrays with h5py, in the layout of docs/own-study.md."
UNPACK = "Unpack it, and give the HDF5 file in it."
FETCH = "Fetch the file itself ({command})."
KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a pointer of Git LFS", FETCH.format(command="git lfs pull")),
    (b"/annex/objects/", "a pointer of git-annex", FETCH.format(command="git annex get")),
    (b"\x93NUMPY", "an array of NumPy (.npy)", CONVERT),
    (b"\x1f\x8b", "a gzip archive", UNPACK),
    (b"BZh", "a bzip2 archive", UNPACK),
    (b"\xfd7zXZ", "an xz archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", UNPACK),
    (b"PAR1", "a Parquet table", CONVERT),
)


def kind_of(path: str | os.PathLike[str]) -> tuple[str, str] | None:
    """What a file is and what to do with it, in words; None for HDF5.

    Raises OSError where it can't be read.
    """
    path = Path(path)
    if path.is_dir():
        zarr = any((path / name).exists() for name in (".zgroup", "zarr.json", ".zarray"))
        return ("a folder of Zarr" if zarr else "a folder"), "Give the HDF5 file itself."
    with path.open("rb") as stream:
        start = stream.read(max(USER_BLOCKS) + len(HDF5))
    if any(start[at : at + len(HDF5)] == HDF5 for at in USER_BLOCKS):
        return None
    if not start:
        return "an empty file", "Write or download it again."
    for begin, kind, advice in KINDS:
        if start.startswith(begin):
            return kind, advice
    if start.startswith(b"PK"):
        return _zipped(path)
    if start[257:262] == b"ustar":
        return "a tar archive", UNPACK
    if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle", f"{CONVERT} A pickle can run any code: open only one you trust."
    return _text(start) or (f"something else, which begins with {start[:8]!r}", CONVERT)


def _zipped(path: Path) -> tuple[str, str]:
    """Whether a zip archive is one of NumPy's, of PyTorch's or another."""
    names: list[str] = []
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if names and all(name.endswith(".npy") for name in names):
        return "arrays of NumPy (.npz)", CONVERT
    if any(name.endswith("data.pkl") for name in names):
        return "a file of torch.save", CONVERT
    return "a zip archive", UNPACK


def _text(start: bytes) -> tuple[str, str] | None:
    """The kind of a text, if it is one."""
    try:
        text = getincrementaldecoder("utf-8-sig")().decode(start).lstrip()
    except UnicodeDecodeError:
        return None
    if not text or not all(one.isprintable() or one.isspace() for one in text):
        return None
    if text.startswith("<"):
        return "a web page or XML", "Download the file itself: a browser shows what the page says."
    if text[0] in "{[":
        return "JSON", CONVERT
    separated = any(sign in text.partition("\n")[0] for sign in ",;\t")
    return ("a table in text (CSV)" if separated else "a text"), CONVERT
