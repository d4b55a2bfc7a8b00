"""The papers' values as their texts print them, against the config of config/paper.yaml.

VALUES is typed from the texts, so that a slip in config/paper/ can't pass; where each stands says
the value's own line there.
"""

import re
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from triptych.core.config import read_yaml

ROOT = Path(__file__).parents[1]
SOURCE = re.compile(
    r"^(Section|Table|Figures?|Equations?|Algorithm) [\dIV]|^authors' code: \S|^ours: \S"
)
BASE, LARGE = ("bert_base", "roberta_base"), ("bert_large", "roberta_large")
VALUES: dict[str, Any] = {
    # Shen and Wang, Style Transfer of Images and Videos.
    "style.optimize.size": 512,
    "style.optimize.content": "mountain",
    "style.optimize.painting": "starry_night",
    "style.optimize.evaluations": 700,
    "style.backbones.vgg.architecture": "vgg19",
    "style.backbones.alexnet.architecture": "alexnet",
    "style.backbones.loss.architecture": "vgg16",
    "style.backbones.vgg.weights": "imagenet",
    "style.experiments.backbones.vary": {"backbone": ["vgg", "alexnet"]},
    "style.experiments.losses.vary": {"content_loss": ["l1", "smooth_l1", "huber", "mse"]},
    "style.experiments.losses.evaluations": 1200,
    "style.experiments.losses.size": 256,
    "style.experiments.optimizers.vary": {"optimizer": ["lbfgs", "adam", "sgd"]},
    "style.experiments.optimizers.backbone": "vgg16",
    "style.experiments.optimizers.evaluations": 500,
    "style.experiments.initialisations.vary": {"initialisation": ["content", "noise", "style"]},
    "style.experiments.paintings.vary": {"painting": ["starry_night", "the_scream", "great_wave"]},
    "style.experiments.paintings.size": 512,
    "style.timing.painting": "great_wave",
    "style.timing.sizes": [256, 512, 1024],
    "style.timing.photographs": 100,
    "style.timing.evaluations": 700,
    "style.photographs.source": "coco",
    "style.photographs.validation": 100,
    "style.contents.city.size": [2480, 4032],
    "style.networks.trained": ["great_wave"],
    "style.networks.initial_weights": "",
    "style.network.upsampling": "transposed",
    "style.network.blocks": [0] * 5,
    "style.network.width": 32,
    "style.losses.content_layers": ["relu2_2"],
    "style.losses.style_layers": ["relu1_2", "relu2_2", "relu3_3", "relu4_3"],
    "style.losses.content_weight": 1e5,
    "style.losses.style_weight": 1e10,
    "style.training.schedule.batches": 118_287 // 4,
    "style.training.schedule.batch": 4,
    "style.training.schedule.size": 256,
    "style.training.schedule.learning_rate": 1e-3,
    "style.training.schedule.checkpoint_every": 500,
    # Primus, Koutini and Widmer, CP-JKU's submission to Task 6b of DCASE2023.
    "audio.audio_models.passt_n.stride": [16, 16],
    "audio.audio_models.passt_n.patchout": [2, 15],
    "audio.audio_models.passt_n.segment_seconds": 10,
    "audio.audio_models.passt_s.stride": [10, 10],
    "audio.audio_models.passt_s.patchout": [4, 50],
    "audio.audio_models.passt_s.segment_seconds": 10,
    "audio.audio_models.passt_s15.stride": [10, 10],
    "audio.audio_models.passt_s15.patchout": [4, 80],
    "audio.audio_models.passt_s15.segment_seconds": 15,
    **{
        f"audio.audio_models.{name}.{key}": value
        for name in ("passt_n", "passt_s", "passt_s15")
        for key, value in (("dim", 768), ("depth", 12), ("heads", 12))
    },
    "audio.pairs": [
        *([audio, text] for audio in ("passt_n", "passt_s") for text in (*BASE, *LARGE)),
        *(["passt_s15", text] for text in LARGE),
    ],
    "audio.main": ["passt_n", "roberta_large"],
    "audio.ensemble.members": [
        *(["passt_n", text] for text in (*BASE, *LARGE)),
        *([audio, text] for audio in ("passt_s", "passt_s15") for text in LARGE),
    ],
    "audio.model.projection": 1024,
    "audio.model.temperature": 0.01,
    "audio.model.text_dropout": 0.2,
    "audio.corpora.as_published.exclude": "none",
    "audio.corpora.as_published.splits": ["development"],
    "audio.evaluated": "as_published",
    "audio.captions.model": "gpt-3.5-turbo",
    "audio.captions.variations": 5,
    "audio.captions.longest_words": 20,
    "audio.stages.common.batch": 64,
    "audio.stages.common.warmup_epochs": 1,
    "audio.stages.common.final_learning_rate": 1e-7,
    "audio.stages.common.longest_seconds": 30,
    "audio.stages.common.swap": 0,
    "audio.stages.common.frequency_mask": 48,
    "audio.stages.common.time_mask": 192,
    "audio.stages.pretraining.epochs": 15,
    "audio.stages.pretraining.rampdown_epochs": 15,
    "audio.stages.pretraining.learning_rate": 2e-5,
    "audio.stages.finetuning.epochs": 5,
    "audio.stages.finetuning.rampdown_epochs": 5,
    "audio.stages.finetuning.learning_rate": 8e-6,
    "audio.stages.finetuning.swap": 0.3,
    "audio.finetuning.seeds": [0, 1, 2],
    # Arnob, Ohib, Plis and Precup, Single-Shot Pruning for Offline RL.
    "rl.tasks": {name: {"source": "d4rl"} for name in ("hopper", "walker2d", "halfcheetah")},
    "rl.observations": "raw",
    "rl.widths.paper.actor": [400, 300],
    "rl.widths.paper.critic": [400, 300],
    "rl.widths.paper.vae": 750,
    "rl.sweeps.bcq.algorithms": ["BCQ", "BC"],
    "rl.sweeps.bcq.seeds": [0, 1, 2, 3, 4],
    "rl.sweeps.bcq.runs": {
        "paper": {"methods": ["snip", "grasp"], "sparsities": [10, 30, 50, 70, 80, 90, 95]}
    },
    "rl.shown_sparsity": 95,
    "rl.mask_statistics.seeds": [0, 1, 2, 3, 4],
    "rl.mask_statistics.widths": "paper",
    "rl.pruning.snip_batch": 100,
    "rl.pruning.grasp_batch": 200,
    "rl.pruning.iterations": 1,
    "rl.bcq.discount": 0.99,
    "rl.bcq.phi": 0.05,
    "rl.bcq.lambda": 0.75,
    "rl.bcq.target_samples": 10,
    "rl.training.updates": 1_000_000,
    "rl.training.batch": 100,
    "rl.training.learning_rate": 1e-3,
    "rl.training.schedule": "constant",
    "rl.training.tau": 0.005,
    "rl.evaluation.episodes": 10,
    "rl.evaluation.candidates": 100,
    "rl.latency.sparsity": 95,
}


@pytest.mark.parametrize("key", VALUES)
def test_the_paper_config_has_the_printed_value(paper_config: dict[str, Any], key: str) -> None:
    assert reduce(getitem, key.split("."), paper_config) == VALUES[key]


@pytest.mark.parametrize("study", ["style", "audio", "rl"])
def test_every_value_stands_on_a_line_that_names_its_source(study: str) -> None:
    """A block of YAML: a key, its value and where that is from; no table in one line."""
    text = (ROOT / "config" / "paper" / f"{study}.yaml").read_text(encoding="utf-8")
    sources = 0
    for line in text.splitlines():
        content, _, comment = (part.strip() for part in line.partition(" # "))
        if not content or content.startswith("#") or content.endswith(":"):
            continue
        assert SOURCE.search(comment), line
        assert not re.search(r"\{.+\}", content), line
        sources += 1

    def leaves(value: Any) -> int:
        """Values, of which a list of lists has one a line."""
        if isinstance(value, dict) and value:
            return sum(map(leaves, value.values()))
        nested = isinstance(value, list) and value and isinstance(value[0], list)
        return len(value) if nested else 1

    assert sources == leaves(read_yaml(ROOT / "config" / "paper" / f"{study}.yaml"))
