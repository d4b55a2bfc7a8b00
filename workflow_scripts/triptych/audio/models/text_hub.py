"""Text models as rules want them: fetched from the Hugging Face hub, or made from scratch."""

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from triptych.audio.data.tables import read_table
from triptych.audio.models.sentences import TextClass, read_config, write_scratch_model
from triptych.core.download import DownloadError
from triptych.core.errors import InputError
from triptych.core.files import sha256_of

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
StrPath = str | os.PathLike[str]


def write_text_model(
    folder: StrPath,
    settings: Mapping[str, Any],
    captions: Sequence[StrPath] = (),
    manifest: StrPath | None = None,
) -> None:
    """Make the text model that a config's entry describes.

    settings: `class` and `source`; for "scratch" also hidden, layers, heads and vocabulary, and
    the captions (tables with `clip` and `caption`) of the clips that the corpus of `manifest`
    trains on make the tokenizer, so that it sees no caption it is tested with; for "hub" also
    repository, revision and perhaps sha256. Raises DownloadError, and InputError or ValueError
    for other settings.
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
        sizes = {key: settings[key] for key in ("hidden", "layers", "heads", "vocabulary")}
        if manifest is None:
            raise InputError("a text model from scratch needs the manifest of what is trained on")
        listed = read_table(manifest)
        trained = set(listed[listed["role"] == "train"]["clip"])
        texts = [
            caption
            for table in map(read_table, captions)
            for caption in table[table["clip"].isin(trained)]["caption"]
        ]
        write_scratch_model(folder, settings["class"], **sizes, captions=texts)
    else:
        raise InputError(f"text model from {settings['source']!r}: expected scratch or hub")


def write_hub_model(
    folder: StrPath, class_: TextClass, repository: str, revision: str, sha256: str | None = None
) -> None:
    """Fetch a BERT or RoBERTa at one commit: configuration, tokenizer and safetensors alone.

    revision: the commit's 40 digits, so that the files can't change under us. sha256: of the
    weights, where it is known. Files grow in `<folder>.part`, from where a later attempt goes on,
    and each is checked against the hash that the hub gives. The environment's HF_ENDPOINT may name
    a mirror. Raises ValueError for another revision, DownloadError, and InputError for a model of
    another class.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise ValueError(f"{repository}: revision {revision!r} is not a commit's 40 digits")
    folder = Path(folder)
    part = folder.with_name(folder.name + ".part")
    try:
        tree = HfApi().list_repo_tree(repository, revision=revision, token=False)
        hashes = {item.path: _published_hash(item) for item in tree}
        missing = [name for name in FILES if name not in hashes]
        if missing:
            raise InputError(
                f"{repository} at {revision} has no {', '.join(missing)}. Choose a revision that "
                f"has {', '.join(FILES)}."
            )
        if sha256 not in (None, hashes["model.safetensors"]):
            raise DownloadError(
                f"{repository} at {revision}: expected weights with sha256 {sha256}, the hub has "
                f"{hashes['model.safetensors']}. Check HF_ENDPOINT and resources/sources.yaml."
            )
        snapshot_download(
            repository, revision=revision, local_dir=part, allow_patterns=list(FILES), token=False
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise DownloadError(
            f"{repository} at {revision}: {type(error).__name__}. Check the network, the names and "
            f"HF_ENDPOINT. What came so far is kept in {part}: run again to continue."
        ) from error
    for name in FILES:
        _check(part / name, hashes[name])
    found = read_config(part)["model_type"]
    if found != class_:
        raise InputError(f"{repository}: its class is {found}, the config says {class_}")
    shutil.rmtree(part / ".cache", ignore_errors=True)
    if folder.exists():
        shutil.rmtree(folder)
    part.rename(folder)


def _published_hash(item: Any) -> str:
    """SHA-256 of a large file, git's own hash of a small one; "" of a folder."""
    large = getattr(item, "lfs", None)
    return large.sha256 if large else getattr(item, "blob_id", "")


def _check(path: Path, expected: str) -> None:
    found = sha256_of(path) if len(expected) == 64 else _git_hash(path)
    if found != expected:
        path.unlink()
        raise DownloadError(
            f"{path}: its hash is {found}, the hub says {expected}; it was deleted. Run again."
        )


def _git_hash(path: Path) -> str:
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
