"""What README.md and docs/ name is there: keys, paths, commands, targets, figures of the config."""

import argparse
import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from triptych.cli import _parser
from triptych.core.config import check_config, completed, read_config, read_schema

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "results/README.md"]
PAGES += sorted(page for page in (ROOT / "docs").glob("*.md") if not page.is_symlink())
LIBRARY = ROOT / "workflow_scripts/triptych"
KEPT = (
    *("benchmarks", "config", "docs", "envs", "makers", "profiles", "resources", "rules", "tests"),
    "workflow_scripts",
)
"""Folders of the repository that a clone has; results/ is made by a run."""
MADE = ("resources/locks", "resources/measured.csv")
"""What runs and measurements write there."""
FILES = (
    r"\.(csv|md|py|smk|ya?ml|json|mp4|mkv|bin|npz|safetensors|html|zip|png|pdf|svg|tpk|txt|lock)$"
)


def test_the_reference_of_the_config_is_of_this_schema_and_these_defaults():
    """Write it anew by `make config`."""
    made = runpy.run_path(str(ROOT / "docs" / "config_reference.py"))
    assert (ROOT / "config" / "README.md").read_text() == made["page"]()


def test_the_catalogue_finds_what_its_standard_asks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert (ROOT / "workflow/Snakefile").exists() and (ROOT / "config/config.yaml").exists()
    check_config(read_config(ROOT, [ROOT / ".test/config.yaml"]), ROOT / "config" / "schema.yaml")


def texts(page: Path) -> list[str]:
    """What stands between single backticks, and each line of the blocks."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [*re.findall(r"`([^`\n]+)`", prose), *(line for b in blocks for line in b.splitlines())]


@cache
def config() -> dict[str, Any]:
    return read_config(ROOT)


@cache
def places() -> frozenset[tuple[str, ...]]:
    """Every key of the schema and of the configs, from the top and from every key below it."""
    found: set[tuple[str, ...]] = set()

    def walk(tree: Any, path: tuple[str, ...]) -> None:
        for key, value in tree.items() if isinstance(tree, dict) else ():
            below = (*path, str(key))
            found.update(below[start:] for start in range(len(below)))
            walk(value, below)

    for file in (ROOT / "config.yaml", *(ROOT / "config").glob("*.yaml")):
        if file.name == "schema.yaml":
            tree = read_schema(file)
            for keys in _of_schema(tree, tree["$defs"]):
                found.update(keys[start:] for start in range(len(keys)))
        else:
            walk(yaml.safe_load(file.read_text(encoding="utf-8")), ())
    return frozenset(found)


def _of_schema(tree: Any, named: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The paths of keys that a JSON schema allows by name; any name at all is *."""
    tree = named.get(tree["$ref"].split("/")[-1], {}) if "$ref" in tree else tree
    below = dict(tree.get("properties", {}))
    if isinstance(tree.get("additionalProperties"), dict):
        below["*"] = tree["additionalProperties"]
    for key, value in below.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, *path) for path in _of_schema(value, named))


def known(key: str) -> bool:
    parts = tuple(key.split("."))
    if parts in places():
        return True
    return any(
        len(place) == len(parts)
        and all(
            one in (other, "*") or "{" in other for one, other in zip(place, parts, strict=True)
        )
        for place in places()
        if "*" in place or "{" in key
    )


def keys(page: Path) -> list[str]:
    """Dotted names whose first part is a key of the config, and that are no files."""
    first = {place[0] for place in places()}
    dotted = [t for t in texts(page) if re.fullmatch(r"[a-z_]\w*(\.[a-z_{][\w{}]*)+", t)]
    others = re.compile(rf"{FILES}|\.(weight|bias)$")  # files, and tensors
    return [t for t in dotted if t.split(".")[0] in first and not others.search(t)]


def paths(page: Path) -> Iterator[str]:
    """Paths of the repository or of the library, as patterns of glob."""
    for text in texts(page):
        for word in re.findall(r"[\w./*{}-]+", text):
            top = word.split("/")[0]
            if "/" in word and not word.startswith(MADE):
                pattern = re.sub(r"\{\w+\}", "*", word.rstrip("/."))
                if top in KEPT:
                    yield pattern
                elif (LIBRARY / top).is_dir() and word.endswith(".py"):
                    yield f"workflow_scripts/triptych/{pattern}"
            elif re.fullmatch(r"test_\w+\.py", word):
                yield f"tests/**/{word}"


def links(page: Path) -> list[str]:
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    return [link for link in found if "://" not in link]


@cache
def commands() -> dict[str, set[str]]:
    """The options of each command of `triptych`, those within another under both names."""
    found: dict[str, set[str]] = {}

    def look(parser: argparse.ArgumentParser, name: str) -> None:
        inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if not inner:
            found[name] = set(parser._option_string_actions)
        for each in inner:
            for own, made in each.choices.items():
                look(made, f"{name} {own}".strip())

    look(_parser(), "")
    return found


def misused(text: str) -> list[str]:
    """What of a line `triptych ...` does not exist."""
    found = re.match(r"(?:\$ )?triptych ([a-z][\w-]*)( [a-z]+\b)?(.*)", text)
    if not found:
        return []
    within = found[1] + (found[2] or "")
    command = within if within in commands() else found[1]
    if command not in commands():
        return [f"triptych {within}"]
    rest = text.split(command, 1)[1].split(" # ")[0]
    options = re.findall(r"(?<!\S)--?[a-zA-Z][\w-]*", rest)
    return [f"{command} {option}" for option in options if option not in commands()[command]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    rules = re.findall(r"^([a-z_ ]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    wrong = [f"key {key}" for key in keys(page) if not known(key)]
    wrong += [f"path {path}" for path in paths(page) if not any(ROOT.glob(path))]
    wrong += [f"link {link}" for link in links(page) if not (page.parent / link).exists()]
    for text in texts(page):
        wrong += misused(text)
        made = re.match(r"(?:\$ )?make ([a-z_]+)", text)
        wrong += [f"make {made[1]}"] if made and made[1] not in targets else []
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_an_example_of_the_config_is_allowed(page):
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.M | re.DOTALL):
        example = yaml.safe_load(block)
        if isinstance(example, dict) and set(example) <= set(config()):
            check_config(completed(example, ROOT), ROOT / "config/schema.yaml")


def test_the_page_of_commands_names_every_one_and_its_options():
    """Not byte for byte: each Python folds and spells a help of its own."""
    sections = (ROOT / "docs/commands.md").read_text("utf-8").split("\n## triptych ")[1:]
    found = {section.split("\n")[0]: section for section in sections}
    assert found.keys() == commands().keys()
    for command, options in commands().items():
        missing = [option for option in options if not re.search(rf"{option}\b", found[command])]
        assert missing == [], f"{command}: run make docs"


def test_the_site_is_built_and_every_page_of_docs_is_in_its_menu(tmp_path):
    settings = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
    inside = re.findall(r"[\w-]+\.md", json.dumps(settings["nav"]))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"colophon.md"}  # the report's
    assert sorted(inside) == sorted(pages)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    page = (tmp_path / "site/tutorial.html").read_text("utf-8")
    assert 'href="own-files.html"' in page and "images/styles.jpg" in page
