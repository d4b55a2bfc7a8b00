"""Several styles in one argument: "swirls:2+ink:1", for networks and paintings alike."""

import math


def weighted(text: str) -> list[tuple[str, float | None]]:
    """Names and weights, in their order; 1 where none is given, None for what is none above 0."""
    found = []
    for part in text.split("+"):
        name, _, weight = part.partition(":")
        try:
            value = float(weight or 1)
        except ValueError:
            value = -1.0
        found.append((name, value if 0 < value < math.inf else None))
    return found
