"""results/search.html: what the model finds for queries of the test split, to be seen and heard.

One page that needs nothing but itself. The queries are chosen by a rule, not by hand.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from triptych.audio.data.decoding import SAMPLE_RATE
from triptych.audio.data.shards import Store
from triptych.audio.embedding_files import Split
from triptych.audio.scoring.metrics import best_columns, columns_of, ranks, similarities
from triptych.audio.search.pictures import addresses, render

BEST = 10
HEARD_SECONDS = 10.0
KINDS = ("at rank 1", "at ranks 2 to 10", "not among the ten best")


def choose_queries(
    of_ranks: NDArray[np.int64], query_clips: Sequence[str], count: int
) -> list[int]:
    """Numbers of about `count` queries by rank: a third each of hits at 1, of ranks 2 to 10 and of
    misses, evenly spaced, or as many as there are. A clip takes part with its first query."""
    _, firsts = np.unique(np.asarray(query_clips), return_index=True)
    by_rank = sorted(firsts.tolist(), key=lambda query: (of_ranks[query], query))
    chosen = []
    for kind in range(len(KINDS)):
        group = [query for query in by_rank if _kind(of_ranks[query]) == kind]
        places = np.linspace(0, len(group) - 1, min(math.ceil(count / len(KINDS)), len(group)))
        chosen += [group[place] for place in places.round().astype(int)]
    return chosen


def search_page(
    split: Split,
    clips: pd.DataFrame,
    captions: pd.DataFrame,
    store: Store,
    *,
    queries: int,
    run: Mapping[str, Any],
    scale: str,
) -> str:
    """The page's HTML. split: the embeddings that are searched; clips, captions: of its tables;
    store: the clips' sound; run: the model's row of the experiment table.
    """
    scores = similarities(split.text, split.audio)
    columns = columns_of(list(split.query_clips), list(split.clips))
    of_ranks = ranks(scores, columns)
    described = _Clips(clips, captions, store)
    shown = []
    for query in choose_queries(of_ranks, [str(clip) for clip in split.query_clips], queries):
        rank, true = int(of_ranks[query]), int(columns[query])
        listed = best_columns(scores[query : query + 1], min(BEST, scores.shape[1]))[0].tolist()
        places = list(enumerate(listed, start=1))
        if rank > len(listed):
            places.append((rank, true))
        ranked = [
            described.of(str(split.clips[column]))
            | {"rank": place, "score": float(scores[query, column]), "true": column == true}
            for place, column in places
        ]
        named = {"number": query, "text": str(split.captions[query]), "rank": rank}
        shown.append(named | {"kind": KINDS[_kind(rank)], "clips": ranked})
    return render(
        "search.html.j2",
        run=run,
        scale=scale,
        shown=shown,
        counts=[
            {
                "kind": name,
                "share": np.mean([_kind(rank) == kind for rank in of_ranks]),
                "shown": sum(query["kind"] == name for query in shown),
            }
            for kind, name in enumerate(KINDS)
        ],
        queries=len(of_ranks),
        clips=len(split.clips),
        heard=f"{HEARD_SECONDS:.0f}",
    )


class _Clips:
    """The entry of a clip; its sound and picture are made once."""

    def __init__(self, clips: pd.DataFrame, captions: pd.DataFrame, store: Store) -> None:
        self._about = {
            clip: (name, keywords.split(";"))
            for clip, name, keywords in clips[["clip", "file_name", "keywords"]].to_numpy()
        }
        self._captions = captions.groupby("clip", sort=False)["caption"].agg(list).to_dict()
        self._store = store
        self._known: dict[str, dict[str, Any]] = {}

    def of(self, clip: str) -> dict[str, Any]:
        if clip not in self._known:
            name, keywords = self._about[clip]
            frames = self._store.frames(clip)
            heard = min(frames, round(HEARD_SECONDS * SAMPLE_RATE))
            spectrogram, sound = addresses(self._store.read(clip, 0, heard))
            self._known[clip] = {
                "name": name,
                "seconds": frames / SAMPLE_RATE,
                "keywords": [word for word in keywords if word],
                "captions": self._captions.get(clip, []),
                "spectrogram": spectrogram,
                "sound": sound,
            }
        return self._known[clip]


def _kind(rank: int) -> int:
    return 0 if rank == 1 else 1 if rank <= BEST else 2
