"""New captions by a language model's server: a first part, and the rest where that was worth it."""

import logging
import random
from collections.abc import Callable, Sequence

from triptych.audio.captions.answers import Item, Written, choose
from triptych.audio.captions.asking import ask
from triptych.audio.captions.batch import Batches
from triptych.audio.captions.cache import Answer, AnswerCache, Request
from triptych.audio.captions.client import ServiceSettings
from triptych.audio.captions.cost import BATCH_FACTOR, Account
from triptych.audio.captions.floor import check_yield, parts_of
from triptych.audio.captions.prompt import caption_prompt, repair_prompt
from triptych.audio.captions.settings import CaptionSettings, Usage
from triptych.audio.captions.structure import StructuredOutput

logger = logging.getLogger(__name__)


def by_service(
    items: Sequence[Item], settings: CaptionSettings, stop: Callable[[], str | None]
) -> tuple[list[Written], Usage]:
    """Ask a server for the captions of all items: each once, and once more where its answer broke
    the rules.

    In growing parts, drawn at random, of which each has to prove that the next is worth its money
    (YieldTooLow). The first part is never asked for as a batch, whose faults show after a day.
    """
    order = random.Random(settings.seed).sample(range(len(items)), len(items))
    parts = parts_of(len(items))
    if settings.batch:
        parts = [parts[0], *([range(parts[0].stop, len(items))] if len(parts) > 1 else [])]
    asker = _Asker(settings, stop)
    requests = [asker.request(item, attempt=0) for item in items]
    in_order = [requests[index] for index in order]
    asker.look_up(in_order, len(parts[0]))
    written: dict[int, Written] = {}
    for number, part in enumerate(parts):
        asker.begin_part(batch=settings.batch and number > 0)
        indices = [order[place] for place in part]
        asked, later = in_order[part.start : part.stop], in_order[part.stop :]
        made = asker.write([items[index] for index in indices], asked, later)
        written.update(zip(indices, made, strict=True))
        so_far = list(written.values())
        check_yield(so_far, settings.variations, settings.least_yield, settings.cache)
    return [written[index] for index in range(len(items))], asker.usage()


class _Asker:
    """What asking shares from part to part: account, cache, what is known of the server."""

    def __init__(self, settings: CaptionSettings, stop: Callable[[], str | None]) -> None:
        self._settings, self._stop = settings, stop
        self._service = ServiceSettings(**settings.service)
        self._account = Account(
            settings.prices, settings.budget, settings.variations, settings.thinking_tokens
        )
        self._cache = AnswerCache(settings.cache)
        self._structure = StructuredOutput()
        self._batches: Batches | None = None
        self._answers: dict[str, Answer] = {}
        self._usage = Usage("openai", settings.model, currency=settings.prices.currency)

    def request(self, item: Item, attempt: int) -> Request:
        """What to ask for an item, at first or after an answer that broke the rules."""
        settings = self._settings
        if attempt == 0:
            prompt = caption_prompt(item.caption, item.keywords, settings.variations)
        else:
            prompt = repair_prompt(
                item.caption, item.keywords, settings.variations, settings.longest_words
            )
        return Request(settings.model, self._service.parameters, prompt, attempt)

    def begin_part(self, batch: bool) -> None:
        """Ask from now on as a batch, at its prices, or call by call."""
        self._batches = Batches() if batch else None
        prices = self._settings.prices
        self._account.prices = prices.times(BATCH_FACTOR) if batch else prices

    def look_up(self, requests: Sequence[Request], first: int) -> None:
        """Take from the cache what is there, and say what the rest will cost."""
        for number, request in enumerate(requests):
            self.begin_part(batch=self._settings.batch and number >= first)
            self._from_cache(request)
        missing = {each.key: each for each in requests if each.key not in self._answers}
        self._announce(list(missing.values()))

    def write(
        self, items: Sequence[Item], requests: Sequence[Request], later: Sequence[Request]
    ) -> list[Written]:
        """The new captions of some items; `later` are the requests of the others."""
        self._ask(requests, later)
        made = [self._choose(item, request) for item, request in zip(items, requests, strict=True)]
        again = {
            number: self.request(items[number], attempt=1)
            for number, each in enumerate(made)
            if each.rejected
        }
        if again:
            logger.info("%d of %d answers broke the rules; asking once more", len(again), len(made))
            for repair in again.values():
                self._from_cache(repair)
            self._ask(list(again.values()), later)
            for number, repair in again.items():
                made[number] = self._choose(items[number], requests[number], repair)
                self._usage.repaired += not made[number].rejected
        return made

    def usage(self) -> Usage:
        """Counts of all that was asked or found."""
        account = self._account
        self._usage.input_tokens = account.input_tokens
        self._usage.output_tokens = account.output_tokens
        self._usage.cost = round(account.spent, 6)
        return self._usage

    def _from_cache(self, request: Request) -> None:
        if request.key in self._answers:
            return
        found = self._cache.get(request)
        if found is not None:
            self._answers[request.key] = found
            self._account.credit(request, found)
            self._usage.cached += 1

    def _ask(self, requests: Sequence[Request], later: Sequence[Request]) -> None:
        missing, then = (
            list({each.key: each for each in some if each.key not in self._answers}.values())
            for some in (requests, later)
        )
        new = ask(
            missing, self._service, self._cache, self._account, self._stop, self._batches,
            self._structure, then,
        )  # fmt: skip
        self._usage.requests += len(new)
        self._answers.update(new)

    def _choose(self, item: Item, *requests: Request) -> Written:
        answers = [self._answers[request.key] for request in requests]
        texts = [(answer.text, answer.finish_reason) for answer in answers]
        return choose(texts, item.caption, self._settings.variations, self._settings.longest_words)

    def _announce(self, missing: Sequence[Request]) -> None:
        """Say what is there, what the rest will cost, and what is odd about it."""
        account, server = self._account, self._service.server
        expected = sum(map(account.estimate, missing))
        budget = "none" if account.budget is None else account.money(account.budget)
        logger.info(
            "%d answers are in the cache (%s); %d to be asked for at %s, about %s; budget %s",
            len(self._answers),
            account.money(account.spent),
            len(missing),
            server,
            account.money(expected),
            budget,
        )
        if account.budget is not None and account.spent + expected > account.budget:
            logger.warning("this will probably stop at the budget (audio.captions.budget)")
        others = sorted({answer.server for answer in self._answers.values()} - {server})
        if others:
            logger.warning(
                "answers of %s in the cache are used for this model too; choose another "
                "audio.captions.cache if it is not the same model",
                ", ".join(others),
            )
