"""python -IS tests/warm.py SCRIPT|-m MODULE ARGUMENT...: as python would run it, but warm.

It runs in a process forked from one that has imported what jobs import, Snakemake and PyTorch
among it: in tiny studies the imports take far longer than the work. Of the library itself a fork
knows nothing: it imports its own checkout's. The jobs of a warm Snakemake are warm too. A fork gets
the signals of the process that asked for it, and is killed when that is killed. The first who asks
starts the server, which ends with the process whose number ends its address, TRIPTYCH_WARM
(conftest.py).
"""

import fcntl
import os
import pickle
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

COMMAND = [sys.executable, "-IS", os.path.abspath(__file__)]
FAULTS = Path(__file__).resolve().parent / "faults"


def ask(arguments: list[str]) -> int:
    """Have a program run with this process's folder, environment and streams: its exit code."""
    arguments = arguments[arguments[0] == "-P" :]  # a fork's path is set anyway
    with _connected(os.environ["TRIPTYCH_WARM"]) as server:
        asked = pickle.dumps((arguments, os.getcwd(), dict(os.environ)))
        socket.send_fds(server, [len(asked).to_bytes(8, "big")], [0, 1, 2])
        server.sendall(asked)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: server.sendall(bytes([number])))
        answer = server.recv(1)
    return answer[0] if answer else 1


@contextmanager
def warm_python(folder: Path) -> Iterator[None]:
    """Within, sys.executable is a program, written into a folder, that runs as COMMAND does."""
    program, own = folder / "python", sys.executable
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    sys.executable = str(program)
    try:
        yield
    finally:
        sys.executable = own


def _connected(address: str) -> socket.socket:
    with open(f"{address}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = _connection(address)
        if server is None:
            with open(f"{address}.log", "w") as log:
                process = subprocess.Popen(
                    [sys.executable, __file__, "--serve", address],
                    env={**os.environ, "PYTHONPATH": str(FAULTS)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            while server is None:
                if process.poll() is not None:
                    raise SystemExit(Path(f"{address}.log").read_text())
                time.sleep(0.05)
                server = _connection(address)
        return server


def _connection(address: str) -> socket.socket | None:
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(address)
    except (FileNotFoundError, ConnectionRefusedError):
        server.close()
        return None
    return server


def serve(address: str) -> None:
    """Answer until the tests have ended."""
    import select

    path = _load()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    while _alive(int(address.rpartition("-")[2])):
        if select.select([listener], [], [], 1)[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _attend(connection, path)
            connection.close()
    for name in (address, f"{address}.lock", f"{address}.log"):
        Path(name).unlink(missing_ok=True)


def _load() -> list[str]:
    """Import what jobs import, and forget the library; returns the path of the packages."""
    import gc
    import importlib

    for name in ("loaded", "snakemake.cli", "snakemake.api", "snakemake.scheduling.greedy"):
        importlib.import_module(name)
    for name in [*sys.modules]:
        if name.split(".")[0] in ("triptych", "loaded"):
            del sys.modules[name]
    gc.freeze()  # or a fork's first collection would copy all of it
    return [each for each in sys.path if each not in (str(FAULTS), str(FAULTS.parent))]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _attend(connection: socket.socket, path: list[str]) -> None:
    """Fork what was asked for, send its exit code, and kill it if nobody wants that any more."""
    import threading

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    header, streams, _, _ = socket.recv_fds(connection, 8, 3)
    asked = b""
    while len(asked) < int.from_bytes(header, "big"):
        asked += connection.recv(1 << 16)
    child = os.fork()
    if child == 0:
        connection.close()
        _leave(_run, *pickle.loads(asked), streams, path)
    for stream in streams:
        os.close(stream)

    def watch() -> None:
        while number := connection.recv(1):
            os.kill(child, number[0])
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(child, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.send(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


def _run(
    arguments: list[str], folder: str, environment: dict, streams: list[int], path: list[str]
) -> None:
    import runpy

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    given = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    if arguments[0] == "-m":
        sys.argv, sys.path[:] = arguments[1:], [folder, *given, *path]
        if arguments[1] == "snakemake":
            sys.executable = shlex.join(COMMAND)  # what it runs its jobs with
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        here = os.path.dirname(os.path.abspath(arguments[0]))
        sys.argv, sys.path[:] = arguments, [here, *given, *path]
        runpy.run_path(arguments[0], run_name="__main__")


def _leave(program: Callable[..., None], *given: object) -> None:
    """Run a program and end as Python does, but for taking all modules apart, which takes long."""
    import atexit
    import logging
    import threading
    import traceback

    atexit._clear()  # the server's, some of which wait
    atexit.register(logging.shutdown)
    code: object = 0
    try:
        program(*given)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        raise SystemExit(ask(sys.argv[1:]))
