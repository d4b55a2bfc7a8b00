"""Chromium without a window, spoken to through a pipe: a page is opened, typed into, looked at."""

import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WITHOUT = "there is no Chromium: apt-get install chromium"
SECONDS = 60


class Browser:
    """One page. DevTools reads commands from descriptor 3 and answers on 4, a NUL behind each."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._read = to, back, b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        found = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def value(self, script: str) -> Any:
        """What a script comes to, promises awaited."""
        found = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, script: str) -> Any:
        """What a script comes to as soon as that is true."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if found := self.value(script):
                return found
            time.sleep(0.1)
        raise AssertionError(f"never true: {script}")

    def open(self, address: str) -> None:
        self.ask("Page.navigate", url=address)
        self.wait(f"location.href == {json.dumps(address)} && document.readyState == 'complete'")

    def write(self, text: str) -> None:
        """Type where the cursor is, then press Enter."""
        self.ask("Input.insertText", text=text)
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **key)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **key)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._back], [], [], SECONDS)
            assert ready, "Chromium doesn't answer"
            more = os.read(self._back, 1 << 16)
            assert more, "Chromium has ended"
            self._read += more
        message, _, self._read = self._read.partition(b"\0")
        return json.loads(message)


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """A browser of its own, ended with the block."""
    there, to = os.pipe()
    back, here = os.pipe()

    def descriptors() -> None:  # free ones above 4 first, lest one replace the other
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 5) for end in (there, here)]
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    process = subprocess.Popen(
        [
            *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--mute-audio"),
            *("--remote-debugging-pipe", "--no-first-run", "--disable-dev-shm-usage"),
            *("--autoplay-policy=no-user-gesture-required", f"--user-data-dir={profile}"),
        ],
        preexec_fn=descriptors,
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(there)
    os.close(here)
    try:
        yield Browser(to, back)
    finally:
        os.close(to)
        os.close(back)
        process.terminate()
        process.wait(30)
