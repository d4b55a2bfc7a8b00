"""python docs/config_reference.py: write config/README.md, every key of a config.

Types, ranges and sentences come from config/schema/, the papers' values from config/paper/, the
demo's from config.yaml.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))

from triptych.core.config import read_schema  # noqa: E402
from triptych.scale import DEMO, PAPER, shipped  # noqa: E402

PAGE = ROOT / "config" / "README.md"
NAME, ABSENT = "<name>", object()
HEAD = """\
# Configuration

`make config` writes this page from the schema and the shipped configs.

The papers' values are in `config/paper/`, a file for each, where every line says which section,
equation or table it is from. `config.yaml` at the top of the repository is the demo: what differs
from them. A config of yours says what differs from the demo, or with `base: papers` what differs
from the papers. Laid over these, in this order, are a clone's own `config/config.yaml`, or the
`config.yaml` of the folder in which snakemake runs (or what a `module` is given as its `config`),
files after `--configfile`, and `--config`. A key that a file has twice is refused. Tables are
merged key by key, everything else is replaced, and `null` removes an entry of a table of names.

    snakemake --cores 8 --configfile config/paper.yaml                      # the papers alone
    snakemake --cores 8 --configfile config/paper.yaml config/beyond.yaml   # and our extras

`config/config.yaml` is where a study of one's own begins (a clone, `triptych init`, snakedeploy;
docs/elsewhere.md). Paths are relative to the folder in which snakemake runs. A
key that isn't below, or a value out of its range, is refused by name before any job starts.

`<name>` stands for any name. Where entries differ, each has its value: `bc: half; bcq: narrow`. In
the column of the papers an empty cell means: as in the demo.
"""


def page() -> str:
    """The whole of config/README.md."""
    schema = read_schema(ROOT / "config" / "schema.yaml")
    demo, paper = (shipped(scale, ROOT) for scale in (DEMO, PAPER))
    shared = [name for name, part in schema["properties"].items() if part.get("type") != "object"]
    parts = [("All studies", shared)]
    parts += [(f"`{name}`", [name]) for name in demo if name not in shared]
    blocks = [HEAD]
    for title, names in parts:
        lines = [f"## {title}", "", "| key | allowed | demo | paper | |", "| --- " * 5 + "|"]
        for name in names:
            for key, part in _keys(schema["properties"][name], (name,), schema["$defs"]):
                mine, theirs = (_default(config, key) for config in (demo, paper))
                cells = [
                    f"`{'.'.join(key)}`",
                    _allowed(part, schema["$defs"]),
                    mine,
                    "" if theirs == mine else theirs or "none",
                    part["description"],
                ]
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _resolved(part: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = part.get("$ref")
    return _resolved(known[reference.rpartition("/")[2]], known) if reference else part


def _keys(
    part: Mapping[str, Any], key: tuple[str, ...], known: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Each key below and including `key`, in the schema's order, and what the schema says of it."""
    part = {**_resolved(part, known), "description": part.get("description", "")}
    yield key, part
    for name, below in part.get("properties", {}).items():
        yield from _keys(below, (*key, name), known)
    named = part.get("additionalProperties")
    if isinstance(named, Mapping):
        yield from _keys(named, (*key, NAME), known)


def _allowed(part: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    part = _resolved(part, known)
    if "anyOf" in part:
        return " or ".join(_allowed(each, known) for each in part["anyOf"])
    if "enum" in part or "const" in part:
        return ", ".join(f"`{_text(each)}`" for each in part.get("enum", [part.get("const")]))
    kinds = part.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    words = " or ".join(_kind(kind, part, known) for kind in kinds)
    bounds = [
        f"{word} {part[rule]}"
        for rule, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "less than"),
        )
        if rule in part
    ]
    return ", ".join([words, *bounds, *_conditions(part)])


def _kind(kind: str, part: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    if kind == "array":
        low, high = part.get("minItems", 0), part.get("maxItems")
        count = f" of {low}" if low == high else ""
        return f"list{count}: {_allowed(part['items'], known)}" if "items" in part else "list"
    if kind == "object":
        named = isinstance(part.get("additionalProperties"), Mapping)
        return "table of names" if named else "table"
    if kind == "string" and "pattern" in part:
        return f"text `{part['pattern']}`"
    return {"string": "text", "boolean": "`true`, `false`", "null": "`null`"}.get(kind, kind)


def _conditions(part: Mapping[str, Any]) -> Iterator[str]:
    """What must stand there when something else does."""
    for rule in [part, *part.get("allOf", [])]:
        if "if" in rule and "required" in rule.get("then", {}):
            given = [
                f"`{name}: {_text(value['const'])}`"
                for name, value in rule["if"].get("properties", {}).items()
                if "const" in value
            ]
            needed = [
                name for name in rule["then"]["required"] if f"`{name}:" not in " ".join(given)
            ]
            if given and needed:
                yield f"{' and '.join(given)} needs {', '.join(f'`{each}`' for each in needed)}"


def _default(config: Mapping[str, Any], key: tuple[str, ...]) -> str:
    """A key's value as a cell shows it; of tables nothing but their names."""
    values = dict(_values(config, key, ()))
    if not values:
        return ""
    if key[-1] == NAME:
        there = [names[-1] for names, value in values.items() if value is not None]
        return ", ".join(dict.fromkeys(there))
    shown = {".".join(names): _text(value) for names, value in values.items()}
    if any(isinstance(value, Mapping) and value for value in values.values()):
        return ""
    if len(set(shown.values())) == 1 and len(shown) > 1:
        return f"each: `{next(iter(shown.values()))}`"
    return "; ".join(f"{name}: `{text}`" if name else f"`{text}`" for name, text in shown.items())


def _values(
    value: Any, key: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a key, by the names that stand for NAME in it."""
    if not key:
        yield names, value
    elif isinstance(value, Mapping) and key[0] == NAME:
        for name, each in value.items():
            yield from _values(each, key[1:], (*names, name))
    elif isinstance(value, Mapping) and key[0] in value:
        yield from _values(value[key[0]], key[1:], names)


def _text(value: Any) -> str:
    """A value as it stands in a config, on one line."""
    if value == "":
        return '""'
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
