"""The peak of memory is the process's own, whatever its parent held."""

import subprocess
import sys

import numpy as np
import pytest

PEAK = "from triptych.core.memory import peak_memory; {before}; print(peak_memory())"


def peak_of(before):
    command = [sys.executable, "-c", PEAK.format(before=before)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_counts_what_it_took_and_not_what_its_parent_holds():
    held = np.ones(60_000_000)  # 480 MB in the parent
    small = peak_of("pass")
    assert small < 200e6 < held.nbytes
    assert peak_of("b'x' * 100_000_000") - small == pytest.approx(100e6, rel=0.1)
