"""What a precision means, before any GPU is asked for."""

import pytest
import torch

from triptych.core import device
from triptych.core.device import choose_precision, chosen_precisions

CPU, GPU = torch.device("cpu"), torch.device("cuda")
AMX = {"amx_bf16": True, "avx512_bf16": True}
BF16 = {"avx512_bf16": True}
INTEL, AMD = "Intel(R) Xeon(R) Processor @ 2.00GHz", "AMD EPYC"


@pytest.fixture
def processor(monkeypatch):
    """Makes this machine one with other instructions, and oneDNN's limit another."""
    monkeypatch.setattr(device, "_chosen", [])

    def become(known, name, limit=None):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known)
        monkeypatch.setattr(device, "cpu_name", lambda: name)
        monkeypatch.delenv(device.LIMIT, raising=False)
        if limit:
            monkeypatch.setenv(device.LIMIT, limit)

    return become


@pytest.mark.parametrize("work", ["inference", "training", "unscaled"])
@pytest.mark.parametrize(
    ("known", "name", "limit", "precision"),
    [
        (AMX, INTEL, None, "bf16"),
        (AMX, INTEL, "AVX512_CORE_AMX", "bf16"),
        (AMX, INTEL, "avx10_1_512_amx", "bf16"),
        (AMX, INTEL, "AVX512_CORE_BF16", "float32"),
        (AMX, INTEL, "AVX2", "float32"),
        (BF16, INTEL, None, "float32"),
        (BF16, AMD, None, "bf16"),
        (BF16, AMD, "DEFAULT", "bf16"),
        (BF16, AMD, "AVX512_CORE_FP16", "bf16"),
        (BF16, AMD, "AVX512_CORE", "float32"),
        (BF16, AMD, "AVX2", "float32"),
        ({}, INTEL, None, "float32"),
        ({}, AMD, None, "float32"),
    ],
)
def test_auto_is_bf16_only_where_a_processor_gains_from_it(
    processor, known, name, limit, precision, work
):
    processor(known, name, limit)
    assert choose_precision("auto", CPU, work) == precision


def test_narrow_layers_stay_in_float32_on_every_processor(processor):
    processor(AMX, INTEL)
    assert choose_precision("auto", CPU, "narrow") == "float32"
    assert choose_precision("bf16", CPU, "narrow") == "bf16"


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ((6, 1), ["float32", "float32", "float32"]),
        ((7, 5), ["fp16", "fp16", "float32"]),
        ((8, 0), ["fp16", "bf16", "tf32"]),
        ((9, 0), ["fp16", "bf16", "tf32"]),
    ],
)
def test_auto_on_a_gpu_is_what_its_generation_multiplies_fastest(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    works = ("inference", "training", "unscaled")
    assert choose_precision("auto", GPU, "narrow") == expected[1]
    assert [choose_precision("auto", GPU, work) for work in works] == expected


def test_what_is_wrong_in_bf16_is_computed_in_float32_and_both_are_recorded(processor, caplog):
    processor(BF16, AMD)
    with caplog.at_level("INFO"):
        assert choose_precision("auto", CPU, "inference", lambda _: "it is noise") == "float32"
        assert choose_precision("auto", CPU, "inference", lambda _: None) == "bf16"
        assert choose_precision("auto", CPU, "inference", lambda _: None) == "bf16"
    assert [(each["precision"], each["why"]) for each in chosen_precisions()] == [
        ("float32", "bf16 gives way: it is noise"),
        ("bf16", "an AMD processor with AVX512-bf16"),
    ]
    assert len(caplog.messages) == 2
