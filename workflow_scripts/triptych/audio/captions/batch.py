"""Requests through the Batch API: half the price, an answer within a day.

What was handed in is written down in `<cache>/batches/<digest>.json` before it is handed in, and
the batch's id after, so a killed run takes the batch up again instead of paying for another. A
kill between the two is covered too: the batch carries the digest of its requests as metadata and
is looked for at the server before one is created.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from openai.types import Batch

from triptych.audio.captions.cache import Answer, AnswerCache, Request
from triptych.audio.captions.client import Service
from triptych.audio.captions.cost import Account, BudgetReached
from triptych.audio.captions.troubles import FILTERED, ServiceError, advice_for
from triptych.core.files import atomic_path

logger = logging.getLogger(__name__)

ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
MOST_REQUESTS = 50_000
"""What OpenAI allows in one batch."""
TRANSFER_SECONDS = 600.0
METADATA = "triptych_captions"
_FINISHED = {"completed", "expired", "cancelled", "failed"}

Keep = Callable[[Request, Answer], None]


@dataclass(frozen=True)
class Batches:
    """How batches are handed in and waited for."""

    poll_seconds: float = 60.0
    rounds: int = 5
    most_requests: int = MOST_REQUESTS

    async def answer(
        self,
        requests: Sequence[Request],
        service: Service,
        cache: AnswerCache,
        account: Account,
        keep: Keep,
    ) -> None:
        """Call `keep` with each request's answer; lines that failed or expired go in again.

        Raises ServiceError for a batch that is refused as a whole, for errors that would come
        again, and when a round brings nothing; BudgetReached when not all requests may be handed
        in. Halted leaves the batch running at the server, to be taken up by the next run.
        """
        folder = cache.folder / "batches"
        waiting = {request.key: request for request in requests}
        for _ in range(self.rounds):
            self._take(waiting, cache, account, keep)
            if not waiting:
                return
            before = len(waiting)
            over_budget = False
            for state in self._states(folder, waiting):
                for request in state["requests"]:
                    if request.key in waiting:  # handed in, hence paid for, by an earlier run
                        account.reserve(request, force=True)
                await self._collect(state, waiting, service, cache, account, keep)
            left = list(waiting.values())
            for start in range(0, len(left), self.most_requests):
                part = []
                for request in left[start : start + self.most_requests]:
                    if not account.reserve(request):
                        over_budget = True
                        break
                    part.append(request)
                if part:
                    state = self._write_state(folder, part, service)
                    await self._collect(state, waiting, service, cache, account, keep)
            if over_budget:
                raise BudgetReached(
                    f"The budget of {account.money(account.budget or 0.0)} "
                    "(audio.captions.budget) does not allow to hand in the rest: "
                    f"{account.money(account.spent)} are spent."
                )
            if len(waiting) == before:
                break
        if waiting:
            raise ServiceError(
                f"{service.settings.server}: {len(waiting)} requests failed in every batch. "
                "Run again later, or set audio.captions.batch to false to see the errors."
            )

    def _take(
        self, waiting: dict[str, Request], cache: AnswerCache, account: Account, keep: Keep
    ) -> None:
        """What another job got meanwhile."""
        for request in list(waiting.values()):
            found = cache.get(request)
            if found is not None:
                keep(request, found)
                del waiting[request.key]

    def _states(self, folder: Path, waiting: dict[str, Request]) -> Iterable[dict[str, Any]]:
        """Batches of earlier runs that hold something we wait for, oldest first."""
        for path in sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime):
            state = json.loads(path.read_text(encoding="utf-8"))
            requests = [Request(**record) for record in state["requests"]]
            if any(request.key in waiting for request in requests):
                logger.info("taking up %s of an earlier run", state["id"] or "a batch")
                yield {**state, "requests": requests, "path": path}

    def _write_state(
        self, folder: Path, part: Sequence[Request], service: Service
    ) -> dict[str, Any]:
        """Write down what is about to be handed in."""
        keys = "".join(request.key for request in part)
        digest = hashlib.sha256(keys.encode()).hexdigest()[:32]
        state = {
            "id": None,
            "digest": digest,
            "server": service.settings.server,
            "requests": list(part),
            "path": folder / f"{digest}.json",
        }
        _save(state)
        return state

    async def _collect(
        self,
        state: dict[str, Any],
        waiting: dict[str, Request],
        service: Service,
        cache: AnswerCache,
        account: Account,
        keep: Keep,
    ) -> None:
        """Hand a batch in unless it was, wait for its end, and keep its answers."""
        if state["server"] != service.settings.server:
            raise ServiceError(
                f"{state['path']} tells of a batch at {state['server']}, which this run does not "
                "ask. Set audio.captions.base_url back to collect it, or delete that file."
            )
        if state["id"] is None:
            found = await self._find(state["digest"], service)
            state["id"] = found or await self._create(state, waiting, service)
            if state["id"] is None:  # never handed in, and not wanted any more
                state["path"].unlink()
                return
            _save(state)
        try:
            batch = await self._wait(state["id"], service)
        except ServiceError as error:
            raise ServiceError(
                f"{error} (Asked about {state['id']}; to give that batch up, delete "
                f"{state['path']}.)"
            ) from None
        requests = {request.key: request for request in state["requests"]}
        problems: list[tuple[int, str]] = []

        def keep_or_store(request: Request, answer: Answer) -> None:
            # A changed split may not want it any more; paid for it is all the same.
            if waiting.pop(request.key, None) is not None:
                keep(request, answer)
            elif cache.get(request) is None:
                cache.put(request, answer)

        for file in (batch.output_file_id, batch.error_file_id):
            if file is not None:
                text = await _download(file, service)
                problems += _read_lines(text, requests, service, keep_or_store)
        for request in requests.values():
            account.release(request)
        state["path"].unlink()
        if batch.status == "failed":
            codes = (
                {error.code or "" for error in (batch.errors.data or [])} if batch.errors else {}
            )
            problems += [(400, code) for code in codes or [""]]
        elif batch.status != "completed":
            logger.warning("batch %s has %s; the rest is handed in again", batch.id, batch.status)
        _raise_fatal(problems, service)

    async def _create(
        self, state: dict[str, Any], waiting: dict[str, Request], service: Service
    ) -> str | None:
        """Upload the requests and create the batch; its id. None if they aren't all wanted now."""
        if any(request.key not in waiting for request in state["requests"]):
            return None
        lines = [
            json.dumps(
                {
                    "custom_id": request.key,
                    "method": "POST",
                    "url": ENDPOINT,
                    "body": request.body() | service.structure.known_field(request),
                },
                ensure_ascii=False,
            )
            for request in state["requests"]
        ]
        content = ("\n".join(lines) + "\n").encode()
        uploaded = await service.patiently(
            lambda: service.client.files.create(
                file=("requests.jsonl", content), purpose="batch", timeout=TRANSFER_SECONDS
            )
        )

        tried = False

        async def create() -> str:
            # A create that timed out may have worked: look before trying once more.
            nonlocal tried
            if tried and (found := await self._listed(state["digest"], service)):
                return found
            tried = True
            batch = await service.client.batches.create(
                input_file_id=uploaded.id,
                endpoint=ENDPOINT,
                completion_window="24h",
                metadata={METADATA: state["digest"]},
            )
            return batch.id

        identity = await service.patiently(create)
        logger.info("handed in %d requests as %s", len(lines), identity)
        return identity

    async def _find(self, digest: str, service: Service) -> str | None:
        return await service.patiently(lambda: self._listed(digest, service))

    async def _listed(self, digest: str, service: Service) -> str | None:
        """The id of the batch of these requests among the server's latest, if it is there."""
        page = await service.client.batches.list(limit=100)
        for batch in page.data:
            if (batch.metadata or {}).get(METADATA) == digest and batch.status != "failed":
                return batch.id
        return None

    async def _wait(self, identity: str, service: Service) -> Batch:
        """Ask every `poll_seconds` until the batch has ended, however it did."""
        status = None
        while True:
            batch = await service.patiently(lambda: service.client.batches.retrieve(identity))
            if batch.status != status:
                counts = batch.request_counts
                done = f", {counts.completed} of {counts.total} done" if counts else ""
                logger.info("batch %s is %s%s", identity, batch.status, done)
                status = batch.status
            if batch.status in _FINISHED:
                return batch
            await service.nap(self.poll_seconds)


def _save(state: dict[str, Any]) -> None:
    with atomic_path(state["path"]) as temporary:
        requests = [request.record() for request in state["requests"]]
        record = {key: state[key] for key in ("id", "digest", "server")} | {"requests": requests}
        temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


async def _download(file: str, service: Service) -> str:
    content = await service.patiently(
        lambda: service.client.files.content(file, timeout=TRANSFER_SECONDS)
    )
    return content.text


def _read_lines(
    text: str, requests: dict[str, Request], service: Service, keep: Keep
) -> list[tuple[int, str]]:
    """Keep the answers of a result file; status and code of the lines that failed.

    Lines that are no JSON or answer nothing that was asked are skipped.
    """
    problems = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
            request = requests.get(record["custom_id"])
        except (ValueError, KeyError, TypeError):
            continue
        if request is None:
            continue
        response = record.get("response") or {}
        status, body = int(response.get("status_code") or 0), response.get("body") or {}
        answer: Answer | None = None
        if status == 200:
            try:
                answer = service.read(body, request)
            except ValueError:
                logger.info("a line of the batch holds no answer")
        else:
            error = body.get("error") or record.get("error") or {}
            code = str(error.get("code") or error.get("type") or "")
            if code in FILTERED:
                answer = Answer("", "content_filter", 0, 0, service.settings.server)
            else:
                problems.append((status, code))
        if answer is not None:
            keep(request, answer)
    return problems


def _raise_fatal(problems: Iterable[tuple[int, str]], service: Service) -> None:
    """Raise ServiceError if an error would come again in the next batch."""
    for status, code in problems:
        advice = advice_for(status, code, service.settings.model)
        if advice is not None:
            raise ServiceError(f"{service.settings.server} answered {status} in a batch: {advice}")
