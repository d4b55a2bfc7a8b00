"""Stage two: what an ensemble thinks of the training pairs becomes the target of one model.

Of a batch, captions fit other clips than their own a little too. The mean similarities of
several trained models say how much (Primus, Schmid and Widmer 2024, arXiv 2408.11641, whose
gain was 1.7 points of mAP@10).
"""

import os
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from triptych.audio.data.shards import Store
from triptych.audio.embedding import embed_captions, embed_clips
from triptych.audio.models.model_files import load_model
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.training.batches import Pair
from triptych.audio.training.losses import distillation_loss
from triptych.audio.training.settings import TrainingSettings
from triptych.audio.training.update import Objective


class Ensemble:
    """Several models' embeddings of the training pairs, side by side.

    audio: float32 [clips, sum of D];  text: float32 [pairs, sum of D];  clips: int64 [pairs]
    """

    def __init__(self, audio: Tensor, text: Tensor, clips: Tensor, members: int) -> None:
        self._audio, self._text, self._clips, self._members = audio, text, clips, members

    def similarities(self, pairs: Tensor) -> Tensor:
        """Mean cosines [N, N] of the clips (rows) and captions (columns) of some pairs."""
        return self._audio[self._clips[pairs]] @ self._text[pairs].T / self._members


def read_ensemble(
    teachers: Sequence[str | os.PathLike[str]],
    pairs: Sequence[Pair],
    store: Store,
    device: torch.device,
    settings: TrainingSettings,
    interrupt: Callable[[], None],
) -> Ensemble:
    """Let each teacher, a model's folder, embed every training clip and caption once."""
    clips = list(dict.fromkeys(pair.clip for pair in pairs))
    numbers = {clip: number for number, clip in enumerate(clips)}
    captions = [pair.caption for pair in pairs]
    longest, precision = settings.longest_seconds, settings.precision
    audio, text = [], []
    for folder in teachers:
        model = load_model(folder, device)
        embedded = embed_clips(
            model, store, clips, device, precision, longest_seconds=longest, interrupt=interrupt
        )
        audio.append(torch.from_numpy(embedded))
        embedded = embed_captions(model, captions, device, precision, interrupt=interrupt)
        text.append(torch.from_numpy(embedded))
    of_pairs = torch.tensor([numbers[pair.clip] for pair in pairs])
    return Ensemble(torch.cat(audio, 1), torch.cat(text, 1), of_pairs, len(audio))


def soft_targets(
    model: RetrievalModel, ensemble: Callable[[], Ensemble], temperature: float
) -> Objective:
    """The loss against an ensemble's opinion, which is asked for when the first batch comes."""
    made: list[Ensemble] = []

    def objective(audio: Tensor, text: Tensor, chosen: Tensor) -> Tensor:
        if not made:
            made.append(ensemble())
        teacher = made[0].similarities(chosen).to(audio.device)
        return distillation_loss(audio, text, model.temperature, teacher, temperature)

    return objective
