"""What the lists of audio and of sentence encoders share: how a config's entry is read."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from math import isfinite
from typing import Any, TypeVar

Settings = TypeVar("Settings")


def read_entry(
    classes: Mapping[str, type[Settings]], entry: Mapping[str, Any], shared: Collection[str]
) -> Settings:
    """The settings that an entry of the config describes.

    entry: `class`, one of `classes`; each field of that class without a default; and any `shared`
    keys. Raises ValueError for anything else, made to stand behind the entry's key.
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
    tuple[int, int]: (
        "two whole numbers from 0",
        lambda value: (
            isinstance(value, list) and len(value) == 2 and all(_counts(each, 0) for each in value)
        ),
    ),
}
"""What a value may be, by its field's type."""
