"""ImageNet's weights by a network's name, fetched once: `--backbone vgg19`."""

import logging
import os
from pathlib import Path

import yaml

from triptych.core.download import DownloadError, public_address
from triptych.core.errors import InputError
from triptych.style.inputs.weights import download_weights

logger = logging.getLogger(__name__)

FOLDER = Path("results/style/weights")
"""Where the workflow keeps them, below a checkout."""


def weights_named(name: str, checkout: Path) -> Path:
    """The file of a network trained on ImageNet ("vgg19"), fetched where it isn't there yet.

    It is looked for where the workflow keeps it, below the working directory and the checkout, and
    in the user's cache, which is for a checkout that cannot be written. Address and checksum are
    the workflow's own. Raises InputError for a name that has none, or where the download fails.
    """
    sources = checkout / "resources/sources.yaml"
    known = yaml.safe_load(sources.read_text(encoding="utf-8"))["backbones"]["files"]
    if name not in known:
        raise InputError(
            f"{name} is neither a file nor a network that can be fetched: give --backbone FILE, or "
            f"one of {', '.join(known)}"
        )
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triptych"
    folders = [Path.cwd() / FOLDER, checkout / FOLDER, cache]
    paths = [folder / f"{name}.safetensors" for folder in folders]
    if found := next((path for path in paths if path.is_file()), None):
        return found
    writable = os.access(checkout, os.W_OK)
    path = paths[1 if writable else 2]
    source = known[name]
    logger.info("%s is fetched from %s to %s", name, public_address(source["url"]), path)
    try:
        download_weights(
            source["url"],
            path,
            name,
            source["sha256_start"],
            size=source["size"],
            lock=checkout / f"resources/locks/{name}.json" if writable else None,
            attempts=3,
            wait_seconds=1.0,
        )
    except (DownloadError, OSError) as problem:
        raise InputError(
            f"--backbone {name}: its weights cannot be fetched. {problem}\n"
            "The same command on a machine with a connection leaves "
            f"{FOLDER / path.name}: copy it to {path}, or give it as --backbone FILE. "
            "Without --backbone the network that is shipped is used."
        ) from problem
    return path
