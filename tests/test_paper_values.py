"""The papers' values as their texts print them, against the config of config/paper.yaml.

VALUES is typed from the texts, so that a slip in config/paper/ can't pass. Where a text is silent
or its authors' code differs, the row names the code.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from triptych.core.config import read_config, read_yaml

ROOT = Path(__file__).parents[1]
SOURCE = re.compile(
    r"^(Section|Table|Figures?|Equations?|Algorithm) [\dIV]|^authors' code: \S|^ours: \S"
)
VALUES: list[tuple[str, Any, str]] = [
    # Shen and Wang, Style Transfer of Images and Videos.
    ("style.optimize.size", 512, "V-B: content and style images in the size of 512 x 512"),
    ("style.optimize.content", "mountain", "V-B: the same content image (mountain image)"),
    ("style.optimize.painting", "starry_night", "V-B: The Starry Night, Vincent van Gogh"),
    ("style.optimize.evaluations", 700, "notebook: epoch <= 700"),
    ("style.backbones.vgg.architecture", "vgg19", "V-B: VGG-19"),
    ("style.backbones.alexnet.architecture", "alexnet", "V-B: AlexNet"),
    ("style.backbones.loss.architecture", "vgg16", "IV-B 3: the VGG16 network as our loss network"),
    ("style.backbones.vgg.weights", "imagenet", "IV-A 3: pretrained on the ImageNet dataset"),
    ("style.experiments.backbones.vary", {"backbone": ["vgg", "alexnet"]}, "V-B"),
    (
        "style.experiments.losses.vary",
        {"content_loss": ["l1", "smooth_l1", "huber", "mse"]},
        "V-C: L1, smooth L1, Huber, and MSE loss",
    ),
    ("style.experiments.losses.evaluations", 1200, "notebook"),
    ("style.experiments.losses.size", 256, "notebook"),
    (
        "style.experiments.optimizers.vary",
        {"optimizer": ["lbfgs", "adam", "sgd"]},
        "V-D: LBFGS, ADAM, and SGD",
    ),
    ("style.experiments.optimizers.backbone", "vgg16", "V-D: the same backbone (VGG-16)"),
    ("style.experiments.optimizers.evaluations", 500, "notebook"),
    (
        "style.experiments.initialisations.vary",
        {"initialisation": ["content", "noise", "style"]},
        "IV-A 2: white noise, the content image, and the style image",
    ),
    (
        "style.experiments.paintings.vary",
        {"painting": ["starry_night", "the_scream", "great_wave"]},
        "VI-A: The Starry Night, The Scream, The Great Wave off Kanagawa",
    ),
    ("style.experiments.paintings.size", 512, "VI-A: cropped in the size of 512 x 512"),
    ("style.timing.painting", "great_wave", "V-A: The Great Wave off Kanagawa as the style image"),
    ("style.timing.sizes", [256, 512, 1024], "Table I"),
    ("style.timing.photographs", 100, "V-A: 100 images randomly selected from the MS-COCO dataset"),
    ("style.timing.evaluations", 700, "notebook"),
    ("style.photographs.source", "coco", "IV-B 2: the training portion of the 2017 COCO"),
    ("style.photographs.validation", 100, "V-A: 100 images"),
    ("style.contents.city.size", [2480, 4032], "Figure 8: the content image size is 4032 x 2480"),
    ("style.networks.trained", ["great_wave"], "Figures 1 and 8, Table I"),
    ("style.networks.initial_weights", "", "IV-B 8"),
    ("style.network.upsampling", "transposed", "IV-B 4: 2 deconvolutional layers"),
    ("style.network.blocks", [0] * 5, "IV-B 4: 5 residual layers"),
    ("style.network.width", 32, "Johnson et al. 2016; the authors' weights have 1,679,235 numbers"),
    ("style.losses.content_layers", ["relu2_2"], "pytorch/examples, neural_style.py"),
    (
        "style.losses.style_layers",
        ["relu1_2", "relu2_2", "relu3_3", "relu4_3"],
        "pytorch/examples, vgg.py",
    ),
    ("style.losses.content_weight", 1e5, "pytorch/examples, --content-weight"),
    ("style.losses.style_weight", 1e10, "pytorch/examples, --style-weight"),
    ("style.training.schedule.batches", 118_287 // 4, "IV-B 8: all batches of COCO's 118K images"),
    ("style.training.schedule.batch", 4, "the authors' wave_checkpoint_29571"),
    ("style.training.schedule.size", 256, "pytorch/examples, --image-size"),
    ("style.training.schedule.learning_rate", 1e-3, "pytorch/examples, --lr"),
    ("style.training.schedule.checkpoint_every", 500, "IV-C: every 500 batches"),
    # Primus, Koutini and Widmer, CP-JKU's submission to Task 6b of DCASE2023.
    ("audio.audio_models.passt_n.stride", [16, 16], "2.1: a stride of 16 pixels"),
    ("audio.audio_models.passt_n.patchout", [2, 15], "2.1: 2 and 15 over frequency and time"),
    ("audio.audio_models.passt_n.segment_seconds", 10, "Table 2"),
    ("audio.audio_models.passt_s.stride", [10, 10], "2.1: the stride for extraction is 10 pixels"),
    ("audio.audio_models.passt_s.patchout", [4, 50], "2.1: 4 and 50"),
    ("audio.audio_models.passt_s.segment_seconds", 10, "Table 2"),
    ("audio.audio_models.passt_s15.stride", [10, 10], "2.1: a stride of 10 pixels"),
    ("audio.audio_models.passt_s15.patchout", [4, 80], "2.1: 4 and 80"),
    ("audio.audio_models.passt_s15.segment_seconds", 15, "2.1: 15-second long audio snippets"),
    *(
        (f"audio.audio_models.{name}.{key}", value, "hear21passt: ViT-B")
        for name in ("passt_n", "passt_s", "passt_s15")
        for key, value in (("dim", 768), ("depth", 12), ("heads", 12))
    ),
    (
        "audio.pairs",
        [
            [audio, text]
            for audio, texts in (
                ("passt_n", ("bert_base", "roberta_base", "bert_large", "roberta_large")),
                ("passt_s", ("bert_base", "roberta_base", "bert_large", "roberta_large")),
                ("passt_s15", ("bert_large", "roberta_large")),
            )
            for text in texts
        ],
        "Table 2, rows 1 to 10",
    ),
    ("audio.main", ["passt_n", "roberta_large"], "Table 2, the ablation below row 10"),
    (
        "audio.ensemble.members",
        [
            ["passt_n", "bert_base"],
            ["passt_n", "roberta_base"],
            ["passt_n", "bert_large"],
            ["passt_n", "roberta_large"],
            ["passt_s", "bert_large"],
            ["passt_s", "roberta_large"],
            ["passt_s15", "bert_large"],
            ["passt_s15", "roberta_large"],
        ],
        "Table 2, superscripts 1 to 8",
    ),
    ("audio.model.projection", 1024, "2.3: a simple linear projection of size 1024"),
    ("audio.model.temperature", 0.01, "dcase2023_task6b, all scripts"),
    ("audio.model.text_dropout", 0.2, "dcase2023_task6b: hidden_dropout_prob=0.2"),
    ("audio.corpora.as_published.exclude", "none", "2.4.3: the complete dataset"),
    ("audio.corpora.as_published.splits", ["development"], "2.4.1, 2.6: the training split"),
    ("audio.evaluated", "as_published", "Table 2"),
    ("audio.captions.model", "gpt-3.5-turbo", "2.4.4: the GPT3.5-turbo API"),
    ("audio.captions.variations", 5, "2.4.4: five new captions for each caption"),
    ("audio.captions.longest_words", 20, "Table 1: less than 20 words"),
    ("audio.stages.common.batch", 64, "2.6: a batch size of 64"),
    ("audio.stages.common.warmup_epochs", 1, "2.6: one warmup epoch"),
    ("audio.stages.common.final_learning_rate", 1e-7, "2.6: to 10^-7"),
    ("audio.stages.common.longest_seconds", 30, "2.5: random 30-second snippets"),
    ("audio.stages.common.swap", 0, "2.6: during the finetuning procedure"),
    ("audio.stages.common.frequency_mask", 48, "dcase2023_task6b: freqm=48"),
    ("audio.stages.common.time_mask", 192, "dcase2023_task6b: timem=192"),
    ("audio.stages.pretraining.epochs", 15, "2.6: for 15 epochs"),
    ("audio.stages.pretraining.rampdown_epochs", 15, "2.6: a cosine schedule"),
    ("audio.stages.pretraining.learning_rate", 2e-5, "2.6: from 2 x 10^-5"),
    ("audio.stages.finetuning.epochs", 5, "2.6: only for five epochs"),
    ("audio.stages.finetuning.rampdown_epochs", 5, "2.6: in a similar manner"),
    ("audio.stages.finetuning.learning_rate", 8e-6, "2.6: a maximum of 8 x 10^-6"),
    ("audio.stages.finetuning.swap", 0.3, "2.6: with a probability of 0.3"),
    ("audio.finetuning.seeds", [0, 1, 2], "Figure 2: three runs"),
    # Arnob, Ohib, Plis and Precup, Single-Shot Pruning for Offline RL.
    (
        "rl.tasks",
        {name: {"source": "d4rl"} for name in ("hopper", "walker2d", "halfcheetah")},
        "4: Half-Cheetah-v2, Hopper-v2, Walker2d-v2, D4RL expert",
    ),
    ("rl.observations", "raw", "sfujim/BCQ, BEAR and D4RL's loader don't normalise"),
    ("rl.widths.paper.actor", [400, 300], "sfujim/BCQ; Table 1"),
    ("rl.widths.paper.critic", [400, 300], "sfujim/BCQ; Table 1"),
    ("rl.widths.paper.vae", 750, "sfujim/BCQ; Table 1"),
    ("rl.sweeps.bcq.algorithms", ["BCQ", "BC"], "4: BCQ and BC (implemented in [30])"),
    ("rl.sweeps.bcq.seeds", [0, 1, 2, 3, 4], "4: seeds 0 - 4"),
    (
        "rl.sweeps.bcq.runs",
        {"paper": {"methods": ["snip", "grasp"], "sparsities": [10, 30, 50, 70, 80, 90, 95]}},
        "3 and 4: SNIP and GraSP, from 10% to 95%",
    ),
    ("rl.shown_sparsity", 95, "4.2: with 95% sparsity; Table 1"),
    ("rl.mask_statistics.seeds", [0, 1, 2, 3, 4], "4.2: for seeds 0-4"),
    ("rl.mask_statistics.widths", "paper", "Table 1"),
    ("rl.pruning.snip_batch", 100, "4: 100 random (s, a, s', r) for SNIP"),
    ("rl.pruning.grasp_batch", 200, "4: 200 random (s, a, s', r) samples for GraSP"),
    ("rl.pruning.iterations", 1, "4: a single batch pruning loop"),
    ("rl.bcq.discount", 0.99, "sfujim/BCQ"),
    ("rl.bcq.phi", 0.05, "sfujim/BCQ"),
    ("rl.bcq.lambda", 0.75, "sfujim/BCQ"),
    ("rl.bcq.target_samples", 10, "sfujim/BCQ"),
    ("rl.training.updates", 1_000_000, "4: 1 million gradient updates"),
    ("rl.training.batch", 100, "sfujim/BCQ"),
    ("rl.training.learning_rate", 1e-3, "sfujim/BCQ: Adam, 1e-3"),
    ("rl.training.schedule", "constant", "sfujim/BCQ"),
    ("rl.training.tau", 0.005, "sfujim/BCQ"),
    ("rl.evaluation.episodes", 10, "sfujim/BCQ: 10 episodes"),
    ("rl.evaluation.candidates", 100, "sfujim/BCQ: 100 candidates"),
    ("rl.latency.sparsity", 95, "6: by 95%"),
]


@pytest.fixture(scope="module")
def paper() -> dict[str, Any]:
    return read_config(ROOT, [ROOT / "config" / "paper.yaml"])


@pytest.mark.parametrize(("key", "value", "source"), VALUES, ids=[key for key, *_ in VALUES])
def test_the_paper_config_has_the_printed_value(
    paper: dict[str, Any], key: str, value: Any, source: str
) -> None:
    found: Any = paper
    for part in key.split("."):
        found = found[part]
    assert found == value, source


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


def test_the_schema_holds_a_sentence_for_each_key_and_no_value() -> None:
    def keys(part: Any, path: str) -> None:
        if isinstance(part, list):
            for entry in part:
                keys(entry, path)
        if not isinstance(part, dict):
            return
        assert "default" not in part, path
        for name, below in part.get("properties", {}).items():
            assert {"description", "const", "minItems"} & set(below), f"{path}.{name}"
        for name, below in part.items():
            if name not in ("if", "then", "allOf"):
                keys(below, f"{path}.{name}")

    for file in sorted((ROOT / "config").glob("schema/*.yaml")):
        keys(read_yaml(file), file.stem)
    keys(read_yaml(ROOT / "config" / "schema.yaml"), "schema")
