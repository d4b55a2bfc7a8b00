"""Encoders: one module each in a folder, found by listing it; here an entry of the config is read.

Such a module has a frozen dataclass `Settings`, whose fields without a default are keys of the
entry, and imports PyTorch only inside functions: planning reads settings without it.
"""

import pkgutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from math import isfinite
from typing import Any


def encoder_names(package: str) -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(import_module(package).__path__))


def settings_class(package: str, name: str) -> Any:
    """The class `Settings` of an encoder. Raises KeyError for an unknown name."""
    if name not in encoder_names(package):
        raise KeyError(name)
    return import_module(f"{package}.{name}").Settings


def class_name(settings: object) -> str:
    """The config's `class` of settings: their module's name."""
    return type(settings).__module__.rpartition(".")[2]


def read_entry(package: str, entry: Mapping[str, Any], shared: Collection[str]) -> Any:
    """The settings that an entry of the config describes.

    entry: `class`, the name of an encoder; each field of its settings without a default; and any
    `shared` keys. Raises ValueError whose message continues the entry's key.
    """
    name = entry["class"]
    if name not in (names := encoder_names(package)):
        raise ValueError(f".class is {name!r}; allowed is one of {', '.join(names)}")
    kind = settings_class(package, name)
    keys = {field.name: field for field in fields(kind) if field.default is MISSING}
    if unknown := [repr(key)[:200] for key in entry if key not in keys and key not in shared]:
        allowed = ", ".join((*shared, *keys))
        raise ValueError(f" has no key {', '.join(unknown)}; a {name} has {allowed}")
    if missing := [key for key in keys if key not in entry]:
        raise ValueError(f" lacks {', '.join(missing)}; a {name} has {', '.join(keys)}")
    for key, field in keys.items():
        expected, fits = _ALLOWED[field.type]
        if not fits(entry[key]):
            raise ValueError(f".{key} is {repr(entry[key])[:200]}; allowed is {expected}")
    try:
        return kind(**{key: as_field(entry[key]) for key in keys})
    except ValueError as error:
        raise ValueError(f": {error}") from error


def as_field(value: Any) -> Any:
    """Lists of a config or of JSON as the tuples of a frozen dataclass."""
    return tuple(value) if isinstance(value, list) else value


def _whole(value: Any, least: int) -> bool:
    return type(value) is int and value >= least


def _two(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(_whole(item, 0) for item in value)


_ALLOWED: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("a whole number from 1", lambda value: _whole(value, 1)),
    float: ("a number, finite", lambda value: type(value) in (int, float) and isfinite(value)),
    tuple[int, int]: ("two whole numbers from 0", _two),
}
"""Allowed values by a field's type, in words and as a check."""
