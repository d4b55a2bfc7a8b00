"""The study's claim, and what it needs of a config."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from triptych.report.claims import Finding, Need, at_least, claim

CLOSE = 0.05
SEEDS = 2


def needs(plan: Any) -> Iterator[Need]:
    """What the claim needs of a run. plan: its Workflow."""
    yield at_least("two seeds", len(plan.config["seeds"]), SEEDS)


@claim("needle-pi", needs=needs)
def mean_is_pi(throws: pd.DataFrame) -> Finding:
    """The mean over seeds is within {CLOSE} of pi."""
    mean = throws.groupby("seed")["pi"].last().mean()
    return Finding(f"mean {mean:.3f}", "", [] if abs(mean - np.pi) < CLOSE else ["it is off"])


CLAIMS = (mean_is_pi,)
