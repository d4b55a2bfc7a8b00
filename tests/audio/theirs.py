"""The models that CP-JKU published, written again from what their code says, and their files.

dcase2025: CPJKU/dcase2025_task6_baseline, d25_t6/retrieval_module.py and passt.py; salsa:
OptimusPrimus/salsa, experiments/ex_dcase24.py and models/audio. Their networks are the plain ones
of the bench and transformers' own; nothing of the library's models is used.
"""

import string
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import nn

from benchmarks.audio.plain import PlainPasst, log_mel
from triptych.audio.models import finished
from triptych.audio.models.audio_encoders import PUBLISHED, PasstSettings
from triptych.audio.models.sentence_encoders import RobertaSettings
from triptych.audio.models.text_files import write_scratch_model

DIM, DEPTH, HEADS, JOINT = 24, 2, 3, 40
"""Of PaSST and of the shared space, in truth 768, 12, 12 and 1024."""
CLASSES = 5
"""Of the heads, in truth 527."""


def make_small(monkeypatch: pytest.MonkeyPatch, text: Path, captions: Sequence[str]) -> None:
    """Have the library expect models of these sizes; write their text model's files to `text`."""
    settings = PasstSettings(DIM, (16, 16), 1000, DEPTH, HEADS, (2, 15), CLASSES)
    monkeypatch.setitem(PUBLISHED, "passt_n", settings)
    monkeypatch.setattr(finished, "PROJECTION", JOINT)
    write_scratch_model(text, RobertaSettings(32, 300, 2, 4).config(), "bytes", captions)


def their_passt() -> nn.Module:
    passt = PlainPasst((16, 16), 1000, DIM, DEPTH, HEADS)
    passt.head = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, CLASSES))
    passt.head_dist = nn.Linear(DIM, CLASSES)
    return passt


class Holder(nn.Module):
    """A module called `model` in another one: their wrappers."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model


class Theirs(nn.Module):
    """What both share; they differ in names, and in how segments of padding are left out."""

    def __init__(self, text: Path, named: dict[str, nn.Module]) -> None:
        super().__init__()
        self.audio_embedding_model = Holder(Holder(their_passt()))
        for name, module in named.items():
            self.add_module(name, module)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(text)
        self.tau = nn.Parameter(torch.tensor([0.05]))

    def segments(self, sound: np.ndarray) -> torch.Tensor:
        """Of one sound, filled up to 30 s, its three of 10 s: [3, dim]."""
        filled = np.zeros(960_000, np.float32)
        filled[: len(sound)] = sound
        cut = torch.from_numpy(filled).view(3, 320_000)
        return self.audio_embedding_model.model.model(log_mel(cut))

    def tokens(self, captions: Sequence[str]) -> dict[str, torch.Tensor]:
        bare = [c.lower().translate(str.maketrans("", "", string.punctuation)) for c in captions]
        return self.tokenizer(
            bare, padding="max_length", max_length=32, truncation=True, return_tensors="pt"
        )


def roberta(text: Path) -> nn.Module:
    config = transformers.RobertaConfig.from_pretrained(text)
    return transformers.RobertaModel(config, add_pooling_layer=False)


class Dcase2025(Theirs):
    """One segment counts up to 10 s, two up to 20 s, else all three."""

    def __init__(self, text: Path) -> None:
        language = roberta(text)
        named = {
            "audio_projection": nn.Linear(DIM, JOINT),
            "text_embedding_model": language,
            "text_projection": nn.Linear(language.config.hidden_size, JOINT),
        }
        super().__init__(text, named)

    def audio(self, sound: np.ndarray) -> torch.Tensor:
        seconds, rows = len(sound) / 32000, self.segments(sound)
        heard = rows[0] if seconds <= 10 else rows[:2].mean(0) if seconds <= 20 else rows.mean(0)
        return nn.functional.normalize(self.audio_projection(heard), dim=0)

    def text(self, captions: Sequence[str]) -> torch.Tensor:
        first = self.text_embedding_model(**self.tokens(captions))[0][:, 0]
        return nn.functional.normalize(self.text_projection(first), dim=1)


class Salsa(Theirs):
    """A mask over segments, from the share of the 30 s that is sound; tensors of unused parts."""

    def __init__(self, text: Path) -> None:
        language = roberta(text)
        named = {
            "sentence_embedding_model": language,
            "project_audio": nn.Sequential(nn.Linear(DIM, JOINT)),
            "project_sentence": nn.Sequential(nn.Linear(language.config.hidden_size, JOINT)),
            "posencode": nn.Module(),
        }
        super().__init__(text, named)
        self.posencode.w = nn.Parameter(torch.ones(1))
        self.posencode.pe = nn.Parameter(torch.randn(1, 192, DIM))
        self.audio_token = nn.Parameter(torch.randn(1, 1, DIM))
        self.timing_tau = nn.Parameter(torch.tensor([0.05]))

    def audio(self, sound: np.ndarray) -> torch.Tensor:
        rows, share = self.segments(sound), len(sound) / 960_000
        mask = torch.zeros(3)
        mask[: int(np.ceil(share * 3))] = 1
        mean = (rows * mask[:, None]).sum(0) / mask.sum()
        return nn.functional.normalize(self.project_audio(mean), dim=0)

    def text(self, captions: Sequence[str]) -> torch.Tensor:
        first = self.sentence_embedding_model(**self.tokens(captions))[0][:, :1].mean(1)
        return nn.functional.normalize(self.project_sentence(first), dim=1)


KINDS = {"dcase2025": Dcase2025, "salsa": Salsa}


def made(kind: str, text: Path) -> Any:
    """A model of theirs with random weights, also where norms and biases begin as 1 and 0."""
    torch.manual_seed(3)
    model = KINDS[kind](text).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def lightning_file(model: nn.Module, path: Path, settings: object, **changes: object) -> None:
    """What Lightning's Trainer saves beside the weights, as far as it matters to a reader."""
    state = OrderedDict(model.state_dict())
    whole = {
        "epoch": 19,
        "global_step": 12_340,
        "pytorch-lightning_version": "2.5.0.post0",
        "state_dict": state,
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"total": {"ready": 20}}}},
        "callbacks": {
            "ModelCheckpoint{'monitor': 'val/mAP@10'}": {
                "best_model_score": torch.tensor(0.35),
                "best_model_path": "checkpoints/a/epoch=19.ckpt",
                "kth_value": torch.tensor(0.35),
            }
        },
        "optimizer_states": [
            {
                "state": {0: {"step": torch.tensor(9.0), "exp_avg": torch.zeros(3)}},
                "param_groups": [],
            }
        ],
        "lr_schedulers": [],
        "MixedPrecision": {"scale": 65536.0, "growth_factor": 2.0},
        "hparams_name": "kwargs",
        "hyper_parameters": settings,
        **changes,
    }
    torch.save(whole, path)
