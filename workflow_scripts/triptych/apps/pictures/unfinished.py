"""States of a stopped call of --optimize, with which the next one goes on."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from triptych.apps.pictures.work_list import Item
from triptych.core.files import atomic_path

if TYPE_CHECKING:
    from triptych.core.checkpoint import Checkpoint


class Unfinished:
    """The states of one call's images, in a folder beside its result or folder of results.

    Each is named by a digest of all that its result follows from, and goes when the call ends.
    """

    def __init__(self, output: Path) -> None:
        whole = output.resolve()
        self.folder = whole.with_name(f"{whole.name}.unfinished")
        self._targets = self.folder / "results.json"
        self._used: list[Path] = [self._targets]

    def checkpoint(self, fingerprint: str) -> "Checkpoint":
        """The checkpoint of an image."""
        from triptych.core.checkpoint import Checkpoint

        folder = self.folder / fingerprint[:16]
        self._used.append(folder)
        return Checkpoint(folder, fingerprint)

    def targets(self) -> dict[str, str]:
        """Results of a call that was stopped, by input: this one writes them again."""
        if not self._targets.is_file():
            return {}
        written: dict[str, str] = json.loads(self._targets.read_text(encoding="utf-8"))
        return written

    def begin(self, items: Iterable[Item]) -> None:
        """Note where each input's result goes."""
        written = {str(item.source): str(item.target) for item in items}
        with atomic_path(self._targets) as temporary:
            temporary.write_text(json.dumps(written), encoding="utf-8")

    def remove(self) -> None:
        """Remove this call's states, and the folder where no other call has one there."""
        for path in self._used:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()
