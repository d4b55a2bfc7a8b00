"""States of a stopped call of --optimize, with which the next one goes on."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triptych.core.checkpoint import Checkpoint


class Unfinished:
    """The states of one call's images, in a folder beside its result or folder of results.

    Each is named by a digest of all that its result follows from, and goes when the call ends.
    """

    def __init__(self, output: Path) -> None:
        whole = output.resolve()
        self.folder = whole.with_name(f"{whole.name}.unfinished")
        self._used: list[Path] = []

    def checkpoint(self, fingerprint: str) -> "Checkpoint":
        """The checkpoint of an image."""
        from triptych.core.checkpoint import Checkpoint

        folder = self.folder / fingerprint[:16]
        self._used.append(folder)
        return Checkpoint(folder, fingerprint)

    def remove(self) -> None:
        """Remove this call's states, and the folder where no other call has one there."""
        for path in self._used:
            shutil.rmtree(path, ignore_errors=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()
