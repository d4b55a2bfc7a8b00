"""The console command `triptych learn-style`."""

import argparse
import logging
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from triptych.apps import add_device, chosen_device, command
from triptych.core.errors import InputError, positive

DESCRIPTION = """\
Teach a trained network of several styles one more, from one painting: minutes on a processor.

The network's convolutions stay as they are; only the scales and shifts of its norms are learnt
(Dumoulin et al. 2017). The style is then a network's name for triptych stylize. Stopped by Ctrl-C
it goes on where it was, if called again.
"""

EXAMPLES = """\
examples:
  triptych learn-style starry_night.jpg
  triptych stylize photo.jpg --style starry_night -o painted.jpg
"""

NAME = r"[a-z0-9][a-z0-9_]*"


def add_command(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    summary = "teach a trained network one more painting's style"
    parser = command(commands, "learn-style", _learn, summary, DESCRIPTION, EXAMPLES)
    parser.add_argument("painting", type=Path, metavar="PAINTING", help="an image")
    parser.add_argument(
        "--name", help="of the style (default: the painting's file, without its suffix)"
    )
    parser.add_argument(
        "--network",
        type=Path,
        metavar="FILE",
        help="a network of several styles (default: the one that Triptych ships)",
    )
    parser.add_argument(
        "--batches",
        type=positive,
        default=300,
        help="of 4 crops of 128 pixels; more are better (default: %(default)s)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the style's network (default: results/style/networks/NAME/learned/"
        "network.safetensors, where --style NAME finds it)",
    )
    add_device(parser)


def _learn(options: argparse.Namespace) -> int:
    name = options.name or re.sub(r"\W+", "_", options.painting.stem.lower())
    if not re.fullmatch(NAME, name):
        raise InputError(f"{name!r} can't be a style's name: give --name of letters, digits and _")
    from triptych.apps.pictures import catalogue
    from triptych.apps.pictures.crops import CropsByChance
    from triptych.core.device import choose_precision
    from triptych.core.stopping import StopRequest
    from triptych.style.data.images import read_image
    from triptych.style.network.learning import SIZE, learn_style

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    network = options.network or catalogue.several()
    backbone = catalogue.backbone_file(None)
    for path in (options.painting, network, backbone):
        if not path.is_file():
            raise InputError(f"{path}: there is no such file")
    to = options.output or catalogue.TRAINED / name / "learned" / "network.safetensors"
    to.parent.mkdir(parents=True, exist_ok=True)
    device = chosen_device(options)
    checkpoint = to.parent / ".learning"
    learn_style(
        network,
        read_image(options.painting),
        name,
        CropsByChance(SIZE + SIZE // 4),
        options.batches,
        backbone=backbone,
        precision=choose_precision("auto", device, "training"),
        device=device,
        checkpoint=checkpoint,
        stop=StopRequest(),
        to=to,
    )
    shutil.rmtree(checkpoint)
    print(f"{options.painting} -> {to}")
    return 0
