"""The peak of memory is the process's own; a piece of work is halved until it fits."""

import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch

from triptych.core.memory import NoRoomError, OomRetry

PEAK = "from triptych.core.memory import peak_memory; {before}; print(peak_memory())"


def peak_of(before):
    command = [sys.executable, "-c", PEAK.format(before=before)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_counts_what_it_took_and_not_what_its_parent_holds():
    held = np.ones(60_000_000)  # 480 MB in the parent
    small = peak_of("pass")
    assert small < held.nbytes / 2
    assert peak_of("b'x' * 100_000_000") - small == pytest.approx(100e6, rel=0.1)


FULL = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB"


def test_half_is_tried_until_it_fits_and_kept(caplog):
    portion, tried_sizes = OomRetry(9, "things", ""), []

    def attempt(size):
        tried_sizes.append(size)
        if size > 2:
            raise torch.OutOfMemoryError(FULL)
        return size

    assert [portion.run(attempt), portion.run(attempt)] == [2, 2]
    assert tried_sizes == [9, 5, 3, 2, 2]
    said = [record.args for record in caplog.records]
    assert [(before, after) for _, before, _, after, *_ in said] == [(9, 5), (5, 3), (3, 2)]
    assert "CUDA out of memory. Tried" not in caplog.text  # its first sentence tells enough


def test_where_one_does_not_fit_the_error_says_what_to_do():
    def attempt(size):
        raise torch.OutOfMemoryError(FULL)

    with pytest.raises(NoRoomError, match=r"doesn't hold one of the things .*Buy more\."):
        OomRetry(4, "things", "Buy more.").run(attempt)


def test_what_the_failed_attempt_held_is_gone_before_the_next():
    portion, held = OomRetry(2, "things", ""), []

    def attempt(size):
        if size == 2:
            tensor = torch.zeros(1000)
            held.append(weakref.ref(tensor))
            raise torch.OutOfMemoryError(FULL)
        return held[0]()

    assert portion.run(attempt) is None
