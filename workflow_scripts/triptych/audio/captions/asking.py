"""Ask a server for what is not known yet, within a budget, and keep every answer.

Trouble of the service (limits, overload, time-outs, a firewall's page) says nothing of a prompt: it
closes one gate for all threads, and ends the run only where nobody is answered any more. Attempts
end for what a prompt may have caused alone: whatever a service calls its filter, and answers
without text.
"""

import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.audio.captions.service import Answer, Fault, Request, Service
from triptych.audio.captions.settings import KEY_VARIABLE, WITHOUT_ANSWER
from triptych.core.errors import InputError
from triptych.core.progress import Progress
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)

LIMITS = ("max_completion_tokens", "max_tokens")
"""Parameters of a request that limit its answer."""
MESSAGE_TOKENS = 8  # what chat formatting adds to a prompt
LONGEST_ANSWER = 400  # tokens assumed where no parameter limits them; five sentences: about 150
LONGEST_WAIT = 120.0
"""Seconds; a server that asks for more (Retry-After) is asked again by a later run."""
GIVE_UP_AFTER = 5
"""Prompts in a row without an answer: then the server is at fault, not the prompt."""
ADVICE = (
    f". Start again later, or check {KEY_VARIABLE}, the account's credit, and "
    "audio.captions.model, base_url, timeout_seconds and parameters (null: not sent; a model that "
    "thinks needs a higher max_completion_tokens)."
)


class ServiceError(InputError):
    """The server will not answer; the message says why and what to do."""


class BudgetReached(InputError):
    """The next request might cost more than the budget leaves."""


class Asker:
    """Ask what `<cache>/answers.jsonl` lacks, within the budget, and keep each answer there."""

    def __init__(self, settings: Mapping[str, Any], stop: Callable[[], str | None]) -> None:
        """settings: audio.captions of the config; stop: the reason to stop, or None."""
        self._settings, self._stop = settings, stop
        self._service, self._lock = Service(settings), threading.Lock()
        self._file = Path(settings["cache"]) / "answers.jsonl"
        self._kept = read_answers(self._file)
        self.answers: dict[str, Answer] = {}
        self.requested = self.cached = 0
        self.spent = 0.0  # the price of all answers, of this run or an earlier one
        self._reserved = 0.0  # the highest price of the requests that are open
        # How often the gate was closed, and when it opens; since the last answer, how often that
        # was, and how many prompts were left without one.
        self._closings, self._opens = 0, 0.0
        self._troubles = self._unanswered = 0

    def ask(
        self,
        requests: Iterable[Request],
        judge: Callable[[Request, Answer], None] = lambda request, answer: None,
    ) -> None:
        """Put the answers to all requests into `answers`, without text where there is none.

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
        """The answer to a request, at last one without text."""
        attempts = 0
        while True:
            closings = self._wait_at_gate()
            reply = self._send(request)
            if isinstance(reply, Answer):
                if not reply.missing:
                    return reply
                fault = f"an answer without text (finish reason {reply.finish_reason})"
                again, wait = reply.finish_reason == "stop", 0.0
            elif reply.kind == "account":
                raise ServiceError(reply.reason + ADVICE)
            elif reply.kind in ("trouble", "late") and self._close_gate(closings, reply):
                continue
            else:
                fault, again, wait = reply.reason, reply.kind == "unknown", reply.wait
            attempts += 1
            if not again or attempts == self._settings["attempts"]:
                with self._lock:
                    self._unanswered += 1
                    if self._unanswered < GIVE_UP_AFTER:
                        return Answer("", f"{WITHOUT_ANSWER}{fault}", 0, 0, self._service.server)
                raise ServiceError(fault + ADVICE)
            logger.info("attempt %d of %d: %s", attempts, self._settings["attempts"], fault)
            self._pause(max(wait, _backoff(attempts)))

    def _wait_at_gate(self) -> int:
        """Wait until requests may be sent; how often the gate was closed so far."""
        while (left := self._opens - time.monotonic()) > 0:
            self._pause(left)
        if (reason := self._stop()) is not None:
            raise Stopped(reason)
        return self._closings

    def _close_gate(self, closings: int, fault: Fault) -> bool:
        """Let no thread send a request for a while, after a fault of the service itself.

        closings: before the request was sent; where the gate was closed since, it stays as it is.
        False where nobody was answered in time between so many closings as there are attempts: the
        prompt may be too slow. Raises ServiceError where that has another reason, and where the
        server asks for a long wait.
        """
        if fault.wait > LONGEST_WAIT:
            raise ServiceError(
                f"{fault.reason}. Start again after {fault.wait:.0f} seconds (Retry-After)."
            )
        with self._lock:
            if closings != self._closings:
                return True
            self._closings += 1
            self._troubles += 1
            if self._troubles < self._settings["attempts"]:
                seconds = max(fault.wait, _backoff(self._troubles))
                self._opens = time.monotonic() + seconds
                logger.info("no request for %.1f s: %s", seconds, fault.reason)
                return True
        if fault.kind != "late":
            raise ServiceError(fault.reason + ADVICE)
        return False

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if (reason := self._stop()) is not None:
                raise Stopped(reason)
            time.sleep(min(left, 0.2))

    def _send(self, request: Request) -> Answer | Fault:
        """Send a request once, within the budget; keep an answer that has text."""
        price, reply = self._highest_price(request), None
        with self._lock:
            budget, committed = self._settings["budget"], self.spent + self._reserved
            if committed + price > budget:
                raise BudgetReached(
                    f"The budget of {budget:g} {self._settings['prices']['currency']} "
                    f"(audio.captions.budget) does not allow the next request: {committed:.2f} are "
                    f"spent or reserved, and it may cost {price:.2g}."
                )
            self._reserved += price
        try:
            reply = self._service.complete(request)
        finally:
            with self._lock:  # one step, so that nothing counts twice
                self._reserved -= price
                if isinstance(reply, Answer):
                    self.spent += self._price(reply.input_tokens, reply.output_tokens)
                    if not reply.missing:
                        self._troubles = self._unanswered = 0
                        self._keep(request, reply)
        return reply

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


def _backoff(times: int) -> float:
    """Seconds to wait after so many faults in a row."""
    return min(2.0 ** (times - 2), 30) * random.uniform(0.7, 1)


def read_answers(path: Path) -> dict[str, Answer]:
    """Kept answers by the keys of their requests."""
    answers: dict[str, Answer] = {}
    text = path.read_text("utf-8", errors="replace") if path.exists() else ""
    for line in text.splitlines():
        try:
            record = json.loads(line)
            answer = Answer(**record["answer"])
            if not answer.missing:
                answers[Request(**record["request"]).key] = answer
        except (ValueError, KeyError, TypeError):
            continue  # half a line of a run that was killed
    return answers
