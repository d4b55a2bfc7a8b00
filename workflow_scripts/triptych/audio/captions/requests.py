"""New captions by a language model's server: a first part, and the rest where that was worth it.

Many requests are open at once, within the budget, and each answer is kept as it comes.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Sequence

from triptych.audio.captions.answers import Item, Written, choose
from triptych.audio.captions.cache import Answer, AnswerCache, Request
from triptych.audio.captions.client import Halted, Service, ServiceSettings, StructuredOutput
from triptych.audio.captions.cost import Account, BudgetReached
from triptych.audio.captions.errors import ServiceError
from triptych.audio.captions.floor import check_yield, parts_of
from triptych.audio.captions.prompt import caption_prompt, repair_prompt
from triptych.audio.captions.settings import CaptionSettings, Usage
from triptych.core.errors import InputError
from triptych.core.progress import Progress

logger = logging.getLogger(__name__)

Stop = Callable[[], str | None]
"""Why to stop, or None."""


def by_service(
    items: Sequence[Item], settings: CaptionSettings, stop: Stop
) -> tuple[list[Written], Usage]:
    """Ask a server for the captions of all items: each once, and once more where its answer broke
    the rules.

    In growing parts, drawn at random, of which each has to prove that the next is worth its money
    (YieldTooLow).
    """
    order = random.Random(0).sample(range(len(items)), len(items))
    asker = _Asker(settings, stop)
    requests = [asker.request(items[index], attempt=0) for index in order]
    asker.look_up(requests)
    written: dict[int, Written] = {}
    for part in parts_of(len(items)):
        indices = order[part.start : part.stop]
        asked, later = requests[part.start : part.stop], requests[part.stop :]
        made = asker.write([items[index] for index in indices], asked, later)
        written.update(zip(indices, made, strict=True))
        so_far = list(written.values())
        check_yield(so_far, settings.variations, settings.least_yield, settings.cache)
    return [written[index] for index in range(len(items))], asker.usage()


class _Asker:
    """What asking shares from part to part: account, cache, what is known of the server."""

    def __init__(self, settings: CaptionSettings, stop: Stop) -> None:
        self._settings, self._stop = settings, stop
        self._service = ServiceSettings(**settings.service)
        self._account = Account(
            settings.prices, settings.budget, settings.variations, settings.thinking_tokens
        )
        self._cache = AnswerCache(settings.cache)
        self._structure = StructuredOutput()
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

    def look_up(self, requests: Sequence[Request]) -> None:
        """Take from the cache what is there, and say what the rest will cost."""
        for request in requests:
            self._from_cache(request)
        self._announce(self._missing(requests))

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

    def _missing(self, requests: Iterable[Request]) -> list[Request]:
        """Each without an answer once."""
        return list({each.key: each for each in requests if each.key not in self._answers}.values())

    def _ask(self, requests: Sequence[Request], later: Sequence[Request]) -> None:
        new = ask(
            self._missing(requests), self._service, self._cache, self._account, self._stop,
            self._structure, self._missing(later),
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


def ask(
    requests: Sequence[Request],
    settings: ServiceSettings,
    cache: AnswerCache,
    account: Account,
    stop: Stop,
    structure: StructuredOutput | None = None,
    later: Sequence[Request] = (),
) -> dict[str, Answer]:
    """Answers by key to all `requests`, none of which may be in the cache yet, one call each.

    Every answer is in the cache before it counts. `later` are requests that will follow if all
    goes well. What ends the run early (ServiceError, BudgetReached, Stopped) is raised when the
    open requests have been answered and kept.
    """
    if not requests:
        return {}
    answers, failure = asyncio.run(
        _ask(requests, Service(settings, stop, structure), cache, account)
    )
    if failure is None:
        return answers
    remaining = [request for request in (*requests, *later) if request.key not in answers]
    total = len(requests) + len(later)
    if isinstance(failure, InputError):
        raise type(failure)(
            f"{failure} {_how_to_go_on(remaining, total, cache, account, failure)}"
        ) from None
    logger.warning("%d of %d answers are kept", len(answers), total)
    raise failure from None


async def _ask(
    requests: Sequence[Request], service: Service, cache: AnswerCache, account: Account
) -> tuple[dict[str, Answer], BaseException | None]:
    """The answers so far, and what ended the run early; `open_requests` calls at a time."""
    answers: dict[str, Answer] = {}
    waiting = iter(requests)

    async def work(progress: Progress) -> None:
        try:
            for request in waiting:
                service.check()
                answer = cache.get(request)  # another job may have got it meanwhile
                if answer is None:
                    answer = await _answered(request, service, account)
                    cache.put(request, answer)
                account.charge(request, answer)
                answers[request.key] = answer
                progress.advance(1, f"{account.money(account.spent)} spent")
        except Halted:
            pass
        except Exception as error:
            # A disk that is full ends the run as a wrong key does: after the open requests.
            service.fail(error)

    async with service:
        with Progress("captions", len(requests), "requests") as progress:
            await asyncio.gather(*(work(progress) for _ in range(service.settings.open_requests)))
    return answers, service.failure


async def _answered(request: Request, service: Service, account: Account) -> Answer:
    """Ask, with the worst case set aside; waits for open ones, whose worst case seldom comes."""
    while not account.reserve(request):
        if account.open_requests == 0:
            raise BudgetReached(
                f"The budget of {account.money(account.budget or 0.0)} (audio.captions.budget) "
                "does not allow the next request: "
                f"{account.money(account.spent + account.perhaps)} are spent and it may cost up to "
                f"{account.money(account.worst(request))}."
            )
        await service.nap(0.02)
    try:
        return await service.complete(request, lambda: account.broke_off(request))
    finally:
        account.release(request)


def _how_to_go_on(
    remaining: Sequence[Request],
    total: int,
    cache: AnswerCache,
    account: Account,
    failure: InputError,
) -> str:
    """How much is there and how to get the rest."""
    text = (
        f"{total - len(remaining)} of {total} requests are answered and kept in {cache.folder}, "
        f"{len(remaining)} remain, about {account.money(sum(map(account.estimate, remaining)))}."
    )
    if isinstance(failure, BudgetReached):
        needed = account.spent + account.perhaps + sum(map(account.worst, remaining))
        return text + (
            f" To go on, set audio.captions.budget to {needed:.2f} (an upper bound) and run again: "
            "what is there is not paid for again."
        )
    if isinstance(failure, ServiceError):
        return text + " What is there is not paid for again."
    return text
