"""The console commands `triptych index`, `search`, `serve` and `adapt`."""

import argparse
import json
import logging
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.apps import NOT_USED, add_device, chosen_device, command
from triptych.core.errors import InputError, positive, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from triptych.apps.sounds.search.embedder import Embedder
    from triptych.apps.sounds.search.index import Index

INDEX = (
    """\
Make a folder of sounds searchable by text.

Every sound file below the folder, and the sound of videos, is embedded by a trained model, in
segments of the length that the model hears at once. Run it again after a change: only what is new
is embedded. A damaged file is indexed as far as it can be read.

"""
    + NOT_USED
)

SEARCH = "Find sounds in a folder that triptych index has indexed, by a text or by a sound."

SERVE = """\
The same search as a page with a search box, players and spectrograms, at an address that only this
machine can open. It takes no uploads, and stops with Ctrl-C.
"""

ADAPT = """\
Teach a model your own recordings with captions, so that the search finds more of them.

PAIRS is a CSV file with the columns file (below FOLDER) and caption; a file may have several rows.
A fifth of the recordings is held out: the scores before and after are of recordings that the model
has not learnt from. Each recording is heard once; then two linear maps are learnt in seconds. The
result is a folder that triptych index takes as --model. Stopped or killed, it goes on where it was.
"""

EXAMPLES = """\
examples:
  triptych index ~/sounds
  triptych search "rain on a tin roof" --index ~/sounds
  triptych search "rain and thunder" --index ~/sounds -n 3 --json
  triptych search --like bark.wav --index ~/sounds
  triptych serve --index ~/sounds
  triptych adapt pairs.csv ~/sounds
  triptych index ~/sounds --model ~/sounds/triptych-model --rebuild
"""
ANEW = "run triptych index FOLDER with --model where it is now, or with --rebuild for another one"
ADAPTED = "triptych-model"
"""The result, in the folder of recordings, unless another place is given."""


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of `triptych`."""
    index = command(
        commands, "index", _index, "make a folder of sounds searchable by text", INDEX, EXAMPLES
    )
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

    search = command(
        commands, "search", _search, "find sounds in an indexed folder", SEARCH, EXAMPLES
    )
    query = search.add_mutually_exclusive_group(required=True)
    query.add_argument("text", metavar="TEXT", nargs="?", help="what is to be heard, in English")
    query.add_argument("--like", type=Path, metavar="FILE", help="a sound that hits resemble")
    search.add_argument(
        "-n", type=positive, default=10, metavar="N", dest="count", help="hits (default: 10)"
    )
    search.add_argument("--json", action="store_true", help="write the hits as JSON")

    serve = command(
        commands, "serve", _serve, "search an indexed folder in a browser", SERVE, EXAMPLES
    )
    serve.add_argument(
        "--port", type=int, default=8765, help="default: %(default)s; 0 takes a free one"
    )

    adapt = _add_adapt(commands)
    for parser in (search, serve):
        parser.add_argument(
            "--index", type=Path, required=True, metavar="FILE", help="the index, or its folder"
        )
    for parser, default in ((index, "the index's own, at first small"), (adapt, "small")):
        parser.add_argument(
            "--model",
            type=Path,
            metavar="FOLDER",
            help=f"a trained model, or small, which the repository ships (default: {default})",
        )
        add_device(parser)


def _add_adapt(commands: Any) -> Any:
    summary = "teach a model your own captioned recordings"
    adapt = command(commands, "adapt", _adapt, summary, ADAPT, EXAMPLES)
    adapt.add_argument("pairs", type=Path, metavar="PAIRS", help="a table, *.csv: file, caption")
    adapt.add_argument("folder", type=Path, metavar="FOLDER", help="where the recordings lie")
    adapt.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="FOLDER",
        help=f"where the adapted model goes (default: {ADAPTED} in the folder of recordings)",
    )
    return adapt


def _index(options: argparse.Namespace) -> int:
    from triptych.apps.sounds.search.index import NAME, read_index, write_index
    from triptych.apps.sounds.search.indexing import sound_files, update_index
    from triptych.apps.sounds.search.text_side import says_model, text_folder
    from triptych.apps.sounds.search.trained import caution, segment_seconds
    from triptych.core.stopping import StopRequest

    if not options.folder.is_dir():
        raise InputError(f"{options.folder} is not a folder")
    folder = options.folder.resolve()
    path = options.index or folder / NAME
    if path.suffix != ".npz":
        raise InputError(f"--index {path}: an index is a file *.npz")
    if not sound_files(folder):
        raise InputError(f"{folder}: there are no sound files in it or below it")
    earlier = None if options.rebuild or not path.exists() else read_index(path)
    if earlier and earlier.root != folder and earlier.root.is_dir():
        raise InputError(
            f"{path} is the index of {earlier.root}; give another file by --index, or --rebuild"
        )
    model, sha256 = _model_for(earlier, options.model)
    if warning := caution(model):
        print(warning, file=sys.stderr)
    embedder = cache(lambda: _embedder(model, options.device))
    request = StopRequest()
    index, update = update_index(
        folder,
        earlier,
        (str(model), sha256, segment_seconds(model)),
        embedder,
        lambda current: write_index(current, path),
        lambda: request.reason,
    )
    for entry in index.problems:
        what = "indexed in part" if len(entry.embeddings) else "skipped"
        print(f"{what} {printable(entry.path)}: {printable(entry.problem)}", file=sys.stderr)
    skipped = sum(not len(entry.embeddings) for entry in index.entries)
    print(
        f"{path}: {len(index.entries) - skipped} files in "
        f"{index.firsts[-1]} segments of {index.segment_seconds:g} s "
        f"({update.new} new, {update.moved} moved or copied, {update.kept} as before, "
        f"{update.removed} removed, {skipped} skipped)"
    )
    if update.stopped:
        print(f"stopped by {update.stopped}; run it again to go on", file=sys.stderr)
        return 130
    if says_model(text_folder(path)) != sha256:
        embedder().write_text(sha256, text_folder(path))
    return 2 if index.problems else 0


def _search(options: argparse.Namespace) -> int:
    from triptych.apps.sounds.search.query import Searcher, as_records, best_hits, table

    searcher = Searcher(options.index)

    def embed(path: Path, seconds: float) -> "NDArray[np.float32]":
        from triptych.apps.sounds.search.indexing import segments
        from triptych.apps.sounds.search.other_formats import stream_any

        cut = [waveform for _, waveform in segments(stream_any(path), seconds)]
        if not cut:
            raise InputError(f"{path}: holds no samples")
        model, _ = _model_for(searcher.index, None)
        return _embedder(model, "auto").sounds(cut)

    if searcher.caution:
        print(searcher.caution, file=sys.stderr)
    query = searcher.sound(options.like, embed) if options.like else searcher.text(options.text)
    hits = best_hits(searcher.index, query, options.count)
    print(json.dumps(as_records(hits), indent=1) if options.json else table(hits))
    return 0


def _serve(options: argparse.Namespace) -> int:
    from triptych.apps.sounds.search.query import Searcher
    from triptych.apps.sounds.search.server import serve

    return serve(Searcher(options.index), options.port)


def _embedder(model: Path, device: str) -> "Embedder":
    from triptych.apps.sounds.search.embedder import Embedder  # which imports PyTorch

    return Embedder(model, device)


def _model_for(index: "Index | None", model: Path | None) -> tuple[Path, str]:
    """The model's folder and digest: the one asked for, or the index's, or the best one.

    Raises InputError where the index was made by another one.
    """
    from triptych.apps.sounds.search.trained import checked_model, named_model

    folder = Path(index.model) if index and model is None else named_model(model)
    if index is None:
        return checked_model(folder)
    if not folder.is_dir():
        raise InputError(f"the index was made by the model in {folder}, which is gone: {ANEW}")
    folder, sha256 = checked_model(folder)
    if sha256 != index.model_sha256:
        raise InputError(
            f"the index was made by another model, {index.model}, than what lies in {folder} now: "
            f"{ANEW}"
        )
    return folder, sha256


def _adapt(options: argparse.Namespace) -> int:
    say = partial(print, file=sys.stderr)
    if not options.folder.is_dir():
        raise InputError(f"{options.folder} is not a folder")
    to = options.output or options.folder / ADAPTED
    if to.exists():
        raise InputError(f"{to} is there already: give another place with -o, or remove it")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    from triptych.apps.sounds.adapting.recordings import read_recordings, split
    from triptych.apps.sounds.search.trained import named_model

    recordings = read_recordings(options.pairs, options.folder)
    counts = [f"{len(members)} {part}" for part, members in split(recordings).items()]
    captions = sum(len(recording.captions) for recording in recordings)
    say(f"{len(recordings)} recordings with {captions} captions: {', '.join(counts)}")

    from triptych.apps.sounds.adapting.adapting import adapt  # imports PyTorch
    from triptych.apps.sounds.adapting.held_out import as_text, verdict
    from triptych.core.stopping import Stopped, StopRequest

    try:
        scores = adapt(
            *(named_model(options.model), options.folder.resolve(), recordings, to.absolute()),
            *(chosen_device(options), StopRequest()),
        )
    except Stopped as stopped:
        say(f"stopped by {stopped.reason}; run it again to go on")
        return 130
    print(as_text(scores))
    print(verdict(scores))
    print(f"{to}: triptych index FOLDER --model {to} --rebuild")
    return 0
