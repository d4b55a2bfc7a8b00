"""The console commands `triptych index` and `triptych search`."""

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.core.errors import InputError
from triptych.core.options import positive

if TYPE_CHECKING:
    from triptych.audio.search.embedder import Embedder
    from triptych.audio.search.index import Index

INDEX = """\
Make a folder of sounds searchable by text.

Every sound file below the folder (wav, flac, mp3, ogg, opus, aiff, m4a, wma and others, and the
sound of videos) is embedded by a trained model, long ones in windows of 30 seconds. Run it again
after a change: files that are the same are not embedded again, removed ones are dropped. What
cannot be read, and linked folders, are listed and skipped.
"""

SEARCH = """\
Find sounds by a text in a folder that triptych index has indexed.
"""

EXAMPLES = """\
examples:
  triptych index ~/sounds
  triptych index ~/sounds --model published
  triptych search "rain on a tin roof" --index ~/sounds
  triptych search "a dog barks twice, far away" --index ~/sounds -n 3 --json
"""


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of `triptych`."""
    index = _parser(commands, "index", "make a folder of sounds searchable by text", INDEX)
    index.add_argument("folder", type=Path, metavar="FOLDER")
    index.add_argument(
        "--index",
        type=Path,
        metavar="FILE",
        help="where the index goes, *.npz (default: triptych-index.npz in the folder)",
    )
    index.add_argument(
        "--rebuild", action="store_true", help="embed everything anew, with another model say"
    )
    index.set_defaults(run=_index)

    search = _parser(commands, "search", "find sounds in an indexed folder by a text", SEARCH)
    search.add_argument("text", metavar="TEXT", help="what is to be heard, in plain English")
    search.add_argument(
        "--index", type=Path, required=True, metavar="FILE", help="the index, or its folder"
    )
    search.add_argument(
        "-n", type=positive, default=10, metavar="N", dest="count", help="files (default: 10)"
    )
    search.add_argument("--json", action="store_true", help="write the results as JSON")
    search.set_defaults(run=_search)

    for parser, default in (
        (index, "the index's own, at first the best one that the workflow trained"),
        (search, "the one that made the index"),
    ):
        parser.add_argument(
            "--model",
            type=Path,
            metavar="FOLDER",
            help="a trained model, or the name of a finished one that is fetched once: published "
            f"(dcase2025), salsa, clap (default: {default})",
        )
        parser.add_argument(
            "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s"
        )


def _parser(commands: Any, name: str, summary: str, description: str) -> Any:
    return commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _index(options: argparse.Namespace) -> int:
    from triptych.audio.search.index import NAME, printable, read_index, write_index
    from triptych.audio.search.indexing import sound_files, update_index
    from triptych.audio.search.trained import only_synthesised
    from triptych.core.stopping import StopRequest

    if not options.folder.is_dir():
        raise InputError(f"{options.folder} is not a folder")
    folder = options.folder.resolve()
    path = options.index or folder / NAME
    if path.suffix != ".npz":
        raise InputError(f"--index {path}: an index is a file *.npz")
    if not any(not (folder / path).is_dir() for path in sound_files(folder)):
        raise InputError(
            f"{folder}: there are no sound files in it or below it (linked folders are not looked "
            "into)"
        )
    earlier = None if options.rebuild or not path.exists() else read_index(path)
    if earlier and earlier.root != folder and earlier.root.is_dir():
        raise InputError(
            f"{path} is the index of {earlier.root}; give another file by --index, or --rebuild"
        )
    model, sha256 = _model_for(earlier, options.model)
    if only_synthesised(model):
        print(
            "this model has heard only synthesised scenes: expect little of it on recordings",
            file=sys.stderr,
        )
    request = StopRequest()
    index, update = update_index(
        folder,
        earlier,
        (str(model), sha256),
        lambda: _embedder(model, options.device),
        lambda current: write_index(current, path),
        lambda: request.reason,
    )
    for entry in index.problems:
        print(f"skipped {printable(entry.path)}: {printable(entry.problem)}", file=sys.stderr)
    windows = sum(len(entry.starts) for entry in index.entries)
    print(
        f"{path}: {len(index.entries) - len(index.problems)} files in {windows} windows "
        f"({update.new} new, {update.moved} moved or copied, {update.kept} as before, "
        f"{update.removed} removed, {len(index.problems)} skipped); listed in "
        f"{path.with_suffix('.csv')}"
    )
    if update.stopped:
        print(f"stopped by {update.stopped}; run it again to go on", file=sys.stderr)
        return 130
    return 0


def _search(options: argparse.Namespace) -> int:
    from triptych.audio.search.index import index_path, read_index
    from triptych.audio.search.query import as_records, best_files, table

    if not options.text.strip():
        raise InputError("the TEXT is empty: what shall be searched for?")
    path = index_path(options.index)
    if not path.exists():
        raise InputError(f"there is no index {path}: make one with triptych index FOLDER")
    index = read_index(path)
    model, _ = _model_for(index, options.model)
    text = _embedder(model, options.device).text(options.text)
    results = best_files(index, text, options.count)
    if options.json:
        print(json.dumps(as_records(results), indent=1))
    else:
        print(table(results))
    return 0


def _embedder(model: Path, device: str) -> "Embedder":
    """PyTorch is imported here and nowhere before: it takes seconds."""
    from triptych.audio.search.embedder import Embedder

    return Embedder(model, device)


def _model_for(index: "Index | None", wanted: Path | None) -> tuple[Path, str]:
    """The model's folder and digest: the one asked for, or the index's, or the best one.

    Raises InputError where the index was made by another one: its scores would mean nothing.
    """
    from triptych.audio.search.finished_models import finished_model
    from triptych.audio.search.trained import CHECKOUT, best_model, checked_model

    if wanted is not None and not wanted.exists():
        say = partial(print, file=sys.stderr)
        wanted = finished_model(str(wanted), CHECKOUT, say) or wanted
    if index is None:
        if wanted is None:
            wanted, description = best_model()
            print(description, file=sys.stderr)
        return checked_model(wanted)
    given = wanted or Path(index.model)
    anew = "run triptych index FOLDER --rebuild to embed the folder anew"
    if wanted is None and not given.is_dir():
        raise InputError(
            f"the index was made by the model in {given}, which is gone: give the folder where it "
            f"is now by --model, or {anew}"
        )
    folder, sha256 = checked_model(given)
    if sha256 != index.model_sha256:
        raise InputError(
            "the index was made by another model "
            + (f"than {folder}, by {index.model}" if wanted else f"than what lies in {folder} now")
            + f"; {anew}"
        )
    return folder, sha256
