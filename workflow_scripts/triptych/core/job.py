"""What every workflow script does around its one call: log, traceback, provenance.

This is the library's only knowledge of Snakemake: the object named `snakemake` that its scripts are
given, of which nothing but plain attributes is read.
"""

import json
import logging
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import IO, Any

from triptych.core.files import atomic_path
from triptych.core.memory import peak_memory
from triptych.core.provenance import cpu_name, package_versions, parameters_digest
from triptych.core.stopping import Stopped

logger = logging.getLogger(__name__)


class _Tee:
    """Writes to several streams; is a terminal when the first one is."""

    def __init__(self, *streams: IO[str]) -> None:
        self._streams = streams

    def write(self, text: str) -> int:
        for stream in self._streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()

    def isatty(self) -> bool:
        return self._streams[0].isatty()


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a script's body with its log open, and record its provenance when it ends well.

    What the body prints or logs goes to the terminal and to the rule's log. A job with a
    checkpoint (params.checkpoint) also appends it to attempts.log there, since Snakemake deletes
    the log at each new attempt. An exception leaves its traceback in the log and its message on
    the terminal, and exits with 1, or with the code of `Stopped`.
    """
    log = Path(snakemake.log[0])
    params = dict(snakemake.params.items())
    began = time.monotonic()
    with ExitStack() as stack:
        logs = [stack.enter_context(_opened(log, "w"))]
        if "checkpoint" in params:
            logs.append(
                stack.enter_context(_opened(Path(params["checkpoint"]) / "attempts.log", "a"))
            )
        terminal = sys.stderr
        stack.enter_context(redirect_stdout(_Tee(sys.stdout, *logs)))
        stack.enter_context(redirect_stderr(_Tee(terminal, *logs)))
        logging.basicConfig(
            stream=sys.stderr,
            level=logging.INFO,
            format="%(asctime)s %(message)s",
            datefmt="%H:%M:%S",
            force=True,
        )
        logging.captureWarnings(True)
        _use_threads(snakemake.threads)
        try:
            yield
        except Stopped as stopped:
            logger.warning("%s: %s", snakemake.rule, stopped)
            raise
        except (Exception, KeyboardInterrupt) as error:
            for stream in logs:
                stream.write(traceback.format_exc())
            print(
                f"{snakemake.rule} failed: {type(error).__name__}: {error}\n(traceback in {log})",
                file=terminal,
            )
            raise SystemExit(1) from None
        _write_provenance(snakemake, log, params, time.monotonic() - began)


def _opened(path: Path, mode: str) -> IO[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open(mode, buffering=1, encoding="utf-8")


def _use_threads(threads: int) -> None:
    """Tell PyTorch, where the script uses it, how many cores the scheduler gave this job."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def _write_provenance(snakemake: Any, log: Path, params: dict[str, Any], seconds: float) -> None:
    """results/logs/<rule>/<name>.log -> results/provenance/<rule>/<name>.json"""
    parts = ["provenance" if part == "logs" else part for part in log.parts]
    record = {
        "rule": snakemake.rule,
        "wildcards": dict(snakemake.wildcards.items()),
        "outputs": [str(output) for output in snakemake.output],
        "params": params,
        "config_digest": parameters_digest(
            {key: value for key, value in params.items() if key != "code"}
        ),
        "code_digest": params.get("code"),
        "packages": package_versions(),
        "cpu": cpu_name(),
        "device": cpu_name(),
        "seed": params.get("seed"),
        "threads": snakemake.threads,
        "seconds": round(seconds, 3),
        "peak_memory_bytes": peak_memory(),
    }
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        record["device"] = torch.cuda.get_device_name()
        record["peak_gpu_memory_bytes"] = torch.cuda.max_memory_allocated()
    with atomic_path(Path(*parts).with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(record, indent=1, sort_keys=True, default=str) + "\n")
