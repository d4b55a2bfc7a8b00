"""The config of a run: read from its files, and refused with one message where it isn't allowed."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from jsonschema.exceptions import ValidationError, best_match

from triptych.core.errors import ConfigError

INFRASTRUCTURE = True

COMMON = {"base": "demo", "scale": "custom", "device": "auto", "resume": "same_code"}
"""Values of the keys that belong to no study, where no file has them."""

WEIGHTS = {".pt", ".pth", ".safetensors"}
"""Suffixes of files of weights."""


def check_config(config: Mapping[str, Any], schema: str | os.PathLike[str]) -> None:
    """Raise ConfigError naming the key, what was given and what is allowed, if anything is amiss.

    `schema` is a YAML file with a JSON schema of draft 2020-12. The files of the folder beside it,
    of its name, are the schemas of sections.
    """
    error = best_match(_validator(Path(schema)).iter_errors(config))
    if error is not None:
        raise ConfigError(f"config: {_explain(error)}")


def check_paths(
    config: Mapping[str, Any],
    root: Path,
    is_made: Callable[[str], bool] = lambda path: False,
    key: str = "",
) -> None:
    """Raise ConfigError naming the first path of the user's at which there is nothing, or that
    Snakemake would read as a pattern.

    A path is the `path` of a table whose source says that it is the user's, or weights with a
    folder or a file's suffix in their name. Files below results/ are made by the run, as are those
    of which `is_made` says so; those of `root`/resources ship.
    """
    for name, value in config.items():
        place = f"{key}{name}"
        if isinstance(value, Mapping):
            check_paths(value, root, is_made, f"{place}.")
            continue
        own = name == "path" and config.get("source") in ("path", "folder")
        own |= place == "style.photographs.path"  # beside the bundled ones
        file = name == "weights" and isinstance(value, str)
        file = file and ("/" in value or Path(value).suffix in WEIGHTS)
        if not isinstance(value, str) or not (own or file):
            continue
        shipped = value.startswith("resources/") and (root / value).exists()
        made = value.startswith("results/") or is_made(value)
        if not (shipped or made or (value and Path(value).exists())):
            raise ConfigError(
                f"config: {place} is {_short(repr(value))}; expected a file or folder, found "
                f"nothing at {_short(os.path.abspath(value))} (paths begin in the folder in which "
                "snakemake runs)"
            )
        if {*"{}"} & {*value} and not Path(value).is_dir():
            raise ConfigError(
                f"config: {place} is {_short(repr(value))}, and to Snakemake braces hold a "
                "wildcard: rename the file, or give a link without braces in its name"
            )


def merged(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """A config with another one laid over it, as Snakemake does it: tables key by key."""
    result = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if both else value
    return result


def completed(overlay: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The whole config of a run: the papers' values, the demo's over them, an overlay over both.

    The papers' stand in `root`/config/paper; the demo's, in `root`/config.yaml, are left out where
    the overlay says `base: papers`. In a table of names null removes an entry. In the overlay a
    text that begins with ~/ is a path below the user's home.
    """
    config: dict[str, Any] = {**COMMON}
    for file in sorted((root / "config" / "paper").glob("*.yaml")):
        config |= read_yaml(file)
    if overlay.get("base") != "papers":
        config = merged(config, read_yaml(root / "config.yaml"))
    home = _mapped(overlay, lambda text: os.path.expanduser(text) if text[:2] == "~/" else text)
    return without_removed(merged(config, home), root)


def with_types(config: Mapping[str, Any], arguments: Sequence[str]) -> dict[str, Any]:
    """A config in which values of the command line are what they would be in a file.

    arguments: of --config. Snakemake reads `rl={seed: 7}` as a text in a table.
    """
    result = dict(config)
    for argument in arguments:
        key, _, text = argument.partition("=")
        with suppress(yaml.YAMLError):  # a text to Snakemake, too
            values = (yaml.load(text, Loader) for Loader in (yaml.BaseLoader, _LOADER))
            result |= {key: _with_types(config[key], *values)} if key in config else {}
    return result


def _with_types(value: Any, text: Any, typed: Any) -> Any:
    """The part of a config that `text` is of; `typed` is the same by YAML's own types."""
    if isinstance(value, Mapping) and isinstance(text, Mapping):
        parts = zip(text.items(), typed.values(), strict=True)
        read = {key: _with_types(value.get(key), part, new) for (key, part), new in parts}
        return {**value, **read}
    return typed if value == text else value


def without_removed(config: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """A config without the entries of tables of names that are null."""
    schema = read_schema(root / "config" / "schema.yaml")
    whole: dict[str, Any] = _without_removed(config, schema, schema["$defs"])
    return whole


def _without_removed(value: Any, schema: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """A part of a config, by its schema; known: the schemas that others refer to."""
    if "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    if not isinstance(value, Mapping):
        return value
    named = schema.get("additionalProperties")
    named = named if isinstance(named, Mapping) else None
    parts = schema.get("properties", {})
    return {
        key: _without_removed(entry, parts.get(key, named or {}), known)
        for key, entry in value.items()
        if entry is not None or named is None or key in parts
    }


def read_config(root: Path, overlays: Sequence[Path] = ()) -> dict[str, Any]:
    """The whole config that overlays make, in their order, laid over the values in `root`."""
    config: dict[str, Any] = {}
    for file in overlays:
        config = merged(config, read_yaml(file) or {})
    return completed(config, root)


def with_prefix(value: Any, prefix: str, wildcards: Mapping[str, str]) -> Any:
    """A module's parameter: its prefix before each path in results/, and wildcards filled in."""
    return _mapped(
        value,
        lambda text: prefix + text.format(**wildcards) if text.startswith("results/") else text,
    )


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A config, or a part of one, with `change` of each text in it."""
    if isinstance(value, Mapping):
        return {key: _mapped(entry, change) for key, entry in value.items()}
    if isinstance(value, list):
        return [_mapped(entry, change) for entry in value]
    return change(value) if isinstance(value, str) else value


_TYPES = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
    {  # Every range lets .nan through, and JSON counts 4000.0 among the integers.
        "number": lambda _, value: type(value) in (int, float) and math.isfinite(value),
        "integer": lambda _, value: type(value) is int,
    }
)
_Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=_TYPES)


@cache
def _validator(schema: Path) -> Any:
    return _Validator(read_schema(schema))


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times as fast


def read_yaml(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)


def check_unique_keys(path: Path) -> None:
    """Raise ConfigError where a table of a YAML file has a key twice: YAML keeps the last alone."""
    waiting = [("", yaml.compose(path.read_text(encoding="utf-8"), Loader=_LOADER))]
    while waiting:
        place, node = waiting.pop()
        if isinstance(node, yaml.SequenceNode):
            waiting += [(place, item) for item in node.value]
        if not isinstance(node, yaml.MappingNode):
            continue
        lines: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in lines:
                raise ConfigError(
                    f"{path}: the key {place}{name} stands in line {lines[name]} and again in line "
                    f"{line}; keep one, since the first would not be read"
                )
            lines[name] = line
            waiting.append((f"{place}{name}.", value))


@cache
def read_schema(schema: Path) -> dict[str, Any]:
    """A schema with its sections as properties and their `$defs` among its own."""
    whole: dict[str, Any] = read_yaml(schema)
    for section in sorted(schema.with_suffix("").glob("*.yaml")):
        part = read_yaml(section)
        whole["$defs"] |= part.pop("$defs", {})
        whole["properties"][section.stem] = part
    return whole


def _explain(error: ValidationError) -> str:
    key = ".".join(_name(part) for part in error.absolute_path) or "the top level"
    value = error.instance
    rule = error.validator
    limit = error.validator_value
    schema: Mapping[str, Any] = error.schema
    if rule == "additionalProperties":
        known = schema.get("properties", {})
        unknown = ", ".join(sorted(_name(name) for name in value if name not in known))
        return f"{key} has no key {unknown}; allowed are {', '.join(known)}"
    if rule == "required":
        missing = ", ".join(name for name in limit if name not in value)
        return f"{key} lacks {missing}; given were {', '.join(map(_name, value)) or 'no keys'}"
    if rule == "uniqueItems":
        twice = [_name(item) for number, item in enumerate(value) if item in value[:number]]
        return f"{key} has {', '.join(twice)} twice; allowed is each value once"
    allowed = {
        "type": f"a value of type {_types(limit)}",
        "enum": "one of " + ", ".join(map(str, limit)) if rule == "enum" else "",
        "minimum": f"at least {limit}",
        "exclusiveMinimum": f"more than {limit}",
        "maximum": f"at most {limit}",
        "exclusiveMaximum": f"less than {limit}",
        "pattern": f"a name that matches {limit}",
        "minItems": f"at least {limit} values",
        "maxItems": f"at most {limit} values",
    }.get(str(rule), f"what the rule {rule} of config/schema says ({limit})")
    if "propertyNames" in error.absolute_schema_path:  # the key itself is amiss, not its value
        return f"{key} has the key {_short(repr(value))}; allowed is {allowed}"
    return f"{key} is {_short(repr(value))} ({type(value).__name__}); allowed is {allowed}"


def _name(key: object) -> str:
    """A key in a message of one line, whatever it is."""
    text = str(key)
    return _short(text if text.isprintable() else repr(key))


def _types(limit: object) -> str:
    """JSON schema's names of types, as a rule has them."""
    named = " or ".join(map(str, limit)) if isinstance(limit, list) else str(limit)
    return "number, finite" if named == "number" else named


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]} ..."
