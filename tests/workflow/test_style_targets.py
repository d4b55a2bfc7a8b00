"""A figure of the style study needs what it shows, at the papers' scale."""

import re

import pytest

PAPER = ("config/paper.yaml", "config/beyond.yaml")


def planned(checkout, target):
    """Jobs for a target at the papers' scale and beyond: (rule, text of the job)."""
    text = checkout.snakemake(target, "--dry-run", "--configfile", *PAPER, config=None)
    return re.findall(r"^(?:local)?rule (style_\w+):\n((?: .*\n)*)", text, re.MULTILINE)


def wildcard(jobs, rule, name):
    """Values of a wildcard in the jobs of a rule."""
    return {re.search(rf"{name}=(\w+)", job)[1] for found, job in jobs if found == rule}


def test_initialisations_need_their_own_pictures_without_coco_and_networks(planned_in):
    jobs = planned(planned_in, "style_initialisations")
    assert wildcard(jobs, "style_optimize", "experiment") == {"initialisations"}
    assert wildcard(jobs, "style_quality", "name") == {"initialisations"}
    assert not {"style_download_coco", "style_train", "style_stylize"} & {rule for rule, _ in jobs}


def test_figure_1_needs_one_network_of_the_three(planned_in):
    jobs = planned(planned_in, "style_figure1")
    assert wildcard(jobs, "style_optimize", "experiment") == {"paintings"}
    assert wildcard(jobs, "style_train", "painting") == {"great_wave"}
    assert wildcard(jobs, "style_stylize", "painting") == {"great_wave"}


@pytest.mark.parametrize(
    ("target", "experiment"),
    [
        ("style_figure2", "backbones"),
        ("style_figure5", "optimizers"),
        ("style_figure7", "paintings"),
        ("style_sizes", "sizes"),
    ],
)
def test_a_figure_of_version_1_needs_its_own_experiment(planned_in, target, experiment):
    jobs = planned(planned_in, target)
    assert wildcard(jobs, "style_optimize", "experiment") == {experiment}
    assert not {"style_download_coco", "style_train"} & {rule for rule, _ in jobs}
