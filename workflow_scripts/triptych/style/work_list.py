"""What `triptych stylize` was given: images and videos, and a file to write for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from triptych.core.errors import InputError
from triptych.core.files import not_a_file

VIDEOS = {".mp4", ".mov", ".m4v", ".mkv", ".avi", ".webm", ".mpg", ".mpeg", ".wmv"}
"""Suffixes of videos, in lower case; every other file is taken for an image."""

ANIMATED = {".gif", ".webp", ".png"}
"""Suffixes of animations, whose results have as many frames."""

WRITTEN = {".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff"}


Kind = Literal["image", "animation", "video"]


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
    is listed too: it fails in its turn. Raises InputError for nothing to do, or when a result
    would replace an input.
    """
    sources = [source for given in inputs for source in _expanded(given)]
    if not sources:
        raise InputError(
            f"no image or video in {', '.join(map(str, inputs))}; give files, or folders of them"
        )
    single = len(inputs) == 1 and not inputs[0].is_dir()
    if single and output.suffix and not output.is_dir():
        kind = _kind(sources[0])
        if kind == "animation" and output.suffix.lower() not in ANIMATED:
            kind = "image"  # its first frame, which is told
        items = [Item(sources[0], output, kind)]
        _check_suffix(items[0])
    else:
        if output.exists() and not output.is_dir():
            raise InputError(f"{output} is a file; give a folder for {len(sources)} results")
        items = _in_folder(sources, output)
    originals = {path.resolve() for path in sources}
    for item in items:
        if item.target.resolve() in originals:
            raise InputError(
                f"{item.target} is an input; it would be overwritten. Choose another -o"
            )
    return items


def _expanded(given: Path) -> list[Path]:
    if not given.is_dir():
        return [given]
    from triptych.style.image_files import image_files

    videos = [p for p in given.iterdir() if p.suffix.lower() in VIDEOS and p.name[0] != "."]
    videos = [path for path in videos if path.is_file() or not_a_file(path)]
    return sorted([*image_files(given), *videos])


def _kind(path: Path) -> Kind:
    if path.suffix.lower() in VIDEOS:
        return "video"
    if path.suffix.lower() not in ANIMATED:
        return "image"
    from triptych.style.image_files import is_animated

    return "animation" if is_animated(path) else "image"


def _check_suffix(item: Item) -> None:
    allowed = _suffixes(item.kind)
    if item.target.suffix.lower() not in allowed:
        raise InputError(
            f"{item.target}: {item.target.suffix} cannot be written for the {item.kind} "
            f"{item.source}; expected {', '.join(sorted(allowed))}, or a folder"
        )


def _suffixes(kind: Kind) -> set[str]:
    """What results of the kind are called."""
    return {"video": {".mp4"}, "animation": ANIMATED, "image": WRITTEN}[kind]


def _in_folder(sources: Sequence[Path], folder: Path) -> list[Item]:
    items, taken = [], set()
    for source in sources:
        kind = _kind(source)
        suffix = source.suffix.lower()
        if suffix not in _suffixes(kind):
            suffix = ".mp4" if kind == "video" else ".png"
        name, number = f"{source.stem}{suffix}", 1
        while name.lower() in taken:
            number += 1
            name = f"{source.stem}-{number}{suffix}"
        taken.add(name.lower())
        items.append(Item(source, folder / name, kind))
    return items
