"""Needles."""

import numpy as np
import pytest
from triptych.needle.throws import throw


def test_estimates_come_near_pi():
    assert throw(200_000, 0)["pi"].iloc[-1] == pytest.approx(np.pi, abs=0.03)
