"""The page of `triptych serve`: a search box, and hits to be seen and heard."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triptych.apps.sounds.search.index import Index, printable
from triptych.apps.sounds.search.other_formats import stream_any
from triptych.apps.sounds.search.query import Hit, clock
from triptych.audio.data.decoding import AudioProblem
from triptych.audio.search.pictures import render
from triptych.core.errors import InputError
from triptych.core.files import not_a_file

LONGEST_QUERY = 1000
"""Characters."""

Media = Callable[[int], tuple[str, str]]
"""The addresses of a hit's spectrogram and sound by its row. Raises InputError."""


def hits_page(
    index: Index,
    hits: Sequence[Hit],
    media: Media,
    *,
    query: str,
    told: str,
    text: str = "",
    problem: str = "",
) -> str:
    """The page's HTML.

    query: its heading; told: a sentence below it; text: what stands in the search box; problem:
    what went wrong, or "".
    """
    return render(
        "hits.html.j2",
        folder=printable(str(index.root)),
        query=query,
        told=told,
        text=text,
        longest=LONGEST_QUERY,
        problem=problem,
        shown=[_shown(index, hit, media) for hit in hits],
    )


def heard(index: Index, row: int) -> NDArray[np.float32]:
    """The sound of a segment, float32 [n] at 32 kHz. Raises InputError where it is gone."""
    entry, start, end = index.segment(row)
    path = index.root / entry.path
    if odd := not_a_file(path):
        raise AudioProblem(f"{path}: {odd}")
    blocks = list(stream_any(path, start, end - start))
    if not blocks:
        raise AudioProblem(f"{path}: ends before {clock(start)}; run triptych index again")
    return np.concatenate(blocks)


def _shown(index: Index, hit: Hit, media: Media) -> dict[str, Any]:
    """A hit as the page shows it; problem: why there is no player, or ""."""
    entry, start, end = index.segment(hit.row)
    when = f"{end - start:.1f} s" if hit.whole else f"{clock(start)} to {clock(end)}"
    name = printable(entry.path)
    shown = {"rank": hit.rank, "score": hit.score, "name": name, "when": when, "row": hit.row}
    try:
        spectrogram, sound = media(hit.row)
    except InputError as problem:  # moved or changed since it was indexed
        return shown | {"problem": printable(str(problem))}
    return shown | {"spectrogram": spectrogram, "sound": sound, "problem": ""}
