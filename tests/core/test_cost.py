"""What a job costs, and what Snakemake makes of two configs."""

import copy

import pytest
from snakemake.utils import update_config

from triptych.core.config import merged
from triptych.core.cost import Cost, download
from triptych.core.operations import Gpu, Work

GPU = Gpu("made up", {"tf32": 2.0, "bf16": 4.0}, bandwidth=1.0)


@pytest.mark.parametrize(
    "overlay",
    [
        {"a": {"x": 9}},
        {"a": {"y": {"new": [1]}}, "b": None},
        {"a": 5},
        {"c": {"d": {"e": 1}}},
        {"b": {"no longer": "a list"}},
    ],
)
def test_an_overlay_lies_over_a_config_as_snakemake_lays_it(overlay):
    base = {"a": {"x": 1, "y": {"z": 2}}, "b": [1, 2], "c": {}}
    before, expected = copy.deepcopy(base), copy.deepcopy(base)
    update_config(expected, overlay)
    assert merged(base, overlay) == expected
    assert base == before


def test_simulations_take_turns_with_the_gpu_and_readers_work_ahead():
    work = {"tf32": Work(operations=10), "bf16": Work(operations=10)}  # 10 and 5 s
    assert Cost(work).gpu_seconds(GPU) == pytest.approx(15)
    assert Cost(work, cpu_seconds=40, cores=2).seconds(GPU, 1.0) == pytest.approx(35)
    assert Cost(work, cpu_seconds=40, cores=2, ahead=True).seconds(GPU, 1.0) == pytest.approx(20)
    assert Cost(work, download=6, waits=1).seconds(GPU, 2.0) == pytest.approx(19)


def test_a_size_that_nobody_publishes_is_called_about():
    assert download(7, 100) == Cost(download=7, disk=7)
    assert download(None, 100) == Cost(download=100, disk=100, about=True)
