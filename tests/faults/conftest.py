"""What the fault tests share: a record of what was tried."""

import json
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tried(request):
    """Records, with --reliability FOLDER, that something went as it should when it was tried.

    tried(kind, subject, outcome, times=1), to be called once it has: reliability.py makes the
    table of docs/reliability.md from the lines.
    """
    folder = request.config.getoption("--reliability")
    lines = folder and Path(folder) / f"{os.getpid()}.jsonl"

    def tried(kind: str, subject: str, outcome: str, times: int = 1) -> None:
        if lines:
            lines.parent.mkdir(parents=True, exist_ok=True)
            record = {"kind": kind, "subject": subject, "outcome": outcome, "times": times}
            with lines.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")

    return tried


@pytest.fixture
def sandbox(tmp_path, monkeypatch, capsys):
    """A working folder with HOME and a folder for temporary files beside it (sandbox.py)."""
    import signal
    import tempfile

    from sandbox import Sandbox

    made = Sandbox(tmp_path, capsys)
    monkeypatch.chdir(made.here)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    kept = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    yield made
    for number, handler in kept:  # jobs and commands catch them
        signal.signal(number, handler)
