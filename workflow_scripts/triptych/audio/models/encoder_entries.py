"""What the lists of audio and of sentence encoders share: how large one is, and its config."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from math import isfinite
from typing import Any, NamedTuple, TypeVar

from triptych.core.cost import Work, moved

Settings = TypeVar("Settings")


class Load(NamedTuple):
    """What an encoder takes, about: the plan, and what a cluster is asked for, count by it."""

    weights: int  # numbers that are learned
    products: float  # multiplications with an addition, of one segment or caption, forward
    kept: float  # numbers of it that wait for the backward pass

    def work(self, count: float, training: bool) -> Work:
        """So many segments or captions at once; in training also backward."""
        ways = 3 if training else 1
        return Work(2.0 * self.products * count * ways) + moved(self.kept * count, 2 * ways, 100)


def transformer_work(
    size: tuple[int, int], sequences: float, tokens: int, outputs: int, training: bool, half: bool
) -> Work:
    """Sequences of so many tokens through a transformer of which the last layer makes `outputs`.

    size: width and layers;  training: forward and backward;  half: products in half precision
    """
    (dim, layers), ways = size, 3 if training else 1
    products = tokens * 12 * dim**2 * (layers - 1) + (2 * tokens + 10 * outputs) * dim**2
    looks = 2 * tokens * dim * (tokens * (layers - 1) + outputs)
    # Backward, attention makes five products for the two of its way forward.
    work = Work(2.0 * sequences * (products * ways + looks * (3.5 if training else 1)))
    passes, last = ((50 if half else 58), 25) if training else (18, 5)
    numbers, kernels = sequences * tokens * dim, 32 if training else 11
    work += moved(numbers, passes * (layers - 1) + last, kernels * layers)
    weights = 12 * dim**2 * layers
    return work + (moved(weights, 3 if training else 1.5, 20 * layers) if half else Work())


def blocks(dim: int, layers: int) -> int:
    """Numbers of so many blocks of a transformer, biases and norms among them."""
    return layers * (12 * dim**2 + 13 * dim)


def read_entry(
    classes: Mapping[str, type[Settings]], entry: Mapping[str, Any], shared: Collection[str]
) -> Settings:
    """The settings that an entry of the config describes.

    entry: `class`, one of `classes`; for each field of that class without a default its value;
    and whichever of the `shared` keys. Raises ValueError for anything else, its message made to
    stand behind the entry's key.
    """
    name = entry["class"]
    if name not in classes:
        raise ValueError(f".class is {name!r}; allowed is one of {', '.join(classes)}")
    own = {each.name: each for each in fields(classes[name]) if each.default is MISSING}  # type: ignore[arg-type]
    if unknown := [repr(key)[:200] for key in entry if key not in own and key not in shared]:
        allowed = ", ".join((*shared, *own))
        raise ValueError(f" has no key {', '.join(unknown)}; a {name} has {allowed}")
    if missing := [key for key in own if key not in entry]:
        raise ValueError(f" lacks {', '.join(missing)}; a {name} has {', '.join(own)}")
    for key, field in own.items():
        says, fits = _ALLOWED[field.type]
        if not fits(entry[key]):
            raise ValueError(f".{key} is {repr(entry[key])[:200]}; allowed is {says}")
    try:
        return classes[name](**{key: plain(entry[key]) for key in own})
    except ValueError as error:
        raise ValueError(f": {error}") from error


def class_of(classes: Mapping[str, type[Settings]], settings: Settings) -> str:
    """What the config calls the class of these settings."""
    return next(name for name, each in classes.items() if type(settings) is each)


def plain(value: Any) -> Any:
    """Lists of a config or of JSON as the tuples of a frozen dataclass."""
    return tuple(value) if isinstance(value, list) else value


def _counts(value: Any, least: int) -> bool:
    return type(value) is int and value >= least


_ALLOWED: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("a whole number from 1", lambda value: _counts(value, 1)),
    float: ("a number, finite", lambda value: type(value) in (int, float) and isfinite(value)),
    bool: ("true or false", lambda value: type(value) is bool),
    str: ("a text", lambda value: type(value) is str),
    tuple[int, int]: (
        "two whole numbers from 0",
        lambda value: (
            isinstance(value, list) and len(value) == 2 and all(_counts(each, 0) for each in value)
        ),
    ),
}
"""What a value may be, by its field's type."""
