"""The stage "captions by GPT": from a data set's captions to its new captions, by any back end.

Writes variations.csv, unfiltered.csv, rejected.csv, usage.csv and example.json. Nothing here needs
torch.
"""

import json
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from triptych.audio.captions.answers import Item, Written
from triptych.audio.captions.floor import check_yield
from triptych.audio.captions.prompt import instruction
from triptych.audio.captions.published import published_captions, read_published
from triptych.audio.captions.settings import CaptionSettings, Usage
from triptych.audio.data.tables import read_table
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, write_csv

logger = logging.getLogger(__name__)

PUBLISHED_MODELS = {"authors": "gpt-3.5-turbo", "template": "template"}
"""What wrote the captions that come in a file, by back end."""
TABLE_1_CAPTION = "A person is making noise by tapping their fingernails on a solid surface."


def write_captions(
    clips: str | os.PathLike[str],
    captions: str | os.PathLike[str],
    settings: CaptionSettings,
    splits: Collection[str],
    outputs: Mapping[str, str | os.PathLike[str]],
    published: str | os.PathLike[str] | None = None,
    stop: Callable[[], str | None] = lambda: None,
) -> None:
    """Write the new captions of the clips of `splits`, in the order of the tables.

    `clips` and `captions` are the data set's tables, `published` the file of new captions that the
    back ends authors and template take them from. `outputs` are paths by name: variations,
    unfiltered (the same before any rule was applied), rejected, usage (CSV), example (JSON). They
    appear when all captions are done; answers are kept in the cache before. Raises InputError (also
    ServiceError, BudgetReached, YieldTooLow), and Stopped when `stop` gives a reason.
    """
    items = read_items(clips, captions, splits)
    if settings.backend == "openai":
        # Imported here: the client takes a second, and the other back ends don't need it.
        from triptych.audio.captions.requests import by_service

        written, counts = by_service(items, settings, stop)
    else:
        if published is None:
            raise InputError(f"audio.captions.backend {settings.backend} needs a file of captions")
        known = read_published(published)
        written = published_captions(items, known, settings.variations, settings.longest_words)
        model = PUBLISHED_MODELS[settings.backend]
        counts = Usage(settings.backend, model, currency=settings.prices.currency)
    check_yield(written, settings.variations, settings.least_yield)
    counts.rejected = sum(len(each.rejected) for each in written)
    counts.captions = sum(len(each.variations) for each in written)
    _write(items, written, counts, settings, outputs)


def read_items(
    clips: str | os.PathLike[str], captions: str | os.PathLike[str], splits: Collection[str]
) -> list[Item]:
    """The captions to be rephrased, with their clips' keywords."""
    clip_table = read_table(clips)
    chosen = clip_table[clip_table["split"].isin(list(splits))]
    keywords = {
        clip: tuple(word.strip() for word in words.split(";") if word.strip())
        for clip, words in zip(chosen["clip"], chosen["keywords"], strict=True)
    }
    table = read_table(captions)
    table = table[table["clip"].isin(list(keywords))]
    if table.empty:
        known = ", ".join(sorted(set(clip_table["split"])))
        raise InputError(
            f"{captions} has no captions for the splits {', '.join(splits)}; {clips} has {known}"
        )
    return [
        Item(clip, int(position), caption, keywords[clip])
        for clip, position, caption in zip(
            table["clip"], table["position"], table["caption"], strict=True
        )
    ]


def _write(
    items: Sequence[Item],
    written: Sequence[Written],
    counts: Usage,
    settings: CaptionSettings,
    outputs: Mapping[str, str | os.PathLike[str]],
) -> None:
    pairs = list(zip(items, written, strict=True))
    new, unfiltered = (
        [
            (item.clip, item.position, number, caption)
            for item, each in pairs
            for number, caption in enumerate(getattr(each, kind), start=1)
        ]
        for kind in ("variations", "unfiltered")
    )
    bad = [
        (item.clip, item.position, bad.problem, bad.answer)
        for item, each in pairs
        for bad in each.rejected
    ]
    for name, rows, columns in (
        ("variations", new, ["clip", "position", "variation", "caption"]),
        ("unfiltered", unfiltered, ["clip", "position", "variation", "caption"]),
        ("rejected", bad, ["clip", "position", "problem", "answer"]),
    ):
        write_csv(pd.DataFrame(rows, columns=columns), outputs[name])
    write_csv(pd.DataFrame([vars(counts)]), outputs["usage"])
    item, each = _example(pairs)
    record = {
        "backend": counts.backend,
        "model": counts.model,
        "instruction": instruction(item.keywords, settings.variations).strip(),
        "caption": item.caption,
        "keywords": list(item.keywords),
        "response": list(each.variations),
    }
    with atomic_path(Path(outputs["example"])) as temporary:
        text = json.dumps(record, ensure_ascii=False, indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")
    whole = sum(len(each.variations) == settings.variations for each in written)
    logger.info(
        "%d new captions; %d of %d captions have all %d",
        counts.captions,
        whole,
        len(items),
        settings.variations,
    )


def _example(pairs: Sequence[tuple[Item, Written]]) -> tuple[Item, Written]:
    """Table 1's caption where it was asked for, otherwise the first with keywords and all five."""
    most = max(len(each.variations) for _, each in pairs)
    whole = [(item, each) for item, each in pairs if len(each.variations) == most]
    for item, each in whole:
        if item.caption.strip() == TABLE_1_CAPTION:
            return item, each
    return next(((item, each) for item, each in whole if item.keywords), whole[0])
