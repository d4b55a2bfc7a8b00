"""One side of the bench, in a process of its own: `python -m` this module, the side, the device.

Tasks are [name, model, size].
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.audio import plain
from benchmarks.worker import answer_tasks
from triptych.audio.embedding import embed_clips
from triptych.audio.models.audio_encoders.passt import PUBLISHED
from triptych.audio.models.mel import LogMel
from triptych.audio.models.passt import Passt
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.settings import ModelSettings
from triptych.audio.training.batches import Batch, Batches, Pair
from triptych.audio.training.settings import Schedule, TrainingSettings
from triptych.audio.training.trainer import Task, TrainingRun
from triptych.core.device import choose_device, training_precision

RATE = 32000
LONGEST_SECONDS = 30
SHORTEST_SECONDS = 15
SEGMENT_SECONDS = {"passt_n": 10, "passt_s": 10, "passt_s15": 15}
PROJECTION = 1024
MASKS = ((10, 40), (300, 400))
"""Of the plain training step: any will do, since none costs more than another."""


def noise(*shape: int) -> Tensor:
    """Random waveforms; their sound doesn't change what anything costs."""
    return 0.1 * torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def split_lengths(clips: int) -> list[int]:
    """Samples of the clips of a split like Clotho's: spread evenly over 15 to 30 seconds."""
    spread = LONGEST_SECONDS - SHORTEST_SECONDS
    return [
        round(RATE * (SHORTEST_SECONDS + spread * (number + 0.5) / clips))
        for number in range(clips)
    ]


def split(clips: int) -> list[NDArray[np.float32]]:
    """Clips of `split_lengths`, in no order of length."""
    lengths = np.random.default_rng(0).permutation(split_lengths(clips))
    return [noise(length).numpy() for length in lengths]


class Captions(nn.Module):
    """In the text side's place, which is the same library's on both sides: a vector a caption."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.config = {"hidden_size": PROJECTION}
        self.vectors = nn.Embedding(count, PROJECTION)

    def tokenize(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """The numbers of the captions, int64 [N]."""
        return {"rows": torch.arange(len(captions))}

    def forward(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """float32 [N, PROJECTION]."""
        return self.vectors(tokens["rows"])


def _settings(name: str) -> ModelSettings:
    return ModelSettings(
        audio=PUBLISHED[name],
        segment_seconds=SEGMENT_SECONDS[name],
        projection=PROJECTION,
        temperature=0.05,
        learn_temperature=True,
        text_dropout=0.0,
    )


def _model(name: str, captions: int, device: torch.device) -> RetrievalModel:
    settings = _settings(name)
    model = RetrievalModel(settings, Passt(settings.audio), Captions(captions))  # type: ignore[arg-type]
    return model.to(device)


class PlainSide:
    """The tasks as plain code does them. Sizes are described in `bench.py`.

    tuned: what its users could set: PyTorch's fused attention, and a clip embedded once and not
    once for each caption; half: bf16 by autocast; compiled: by torch.compile.
    """

    def __init__(
        self, device: torch.device, tuned: bool = False, half: bool = False, compiled: bool = False
    ) -> None:
        self._device, self._tuned, self._half, self.compiled = device, tuned, half, compiled

    def _passt(self, name: str) -> plain.PlainPasst:
        sizes = PUBLISHED[name]
        passt = plain.PlainPasst(
            sizes.stride, sizes.frames, sizes.dim, sizes.depth, sizes.heads, self._tuned
        )
        return passt.to(self._device)

    def _model(self, name: str) -> plain.PlainModel:
        segment, dim = _settings(name).segment_samples, PUBLISHED[name].dim
        return plain.PlainModel(self._passt(name), dim, PROJECTION, segment).to(self._device)

    def _precision(self) -> AbstractContextManager[object]:
        return torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._half)

    def forward(self, model: str, size: dict[str, int]) -> Callable[[], object]:
        """A call: the audio model on one clip, without gradients."""
        passt: Callable[..., Tensor] = self._passt(model)
        if self.compiled:
            passt = torch.compile(passt)
        mel = plain.log_mel(noise(1, size["seconds"] * RATE).to(self._device))

        def call() -> Tensor:
            with torch.no_grad(), self._precision():
                return passt(mel)

        return call

    def step(self, model: str, size: dict[str, int]) -> Callable[[], object]:
        """A call: an update of audio model, text vectors and temperature by Adam."""
        batch, samples = size["batch"], size["seconds"] * RATE
        network = self._model(model).train()
        text = nn.Sequential(nn.Embedding(batch, PROJECTION), nn.Linear(PROJECTION, PROJECTION))
        text.to(self._device)
        temperature = nn.Parameter(torch.tensor([0.05], device=self._device))
        parameters = [*network.parameters(), *text.parameters(), temperature]
        adam = torch.optim.Adam(parameters, lr=1e-6)
        waveforms, chosen = noise(batch, samples), torch.arange(batch, device=self._device)
        passt, frames = PUBLISHED[model], _settings(model).segment_frames
        rows, columns = (
            torch.arange(count - drop, device=self._device)
            for count, drop in zip(passt.grid(frames), passt.patchout, strict=True)
        )

        def call() -> None:
            adam.zero_grad()
            audio = network(
                waveforms.to(self._device), [samples] * batch, (5.0, 15000.0), MASKS, rows, columns
            )
            sentences = nn.functional.normalize(text(chosen), dim=1)
            plain.contrastive_loss(audio, sentences, temperature).backward()
            adam.step()

        return call

    def embedding(self, model: str, size: dict[str, int]) -> Callable[[], object]:
        """A call: the clips of a split embedded, by `plain.embed_split`."""
        network, clips = self._model(model), split(size["clips"])
        if self.compiled:
            network.audio.compile()
        captions = 1 if self._tuned else size["captions"]

        def call() -> Tensor:
            with self._precision():
                return plain.embed_split(network, clips, captions, LONGEST_SECONDS * RATE)

        return call


PLAIN_SIDES: dict[str, dict[str, bool]] = {
    "plain": {},
    "plain sdpa": {"tuned": True},
    "plain sdpa bf16": {"tuned": True, "half": True},
    "compiled sdpa": {"tuned": True, "compiled": True},
    "compiled sdpa bf16": {"tuned": True, "half": True, "compiled": True},
}
"""How plain code is run, by the side's name."""


class OurSide:
    """The same by the library, in one precision."""

    compiled = False

    def __init__(self, device: torch.device, precision: str) -> None:
        self._device, self._precision = device, precision

    def forward(self, model: str, size: dict[str, int]) -> Callable[[], object]:
        """As `PlainSide.forward`."""
        passt = Passt(PUBLISHED[model]).to(self._device).eval()
        mel = LogMel().to(self._device)(noise(1, size["seconds"] * RATE).to(self._device))

        def call() -> None:
            with torch.inference_mode(), training_precision(self._device, self._precision):
                passt(mel)

        return call

    def step(self, model: str, size: dict[str, int]) -> Callable[[], object]:
        """As `PlainSide.step`, by the training run itself."""
        count, samples = size["batch"], size["seconds"] * RATE
        settings = TrainingSettings(
            schedule=Schedule(1000, 1, 1000, 1e-6),
            batch=count,
            swap=0.0,
            longest_seconds=LONGEST_SECONDS,
            frequency_mask=48,
            time_mask=192,
            band_jitter=True,
            patchout=True,
            precision=self._precision,
            chunk=None,
            workers=0,
            checkpoint_minutes=1e6,
        )
        network = _model(model, count, self._device)
        clips = {
            str(number): waveform.numpy() for number, waveform in enumerate(noise(count, samples))
        }
        pairs = [Pair(clip, 0, clip) for clip in clips]
        batches = Batches(pairs, InMemory(clips), settings, 0)
        run = TrainingRun(Task(network, batches, settings, 0), self._device)
        batch: Batch = batches[0]
        return partial(run.step, batch)

    def embedding(self, model: str, size: dict[str, int]) -> Callable[[], object]:
        """As `PlainSide.embedding`, by `embed_clips`."""
        network = _model(model, 1, self._device)
        clips = {str(number): clip for number, clip in enumerate(split(size["clips"]))}
        return partial(
            embed_clips, network, InMemory(clips), list(clips), self._device, self._precision
        )


class InMemory:
    """Clips as `Store` gives them, without a file."""

    def __init__(self, clips: Mapping[str, NDArray[np.float32]]) -> None:
        self._clips = clips

    def frames(self, clip: str) -> int:
        """As `Store.frames`."""
        return len(self._clips[clip])

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> NDArray[np.float32]:
        """As `Store.read`."""
        return self._clips[clip][start : None if frames is None else start + frames]


if __name__ == "__main__":
    name, device = sys.argv[1], choose_device(sys.argv[2])
    ours = name not in PLAIN_SIDES
    side = OurSide(device, name) if ours else PlainSide(device, **PLAIN_SIDES[name])
    answer_tasks(side, device, ("embedding",), ours=ours)
