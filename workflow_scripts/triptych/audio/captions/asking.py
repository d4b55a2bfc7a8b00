"""Ask a server for what is not known yet, within a budget, and keep every answer."""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.audio.captions.service import Answer, Request, Service, ServiceError
from triptych.core.errors import InputError
from triptych.core.progress import Progress
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

LIMITS = ("max_completion_tokens", "max_tokens")
"""Parameters of a request that limit its answer."""
MESSAGE_TOKENS = 8  # what chat formatting adds to a prompt
LONGEST_ANSWER = 400  # tokens assumed where no parameter limits them; five sentences: about 150


class BudgetReached(InputError):
    """The next request might cost more than the budget leaves."""


class Asker:
    """Ask what `<cache>/answers.jsonl` lacks, within the budget, and keep each answer there."""

    def __init__(self, settings: Mapping[str, Any], stop: Callable[[], str | None]) -> None:
        """stop: the reason to stop, or None."""
        self._settings, self._stop = settings, stop
        self._service, self._lock = Service(settings, stop), threading.Lock()
        self._file = Path(settings["cache"]) / "answers.jsonl"
        self._kept = read_answers(self._file)
        self.answers: dict[str, Answer] = {}
        self.requested = self.cached = 0
        self.spent = 0.0  # the price of all answers, of this run or an earlier one
        self._reserved = 0.0  # the highest price of the requests that are open

    def ask(
        self,
        requests: Iterable[Request],
        judge: Callable[[Request, Answer], None] = lambda request, answer: None,
    ) -> None:
        """Put the answers to all requests into `answers`.

        judge: sees each answer, and may raise to end this. That error, ServiceError, BudgetReached
        or Stopped is raised once the open requests have been answered and kept.
        """
        missing: dict[str, Request] = {}
        for request in requests:
            if request.key in self.answers:
                continue
            if answer := self._kept.get(request.key):
                self.cached += 1
                self.spent += self._price(answer.input_tokens, answer.output_tokens)
                self.answers[request.key] = answer
                judge(request, answer)
            else:
                missing[request.key] = request
        currency, failure = self._settings["prices"]["currency"], None
        most = sum(map(self._highest_price, missing.values()))
        logger.info("%d requests, at most %.2f %s", len(missing), most, currency)
        with (
            ThreadPoolExecutor(self._settings["open_requests"]) as pool,
            Progress("captions", len(missing), "requests") as progress,
        ):
            jobs = {pool.submit(self._ask, request): request for request in missing.values()}
            for job in as_completed(jobs):
                if job.cancelled():
                    continue
                try:
                    answer = self.answers[jobs[job].key] = job.result()
                    self.requested += 1
                    if failure is None:
                        judge(jobs[job], answer)
                    progress.advance(1, f"{self.spent:.2f} {currency} spent")
                except BaseException as error:
                    failure = failure or error
                    for other in jobs:
                        other.cancel()
        if isinstance(failure, ServiceError | BudgetReached):
            remaining = sum(key not in self.answers for key in missing)
            stored = f"the answers are kept in {self._settings['cache']} and not paid for again"
            raise type(failure)(f"{failure} {remaining} requests remain; {stored}.")
        if failure:
            raise failure

    def _ask(self, request: Request) -> Answer:
        if (reason := self._stop()) is not None:
            raise Stopped(reason)
        price = self._highest_price(request)
        with self._lock:
            self._check_budget(price)
            self._reserved += price

        def paid(lost: Answer) -> None:
            with self._lock:
                self.spent += self._price(lost.input_tokens, lost.output_tokens)
                self._check_budget(0.0)

        answer = None
        try:
            answer = self._service.complete(request, paid)
        finally:
            with self._lock:  # one step, so that nothing counts twice
                self._reserved -= price
                if answer:
                    self.spent += self._price(answer.input_tokens, answer.output_tokens)
                if answer and answer.input_tokens:  # a refusal costs nothing and may pass
                    self._keep(request, answer)
        return answer

    def _check_budget(self, price: float) -> None:
        """Raise BudgetReached where a price is more than what is left."""
        budget, committed = self._settings["budget"], self.spent + self._reserved
        if committed + price > budget:
            raise BudgetReached(
                f"The budget of {budget:g} {self._settings['prices']['currency']} "
                f"(audio.captions.budget) does not allow the next request: {committed:.2f} are "
                f"spent or reserved, and it may cost {price:.2g}."
            )

    def _keep(self, request: Request, answer: Answer) -> None:
        """Keep an answer; when this returns, it survives a kill."""
        self._kept[request.key] = answer
        self._file.parent.mkdir(parents=True, exist_ok=True)
        record = {"request": asdict(request), "answer": asdict(answer)}
        # The line break comes first, so that half a line before it spoils nothing.
        with self._file.open("ab") as stream:
            stream.write(b"\n" + json.dumps(record, ensure_ascii=False).encode())
            stream.flush()
            os.fsync(stream.fileno())

    def _price(self, input_tokens: int, output_tokens: int) -> float:
        prices = self._settings["prices"]
        return float(input_tokens * prices["input"] + output_tokens * prices["output"]) / 1e6

    def _highest_price(self, request: Request) -> float:
        """No token is shorter than a byte."""
        limits = [request.parameters.get(name) for name in LIMITS]
        longest = min((int(limit) for limit in limits if limit is not None), default=LONGEST_ANSWER)
        return self._price(len(request.prompt.encode()) + MESSAGE_TOKENS, longest)


def read_answers(path: Path) -> dict[str, Answer]:
    """Kept answers by the keys of their requests."""
    answers: dict[str, Answer] = {}
    text = path.read_text("utf-8", errors="replace") if path.exists() else ""
    for line in text.splitlines():
        try:
            record = json.loads(line)
            answer = Answer(**record["answer"])
            if answer.text.strip() or answer.withheld or answer.refused:  # else it is none
                answers[Request(**record["request"]).key] = answer
        except (ValueError, KeyError, TypeError):
            continue  # half a line of a run that was killed
    return answers
