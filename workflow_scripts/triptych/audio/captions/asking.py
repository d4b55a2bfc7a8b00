"""Many requests to a service at once, within the budget, each answer kept as it comes."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from triptych.audio.captions.batch import Batches
from triptych.audio.captions.cache import Answer, AnswerCache, Request
from triptych.audio.captions.client import Halted, Service, ServiceSettings
from triptych.audio.captions.cost import Account, BudgetReached
from triptych.audio.captions.structure import StructuredOutput
from triptych.audio.captions.troubles import ServiceError
from triptych.core.errors import InputError
from triptych.core.progress import Progress

logger = logging.getLogger(__name__)


def ask(
    requests: Sequence[Request],
    settings: ServiceSettings,
    cache: AnswerCache,
    account: Account,
    stop: Callable[[], str | None],
    batches: Batches | None = None,
    structure: StructuredOutput | None = None,
    later: Sequence[Request] = (),
) -> dict[str, Answer]:
    """Answers by key to all `requests`, none of which may be in the cache yet.

    With `batches` through the Batch API, otherwise one call each. Every answer is in the cache
    before it counts. `later` are requests that will follow if all goes well. What ends the run
    early (ServiceError, BudgetReached, Stopped) is raised when the open requests have been answered
    and kept.
    """
    if not requests:
        return {}
    answers, failure = asyncio.run(
        _ask(requests, Service(settings, stop, structure), cache, account, batches)
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
    requests: Sequence[Request],
    service: Service,
    cache: AnswerCache,
    account: Account,
    batches: Batches | None,
) -> tuple[dict[str, Answer], BaseException | None]:
    answers: dict[str, Answer] = {}
    async with service:
        with Progress("captions", len(requests), "requests") as progress:

            def keep(request: Request, answer: Answer) -> None:
                cache.put(request, answer)
                note(request, answer)

            def note(request: Request, answer: Answer) -> None:
                account.settle(request, answer)
                answers[request.key] = answer
                progress.advance(1, f"{account.money(account.spent)} spent")

            if batches is not None:
                try:
                    await batches.answer(requests, service, cache, account, keep)
                except Halted:
                    pass
                except (InputError, OSError) as error:
                    service.fail(error)
            else:
                await _ask_each(requests, service, cache, account, keep, note)
    return answers, service.failure


async def _ask_each(
    requests: Sequence[Request],
    service: Service,
    cache: AnswerCache,
    account: Account,
    keep: Callable[[Request, Answer], None],
    note: Callable[[Request, Answer], None],
) -> None:
    """One call a request, `open_requests` at a time."""
    waiting = iter(requests)

    async def work() -> None:
        try:
            for request in waiting:
                service.check()
                found = cache.get(request)  # another job may have got it meanwhile
                if found is not None:
                    note(request, found)
                    continue
                await _reserve(request, service, account)
                try:
                    answer = await service.complete(request, lambda: account.broke_off(request))  # noqa: B023
                finally:
                    account.release(request)
                keep(request, answer)
        except Halted:
            pass
        except Exception as error:
            # A disk that is full ends the run as a wrong key does: after the open requests.
            service.fail(error)

    await asyncio.gather(*(work() for _ in range(service.settings.open_requests)))


async def _reserve(request: Request, service: Service, account: Account) -> None:
    """Set the worst case of a request aside; waits for open ones, whose worst case seldom comes."""
    while not account.reserve(request):
        if account.open_requests == 0:
            raise BudgetReached(
                f"The budget of {account.money(account.budget or 0.0)} (audio.captions.budget) "
                "does not allow the next request: "
                f"{account.money(account.spent + account.perhaps)} are spent and it may cost up to "
                f"{account.money(account.worst(request))}."
            )
        await service.nap(0.02)


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
