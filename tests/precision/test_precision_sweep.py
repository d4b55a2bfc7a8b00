"""All places that compute in half precision on a CPU, on this machine's instructions and fewer."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

SWEEP = Path(__file__).parent / "sweep.py"
LIBRARY = Path(__file__).parents[2] / "workflow_scripts"

LIMITS = {  # oneDNN's names, from least to most, and by what a processor shows that it has them
    "AVX2": "avx2",
    "AVX512_CORE": "avx512_bw",
    "AVX512_CORE_BF16": "avx512_bf16",
    "AVX512_CORE_AMX": "amx_bf16",
}


def limits() -> list[Any]:
    """What is less than all that this processor has: the least in the suite, what lies between in
    `make faults`."""
    known = torch.cpu.get_capabilities()
    fewer = [name for name, shown in LIMITS.items() if known.get(shown)][:-1]
    return fewer[:1] + [pytest.param(name, marks=pytest.mark.long) for name in fewer[1:]]


def swept(limit: str | None) -> dict:
    """What the sweep found in a process of its own: oneDNN reads its limit once."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_MAX_CPU_ISA")}
    environment["PYTHONPATH"] = str(LIBRARY)
    if limit:
        environment["ONEDNN_MAX_CPU_ISA"] = limit
    if limit == "AVX2":  # what most laptops are
        environment["ATEN_CPU_CAPABILITY"] = "avx2"
    command = [sys.executable, "-W", "ignore", str(SWEEP)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, *limits()])
def test_every_product_in_every_precision_is_near_to_float64(limit: str | None) -> None:
    """On AMX, a last layer of 12 columns was 1.2 from the truth at widths 16 and 24."""
    found = swept(limit)
    assert found["count"] > 1000
    assert not found["wrong"], "\n".join(found["wrong"][:40])
