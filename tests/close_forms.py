"""How near a closed form of cost must be to what PyTorch starts."""

import pytest


def assert_near(work, counted):
    """Operations alike, traffic within 30%, kernels within a half."""
    assert work.operations == pytest.approx(counted.operations, rel=0.01)
    assert work.traffic == pytest.approx(counted.traffic, rel=0.3)
    assert work.kernels == pytest.approx(counted.kernels, rel=0.5)
