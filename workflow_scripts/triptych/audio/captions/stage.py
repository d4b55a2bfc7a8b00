"""Write new captions for a data set's captions.

They come from a language model's server or from a file: the authors' published captions, or those
of the demo's scenes in the same layout.
"""

import json
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from triptych.audio.captions.answers import Item, Rejected, Written, choose, parse_answer, sift
from triptych.audio.captions.rules import normalised
from triptych.audio.captions.settings import (
    CaptionSettings,
    caption_prompt,
    instruction,
    repair_prompt,
)
from triptych.audio.data.tables import read_table
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, write_csv

logger = logging.getLogger(__name__)

PUBLISHED_MODELS = {"authors": "gpt-3.5-turbo", "template": "template"}
"""What wrote the captions that come in a file, by back end."""
TABLE_1_CAPTION = "A person is making noise by tapping their fingernails on a solid surface."
FEWEST_FOUND = 0.5
"""If a smaller share of the captions is in the file, it is the file of another data set."""
JUDGED = 20
"""Answers after which a model is judged by `least_yield`."""
EXAMPLES, LONGEST_EXAMPLE = 4, 100
"""Rejected texts that an error quotes, and how many of their characters."""

Captions = dict[tuple[str, str], list[str]]


@dataclass
class Usage:
    """A row of usage.csv: tokens and cost are of all answers used, whenever they were paid."""

    backend: str
    model: str
    requests: int = 0
    cached: int = 0
    repaired: int = 0
    rejected: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    currency: str = ""
    captions: int = 0


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

    clips, captions: the data set's tables. published: the file from which the back ends authors and
    template take captions. outputs: paths of variations, unfiltered (before any rule), rejected,
    usage (CSV) and example (JSON). Raises InputError, and Stopped when `stop` gives a reason.
    """
    items = read_items(clips, captions, splits)
    if settings.backend == "openai":
        written, counts = by_service(items, settings, stop)
    else:
        assert published is not None
        known = read_published(published)
        written = published_captions(items, known, settings.variations, settings.longest_words)
        model = PUBLISHED_MODELS[settings.backend]
        counts = Usage(settings.backend, model, currency=settings.prices.currency)
    check_yield(written, settings.variations, settings.least_yield)
    counts.rejected = sum(len(answered.rejected) for answered in written)
    counts.captions = sum(len(answered.variations) for answered in written)
    _write(items, written, counts, settings, outputs)


class YieldTooLow(InputError):
    """Too few of the requested captions are good."""


def by_service(
    items: Sequence[Item], settings: CaptionSettings, stop: Callable[[], str | None]
) -> tuple[list[Written], Usage]:
    """Ask a server for the captions of all items, once more where an answer broke the rules.

    Raises ServiceError, BudgetReached, YieldTooLow and Stopped.
    """
    # Imported here: the client takes a second, and the other back ends don't need it.
    from triptych.audio.captions.service import Answer, Asker, Request

    count, longest = settings.variations, settings.longest_words
    asker = Asker(settings, stop)

    def first(item: Item) -> Request:
        prompt = caption_prompt(item.caption, item.keywords, count)
        return Request(settings.model, settings.parameters, prompt)

    def repair(item: Item) -> Request:
        prompt = repair_prompt(item.caption, item.keywords, count, longest)
        return Request(settings.model, settings.parameters, prompt, attempt=1)

    def chosen(item: Item, *requests: Request) -> Written:
        answers = [asker.answers[request.key] for request in requests]
        texts = [(answer.text, answer.finish_reason) for answer in answers]
        return choose(texts, item.caption, count, longest)

    items_by_key = {first(item).key: item for item in items}
    judged: list[Written] = []

    def judge(request: Request, answer: Answer) -> None:
        judged.append(chosen(items_by_key[request.key], request))
        if len(judged) >= JUDGED:
            check_yield(judged, count, settings.least_yield, settings.cache)

    asker.ask(map(first, items), judge)
    written = [chosen(item, first(item)) for item in items]
    bad = [index for index, answered in enumerate(written) if answered.rejected]
    if bad:
        logger.info("%d of %d answers broke the rules; asking again", len(bad), len(items))
        asker.ask(repair(items[index]) for index in bad)
    for index in bad:
        written[index] = chosen(items[index], first(items[index]), repair(items[index]))
    usage = Usage(
        "openai",
        settings.model,
        requests=asker.requested,
        cached=asker.cached,
        repaired=sum(not written[index].rejected for index in bad),
        input_tokens=sum(answer.input_tokens for answer in asker.answers.values()),
        output_tokens=sum(answer.output_tokens for answer in asker.answers.values()),
        cost=round(asker.spent, 6),
        currency=settings.prices.currency,
    )
    return written, usage


def check_yield(written: Sequence[Written], count: int, least: float, cache: str = "") -> None:
    """Raise YieldTooLow if less than the share `least` of `count` captions an item is good.

    cache: the folder with the answers, if there is one.
    """
    good, total = sum(len(item.variations) for item in written), count * len(written)
    if good >= least * total:
        return
    # Lines; where there are none, the answer.
    bad = [text for item in written for text in item.rejected[1:] or item.rejected]
    examples = "; ".join(
        f"{text.problem}: {text.answer[:LONGEST_EXAMPLE]!r}" for text in bad[:EXAMPLES]
    )
    advice = (
        " Choose another audio.captions.model or other parameters; an answer that is cut off "
        f"(length) needs a higher max_completion_tokens. The answers are kept in {cache}."
    )
    raise YieldTooLow(
        f"{good} of {total} captions are good, less than audio.captions.least_yield ({least:.0%}) "
        f"allows. What was wrong: {examples}.{advice if cache else ''}"
    )


def read_items(
    clips: str | os.PathLike[str], captions: str | os.PathLike[str], splits: Collection[str]
) -> list[Item]:
    """The captions to be rephrased, with their clips' keywords."""
    chosen = read_table(clips)
    chosen = chosen[chosen["split"].isin(list(splits))]
    keywords = {
        clip: tuple(word.strip() for word in words.split(";") if word.strip())
        for clip, words in zip(chosen["clip"], chosen["keywords"], strict=True)
    }
    table = read_table(captions)
    table = table[table["clip"].isin(list(keywords))]
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
            for item, answered in pairs
            for number, caption in enumerate(getattr(answered, kind), start=1)
        ]
        for kind in ("variations", "unfiltered")
    )
    bad = [
        (item.clip, item.position, bad.problem, bad.answer)
        for item, answered in pairs
        for bad in answered.rejected
    ]
    for name, rows, columns in (
        ("variations", new, ["clip", "position", "variation", "caption"]),
        ("unfiltered", unfiltered, ["clip", "position", "variation", "caption"]),
        ("rejected", bad, ["clip", "position", "problem", "answer"]),
    ):
        write_csv(pd.DataFrame(rows, columns=columns), outputs[name])
    write_csv(pd.DataFrame([vars(counts)]), outputs["usage"])
    most = max(len(answered.variations) for answered in written)
    whole = [(item, answered) for item, answered in pairs if len(answered.variations) == most]
    # Table 1's caption where it was asked for, otherwise the first with keywords and all five.
    item, answered = min(
        whole, key=lambda pair: (pair[0].caption.strip() != TABLE_1_CAPTION, not pair[0].keywords)
    )
    record = {
        "backend": counts.backend,
        "model": counts.model,
        "instruction": instruction(item.keywords, settings.variations).strip(),
        "caption": item.caption,
        "keywords": list(item.keywords),
        "response": list(answered.variations),
    }
    with atomic_path(Path(outputs["example"])) as temporary:
        text = json.dumps(record, ensure_ascii=False, indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")
    logger.info("%d new captions for %d captions", counts.captions, len(items))


def read_published(path: str | os.PathLike[str]) -> Captions:
    """New captions by (file name, caption), from records with `path`, `caption` and `variations`.
    Raises InputError where none is understood.
    """
    captions: Captions = {}
    text = Path(path).read_text(encoding="utf-8-sig").strip()
    try:
        lines = [] if text.startswith("[") else text.splitlines()
        for record in map(json.loads, lines) if lines else json.loads(text):
            if record.get("variations"):
                key = _file_key(record["path"]), normalised(record["caption"])
                captions.setdefault(key, []).extend(record["variations"])
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        captions = {}
    if not captions:
        raise InputError(
            f"{path} holds no records with path, caption and variations in JSON; expected is the "
            "authors' variations.json. Delete it and run again."
        )
    return captions


def published_captions(
    items: Sequence[Item], published: Captions, count: int, longest_words: int
) -> list[Written]:
    """The first `count` good captions of each item; those that break the rules are listed.

    Raises InputError when more than half of the items are not found.
    """
    written, missing = [], 0
    for item in items:
        variations = published.get((_file_key(item.clip), normalised(item.caption)))
        if variations is None:
            missing += 1
            written.append(Written((), (Rejected("not among the published captions", ""),)))
            continue
        sentences = [(answered, None) for text in variations for answered in parse_answer(text)]
        good, bad = sift(sentences, item.caption, longest_words)
        whole = len(good) >= count
        # As its authors' code trains on them: a list as it stands, a text line by line.
        listed = variations if len(variations) > 1 else parse_answer(variations[0])
        written.append(
            Written(tuple(good[:count]), () if whole else tuple(bad), tuple(listed[:count]))
        )
    if items and missing > (1 - FEWEST_FOUND) * len(items):
        raise InputError(
            f"{missing} of {len(items)} captions are not in the file of published captions, which "
            f"has {len(published)}; is it for another data set (audio.captions.backend: authors "
            "needs Clotho)?"
        )
    return written


def _file_key(name: str) -> str:
    """A file's name without folders, case, suffix and what versions spell differently."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    sound = PurePosixPath(base).suffix.lower() in (".wav", ".flac", ".mp3", ".ogg")
    stem = base.rsplit(".", 1)[0] if sound else base
    return "".join(letter for letter in stem.lower() if letter.isalnum())
