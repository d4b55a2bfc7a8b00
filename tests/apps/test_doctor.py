"""`triptych doctor`, with fake programs on PATH: what works, what won't, what to do."""

import shutil
import subprocess
import sys
import threading
from collections import namedtuple
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from triptych.apps import doctor
from triptych.apps.doctor import FAILS, LIMITED, WORKS
from triptych.cli import main

GPU = "name, memory.total [MiB], driver_version\nNVIDIA A100, 40960 MiB, 580.65.06"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a shell script on PATH, where nothing else is."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def write(name, says, code=0):
        path = folder / name
        path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{says}'\nexit {code}\n")
        path.chmod(0o755)
        return str(path)

    return write


def test_a_package_that_is_missing_is_named(monkeypatch):
    there = [each for each in doctor.packages.distributions() if each.name != "tokenizers"]
    monkeypatch.setattr(doctor.packages, "distributions", lambda: there)
    assert doctor.python().status == FAILS and "without tokenizers" in doctor.python().found


@pytest.mark.parametrize("name", ["a b", "it's", "a(1)", "a:b", "a&b", "grün+_-.=@%,"])
def test_a_path_that_a_shell_would_split_is_refused_before_anything_is_installed(
    tmp_path, monkeypatch, name
):
    folder = tmp_path / name
    folder.mkdir()
    root = Path(__file__).parents[2]
    for file in ("Makefile", "requirements.lock", "requirements-cpu.lock", "pyproject.toml"):
        shutil.copy(root / file, folder)
    made = subprocess.run(
        ["make", "--no-print-directory", "setup", "PYTHON=no-such-python"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    monkeypatch.setattr(doctor.sys, "prefix", str(folder / ".venv"))
    splits = name[0] != "g"
    assert made.returncode != 0
    assert ("no-such-python" in made.stdout) != splits == (str(folder) in made.stdout)
    assert (doctor.python().status == FAILS) == splits


@pytest.mark.parametrize(("gigabytes", "status"), [(1, FAILS), (100, LIMITED), (3000, WORKS)])
def test_room_on_the_disk_is_measured_by_what_needs_it(monkeypatch, gigabytes, status):
    usage = namedtuple("usage", "free")(gigabytes * 10**9)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    found = doctor.disk()
    assert found.status == status
    assert ("the demo takes" in found.do) == (gigabytes == 1)


def test_without_nvidia_smi_there_is_no_gpu(program):
    assert doctor.gpu().status == LIMITED


@pytest.fixture
def cuda(monkeypatch):
    """The CUDA runtime that is installed: that of a lock, or none."""

    def install(version):
        def installed(name):
            if version is None or name != "nvidia-cuda-runtime":
                raise doctor.packages.PackageNotFoundError(name)
            return version

        monkeypatch.setattr(doctor.packages, "version", installed)

    return install


@pytest.mark.parametrize(
    ("driver", "version", "status"),
    [("579.99", "13.2.86", FAILS), ("470.1", "12.8.1", FAILS), ("580.65.06", None, LIMITED)],
)
def test_a_driver_is_compared_with_the_installed_cuda_before_pytorch_is_asked(
    program, cuda, driver, version, status
):
    program("nvidia-smi", GPU.replace("580.65.06", driver))
    cuda(version)
    assert doctor.gpu().status == status


@pytest.mark.parametrize(
    ("says", "code", "status"), [("the sum is 2.0", 0, WORKS), ("no kernel image", 1, FAILS)]
)
def test_a_gpu_works_when_pytorch_computes_on_it(program, cuda, monkeypatch, says, code, status):
    cuda("13.2.86")
    program("nvidia-smi", GPU)
    monkeypatch.setattr(doctor.sys, "executable", program("python", says, code))
    assert doctor.gpu().status == status and doctor.gpu().found.startswith("NVIDIA A100")


class _Answers(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_silent_hosts_are_named_and_a_proxys_password_is_not(monkeypatch):
    server = HTTPServer(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    there = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("https_proxy", "http://me:secret@proxy:3128")  # pragma: allowlist secret
    monkeypatch.setattr(doctor, "HOSTS", (there, "http://127.0.0.1:1"))
    found = doctor.network()
    server.shutdown()
    assert found.status == LIMITED and found.found.startswith("127.0.0.1:1 don't answer")
    assert "proxy:3128" in found.found and "secret" not in found.found


def test_it_ends_with_1_where_something_wont_work(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "HOSTS", ("http://127.0.0.1:1",))
    usage = namedtuple("usage", "free")(10**9)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert (
        "won't    Disk: 1 GB free in" in said
        and "\n         -> the environment takes about 7 GB" in said
    )


def test_it_starts_without_pytorch(tmp_path):
    script = (
        "import sys; from triptych import cli; from triptych.apps import doctor; doctor.HOSTS = ('http://127.0.0.1:1',);"
        "cli.main(['doctor']); assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
