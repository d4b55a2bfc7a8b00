"""The console commands `triptych index`, `search`, `serve` and `adapt`."""

import argparse
import json
import logging
import shlex
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.apps import (
    NOT_USED,
    add_device,
    add_quiet,
    chosen_device,
    command,
    output_path,
    show_progress,
)
from triptych.core.errors import InputError, natural, positive, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from triptych.apps.sounds.search.embedder import ClapEmbedder, Embedder
    from triptych.apps.sounds.search.index import Index

logger = logging.getLogger(__name__)

INDEX = (
    """\
Index a folder of sounds for search by text.

A trained model embeds every sound file below the folder, and the sound of videos, in segments.
After a change run it again: only new files are embedded. A damaged file is indexed as far as it can
be read.

"""
    + NOT_USED
)

SEARCH = "Find sounds in a folder indexed by triptych index, by texts or by a sound."

SERVE = """\
Search an indexed folder in a browser: a page with a search box, players and spectrograms. Only this
machine can open it, and only by the address that is printed, whose token keeps out its other users.
It takes no uploads. Ctrl-C stops it.
"""

ADAPT = """\
Adapt a model to your own captioned recordings, so that the search finds more of them.

PAIRS is a CSV file with the columns file (below FOLDER) and caption; a file may have several rows.
A fifth of the recordings is held out, and scores before and after are measured on it. Each
recording is embedded once; then two linear maps are learnt in seconds. The result is a folder for
triptych index --model. After an interruption, run it again to resume.
"""

EXAMPLES = """\
examples:
  triptych index ~/sounds
  triptych search "rain on a tin roof" --index ~/sounds
  triptych search "rain and thunder" --index ~/sounds -n 3 --json
  triptych search --queries wanted.txt --index ~/sounds -n 500 --per-file 100 --labels labels
  triptych index ~/sounds --model clap --rebuild
  triptych search --like bark.wav --index ~/sounds
  triptych serve --index ~/sounds
  triptych adapt pairs.csv ~/sounds
  triptych index ~/sounds --model ~/sounds/triptych-model --rebuild
"""
REINDEX = "run triptych index FOLDER with --model and its new place, or --rebuild for another model"
SMALL = Path(__file__).resolve().parents[4] / "resources/audio/small"
"""The model that the repository ships."""
ADAPTED = "triptych-model"
"""Default name of the adapted model, in the folder of recordings."""


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of `triptych`."""
    index = command(
        commands, "index", _index, "index a folder of sounds for search by text", INDEX, EXAMPLES
    )
    index.add_argument("folder", type=Path, metavar="FOLDER")
    index.add_argument(
        "--index",
        type=Path,
        metavar="FILE",
        help="file of the index, *.npz (default: triptych-index.npz in the folder)",
    )
    index.add_argument(
        "--rebuild",
        action="store_true",
        help="embed all files again, for instance with another model",
    )

    search = _add_search(commands)
    serve = command(
        commands, "serve", _serve, "search an indexed folder in a browser", SERVE, EXAMPLES
    )
    serve.add_argument(
        "--port",
        type=natural,
        default=8765,
        help="port of the page (default: %(default)s); 0 chooses a free one",
    )

    adapt = _add_adapt(commands)
    for parser in (index, adapt):
        add_quiet(parser)
    for parser in (search, serve):
        parser.add_argument(
            "--index",
            type=Path,
            required=True,
            metavar="FILE",
            help="index file, or the folder that holds triptych-index.npz",
        )
    models = "folder of a trained or published model; or small, the bundled one; or clap, LAION's, "
    models += "of which 0.8 GB are fetched once"
    for parser, default in (
        (index, "the model of the existing index, else small"),
        (adapt, "small"),
    ):
        parser.add_argument(
            "--model",
            type=Path,
            metavar="FOLDER",
            help=f"{models} (default: {default})",
        )
        add_device(parser)


def _add_search(commands: Any) -> Any:
    summary = "find sounds in an indexed folder"
    search = command(commands, "search", _search, summary, SEARCH, EXAMPLES)
    query = search.add_mutually_exclusive_group(required=True)
    query.add_argument(
        "text", metavar="TEXT", nargs="?", help="description of the sound, in English"
    )
    query.add_argument(
        "--queries", type=Path, metavar="FILE", help="text file of TEXTs, one a line"
    )
    query.add_argument("--like", type=Path, metavar="FILE", help="sound file to compare with")
    search.add_argument(
        "-n",
        type=positive,
        default=10,
        metavar="N",
        dest="count",
        help="number of hits of a query (default: %(default)s)",
    )
    search.add_argument(
        "--per-file",
        type=positive,
        metavar="N",
        help="number of segments of a file that may be hits (default: 3)",
    )
    form = search.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the hits as JSON")
    form.add_argument("--csv", action="store_true", help="print the hits as a CSV table")
    form.add_argument(
        "--labels",
        type=output_path,
        metavar="FOLDER",
        help="write the hits of each recording as a label track of Audacity into a new folder",
    )
    return search


def _add_adapt(commands: Any) -> Any:
    summary = "adapt a model to your own captioned recordings"
    adapt = command(commands, "adapt", _adapt, summary, ADAPT, EXAMPLES)
    adapt.add_argument(
        "pairs", type=Path, metavar="PAIRS", help="CSV file with the columns file and caption"
    )
    adapt.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the recordings")
    adapt.add_argument(
        "-o",
        "--output",
        type=output_path,
        metavar="FOLDER",
        help=f"folder of the adapted model (default: {ADAPTED} in the folder of recordings)",
    )
    return adapt


def _index(options: argparse.Namespace) -> int:
    from triptych.apps.sounds.search.index import NAME
    from triptych.apps.sounds.search.indexing import sound_files
    from triptych.core.job_lock import owning

    if not options.folder.is_dir():
        raise InputError(f"{options.folder} is not a folder")
    folder = options.folder.resolve()
    path = options.index or folder / NAME
    if path.suffix != ".npz":
        raise InputError(f"--index {path}: expected a file *.npz")
    show_progress(options)
    unread: list[str] = []
    paths = sound_files(folder, unread)
    if not paths:
        raise InputError(f"{folder}: no sound files in it or below it")
    with owning(path.with_name(f".{path.stem}.lock")):  # a second call goes on from the first's
        return max(_updated(options, folder, path, paths), 2 if unread else 0)


def _updated(options: argparse.Namespace, folder: Path, path: Path, paths: Sequence[str]) -> int:
    """Bring an index up to date with the files of a folder; return the exit code."""
    from triptych.apps.sounds.search.index import read_index, write_index
    from triptych.apps.sounds.search.indexing import update_index
    from triptych.apps.sounds.search.trained import (
        caution,
        digest_of_model,
        segment_seconds,
        text_folder,
    )
    from triptych.core.stopping import listening

    earlier = None if options.rebuild or not path.exists() else read_index(path)
    if earlier and earlier.root != folder and earlier.root.is_dir():
        raise InputError(
            f"{path} is the index of {earlier.root}; choose another --index, or --rebuild"
        )
    model, sha256 = _model_for(earlier, options.model)
    if not options.quiet and (warning := caution(model)):
        print(warning, file=sys.stderr)
    embedder = cache(lambda: _embedder(model, chosen_device(options).type))
    with listening() as request:
        index, update = update_index(
            folder,
            earlier,
            (str(model), sha256, segment_seconds(model)),
            embedder,
            lambda current: write_index(current, path),
            stop=lambda: request.reason,
            paths=paths,
        )
    if not update.stopped and digest_of_model(text_folder(path)) != sha256:
        logger.info("writing the model's text side, once an index")
        embedder().write_text(sha256, text_folder(path))
    for entry in index.problems:
        before = "kept as it was indexed" if entry.sha256 else "indexed in part"
        what = f"{before if len(entry.embeddings) else 'skipped'} {entry.path}"
        print(f"{printable(what)}: {printable(entry.problem)}", file=sys.stderr)
    skipped = sum(not len(entry.embeddings) for entry in index.entries)
    print(
        f"{path}: {len(index.entries) - skipped} files in "
        f"{index.firsts[-1]} segments of {index.segment_seconds:g} s "
        f"({update.new} new, {update.moved} moved or copied, {update.kept} as before, "
        f"{update.removed} removed, {skipped} skipped)"
    )
    if update.stopped:
        print(f"stopped by {update.stopped}; run it again to resume", file=sys.stderr)
        return 130
    return 2 if index.problems else 0


def _search(options: argparse.Namespace) -> int:
    from triptych.apps.sounds.search.query import (
        PER_FILE,
        Searcher,
        as_csv,
        as_records,
        best_hits,
        partly_shown,
        read_queries,
        table,
        write_labels,
    )

    searcher = Searcher(options.index)
    if options.labels and options.labels.exists():
        raise InputError(f"--labels {options.labels}: it exists; choose a new folder")

    def embed(path: Path, seconds: float) -> "NDArray[np.float32]":
        from triptych.apps.sounds.search.indexing import segments
        from triptych.audio.data.decoding import readable, stream_audio

        problems: list[str] = []
        blocks = readable(stream_audio(path), problems)
        cut = [waveform for _, waveform in segments(blocks, seconds)]
        if not cut:
            raise InputError(*problems)
        if problems:
            print(printable(problems[0]), file=sys.stderr)
        model, _ = _model_for(searcher.index, None)
        return _embedder(model, "auto").sounds(cut)

    if searcher.caution:
        print(searcher.caution, file=sys.stderr)
    if options.like:
        queries = {str(options.like): searcher.sound(options.like, embed)}
    else:
        texts = read_queries(options.queries) if options.queries else [options.text]
        queries = {text: searcher.text(text) for text in texts}
        for doubt in filter(None, map(searcher.doubt, queries)):
            print(doubt, file=sys.stderr)
    index, each = searcher.index, options.per_file or PER_FILE
    found = {text: best_hits(index, query, options.count, each) for text, query in queries.items()}
    if options.labels:
        print(f"{options.labels}: labels of {write_labels(index, found, options.labels)} files")
    elif options.json or options.csv:
        print(as_csv(found) if options.csv else json.dumps(as_records(found), indent=1))
    else:
        heads = [f"{printable(text)}\n" if options.queries else "" for text in found]
        print("\n\n".join(map("".join, zip(heads, map(table, found.values()), strict=True))))
    shown = () if options.per_file else found.values()
    for line in dict.fromkeys(line for hits in shown for line in partly_shown(hits)):
        print(f"{line}; --per-file and -n give more", file=sys.stderr)
    return 0


def _serve(options: argparse.Namespace) -> int:
    from triptych.apps.sounds.search.query import Searcher
    from triptych.apps.sounds.search.server import serve

    return serve(Searcher(options.index), options.port)


def _embedder(model: Path, device: str) -> "Embedder | ClapEmbedder":
    from triptych.apps.sounds.search.embedder import load_embedder  # which imports PyTorch

    return load_embedder(model, device)


def _model_for(index: "Index | None", model: Path | None) -> tuple[Path, str]:
    """The model's folder and digest: the named model, or the index's, or the bundled one.

    Raises InputError if the index was made by another model.
    """
    from triptych.apps.sounds.search.trained import checked_model

    folder = Path(index.model) if index and model is None else _named_model(model)
    if index is None:
        return checked_model(folder)
    if model is None and not folder.is_dir():
        raise InputError(f"the index was made by the model in {folder}, which is gone: {REINDEX}")
    folder, sha256 = checked_model(folder)
    if sha256 != index.model_sha256:
        raise InputError(
            f"the index was made by another model, {index.model}, than the one now in {folder}: "
            f"{REINDEX}"
        )
    return folder, sha256


def _named_model(model: Path | None) -> Path:
    """The folder of the model that is asked for: a folder, clap, or small, the default.

    Raises InputError where CLAP cannot be fetched.
    """
    if model and str(model) == "clap" and not model.exists():
        from triptych.apps.sounds.search.embedder import clap_folder

        return clap_folder()
    if model and (model.exists() or str(model) != "small"):
        return model
    return SMALL


def _adapt(options: argparse.Namespace) -> int:
    if not options.folder.is_dir():
        raise InputError(f"{options.folder} is not a folder")
    to = options.output or options.folder / ADAPTED
    if to.exists():
        raise InputError(f"{to} exists: choose another place with -o, or remove it")
    show_progress(options)
    from triptych.apps.sounds.adapting.adapting import adapt  # imports PyTorch
    from triptych.apps.sounds.adapting.recordings import as_text, verdict
    from triptych.core.stopping import Stopped, StopRequest

    try:
        scores = adapt(
            _named_model(options.model),
            options.pairs,
            options.folder.resolve(),
            to.absolute(),
            device=chosen_device(options),
            stop=StopRequest(),
        )
    except Stopped as stopped:
        print(f"stopped by {stopped.reason}; run it again to resume", file=sys.stderr)
        return 130
    print(as_text(scores))
    print(verdict(scores))
    index = ("triptych", "index", str(options.folder), "--model", str(to), "--rebuild")
    print(f"{to}: {shlex.join(index)}")
    return 0
