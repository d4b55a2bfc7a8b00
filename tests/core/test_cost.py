"""What a job costs, and what Snakemake makes of two configs."""

import copy

import pytest
from snakemake.utils import update_config

from triptych.core.config import merged
from triptych.core.cost import LAUNCH_SECONDS, Cost, Processor, Work, download, slow_cores

GPU = Processor("made up", {"tf32": 2.0, "bf16": 4.0}, bandwidth=1.0)


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


def test_several_gpus_share_the_work_and_cores_their_seconds():
    work = {"tf32": Work(operations=10)}  # 10 s
    assert Cost(work, cpu_seconds=12, cores=3, gpus=4).seconds(GPU, 1.0) == pytest.approx(6.5)


def test_two_slow_cores_take_half_as_long_as_one_in_any_precision():
    work = Work(operations=1e12, traffic=1e10)
    for precision in ("float32", "tf32", "bf16", "fp16"):
        one, two = (slow_cores(count).seconds(work, precision) for count in (1, 2))
        assert one == pytest.approx(2 * two)
        assert one == pytest.approx(1e12 / 2e10 + 1e10 / 7e9)


def test_work_adds_up_one_after_the_other_and_side_by_side():
    one = Work(10, 4, 3)
    assert one + one == one * 2 == Work(20, 8, 6)
    assert one.together(5) == Work(50, 20, 3)


def test_a_gpu_computes_moves_bytes_or_waits_for_kernels():
    gpu = Processor("made up", {"tf32": 100.0}, bandwidth=10.0)
    assert gpu.seconds(Work(operations=100), "tf32") == pytest.approx(2)  # half of its peak
    assert gpu.seconds(Work(100, traffic=7), "tf32") == pytest.approx(3)
    assert gpu.seconds(Work(100, 7, kernels=1e6), "tf32") == pytest.approx(1e6 * LAUNCH_SECONDS)
