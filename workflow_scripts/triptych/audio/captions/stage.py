"""The stage "captions by GPT": from a data set's captions to its new captions, by any back end.

Writes variations.csv, rejected.csv, usage.csv and example.json. Nothing here needs torch.
"""

import json
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.audio.captions.answers import Item, Written, choose, sift
from triptych.audio.captions.authors import published_captions, read_published
from triptych.audio.captions.cache import Answer, AnswerCache, Request
from triptych.audio.captions.cost import BATCH_FACTOR, Account, Prices
from triptych.audio.captions.prompt import caption_prompt, instruction, repair_prompt
from triptych.audio.captions.template import template_captions
from triptych.audio.data.tables import read_table
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, write_csv

logger = logging.getLogger(__name__)

BACKENDS = ("openai", "authors", "template")
AUTHORS_MODEL = "gpt-3.5-turbo"
TABLE_1_CAPTION = "A person is making noise by tapping their fingernails on a solid surface."


@dataclass(frozen=True)
class CaptionSettings:
    """audio.captions of the config, key by key."""

    backend: str
    model: str
    variations: int
    longest_words: int
    cache: str
    seed: int
    prices: Prices
    budget: float | None
    batch: bool
    service: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "CaptionSettings":
        """Read the config's table; raises ValueError for a back end that is none."""
        values = dict(table)
        own = {
            name: values.pop(name)
            for name in (
                "backend", "variations", "longest_words", "cache", "seed", "budget", "batch",
            )
        }  # fmt: skip
        if own["backend"] not in BACKENDS:
            raise ValueError(
                f"audio.captions.backend is {own['backend']!r}; allowed are {', '.join(BACKENDS)}"
            )
        prices = Prices(**values.pop("prices"))
        return cls(**own, model=values["model"], prices=prices, service=values)


@dataclass
class Usage:
    """Counts behind usage.csv: tokens and cost are of all answers used, whenever paid for."""

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
    *,
    variations: str | os.PathLike[str],
    rejected: str | os.PathLike[str],
    usage: str | os.PathLike[str],
    example: str | os.PathLike[str],
    authors: str | os.PathLike[str] | None = None,
    stop: Callable[[], str | None] = lambda: None,
) -> None:
    """Write the new captions of the clips of `splits`, in the order of the tables.

    `clips` and `captions` are the data set's tables, `authors` the published captions (back end
    authors). The four outputs appear when all captions are done; answers are kept in the cache
    before. Raises InputError (also ServiceError, BudgetReached), and Stopped when `stop` gives a
    reason.
    """
    items = read_items(clips, captions, splits)
    if settings.backend == "openai":
        written, counts = _by_service(items, settings, stop)
    elif settings.backend == "authors":
        if authors is None:
            raise InputError("audio.captions.backend authors needs the file of their captions")
        published = read_published(authors)
        written = published_captions(items, published, settings.variations, settings.longest_words)
        counts = Usage("authors", AUTHORS_MODEL, currency=settings.prices.currency)
    else:
        written = [_by_template(item, settings) for item in items]
        counts = Usage("template", "template", currency=settings.prices.currency)
    counts.rejected = sum(len(each.rejected) for each in written)
    counts.captions = sum(len(each.variations) for each in written)
    _write(items, written, counts, settings, variations, rejected, usage, example)


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


def _by_template(item: Item, settings: CaptionSettings) -> Written:
    made = template_captions(item.caption, list(item.keywords), settings.variations, settings.seed)
    good, bad = sift(((each, None) for each in made), item.caption, settings.longest_words)
    return Written(tuple(good), tuple(bad))


def _by_service(
    items: Sequence[Item], settings: CaptionSettings, stop: Callable[[], str | None]
) -> tuple[list[Written], Usage]:
    """Ask a server: everything once, then once more where the answer broke the rules."""
    # Imported here: the client takes a second, and neither template nor authors needs it.
    from triptych.audio.captions.asking import ask
    from triptych.audio.captions.batch import Batches
    from triptych.audio.captions.client import ServiceSettings

    service = ServiceSettings(**settings.service)
    prices = settings.prices.times(BATCH_FACTOR) if settings.batch else settings.prices
    account = Account(prices, settings.budget, settings.variations)
    cache = AnswerCache(settings.cache)
    counts = Usage("openai", settings.model, currency=prices.currency)
    batches = Batches() if settings.batch else None

    def answers_to(asked: Sequence[Request]) -> dict[str, Answer]:
        answers: dict[str, Answer] = {}
        missing: dict[str, Request] = {}
        for request in asked:
            if request.key in answers or request.key in missing:
                continue
            found = cache.get(request)
            if found is None:
                missing[request.key] = request
            else:
                answers[request.key] = found
                account.credit(request, found)
        _announce(list(missing.values()), answers, account, service.server)
        new = ask(list(missing.values()), service, cache, account, stop, batches)
        counts.requests += len(new)
        counts.cached += len(answers)
        return answers | new

    def choose_for(item: Item, *answers: Answer) -> Written:
        texts = [(answer.text, answer.finish_reason) for answer in answers]
        return choose(texts, item.caption, settings.variations, settings.longest_words)

    first = [_request(item, settings, service.parameters, attempt=0) for item in items]
    answers = answers_to(first)
    written = [
        choose_for(item, answers[request.key]) for item, request in zip(items, first, strict=True)
    ]
    bad = [number for number, each in enumerate(written) if each.rejected]
    again = {
        number: _request(items[number], settings, service.parameters, attempt=1) for number in bad
    }
    if again:
        logger.info("%d of %d answers broke the rules; asking once more", len(bad), len(items))
        repairs = answers_to(list(again.values()))
        for number, request in again.items():
            pair = (answers[first[number].key], repairs[request.key])
            written[number] = choose_for(items[number], *pair)
            counts.repaired += not written[number].rejected
    counts.input_tokens, counts.output_tokens = account.input_tokens, account.output_tokens
    counts.cost = round(account.spent, 6)
    return written, counts


def _request(
    item: Item, settings: CaptionSettings, parameters: Mapping[str, Any], attempt: int
) -> Request:
    if attempt == 0:
        prompt = caption_prompt(item.caption, item.keywords, settings.variations)
    else:
        prompt = repair_prompt(
            item.caption, item.keywords, settings.variations, settings.longest_words
        )
    return Request(settings.model, parameters, prompt, attempt)


def _announce(
    missing: Sequence[Request], found: Mapping[str, Answer], account: Account, server: str
) -> None:
    """Say what is there, what the rest will cost, and what is odd about it."""
    expected = sum(map(account.estimate, missing))
    budget = "none" if account.budget is None else account.money(account.budget)
    logger.info(
        "%d answers are in the cache (%s); %d to be asked for at %s, about %s; budget %s",
        len(found),
        account.money(account.spent),
        len(missing),
        server,
        account.money(expected),
        budget,
    )
    if account.budget is not None and account.spent + expected > account.budget:
        logger.warning("this will probably stop at the budget (audio.captions.budget)")
    others = sorted({answer.server for answer in found.values()} - {server})
    if others:
        logger.warning(
            "answers of %s in the cache are used for this model too; choose another "
            "audio.captions.cache if it is not the same model",
            ", ".join(others),
        )


def _write(
    items: Sequence[Item],
    written: Sequence[Written],
    counts: Usage,
    settings: CaptionSettings,
    variations: str | os.PathLike[str],
    rejected: str | os.PathLike[str],
    usage: str | os.PathLike[str],
    example: str | os.PathLike[str],
) -> None:
    pairs = list(zip(items, written, strict=True))
    write_csv(
        pd.DataFrame(
            [
                (item.clip, item.position, number, caption)
                for item, each in pairs
                for number, caption in enumerate(each.variations, start=1)
            ],
            columns=["clip", "position", "variation", "caption"],
        ),
        variations,
    )
    write_csv(
        pd.DataFrame(
            [
                (item.clip, item.position, bad.problem, bad.answer)
                for item, each in pairs
                for bad in each.rejected
            ],
            columns=["clip", "position", "problem", "answer"],
        ),
        rejected,
    )
    write_csv(pd.DataFrame([vars(counts)]), usage)
    item, each = _example(pairs)
    record = {
        "backend": counts.backend,
        "model": counts.model,
        "instruction": instruction(item.keywords, settings.variations).strip(),
        "caption": item.caption,
        "keywords": list(item.keywords),
        "response": list(each.variations),
    }
    with atomic_path(Path(example)) as temporary:
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
