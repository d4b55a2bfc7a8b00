"""What the fault tests share: a watched working folder, and a server that misbehaves."""

import pytest


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


@pytest.fixture(scope="module")
def server():
    """A server that misbehaves as a test tells it, and its address."""
    from download_server import Behaviour, serving

    behaviour = Behaviour()
    with serving(behaviour) as address:
        yield behaviour, address


@pytest.fixture
def behaviour(server):
    """What the server does; to begin with, it behaves and has nothing."""
    from download_server import Behaviour

    vars(server[0]).update(vars(Behaviour()))
    return server[0]


@pytest.fixture(scope="module")
def small_networks():
    """Networks published in a size that a test can afford."""
    from download_cases import PASST, SMALL_PASST, SMALL_VGG

    from triptych.audio.models.audio_encoders.passt import PUBLISHED
    from triptych.style.data.backbone import ARCHITECTURES

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PUBLISHED, PASST, SMALL_PASST)
        patch.setitem(ARCHITECTURES, SMALL_VGG.name, SMALL_VGG)
        yield


@pytest.fixture
def address(server, small_networks, tmp_path, monkeypatch):
    """The server's, with an empty working folder, short pauses, and little patience."""
    from triptych.core import job
    from triptych.core.download import download

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(download.__kwdefaults__, "attempts", 3)
    monkeypatch.setitem(download.__kwdefaults__, "wait_seconds", 0.001)
    monkeypatch.setattr(job, "package_versions", dict)  # slow, and not what these tests are about
    monkeypatch.setenv("HF_ENDPOINT", server[1])
    return server[1]
