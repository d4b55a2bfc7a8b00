"""What the style study costs, against closed forms and the authors' recorded seconds."""

from pathlib import Path

import pytest
import yaml
from close_forms import assert_near
from style_counts import closure_counted, forward_counted, training_counted

from triptych.core.cost import GPUS
from triptych.style.backbones.architectures import ARCHITECTURES, Convolution
from triptych.style.cost import job_cost, rows
from triptych.style.feedforward.network import (
    Architecture,
    TransformationNetwork,
    parameter_count,
)
from triptych.style.feedforward.perceptual import LossSettings
from triptych.style.optimisation.presets import preset
from triptych.style.work import closure_work, forward_work, network_parameters, training_work

ROOT = Path(__file__).parents[2]
NETWORKS = [
    {"width": 32, "upsampling": "transposed", "palette": False, "grain": 0, "blocks": [0] * 5},
    {"width": 16, "upsampling": "nearest", "palette": True, "grain": 3, "blocks": [0, 1]},
    {"width": 8, "upsampling": "transposed", "palette": True, "grain": 1, "blocks": [0, 2]},
]
PLAIN = {"painting": "great_wave", "variant": "plain"}


@pytest.fixture(scope="module")
def paper(paper_config):
    return paper_config["style"]


def test_an_evaluation_of_version_1_is_vgg_twice_and_the_gram_matrices():
    choices = preset("authors", "vgg19")
    vgg = gram = 0
    side = 512
    for layer in ARCHITECTURES["vgg19"].layers:
        if not isinstance(layer, Convolution):
            side //= 2
            continue
        vgg += 2 * 9 * layer.inputs * layer.outputs * side**2
        if layer.name in choices.style_layers:
            gram += 2 * layer.outputs**2 * side**2
    # Forward, and backward to the image: no gradient of any weight.
    work = closure_work("vgg19", choices, 512)
    assert work.operations == 2 * (vgg + gram)


def test_a_history_of_a_hundred_pairs_costs_more_traffic_and_kernels_than_one_of_ten():
    long = closure_work("alexnet", preset("authors", "alexnet"), 128)
    short = closure_work("alexnet", preset("authors", "alexnet", history=10), 128)
    pixels = 4 * 3 * 128**2
    # Each pair is multiplied (three vectors), summed (one) and added (three), in both loops.
    assert long.traffic - short.traffic == pytest.approx(90 * 2 * 7 * pixels, rel=0.1)
    assert long.kernels - short.kernels >= 90 * 2 * 3


@pytest.mark.parametrize(
    ("architecture", "size", "seconds"),
    # Recorded in the authors' notebook on a GPU of the T4's speed, 700 evaluations.
    [("vgg19", 512, 73.1), ("alexnet", 512, 15.9), ("vgg19", 1024, 292.7), ("alexnet", 1024, 51.4)],
)
def test_the_authors_seconds_come_out_to_within_a_half(architecture, size, seconds):
    work = closure_work(architecture, preset("authors", architecture), size) * 700
    assert 1 / 1.5 < GPUS["t4"].seconds(work, "float32") / seconds < 1.5


def test_the_network_counts_its_convolutions():
    n = 256 * 256
    convolutions = 81 * 3 * 32 * n + 9 * 32 * 64 * n / 4 + 9 * 64 * 128 * n / 16
    convolutions += 10 * 9 * 128 * 128 * n / 16
    # A transposed convolution multiplies each of its inputs, not of its outputs.
    convolutions += 9 * 128 * 64 * n / 16 + 9 * 64 * 32 * n / 4 + 81 * 32 * 3 * n
    assert forward_work(NETWORKS[0], 256, 256).operations == 2 * convolutions


@pytest.mark.parametrize("name", ["paper", "authors", "tuned"])
@pytest.mark.parametrize("architecture", ["vgg16", "alexnet", "narrow_vgg", "narrow_alexnet"])
@pytest.mark.parametrize(("size", "optimizer"), [(64, "lbfgs"), (200, "adam"), (144, "sgd")])
def test_evaluations_of_version_1_are_as_counted(architecture, name, size, optimizer):
    choices = preset(name, architecture, optimizer=optimizer, history=10)
    assert_near(
        closure_work(architecture, choices, size), closure_counted(architecture, choices, size)
    )


@pytest.mark.parametrize("network", NETWORKS)
def test_networks_of_version_2_are_as_counted(network):
    architecture = Architecture(**network)
    assert network_parameters(network) == parameter_count(TransformationNetwork(architecture))
    for sides in ((128, 128), (77, 130)):
        assert_near(forward_work(network, *sides), forward_counted(architecture, *sides))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize(
    ("backbone", "losses"),
    [
        ("vgg16", {"scaling": "mean", "temporal_weight": 0.0}),
        ("narrow_vgg", {"scaling": "relative", "temporal_weight": 10.0, "gamut_weight": 1.0}),
    ],
)
def test_steps_of_version_2_are_as_counted(network, precision, backbone, losses):
    weights = dict.fromkeys(("content_weight", "style_weight", "total_variation_weight"), 1.0)
    layers = {
        "content_layers": ["relu1_1", "relu2_2"],
        "style_layers": ["relu1_2", "relu3_2", "relu4_2"],
    }
    losses = {**layers, **weights, **losses}
    assert_near(
        training_work(network, losses, backbone, "max", 4, 128, precision),
        training_counted(
            Architecture(**network),
            LossSettings.from_table(losses),
            backbone,
            "max",
            256,
            4,
            128,
            precision,
        ),
    )


def test_an_epoch_of_coco_takes_as_many_steps_and_keeps_as_many_networks_as_the_paper(
    paper, sources
):
    cost = job_cost(paper, sources, "style_train", PLAIN)
    assert cost.work["bf16"].operations == pytest.approx(29_571 * 0.6e12, rel=0.1)
    assert cost.disk == 60 * 4 * 1_679_235


def test_every_row_of_the_experiments_and_table_1_is_named(paper):
    files = rows(paper)
    assert files["optimizers sgd-tuned-vgg16"] == "results/style/optimize/optimizers/runs.csv"
    assert sum(name.startswith("Table I,") for name in files) == 3
    assert sum(name.startswith("network of") for name in files) == 3


def test_downloads_without_a_published_size_are_about(paper, sources):
    coco = job_cost(paper, sources, "style_download_coco", {})
    assert (coco.download, coco.about) == (19_336_861_798, False)
    vgg16 = job_cost(paper, sources, "style_download_weights", {"architecture": "vgg16"})
    assert vgg16.about
    assert vgg16.disk == 4 * 14_714_688  # its convolutions alone are kept


def test_the_demos_jobs_can_be_costed_too(sources):
    demo = yaml.safe_load((ROOT / "config.yaml").read_text())["style"]
    temporal = {"painting": "mosaic", "variant": "temporal"}
    plain = {"painting": "mosaic", "variant": "plain"}
    costs = [job_cost(demo, sources, "style_train", each) for each in (plain, temporal)]
    assert costs[0].operations < costs[1].operations
    assert job_cost(demo, sources, "style_prepare_photographs", {}).disk > 0
