"""One message for a configuration that is not allowed, before any job starts."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from jsonschema.exceptions import ValidationError, best_match


class ConfigError(ValueError):
    """A configuration that the schema does not allow."""


def check_config(config: Mapping[str, Any], schema: str | os.PathLike[str]) -> None:
    """Raise ConfigError naming the key, what was given and what is allowed, if anything is amiss.

    `schema` is a YAML file with a JSON schema of draft 2020-12.
    """
    rules = yaml.safe_load(Path(schema).read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(rules)
    error = best_match(validator.iter_errors(_plain(config)))
    if error is not None:
        raise ConfigError(f"config: {_explain(error)}")


def _plain(value: Any) -> Any:
    """Snakemake hands out ordered dictionaries; jsonschema's messages read better without them."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _explain(error: ValidationError) -> str:
    key = ".".join(str(part) for part in error.absolute_path) or "the top level"
    given, rule, limit = error.instance, error.validator, error.validator_value
    schema: Mapping[str, Any] = error.schema
    if rule == "additionalProperties":
        known = schema.get("properties", {})
        unknown = ", ".join(sorted(str(name) for name in given if name not in known))
        return f"{key} has no key {unknown}; allowed are {', '.join(known)}"
    if rule == "required":
        missing = ", ".join(name for name in limit if name not in given)
        return f"{key} lacks {missing}; given were {', '.join(map(str, given)) or 'no keys'}"
    allowed = {
        "type": f"a value of type {limit}",
        "enum": "one of " + ", ".join(map(str, limit)) if rule == "enum" else "",
        "minimum": f"at least {limit}",
        "exclusiveMinimum": f"more than {limit}",
        "maximum": f"at most {limit}",
        "pattern": f"a name that matches {limit}",
        "minItems": f"at least {limit} values",
        "maxItems": f"at most {limit} values",
        "uniqueItems": "no value twice",
    }.get(str(rule), error.message)
    return f"{key} is {given!r} ({type(given).__name__}); allowed is {allowed}"
