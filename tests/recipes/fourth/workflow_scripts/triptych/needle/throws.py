"""The experiment: a needle crosses a line of the floor with probability 2 / pi."""

import numpy as np
import pandas as pd


def throw(throws: int, seed: int) -> pd.DataFrame:
    """Estimates of pi after each tenth of so many throws: columns throws, seed, pi.

    The needle is as long as the lines are apart (Buffon 1777).
    """
    random = np.random.default_rng([seed, throws])
    centre, angle = random.uniform(0, 0.5, throws), random.uniform(0, np.pi / 2, throws)
    crossings = np.cumsum(centre <= 0.5 * np.sin(angle))
    at = np.linspace(throws / 10, throws, 10).astype(int)
    return pd.DataFrame({"throws": at, "seed": seed, "pi": 2 * at / crossings[at - 1]})
