"""Text models as rules want them: fetched from the Hugging Face hub, or made from scratch."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from triptych.audio.data.tables import read_table
from triptych.audio.models.text_files import read_config, write_scratch_model
from triptych.core.download import DownloadError
from triptych.core.errors import InputError
from triptych.core.hub import download_hub, list_hub

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
StrPath = str | os.PathLike[str]


def write_text_model(
    folder: StrPath,
    settings: Mapping[str, Any],
    captions: Sequence[StrPath] = (),
    manifest: StrPath | None = None,
) -> None:
    """Make the text model that a config's entry describes.

    settings: `source`; for "scratch" also `config` and `pieces` as `write_scratch_model` takes
    them, and the captions (tables with `clip` and `caption`) of the clips that the corpus of
    `manifest` trains on make the tokenizer, so that it sees no caption it is tested with; for "hub"
    also class, repository, revision and perhaps sha256. Raises DownloadError, and InputError or
    ValueError for other settings.
    """
    if settings["source"] == "hub":
        write_hub_model(
            folder,
            settings["class"],
            settings["repository"],
            settings["revision"],
            settings.get("sha256"),
        )
    elif settings["source"] == "scratch":
        if manifest is None:
            raise InputError("a text model from scratch needs the manifest of what is trained on")
        listed = read_table(manifest)
        trained = set(listed[listed["role"] == "train"]["clip"])
        texts = [
            caption
            for table in map(read_table, captions)
            for caption in table[table["clip"].isin(trained)]["caption"]
        ]
        write_scratch_model(folder, settings["config"], settings["pieces"], texts)
    else:
        raise InputError(f"text model from {settings['source']!r}: expected scratch or hub")


def write_hub_model(
    folder: StrPath, class_: str, repository: str, revision: str, sha256: str | None = None
) -> None:
    """Fetch a BERT or RoBERTa at one commit: configuration, tokenizer and safetensors alone.

    revision: the commit's 40 digits, so that the files can't change under us. sha256: of the
    weights, where it is known. Files wait in `<folder>-<revision>.part`, from where a later attempt
    goes on, and each is checked against the hash that the hub gives. Raises ValueError for another
    revision, DownloadError, and InputError for a model of another class.
    """
    folder = Path(folder)
    part = folder.with_name(f"{folder.name}-{revision}.part")
    fetch_hub_files(repository, revision, FILES, part, {"model.safetensors": sha256})
    found = read_config(part)["model_type"]
    if found != class_:
        raise InputError(f"{repository}: its class is {found}, the config says {class_}")
    if folder.exists():
        shutil.rmtree(folder)
    part.rename(folder)


def fetch_hub_files(
    repository: str,
    revision: str,
    names: Sequence[str],
    folder: Path,
    sha256: Mapping[str, str | None],
    **settings: Any,
) -> None:
    """Fetch files of a model's repository at one commit into `folder`, each checked.

    Those that lie there already stay. sha256: what the hub must say of some, None where that is
    not known. settings: of `download`. Raises ValueError for a revision that is no commit's 40
    digits, DownloadError, and InputError for a repository without these files.
    """
    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise ValueError(f"{repository}: revision {revision!r} is not a commit's 40 digits")
    if all((folder / name).exists() for name in names):
        return
    listed = {
        file.path: file for file in list_hub("models", repository, revision, folder, **settings)
    }
    missing = [name for name in names if name not in listed]
    if missing:
        raise InputError(
            f"{repository} at {revision} has no {', '.join(missing)}. Choose a revision that "
            f"has {', '.join(names)}."
        )
    for name, known in sha256.items():
        if known not in (None, listed[name].sha256):
            raise DownloadError(
                f"{repository} at {revision}: expected {name} with sha256 {known}, the hub has "
                f"{listed[name].sha256}. Check HF_ENDPOINT and resources/sources.yaml."
            )
    for name in names:
        # `download_hub` gives a file its name when it is whole and right.
        if not (folder / name).exists():
            download_hub(listed[name], folder / name, **settings)
