"""All kinds of sound: what makes each, and what people call it (kinds.yaml)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from makers.sounds import (
    animals,
    birds,
    blasts,
    flows,
    friction,
    impacts,
    machines,
    people,
    signals,
)
from makers.sounds.toolkit import Draw, Sound

MODULES = (animals, birds, blasts, flows, friction, impacts, machines, people, signals)


@dataclass(frozen=True)
class Kind:
    """One kind of sound.

    phrases: what it is called, the plainest first; family: what it is one of; make: a new one.
    """

    name: str
    family: str
    phrases: tuple[str, ...]
    make: Callable[[Draw], Sound]


def _read() -> dict[str, Kind]:
    makers = {name: made for module in MODULES for name, made in vars(module).items()}
    path = Path(__file__).with_name("kinds.yaml")
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: Kind(name, family, tuple(phrases), makers[name])
        for name, (family, *phrases) in table.items()
    }


KINDS: dict[str, Kind] = _read()
"""By name, in the file's order."""
