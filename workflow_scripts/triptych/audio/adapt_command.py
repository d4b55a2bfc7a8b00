"""The console command `triptych adapt`."""

import argparse
import logging
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.audio.adapting.settings import BLOCKS, EPOCHS, Wish
from triptych.core.errors import InputError, positive

if TYPE_CHECKING:
    from triptych.audio.adapting.adapting import Adapted

DESCRIPTION = """\
Fine-tune a model on your own recordings with captions, so that the search finds more of them.

PAIRS is a CSV file with the columns file (below FOLDER) and caption; a file may have several rows.
A fifth of the recordings is held out, and another part chooses the epoch: the scores before and
after are of recordings that the model has not learnt from. What this made is a folder that triptych
index takes as --model. Stopped or killed, it goes on where it was when it is called again.
"""

EXAMPLES = """\
examples:
  triptych adapt --model published pairs.csv ~/sounds
  triptych index ~/sounds --model ~/sounds/triptych-model --rebuild
"""

NAME = "triptych-model"
"""The result, in the folder of recordings, unless another place is given."""


def add_command(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    parser = commands.add_parser(
        "adapt",
        help="fine-tune a model of the search on your own recordings with captions",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pairs", type=Path, metavar="PAIRS", help="a table, *.csv: file, caption")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the recordings lie")
    parser.add_argument(
        "--model",
        type=Path,
        metavar="FOLDER",
        help="a trained model, or the name of a finished one that is fetched once: published "
        "(dcase2025), salsa, clap (default: the best one trained here on recordings, or else "
        "small)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"where the adapted model goes (default: {NAME} in the folder of recordings)",
    )
    parser.add_argument(
        "--blocks",
        type=_blocks,
        default="auto",
        metavar="N",
        help="blocks of either encoder that are trained, the last ones, with the projections; or "
        f"all, the whole model (default: {BLOCKS} on a processor, all on a GPU and of small, which "
        "has no blocks)",
    )
    parser.add_argument(
        "--epochs", type=positive, default=EPOCHS, help="of which the best is taken (%(default)s)"
    )
    parser.add_argument(
        "--learning-rate",
        type=float,
        metavar="RATE",
        help="its peak (default: the one that the model was last trained with, or 2e-5)",
    )
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s"
    )
    parser.set_defaults(run=_adapt)


def _blocks(text: str) -> str | int:
    return text if text in ("all", "auto") else positive(text)


def _adapt(options: argparse.Namespace) -> int:
    say = partial(print, file=sys.stderr)
    if not options.folder.is_dir():
        raise InputError(f"{options.folder} is not a folder")
    to = options.output or options.folder / NAME
    if to.exists():
        raise InputError(f"{to} is there already: give another place with -o, or remove it")
    if to.absolute().parent.is_dir() and not os.access(to.absolute().parent, os.W_OK):
        raise InputError(f"{to.absolute().parent} cannot be written to: give another place with -o")
    if options.learning_rate is not None and not 0 < options.learning_rate < 1:
        raise InputError(f"--learning-rate {options.learning_rate}: expected between 0 and 1")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    from triptych.audio.adapting.recordings import read_recordings, split

    recordings = read_recordings(options.pairs, options.folder)
    counts = [f"{len(each)} {part}" for part, each in split(recordings).items()]
    captions = sum(len(each.captions) for each in recordings)
    say(f"{len(recordings)} recordings with {captions} captions: {', '.join(counts)}")
    from triptych.audio.search.trained import chosen_model

    model = chosen_model(options.model, say)

    from triptych.audio.adapting.adapting import adapt  # imports PyTorch
    from triptych.core.device import choose_device
    from triptych.core.stopping import Stopped, StopRequest
    from triptych.core.training_loop import DivergedError

    try:
        device = choose_device(options.device)
    except ValueError as problem:
        raise InputError(str(problem)) from problem
    blocks = None if options.blocks == "all" else options.blocks
    wish = Wish(blocks, options.epochs, options.learning_rate)
    try:
        done = adapt(
            model, options.folder.resolve(), recordings, to.absolute(), wish, device, StopRequest()
        )
    except Stopped as stopped:
        say(f"stopped by {stopped.reason}; run it again to go on")
        return 130
    except DivergedError as problem:
        raise InputError(f"{problem} Here that is --learning-rate.") from problem
    _tell(done, options.epochs)
    print(f"{to}: triptych index FOLDER --model {to} --rebuild")
    return 0


def _tell(done: "Adapted", epochs: int) -> None:
    from triptych.audio.adapting.held_out import as_text, verdict

    print(as_text(done.scores))
    print(verdict(done.scores))
    before, after = done.validation
    chosen = f"epoch {done.epoch} of {epochs}, by the validation part"
    print(f"{chosen}: mAP@10 {after:.3f}, before {before:.3f}")
    if after <= before:
        print("No epoch was better there than the model as it was: rather keep that one.")
