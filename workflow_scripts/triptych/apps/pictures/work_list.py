"""Inputs of `triptych stylize`: images and films by content, and a file to write for each."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from triptych.core.errors import InputError
from triptych.core.files import is_hidden, not_a_file
from triptych.style.data.image_files import FORMATS, NOT_READ, RAW, SUFFIXES, is_image
from triptych.style.video.motion_jpeg import is_motion_jpeg

VIDEOS = {".mp4", ".mov", ".m4v", ".mkv", ".avi", ".webm", ".mpg", ".mpeg", ".wmv", ".3gp"}
"""Suffixes of films, in lower case: for files that are damaged, whose content says nothing."""

SYSTEM_FILES = {"thumbs.db", "desktop.ini"}
"""Files that a file manager leaves in folders, in lower case."""

Kind = Literal["image", "video"]

WRITTEN: dict[Kind, set[str]] = {"image": set(FORMATS), "video": {".mp4"}}
"""Suffixes of results, by kind of input."""


@dataclass(frozen=True)
class Item:
    """One input, what it is, and where its result goes."""

    source: Path
    target: Path
    kind: Kind


@dataclass(frozen=True)
class WorkList:
    """Items to paint, and the files that are left out, each with the reason."""

    items: list[Item] = field(default_factory=list)
    left_out: list[tuple[Path, str]] = field(default_factory=list)


def work_list(
    inputs: Sequence[Path],
    output: Path,
    *,
    overwrite: bool = False,
    targets: Mapping[str, str] | None = None,
) -> WorkList:
    """Every image and film of the inputs, folders opened, with its target.

    `output` is a file when there is one input file and it has a suffix, otherwise a folder, in
    which results bear their input's name, with a number where that name is taken.

    overwrite: replace files that lie where results go
    targets: results of an unfinished call by input, which this one goes on with

    Raises InputError for nothing to do, where nothing can be written, and where a result would
    replace an input or another file.
    """
    listed = WorkList()
    sources: dict[Path, tuple[Path, Kind]] = {}
    for path in (path for entry in inputs for path in _expanded(entry, output, listed)):
        if kind := _kind(path, listed):
            sources.setdefault(path.resolve(), (path, kind))
    if not sources and not listed.left_out:
        raise InputError(
            f"no image or video in {', '.join(map(str, inputs))}; give files, or folders of them"
        )
    if not sources:
        return listed
    single = len(inputs) == 1 and not inputs[0].is_dir()
    if single and output.suffix and not output.is_dir():
        ((source, kind),) = sources.values()
        _check_file(source, output, kind, overwrite or str(output) in (targets or {}).values())
        listed.items.append(Item(source, output, kind))
    elif output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; give a folder for {len(sources)} results")
    elif output.suffix.lower() in set().union(*WRITTEN.values()) and not output.exists():
        raise InputError(
            f"-o {output} is a file's name, and what {' '.join(map(str, inputs))} gives goes into "
            f"a folder, such as -o {output.with_suffix('')}"
        )
    else:
        listed.items.extend(_in_folder(sources, output, overwrite, targets or {}))
    _check_place(listed.items[0].target)
    for item in listed.items:
        if item.target.resolve() in sources:
            raise InputError(
                f"{item.target} is an input; it would be overwritten. Choose another -o"
            )
    return listed


def _check_file(source: Path, target: Path, kind: Kind, overwrite: bool) -> None:
    """Raise InputError for a target of another kind, or that is there already."""
    allowed = WRITTEN[kind]
    if target.suffix.lower() not in allowed:
        raise InputError(
            f"{target}: {target.suffix} cannot be written for the {kind} {source}; expected "
            f"{', '.join(sorted(allowed))}, or a folder"
        )
    if target.exists() and target.resolve() != source.resolve() and not overwrite:
        raise InputError(f"{target} exists; choose another -o, or replace it by --overwrite")


def _check_place(target: Path) -> None:
    """Raise InputError where nothing can be written, before anything is painted for it."""
    folder = next(place for place in target.absolute().parents if place.exists())
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        raise InputError(
            f"-o {target}: nothing can be written in {folder} ({problem.strerror}); choose another"
        ) from problem


def _expanded(entry: Path, output: Path, listed: WorkList) -> Iterator[Path]:
    """A file, or what a folder shows; folders in it are left out, that of the results unsaid."""
    if not entry.is_dir():
        yield entry
        return
    try:
        paths = sorted(entry.iterdir())
    except OSError as problem:
        listed.left_out.append((entry, f"the folder cannot be read ({problem.strerror})"))
        return
    unsaid = {output.resolve(), output.resolve().with_name(f"{output.name}.unfinished")}
    for path in paths:
        if is_hidden(Path(path.name)) or path.name.lower() in SYSTEM_FILES:
            continue
        if not path.is_dir():
            yield path
        elif path.resolve() not in unsaid:
            listed.left_out.append((path, "a folder, not looked into; name it itself"))


def _kind(path: Path, listed: WorkList) -> Kind | None:
    """Kind of a file by content, or by its suffix where that says nothing; None for neither."""
    suffix = path.suffix.lower()
    if not path.exists():
        return "video" if suffix in VIDEOS else "image"  # whose reader says what is wrong with it
    if not_a_file(path) or suffix in RAW or (is_image(path) and not is_motion_jpeg(path)):
        return "image"
    from triptych.style.video.packets import holds_film

    if holds_film(path) or suffix in VIDEOS:
        return "video"
    if suffix in SUFFIXES | NOT_READ:
        return "image"
    listed.left_out.append((path, "holds no image or film that can be read"))
    return None


def _in_folder(
    sources: Mapping[Path, tuple[Path, Kind]],
    folder: Path,
    overwrite: bool,
    targets: Mapping[str, str],
) -> Iterator[Item]:
    existing = folder.iterdir() if folder.is_dir() and not overwrite else ()
    taken = {path.name.lower() for path in (*existing, *map(Path, targets.values()))}
    for source, kind in sources.values():
        suffix = source.suffix.lower()
        if suffix not in WRITTEN[kind]:
            suffix = ".mp4" if kind == "video" else ".png"
        name, number = f"{source.stem}{suffix}", 1
        if before := targets.get(str(source)):
            name = Path(before).name
        else:
            while name.lower() in taken:
                number += 1
                name = f"{source.stem}-{number}{suffix}"
        taken.add(name.lower())
        yield Item(source, folder / name, kind)
