"""Finished models as the rule and the command want them: fetched once, converted, kept."""

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from triptych.audio.models import clap
from triptych.audio.models.finished import convert_lightning
from triptych.audio.models.text_hub import fetch_hub_files
from triptych.core.download import download, public_address, write_lock
from triptych.core.errors import InputError
from triptych.core.files import atomic_path

TEXT_FILES = ("config.json", "tokenizer.json")
"""Of a text model whose weights come with the joint model's."""

StrPath = str | os.PathLike[str]
Source = Mapping[str, Any]
"""An entry of resources/sources.yaml: of `finished`, or of `text_models`."""


def terms(source: Source) -> str:
    """What a person should know before a model is fetched: whose it is, its licence, its size."""
    return (
        f"{source['label']} ({source['homepage']}; {source['citation']})\n"
        f"licence: {source['licence']}\n"
        f"room on disk: {source['room']}"
    )


def write_finished(
    folder: StrPath,
    source: Source,
    text_models: Mapping[str, Source],
    lock: StrPath | None,
    **settings: Any,
) -> None:
    """Fetch a finished model and write it as a folder that `open_model` reads.

    text_models: where text models come from; lock: what the names of lock files begin with, None
    for no locks; settings: of `core.download.download`. Files wait in `<folder>.part`, from where
    a later attempt goes on. Raises DownloadError, and InputError for files that are not this model.
    """
    folder = Path(folder)
    part = folder.with_name(f"{folder.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    about = {key: source[key] for key in ("label", "homepage", "citation", "licence")}
    if source["layout"] == "clap":
        known = {clap.WEIGHTS: source["sha256"]}
        fetch_hub_files(
            source["repository"], source["revision"], clap.FILES, part / "hub", known, **settings
        )
        convert = partial(clap.convert_clap, part / "hub", part / "model", about)
        _kept_if_right(convert, [part / "hub" / clap.WEIGHTS])
    else:
        fetched = _fetch_parts(source["parts"], part, lock, **settings)
        text = text_models[source["text"]]
        fetch_hub_files(
            text["repository"], text["revision"], TEXT_FILES, part / "text", {}, **settings
        )
        checkpoint = _joined(fetched, part / "whole")
        convert = partial(
            convert_lightning, checkpoint, source["layout"], part / "text", part / "model", about
        )
        _kept_if_right(convert, [checkpoint, *fetched])
        for each, path, own in zip(source["parts"], fetched, _locks(lock, fetched), strict=True):
            if own is not None and each["sha256"] is None and not own.exists():
                write_lock(own, each["url"], path)
    (part / "model").rename(folder)
    shutil.rmtree(part)


def _fetch_parts(
    parts: Sequence[Source], folder: Path, lock: StrPath | None, **settings: Any
) -> list[Path]:
    """Each part, whole and checked. A lock is read here, and written when the model is right."""
    paths = [folder / f"{number}.ckpt" for number in range(1, len(parts) + 1)]
    for each, path, own in zip(parts, paths, _locks(lock, paths), strict=True):
        if not path.exists():
            held_to = own if own is not None and own.exists() else None
            download(each["url"], path, each["size"], each["sha256"], held_to, **settings)
    return paths


def _locks(lock: StrPath | None, paths: Sequence[Path]) -> list[Path | None]:
    return [None if lock is None else Path(f"{lock}-{path.stem}.json") for path in paths]


def _joined(parts: Sequence[Path], whole: Path) -> Path:
    """One file of all parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    with atomic_path(whole) as temporary, temporary.open("wb") as stream:
        for path in parts:
            with path.open("rb") as piece:
                shutil.copyfileobj(piece, stream, 1 << 20)
    return whole


def _kept_if_right(convert: partial[None], files: Sequence[Path]) -> None:
    """Convert; files that are refused go, or every later attempt would be refused the same."""
    try:
        convert()
    except InputError:
        for path in files:
            path.unlink(missing_ok=True)
        raise


def origins(source: Source) -> str:
    """The addresses that a model comes from, without what should not be told."""
    if "parts" in source:
        return ", ".join(public_address(each["url"]) for each in source["parts"])
    return f"{source['repository']} at {source['revision']} (Hugging Face hub)"
