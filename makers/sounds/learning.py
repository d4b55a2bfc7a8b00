"""Train the small model that the repository ships on everyday sounds, resumably.

Contrastive as the report's models are, with what a synthesised world allows besides: a batch holds,
beside a caption of each of its scenes, one of every kind of sound; what matches is known
(`wording.fits`), so that a caption matches all scenes that it is true of; and each kind has an
anchor in the shared space, towards which sounds and captions are drawn. Anchors are not kept.
"""

import logging
import math
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

from makers.sounds.catalogue import KINDS
from makers.sounds.mixing import Measured, Scenes
from makers.sounds.pool import keyed
from makers.sounds.wording import Caption, caption, fits, plain, present
from triptych.audio.models import sentence_encoders
from triptych.audio.models.retrieval import RetrievalModel, build_model, save_model
from triptych.audio.models.sentence_encoders import sentence_encoder
from triptych.audio.models.settings import ModelSettings
from triptych.audio.models.statistics import Statistics, measure
from triptych.audio.models.text_making import write_scratch_model
from triptych.audio.training.losses import similarity_logits
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import precision_context
from triptych.core.files import write_csv
from triptych.core.stopping import Stop
from triptych.core.training_loop import LoopSettings, TrainingLoop, all_finite, exploded

logger = logging.getLogger(__name__)

# The class `words` of text models, which the studies do not have.
sentence_encoders.__path__.append(str(Path(__file__).parent / "encoders"))
CAPTIONS = 12_000
"""Of random scenes, which the tokenizer is trained on."""


@dataclass(frozen=True)
class LearningSettings:
    """How long is learned, and how."""

    steps: int
    batch: int  # scenes a step, of those that were measured
    learning_rate: float  # at its highest
    warmup: int  # steps in which it rises
    decay: float  # share of the steps, the last ones, in which it falls
    weight_decay: float
    precision: str  # "float32", "tf32" or "bf16"
    seed: int
    log_every: int  # steps; a row of the log, and a look at the held-out scenes
    checkpoint_every: int  # steps


@dataclass(frozen=True)
class Learned:
    """The model at its best on the held-out scenes, and a row of the log every so many steps."""

    model: RetrievalModel
    log: pd.DataFrame  # step, loss, held_out_map, seconds
    step: int
    matched_map: float | None = None  # on the held-out scenes, where a text is matched by MiniLM


def new_model(entry: Mapping[str, Any], seed: int) -> RetrievalModel:
    """A model from scratch, its tokenizer trained on captions of random scenes.

    entry: `audio`, `text` and `model`, as the config's audio_models, text_models and model hold
    them. Raises ValueError for settings that no model is made of.
    """
    settings = ModelSettings.from_config(entry["audio"], entry["model"])
    text = sentence_encoder(entry["text"])
    rng = keyed("captions", seed)
    scenes = (rng.integers(len(KINDS), size=rng.integers(1, 4)) for _ in range(CAPTIONS))
    captions = [caption(rng, scene.tolist()).text for scene in scenes]
    with tempfile.TemporaryDirectory() as folder:
        write_scratch_model(folder, text.config(), text.pieces, captions)
        return build_model(settings, folder, None, seed)


def frames_of(entry: Mapping[str, Any]) -> int:
    """Frames of what a model of `entry` hears at once."""
    return ModelSettings.from_config(entry["audio"], entry["model"]).segment_frames


def embed_measured(model: RetrievalModel, measured: Tensor) -> Tensor:
    """What was measured of segments, each a recording of its own, to unit vectors.

    As `RetrievalModel.embed_audio`, whose audio side is `Statistics`.
    """
    assert isinstance(model.audio, Statistics)
    return functional.normalize(model.project_audio(model.audio.embed(measured).float()), dim=1)


def contrast(audio: Tensor, text: Tensor, temperature: Tensor, matches: Tensor) -> Tensor:
    """Cross entropy of each row, and of each column that has a match, spread over its matches.

    audio, text: unit vectors [B, D] and [C, D]; matches: [B, C] bool. The mean of both ways.
    """
    logits = similarity_logits(audio, text, temperature)
    wanted = matches.float()
    rows = -(wanted / wanted.sum(1, keepdim=True).clamp(min=1) * logits.log_softmax(1)).sum(1)
    some = matches.any(0)
    columns = -(wanted / wanted.sum(0).clamp(min=1) * logits.log_softmax(0)).sum(0)[some]
    return (rows.mean() + columns.mean()) / 2


def average_precision(scores: np.ndarray, relevant: np.ndarray) -> float:
    """Mean over queries: of each the mean, over its relevant recordings, of the precision there.

    scores: [recordings, queries]; relevant: the same, bool, at least one a query.
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    hits = np.take_along_axis(relevant, order, axis=0)
    precision = hits.cumsum(0) / np.arange(1, len(hits) + 1)[:, None]
    return float(((precision * hits).sum(0) / hits.sum(0)).mean())


HeldOut = list[tuple[Tensor, list[list[int]]]]
"""What `measure` says of batches of held-out scenes, and the kinds in each scene."""


def measured(held_out: Sequence[Scenes]) -> HeldOut:
    """Held-out scenes as `held_out_map` takes them."""
    return [(measure(each.mel), each.kinds) for each in held_out]


@torch.inference_mode()
def held_out_map(model: RetrievalModel, held_out: HeldOut, device: torch.device) -> float:
    """Mean average precision of the kinds' plainest phrases on held-out scenes."""
    queries = [plain(place) for place in range(len(KINDS))]
    text = model.embed_text(model.text.tokenize([c.text for c in queries]))
    audio = torch.cat([embed_measured(model, each.to(device)) for each, _ in held_out])
    kinds = [scene for _, many in held_out for scene in many]
    return average_precision((audio.float() @ text.T).float().cpu().numpy(), fits(queries, kinds))


def learn(
    entry: Mapping[str, Any],
    scenes: Measured,
    held_out: Sequence[Scenes],
    settings: LearningSettings,
    device: torch.device,
    checkpoint: Checkpoint,
    stop: Stop,
) -> Learned:
    """Train a model of `entry` on measured scenes, resuming from `checkpoint`.

    The best state is that which finds the kinds best in the `held_out` scenes.

    Raises Stopped after saving when `stop` asks, DivergedError when a loss or a weight is not
    finite or the loss explodes. The log's seconds count all attempts.
    """
    run = _Learning(entry, scenes, measured(held_out), settings, device)
    loop_settings = LoopSettings(
        settings.steps,
        ("step", "steps"),
        check_every=settings.log_every,
        save_every=settings.checkpoint_every,
        advice="Lower small.training.learning_rate.",
    )
    loop = TrainingLoop(run, loop_settings, checkpoint, lambda: stop.reason)
    loop.restore(device)
    loop.run(f"small model on {len(scenes.kinds)} scenes", run.step)
    return run.learned()


class _Learning:
    """The state of a training: all that changes from step to step."""

    def __init__(
        self,
        entry: Mapping[str, Any],
        scenes: Measured,
        held_out: HeldOut,
        settings: LearningSettings,
        device: torch.device,
    ) -> None:
        self._scenes, self._settings, self._device = scenes, settings, device
        model = new_model(entry, settings.seed)
        self._model = model.to(device)
        generator = torch.Generator().manual_seed(settings.seed)
        size = len(KINDS), model.settings.projection
        self._anchors = nn.Parameter(torch.randn(size, generator=generator).to(device))
        learnt = [each for each in self._model.parameters() if each.requires_grad]
        self._optimiser = torch.optim.AdamW(
            [*learnt, self._anchors], lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._held_out = held_out
        self.done = 0
        self._rows: list[dict[str, float]] = []
        self._summed = torch.zeros((), device=device)
        self._best: dict[str, Tensor] = {}
        self._best_row = (0, -1.0)
        self._began = time.monotonic()

    @property
    def evaluation_due(self) -> bool:
        every, steps = self._settings.log_every, self._settings.steps
        return self._since_row() > 0 and (self.done % every == 0 or self.done == steps)

    def _since_row(self) -> int:
        return self.done - (int(self._rows[-1]["step"]) if self._rows else 0)

    def _rate(self) -> float:
        """A line up, then level, then a line down: one may stop early and still come down."""
        settings = self._settings
        left = (settings.steps - self.done) / (settings.decay * settings.steps)
        return min((self.done + 1) / settings.warmup, left, 1.0)

    def step(self) -> None:
        """Update the weights once."""
        settings = self._settings
        rows = self._rows_of(self.done)
        scenes = [self._scenes.kinds[row] for row in rows]
        captions = _captions(scenes, settings.seed, self.done)
        named = present([frozenset().union(*each.asks) for each in captions])
        tables = fits(captions, scenes), present(scenes), named
        matches = [torch.from_numpy(each).to(self._device) for each in tables]
        for group in self._optimiser.param_groups:
            group["lr"] = settings.learning_rate * self._rate()
        self._model.train()
        torch.manual_seed(settings.seed + self.done)  # of dropout
        self._optimiser.zero_grad(set_to_none=True)
        with precision_context(self._device, settings.precision):
            audio = embed_measured(self._model, self._scenes.numbers[rows].to(self._device))
            text = self._model.embed_text(self._model.text.tokenize([c.text for c in captions]))
        anchors, temperature = functional.normalize(self._anchors, dim=1), self._model.temperature
        pairs = (audio, text), (audio, anchors), (text, anchors)
        losses = [
            contrast(*pair, temperature, each) for pair, each in zip(pairs, matches, strict=True)
        ]
        loss = torch.stack(losses).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 5.0)
        self._optimiser.step()
        self._summed += loss.detach()
        self.done += 1

    def _rows_of(self, step: int) -> list[int]:
        """Scenes of a step: each pass over all of them is in an order of its own."""
        batch, many = self._settings.batch, len(self._scenes.kinds)
        each = many // batch
        order = keyed("order", self._settings.seed, step // each).permutation(many)
        return order[step % each * batch :][:batch].tolist()

    def check_divergence(self) -> str:
        """What is wrong with the losses since the last row, or with the weights."""
        mean = float(self._summed) / max(1, self._since_row())
        if not math.isfinite(mean):
            return f"the loss isn't finite before step {self.done}"
        if not all_finite(self._model.state_dict().values()):
            return f"weights aren't finite before step {self.done}"
        if self._rows and exploded(mean, self._rows[0]["loss"]):
            return f"the mean loss before step {self.done} is {mean:.3g}"
        return ""

    def evaluate(self) -> bool:
        """Append a row to the log, and keep the weights if none were better."""
        self._model.eval()
        with precision_context(self._device, self._settings.precision):
            score = held_out_map(self._model, self._held_out, self._device)
        loss = float(self._summed) / self._since_row()
        seconds = round(time.monotonic() - self._began, 1)
        self._rows.append(
            {"step": self.done, "loss": loss, "held_out_map": score, "seconds": seconds}
        )
        logger.info("step %d: loss %.2f, held-out scenes %.3f", self.done, loss, score)
        self._summed.zero_()
        if score > self._best_row[1]:
            self._best_row = (self.done, score)
            self._best = {k: v.detach().clone() for k, v in self._model.state_dict().items()}
        return False

    def state(self) -> dict[str, Any]:
        return {
            "step": self.done,
            "seconds": time.monotonic() - self._began,
            "rows": self._rows,
            "model": self._model.state_dict(),
            "anchors": self._anchors.detach(),
            "optimiser": self._optimiser.state_dict(),
            "summed": self._summed,
            "best": self._best,
            "best_row": list(self._best_row),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.done, self._rows = state["step"], state["rows"]
        self._began = time.monotonic() - state["seconds"]
        self._model.load_state_dict(state["model"])
        self._anchors.data.copy_(state["anchors"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._summed.copy_(state["summed"])
        self._best, self._best_row = state["best"], (state["best_row"][0], state["best_row"][1])

    def learned(self) -> Learned:
        self._model.load_state_dict(self._best)
        return Learned(self._model.cpu().eval(), pd.DataFrame(self._rows), self._best_row[0])


def _captions(scenes: Sequence[list[int]], seed: int, step: int) -> list[Caption]:
    """One of each scene, then one of each kind."""
    rng = keyed("words", seed, step)
    return [caption(rng, each) for each in scenes] + [
        caption(rng, [place]) for place in range(len(KINDS))
    ]


UNHIDDEN = {"frequency_mask": 0, "time_mask": 0, "band_jitter": False, "patchout": False}
"""What it learned from had no part hidden; fine-tuning asks this."""


def write_learned(
    folder: str | os.PathLike[str], learned: Learned, settings: Mapping[str, Any]
) -> None:
    """Write a model's folder, its weights in half precision, and training.csv beside them.

    settings: of the config; they stand in model.json with the step whose weights these are.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(learned.log, folder / "training.csv")
    best = learned.log["held_out_map"][learned.log["step"] == learned.step].iloc[0]
    about = {
        "sources": {"everyday": "synthesised"},
        "kinds": len(KINDS),
        "step": learned.step,
        "held_out_map": float(best),
        "matched_held_out_map": learned.matched_map,
        "settings": dict(settings),
        "training": {
            **UNHIDDEN,
            "schedule": {"learning_rate": settings["training"]["learning_rate"]},
        },
    }
    save_model(learned.model, folder, about, half=True)
