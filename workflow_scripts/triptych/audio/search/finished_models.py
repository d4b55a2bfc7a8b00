"""Finished models by their names, fetched once: `--model published`."""

import os
from collections.abc import Callable
from pathlib import Path

import yaml

from triptych.core.download import DownloadError
from triptych.core.errors import InputError

FOLDER = Path("results/audio/finished")
"""Where the workflow keeps them, below a checkout."""
PUBLISHED = "published"
"""The name that the first one of resources/sources.yaml has beside its own."""


def finished_model(name: str, checkout: Path, say: Callable[[str], None]) -> Path | None:
    """The folder of a finished model, fetched where it isn't there yet; None for another name.

    It is looked for where the workflow keeps it, below the working directory and the checkout, and
    in the user's cache, which is for a checkout that cannot be written. say: is told the licence
    before anything is fetched. Raises InputError where the download fails.
    """
    sources = yaml.safe_load((checkout / "resources/sources.yaml").read_text(encoding="utf-8"))
    known = sources["audio"]["finished"]["files"]
    name = next(iter(known)) if name == PUBLISHED else name
    if name not in known:
        return None
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triptych"
    folders = [root / name for root in (Path.cwd() / FOLDER, checkout / FOLDER, cache)]
    if found := next((each for each in folders if (each / "model.json").is_file()), None):
        return found
    from triptych.audio.models.finished import origins, terms, write_finished

    writable = os.access(checkout, os.W_OK)
    folder = folders[1 if writable else 2]
    say(f"{terms(known[name])}\nfetched once from {origins(known[name])}\nto {folder}")
    try:
        write_finished(
            folder,
            known[name],
            sources["audio"]["text_models"]["files"],
            checkout / f"resources/locks/finished-{name}" if writable else None,
            attempts=3,
            wait_seconds=1.0,
        )
    except (DownloadError, OSError) as problem:
        raise InputError(
            f"--model {name}: it cannot be fetched. {problem}\n"
            "What came is kept. On a machine with a connection the same command, or snakemake "
            f"{FOLDER / name}, makes that folder: copy it to {folder}, or give it as --model "
            "FOLDER. Without --model the best model that was trained here is used."
        ) from problem
    return folder
