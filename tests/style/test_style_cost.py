"""What the style study costs, against closed forms and the authors' recorded seconds."""

from pathlib import Path

import pytest
import yaml
from triptych.core.operations import GPUS

from triptych.style.backbones.architectures import ARCHITECTURES, Convolution
from triptych.style.cost import closure_work, forward_work, job_cost, rows
from triptych.style.feedforward.network import Architecture
from triptych.style.optimisation.presets import preset

ROOT = Path(__file__).parents[2]
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
    assert forward_work(Architecture(), 256, 256).operations == 2 * convolutions


def test_an_epoch_of_coco_takes_as_many_steps_and_keeps_as_many_networks_as_the_paper(
    paper, sources
):
    cost = job_cost(paper, sources, "style_train", PLAIN)
    assert cost.work["bf16"].operations == pytest.approx(29_571 * 0.6e12, rel=0.1)
    assert cost.disk == 60 * 4 * 1_679_235


def test_every_row_of_the_experiments_and_table_1_is_named(paper):
    files = rows(paper)
    assert files["optimizers sgd-tuned"] == "results/style/optimize/optimizers/runs.csv"
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
