"""Inputs of `triptych stylize`: images and films by content, and a file to write for each."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from PIL import Image

from triptych.apps.pictures import unfinished_folder
from triptych.core.errors import InputError, error_message
from triptych.core.files import PARTIAL, Results, clear_partial, is_hidden, not_a_file
from triptych.style.data.image_files import FORMATS, NOT_READ, RAW, READ, SUFFIXES, is_image
from triptych.style.metadata import PAINTED, is_marked
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
    """One input, what it is, and where its result goes unless `results` finds the name taken."""

    source: Path
    target: Path
    kind: Kind
    results: Results


@dataclass(frozen=True)
class WorkList:
    """Items to paint, the files that are left out, each with the reason, and results of earlier
    calls among the inputs, which are not painted again into their own folder."""

    items: list[Item] = field(default_factory=list)
    left_out: list[tuple[Path, str]] = field(default_factory=list)
    earlier: list[Path] = field(default_factory=list)


def work_list(
    inputs: Sequence[Path],
    output: Path,
    *,
    overwrite: bool = False,
    resumed: bool = False,
) -> WorkList:
    """Every image and film of the inputs, folders opened, with its target.

    `output` is a file when there is one input file and it has a suffix, otherwise a folder, in
    which results bear their input's name. Each name of an input counts, be they links to one file.

    overwrite: replace files that lie where results go
    resumed: a call that was stopped may have written some of the results

    Raises InputError for nothing to do, where nothing can be written, and where a result would
    replace an input or another file.
    """
    listed, results = WorkList(), Results(overwrite, resumed)
    single = len(inputs) == 1 and not os.path.isdir(inputs[0])
    to_file = single and output.suffix and not output.is_dir()
    sources: dict[Path, Kind] = {}
    names: set[Path] = set()
    for path in (path for entry in inputs for path in _expanded(entry, output, listed)):
        try:
            name = path.parent.resolve() / path.name
            if name in names:
                continue
            names.add(name)
            kind = _kind(path, listed)
            if kind and not to_file and name.parent == output.resolve() and _painted(path, kind):
                listed.earlier.append(path)
            elif kind:
                sources[path] = kind
        except Exception as problem:  # looking into a damaged file may raise anything
            listed.left_out.append((path, error_message(problem)))
    if not sources and not listed.left_out and not listed.earlier:
        raise InputError(
            f"no image or video in {', '.join(map(str, inputs))}; give files, or folders of them"
        )
    if not sources:
        return listed
    if to_file:
        ((source, kind),) = sources.items()
        _check_file(source, output, kind, overwrite or resumed)
        listed.items.append(Item(source, output, kind, results))
    elif output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; give a folder for {len(sources)} results")
    elif output.suffix.lower() in set().union(*WRITTEN.values()) and not output.exists():
        raise InputError(
            f"-o {output} is a file's name, and what {' '.join(map(str, inputs))} gives goes into "
            f"a folder, such as -o {output.with_suffix('')}"
        )
    else:
        for source, kind in sources.items():
            target = output / _result_name(source, kind)
            listed.items.append(Item(source, target, kind, results))
    _check_place(listed.items[0].target)
    files = {os.path.realpath(source) for source in sources}
    for item in listed.items:
        if (overwrite or to_file) and os.path.realpath(item.target) in files:
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
    is_input = os.path.realpath(target) == os.path.realpath(source)
    if target.exists() and not is_input and not overwrite:
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
    if folder == target.absolute().parent:
        clear_partial(folder, f"{PARTIAL}{8 * '[0-9a-f]'}-*", hours=24)


def _expanded(entry: Path, output: Path, listed: WorkList) -> Iterator[Path]:
    """A file, or what a folder shows; folders in it are left out, that of the results unsaid."""
    if not os.path.isdir(entry):
        yield entry
        return
    try:
        paths = sorted(entry.iterdir())
    except OSError as problem:
        listed.left_out.append((entry, f"the folder cannot be read ({problem.strerror})"))
        return
    unsaid = {output.resolve(), unfinished_folder(output)}
    for path in paths:
        if is_hidden(Path(path.name)) or path.name.lower() in SYSTEM_FILES:
            continue
        if not os.path.isdir(path):
            yield path
        elif path.resolve() not in unsaid:
            listed.left_out.append((path, "a folder, not looked into; name it itself"))


def _kind(path: Path, listed: WorkList) -> Kind | None:
    """Kind of a file by content, or by its suffix where that says nothing; None for neither."""
    suffix = path.suffix.lower()
    if not os.path.exists(path):
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


def _painted(path: Path, kind: Kind) -> bool:
    """Whether a file says itself that this command painted it."""
    if not_a_file(path):
        return False
    try:
        if kind == "image":
            with path.open("rb") as stream, Image.open(stream, formats=READ) as image:
                return is_marked(image)
        from triptych.style.video.packets import open_video

        with open_video(path) as film:
            return PAINTED in film.metadata.get("comment", "")
    except Exception:  # its reader will tell
        return False


def _result_name(source: Path, kind: Kind) -> str:
    suffix = source.suffix.lower()
    if suffix not in WRITTEN[kind]:
        suffix = ".mp4" if kind == "video" else ".png"
    return f"{source.stem}{suffix}"
