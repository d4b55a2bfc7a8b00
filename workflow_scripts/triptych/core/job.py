"""Frame of every workflow script: log, traceback, lock, provenance.

The library knows Snakemake only by the object `snakemake` that scripts get, and reads nothing but
its plain attributes.
"""

import errno
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, TypeVar

from triptych.core.files import atomic_path, clear_partial, remove_partial
from triptych.core.job_lock import owning
from triptych.core.memory import peak_memory
from triptych.core.provenance import check_code, cpu_name, package_versions, parameters_digest
from triptych.core.stopping import Stopped

INFRASTRUCTURE = True

Settings = TypeVar("Settings")

logger = logging.getLogger(__name__)

LOGS = "results/logs/"
"""The folder of the rules' logs; a module's prefix comes before it."""

QUIET = "TRIPTYCH_QUIET"
"""If set, a job writes only to its log; failures are still printed."""


class _Tee:
    """Writes to logs and to a terminal; what one of them cannot take is lost there alone."""

    def __init__(self, logs: list[IO[str]], terminal: IO[str]) -> None:
        self._logs = logs  # `job` adds some later
        self._terminal = terminal

    def write(self, text: str) -> int:
        for log in self._logs:
            _add(log, text)
        _tell(self._terminal, text)
        return len(text)

    def flush(self) -> None:
        _tell(self._terminal, "")

    def isatty(self) -> bool:
        return self._terminal.isatty()


def _add(log: IO[str], text: str) -> None:
    with suppress(OSError, ValueError):  # ValueError: a thread writes after the log was closed
        log.write(text)


def _tell(terminal: IO[str], text: str) -> None:
    """Write to a terminal what it can show, if it is still there."""
    try:
        terminal.write(text)
        terminal.flush()
    except OSError:
        silence(terminal)
    except ValueError:  # its encoding lacks a character; it is closed
        pass


def silence(terminal: IO[str]) -> None:
    """Make a terminal that is gone the null device: what its buffer still held would else make the
    exit code 120."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), terminal.fileno())


@contextmanager
def _log(path: Path, mode: str) -> Iterator[IO[str]]:
    """Open a log file that is flushed at each line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = path.open(mode, buffering=1, encoding="utf-8")
    try:
        yield stream
    finally:
        with suppress(OSError):
            stream.close()


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a script's body with its log open, and record its provenance if it succeeds.

    Output goes to the terminal and to the rule's log, which Snakemake deletes at each attempt; with
    params.checkpoint also to attempts.log there. An exception leaves its traceback in the log and
    its message on the terminal, and exits with 1, or with the code of `Stopped`.

    Before the body the code is compared with the plan, the job waits for any other process that
    works on it, and partial files of killed attempts are removed.
    """
    log = Path(snakemake.log[0])
    rule = own_rule(log)
    record = _beside(log, "provenance").with_suffix(".json")
    lock = lock_of(log)
    params = dict(snakemake.params.items())
    with ExitStack() as stack:
        logs = [stack.enter_context(_log(log, "w"))]
        nowhere = stack.enter_context(open(os.devnull, "w"))
        terminal = sys.stderr or nowhere
        shown = nowhere if QUIET in os.environ else None
        stack.enter_context(redirect_stdout(_Tee(logs, shown or sys.stdout or nowhere)))
        stack.enter_context(redirect_stderr(_Tee(logs, shown or terminal)))
        log_to_stderr()
        stack.callback(logging.getLogger().handlers.clear)  # before their stream is closed
        if "torch" in sys.modules:  # the cores that the scheduler gave this job
            sys.modules["torch"].set_num_threads(snakemake.threads)
            logger.info("threads: %d", snakemake.threads)
        try:
            check_code(params.get("code", {}))
            stack.enter_context(owning(lock, ATTEMPTS.note))
            ATTEMPTS.begin(lock / "attempts", parameters_digest(params))
            for target in (*map(Path, snakemake.output), record):
                remove_partial(target)
            if "checkpoint" in params:
                checkpoint = Path(params["checkpoint"])
                clear_partial(checkpoint)
                logs.append(stack.enter_context(_log(checkpoint / "attempts.log", "a")))
            yield
            ATTEMPTS.note()
        except Stopped as stopped:
            ATTEMPTS.note()
            logger.warning("%s: %s", rule, stopped)
            raise
        except (Exception, KeyboardInterrupt) as error:
            for stream in logs:
                _add(stream, traceback.format_exc())
            failed = f"{rule} failed: {type(error).__name__}: {error}{_advice(error)}"
            _tell(terminal, f"{failed}\n(traceback in {log})\n")
            raise SystemExit(1) from None
        _write_provenance(snakemake, rule, record, params, ATTEMPTS.seconds)
        (lock / "attempts").unlink(missing_ok=True)


def settings(snakemake: Any) -> dict[str, Any]:
    """A rule's params without the digests of its code."""
    return {name: value for name, value in snakemake.params.items() if name != "code"}


def settings_from(kind: type[Settings], table: Mapping[str, Any], **others: Any) -> Settings:
    """A dataclass of settings from a table of the config, whose keys for others are left out.

    others: values of fields that the table doesn't have. A field takes the key of its name, or of
    its metadata's `key`; lists become tuples. Raises TypeError where a field without a default has
    no key.
    """
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]
        key = field.metadata.get("key", field.name)
        if key in table:
            value = table[key]
            values[field.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values, **others)


class Attempts:
    """Seconds of all attempts that this process's job takes, killed ones included.

    A file holds those since the job last succeeded, unless parameters or code are others now; each
    checkpoint those that its state took, whatever the job is run again for.
    """

    def __init__(self) -> None:
        self._earlier: list[float] = []
        self._began = time.monotonic()

    def begin(self, path: Path, job: str) -> None:
        """Read the seconds of earlier attempts, and start this one's clock. job: a digest."""
        self._path, self._job, self._earlier = path, job, []
        with suppress(OSError, ValueError, KeyError):
            record = json.loads(self._path.read_text(encoding="utf-8"))
            self._earlier = [*record["seconds"]] if record["job"] == self._job else []
        self._began = time.monotonic()

    def resume(self, earlier: list[float]) -> None:
        """Count the attempts that a loaded state took, where the file knows of less."""
        self._earlier = max(self._earlier, earlier, key=sum)

    @property
    def seconds(self) -> list[float]:
        """Seconds of each attempt, this one last."""
        return [*self._earlier, round(time.monotonic() - self._began, 3)]

    def note(self) -> None:
        """Write the seconds for the next attempt."""
        with suppress(OSError), atomic_path(self._path) as temporary:
            temporary.write_text(json.dumps({"job": self._job, "seconds": self.seconds}))


ATTEMPTS = Attempts()
"""Those at the job that this process runs."""


def log_to_stderr() -> None:
    """Send log messages to standard error, one line each, with the time."""
    form, clock = "%(asctime)s %(message)s", "%H:%M:%S"
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format=form, datefmt=clock, force=True
    )
    logging.captureWarnings(True)


def _advice(error: BaseException) -> str:
    """Advice on a full disk, whichever library reported it."""
    full = any(os.strerror(code) in str(error) for code in (errno.ENOSPC, errno.EDQUOT))
    if not full or "Make room" in str(error):
        return ""
    return "\nThe disk is full. Make room and run again; finished results are kept."


def own_rule(log: Path | str) -> str:
    """The name that this repository gives a job's rule, by its log results/logs/<rule>/<name>.log.

    A workflow that uses this one as a module may have renamed the rule.
    """
    return str(log).rpartition(LOGS)[2].partition("/")[0]


def lock_of(log: Path) -> Path:
    return _beside(log, "leases").with_suffix("")


def _beside(log: Path, folder: str) -> Path:
    """results/logs/<rule>/<name>.log -> results/<folder>/<rule>/<name>.log"""
    prefix, _, name = str(log).rpartition(LOGS)
    return Path(f"{prefix}results", folder, name)


def _write_provenance(
    snakemake: Any, rule: str, path: Path, params: Mapping[str, Any], attempts: list[float]
) -> None:
    """Write how a job's result was made: rule, files, parameters, code, versions, device, time."""
    record = {
        "rule": rule,
        "wildcards": dict(snakemake.wildcards.items()),
        "inputs": [str(file) for file in snakemake.input],
        "outputs": [str(output) for output in snakemake.output],
        "params": params,
        "packages": package_versions(),
        "cpu": cpu_name(),
        "device": cpu_name(),
        "threads": snakemake.threads,
        "seconds": round(sum(attempts), 3),
        "attempts": attempts,
        "peak_memory_bytes": peak_memory(),
    }
    device = sys.modules.get("triptych.core.device")
    if device is not None:
        record["precision"] = device.chosen_precisions()
    progress = sys.modules.get("triptych.core.progress")
    if progress is not None:
        record["training"] = progress.measured_paces()
    checkpoint = sys.modules.get("triptych.core.checkpoint")
    if checkpoint is not None:
        record["modules_changed_between"] = checkpoint.modules_changed_between()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        record["device"] = torch.cuda.get_device_name()
        record["peak_gpu_memory_bytes"] = torch.cuda.max_memory_allocated()
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(record, indent=1, sort_keys=True, default=str) + "\n")
