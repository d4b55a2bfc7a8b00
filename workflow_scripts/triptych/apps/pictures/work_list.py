"""Inputs of `triptych stylize`: images and videos, and a file to write for each."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from triptych.core.errors import InputError
from triptych.core.files import not_a_file
from triptych.style.data.image_files import FORMATS, image_files

VIDEOS = {".mp4", ".mov", ".m4v", ".mkv", ".avi", ".webm", ".mpg", ".mpeg", ".wmv"}
"""Suffixes of videos, in lower case; every other file is taken for an image."""

Kind = Literal["image", "video"]

SUFFIXES: dict[Kind, set[str]] = {"image": set(FORMATS), "video": {".mp4"}}
"""Suffixes of results, by kind of input."""


@dataclass(frozen=True)
class Item:
    """One input, what it is, and where its result goes."""

    source: Path
    target: Path
    kind: Kind


def work_list(inputs: Sequence[Path], output: Path) -> list[Item]:
    """Every image and video of the inputs, folders opened, with its target.

    `output` is a file when there is one input file and it has a suffix, otherwise a folder, in
    which results bear their input's name and number where two inputs share one. A missing input
    is listed too: it fails in its turn. Raises InputError for nothing to do, where nothing can be
    written, or when a result would replace an input.
    """
    sources = [source for entry in inputs for source in _expanded(entry)]
    if not sources:
        raise InputError(
            f"no image or video in {', '.join(map(str, inputs))}; give files, or folders of them"
        )
    single = len(inputs) == 1 and not inputs[0].is_dir()
    if single and output.suffix and not output.is_dir():
        items = [Item(sources[0], output, _kind(sources[0]))]
        allowed = SUFFIXES[items[0].kind]
        if output.suffix.lower() not in allowed:
            raise InputError(
                f"{output}: {output.suffix} cannot be written for the {items[0].kind} "
                f"{sources[0]}; expected {', '.join(sorted(allowed))}, or a folder"
            )
    elif output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; give a folder for {len(sources)} results")
    elif output.suffix.lower() in set().union(*SUFFIXES.values()) and not output.exists():
        raise InputError(
            f"-o {output} is a file's name, and what {' '.join(map(str, inputs))} gives goes into "
            f"a folder, such as -o {output.with_suffix('')}"
        )
    else:
        items = _in_folder(sources, output)
    _check_place(items[0].target)
    originals = {path.resolve() for path in sources}
    for item in items:
        if item.target.resolve() in originals:
            raise InputError(
                f"{item.target} is an input; it would be overwritten. Choose another -o"
            )
    return items


def _check_place(target: Path) -> None:
    """Raise InputError where nothing can be written, before anything is painted for it."""
    folder = next(place for place in target.absolute().parents if place.exists())
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        raise InputError(
            f"-o {target}: nothing can be written in {folder} ({problem.strerror}); choose another"
        ) from problem


def _expanded(entry: Path) -> list[Path]:
    if not entry.is_dir():
        return [entry]
    videos = [p for p in entry.iterdir() if p.suffix.lower() in VIDEOS and p.name[0] != "."]
    videos = [path for path in videos if path.is_file() or not_a_file(path)]
    return sorted([*image_files(entry), *videos])


def _kind(path: Path) -> Kind:
    return "video" if path.suffix.lower() in VIDEOS else "image"


def _in_folder(sources: Sequence[Path], folder: Path) -> list[Item]:
    items, taken = [], set()
    for source in sources:
        kind = _kind(source)
        suffix = source.suffix.lower()
        if suffix not in SUFFIXES[kind]:
            suffix = ".mp4" if kind == "video" else ".png"
        name, number = f"{source.stem}{suffix}", 1
        while name.lower() in taken:
            number += 1
            name = f"{source.stem}-{number}{suffix}"
        taken.add(name.lower())
        items.append(Item(source, folder / name, kind))
    return items
