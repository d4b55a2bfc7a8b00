"""Training batches.

A batch's pairs, crops and captions are functions of the seed, the epoch and the pair, so a resumed
run sees what an unbroken one would have seen.
"""

import functools
import hashlib
import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from triptych.audio.data.decoding import SAMPLE_RATE
from triptych.audio.data.shards import Store
from triptych.audio.training.settings import TrainingSettings
from triptych.core.errors import InputError
from triptych.core.stopping import SIGNALS, interruptible

logger = logging.getLogger(__name__)

SHARED_MEMORY = Path("/dev/shm")
"""Where processes of Linux hand tensors to each other; containers have 64 MB of it by default."""
PREFETCHED = 2
"""Batches that each process has ready."""
PATIENCE = 300.0
"""Seconds in which some batch is read, or its process hangs."""
ATTEMPTS = 3
"""Of processes that hang: a fork inherits what another thread had locked, and waits for ever."""


class Pair(NamedTuple):
    """A clip with one of its captions, and the variations that may stand in for it."""

    clip: str
    position: int
    caption: str
    variations: tuple[str, ...] = ()


class Batch(NamedTuple):
    """The input of one training step.

    recordings: what the store gives, float32 [N, longest, ...], padded with zeros; lengths: int64
    [N] of each; captions: N, as the model shall read them; chosen: the pairs' numbers, int64 [N].
    """

    recordings: Tensor
    lengths: Tensor
    captions: list[str]
    chosen: Tensor


class Batches(Dataset[Batch]):
    """The batches of a training by their number, from 0 through all epochs, of which each has an
    order of its own and no incomplete batch at its end.
    """

    def __init__(
        self, pairs: Sequence[Pair], store: Store, settings: TrainingSettings, seed: int
    ) -> None:
        self._batch, self._swap, self._seed = settings.batch, settings.swap, seed
        if len(pairs) < self._batch:
            raise InputError(
                f"{len(pairs)} pairs of a clip and a caption are fewer than one batch of "
                f"{self._batch}; give more clips, or lower the batch"
            )
        self.pairs, self.store = pairs, store
        self._longest = round(settings.longest_seconds * SAMPLE_RATE)
        self.steps_per_epoch = len(pairs) // self._batch

    @property
    def largest_bytes(self) -> int:
        """Bytes of a batch's recordings, all as long as the longest."""
        frames = max(self.store.frames(pair.clip) for pair in self.pairs)
        return self._batch * min(frames, self._longest) * np.dtype(np.float32).itemsize

    def __getitem__(self, step: int) -> Batch:
        epoch, position = divmod(step, self.steps_per_epoch)
        order = _order(len(self.pairs), self._seed, epoch)
        chosen = order[position * self._batch : (position + 1) * self._batch]
        pairs = [self.pairs[index] for index in chosen]
        captions = [caption_of(pair, self._swap, self._seed, epoch) for pair in pairs]
        recordings, lengths = stacked([self._read(pair, epoch) for pair in pairs])
        return Batch(recordings, lengths, captions, torch.from_numpy(chosen.copy()))

    def _read(self, pair: Pair, epoch: int) -> NDArray[np.float32]:
        start, frames = crop(self.store.frames(pair.clip), self._longest, self._seed, epoch, pair)
        return self.store.read(pair.clip, start, frames)


def stacked(recordings: Sequence[NDArray[np.float32]]) -> tuple[Tensor, Tensor]:
    """Recordings, each float32 [length, ...], padded with zeros to the longest, and their lengths,
    int64 [N].
    """
    lengths = [len(recording) for recording in recordings]
    padded = torch.zeros(len(lengths), max(lengths), *recordings[0].shape[1:])
    for row, recording in zip(padded, recordings, strict=True):
        row[: len(recording)] = torch.from_numpy(recording)
    return padded, torch.tensor(lengths)


def crop(frames: int, longest: int, seed: int, epoch: int, pair: Pair) -> tuple[int, int]:
    """Where a random cut of at most `longest` frames begins, and how many it has."""
    if frames <= longest:
        return 0, frames
    share = uniform("crop", seed, epoch, pair.clip, pair.position)
    return int(share * (frames - longest + 1)), longest


def caption_of(pair: Pair, swap: float, seed: int, epoch: int) -> str:
    """A pair's caption, or with probability `swap` one of its variations (Section 2.6)."""
    key = (seed, epoch, pair.clip, pair.position)
    if not pair.variations or uniform("swap", *key) >= swap:
        return pair.caption
    return pair.variations[int(uniform("variation", *key) * len(pair.variations))]


def uniform(*key: int | str) -> float:
    """A number in [0, 1) that is a function of its key."""
    return (_digest(*key) >> 11) / (1 << 53)


@functools.lru_cache(maxsize=2)
def _order(count: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng(_digest("order", seed, epoch)).permutation(count)


def _digest(*key: int | str) -> int:
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big")


def load(batches: Batches, steps: range, workers: int, pin: bool) -> Iterator[Batch]:
    """The batches of `steps`, in order; read ahead by `workers` processes where there are any, or
    by as many as SHARED_MEMORY has room for.

    Processes that hand no batch over for PATIENCE are replaced, and raise InputError at the last of
    ATTEMPTS. Waiting raises Interrupted if the job is asked to stop.
    """
    readers = min(workers, _readers_with_room(batches.largest_bytes)) if workers else 0
    if readers < workers:
        logger.warning(
            "%s has room for the batches of %d of %d processes that read recordings ahead (docker "
            "run --ipc=host gives more)",
            SHARED_MEMORY,
            readers,
            workers,
        )
    if readers == 0:
        return (batches[step] for step in steps)
    # The tokenizers library warns of every fork, though only the parent tokenizes.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return _read_ahead(batches, steps, readers, pin)


def _readers_with_room(batch_bytes: int) -> int:
    """Number of processes whose batches fit into shared memory, beside one that is in use."""
    if not SHARED_MEMORY.is_dir():  # of macOS it is no folder
        return sys.maxsize
    free = os.statvfs(SHARED_MEMORY)
    return max(0, free.f_bavail * free.f_frsize // batch_bytes - 1) // PREFETCHED


def _read_ahead(batches: Batches, steps: range, readers: int, pin: bool) -> Iterator[Batch]:
    """Batches of processes. They may fail to hand one over without a word."""
    done = failures = 0
    while done < len(steps):
        try:
            for batch in _of_processes(batches, steps[done:], readers, pin):
                yield batch
                done, failures = done + 1, 0
        except RuntimeError as error:  # time-outs, processes that were killed
            failures += 1
            failed = f"{readers} processes that read recordings ahead failed ({error})"
            if failures == ATTEMPTS:
                raise InputError(
                    f"{failed}, {ATTEMPTS} times. The training resumes from its checkpoint; with "
                    "audio.stages.common.workers: 0 it needs none"
                ) from error
            logger.warning("%s; others take their place", failed)


def _of_processes(batches: Batches, steps: range, readers: int, pin: bool) -> Iterator[Batch]:
    loader = DataLoader(
        batches,
        batch_size=None,
        sampler=steps,
        num_workers=readers,
        prefetch_factor=PREFETCHED,
        pin_memory=pin,
        timeout=PATIENCE,
        worker_init_fn=functools.partial(_outlive_signals, closing := multiprocessing.Event()),
    )
    source = iter(loader)
    try:
        while True:
            with interruptible():
                batch = next(source, None)
            if batch is None:
                return
            yield batch
    finally:
        closing.set()


def _outlive_signals(closing: Event, worker: int) -> None:
    """A scheduler signals every process of a job; the training must save before its readers end.
    One that hangs ends by a signal after that."""

    def end(number: int, frame: object) -> None:
        if closing.is_set():
            os._exit(0)

    for number in SIGNALS:
        signal.signal(number, end)
