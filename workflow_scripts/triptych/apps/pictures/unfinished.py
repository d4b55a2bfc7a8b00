"""Optimised images on their way: shown while they change, saved so that a killed call goes on.

States lie beside the result, in `painted.png.unfinished`, a folder for each batch, named by a
digest of all that its result follows from. They go when the call ends.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.errors import InputError
from triptych.style.data.image_files import FORMATS
from triptych.style.data.images import write_image

EVERY_SECONDS = 2.0
"""Between two previews."""


class Unfinished:
    """The states of one call's batches, for the result or folder of results `output`."""

    def __init__(self, output: Path) -> None:
        whole = output.resolve()
        self.folder = whole.with_name(f"{whole.name}.unfinished")
        self._used: list[Path] = []

    def checkpoint(self, fingerprint: str) -> Checkpoint:
        """Where a batch's state is kept."""
        folder = self.folder / fingerprint[:16]
        self._used.append(folder)
        return Checkpoint(folder, fingerprint)

    def remove(self) -> None:
        """What this call made; another's states stay, and the folder with them."""
        for folder in self._used:
            shutil.rmtree(folder, ignore_errors=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


class Preview:
    """An image file that follows a batch, its images side by side; none where `path` is None."""

    def __init__(self, path: Path | None) -> None:
        if path is not None and path.suffix.lower() not in FORMATS:
            raise InputError(f"--preview {path}: expected a file that ends in {', '.join(FORMATS)}")
        self._path, self._next = path, 0.0

    def check(self, others: Iterable[Path]) -> None:
        """Raise InputError where it would take the place of an input or a result."""
        if self._path is not None and self._path.resolve() in {path.resolve() for path in others}:
            raise InputError(
                f"--preview {self._path}: an input or a result of this call; give it a file of its "
                "own"
            )

    def show(self, images: Callable[[], Tensor], *, last: bool = False) -> None:
        """What `images` gives, [N, 3, H, W], unless something was shown a moment ago; the last
        always."""
        if self._path is not None and (last or time.monotonic() >= self._next):
            write_image(self._path, torch.cat(list(images()), 2))
            self._next = time.monotonic() + EVERY_SECONDS


def digest(texts: Iterable[object], tensors: Iterable[Tensor | None]) -> str:
    """Of what a result follows from: reprs and values."""
    found = hashlib.sha256()
    for text in texts:
        found.update(f"{text!r}\n".encode())
    for tensor in tensors:
        if tensor is None:
            found.update(b"none")
        else:
            found.update(f"{tensor.dtype}{list(tensor.shape)}".encode())
            found.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()
