"""What the fault tests share: a watched working folder."""

import signal
import tempfile

import pytest
from sandbox import Sandbox


@pytest.fixture
def sandbox(tmp_path, monkeypatch, capsys):
    """A working folder with HOME and a folder for temporary files beside it (sandbox.py)."""
    made = Sandbox(tmp_path, capsys)
    monkeypatch.chdir(made.here)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    kept = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    yield made
    for number, handler in kept:  # jobs and commands catch them
        signal.signal(number, handler)
