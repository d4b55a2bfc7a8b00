"""What README.md and docs/ say is true: keys, paths, links, figures; and every command runs."""

import argparse
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from tiny_checkout import copy_checkout

from triptych.apps.sounds.search.index import NAME as INDEX
from triptych.apps.sounds.search.trained import text_folder
from triptych.cli import _parser
from triptych.core.config import read_config
from triptych.studies import NAMES

ROOT = Path(__file__).parents[1]
SITE = sorted(page for page in (ROOT / "docs").glob("*.md") if not page.is_symlink())
PAGES = [ROOT / "README.md", ROOT / "results/README.md", *SITE]
WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]
LIBRARY = ROOT / "workflow_scripts/triptych"
KEPT = (
    *("benchmarks", "config", "docs", "envs", "makers", "profiles", "resources", "rules", "tests"),
    "workflow_scripts",
)
"""Folders of the repository that a clone has; results/ is made by a run."""
MADE = ("resources/locks", "config/mine.yaml")
"""What runs write there, and what a reader does."""
FILES = (
    r"\.(csv|md|py|smk|ya?ml|json|mp4|mkv|bin|npz|safetensors|html|zip|png|pdf|svg|tpk|txt|lock)$"
)


def test_the_reference_of_the_config_is_of_this_schema_and_these_defaults():
    """Write it anew by `make config`."""
    made = runpy.run_path(str(ROOT / "docs" / "config_reference.py"))
    assert (ROOT / "config" / "README.md").read_text() == made["page"]()


def parts(page: Path, language: str = r"\w*") -> tuple[list[str], str]:
    """A page's blocks of code in a language, and its text without any block."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return found, re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def texts(page: Path) -> list[str]:
    """What stands between single backticks, and each line of the blocks."""
    blocks, prose = parts(page)
    return [*re.findall(r"`([^`\n]+)`", prose), *(line for b in blocks for line in b.splitlines())]


@cache
def names() -> set[str]:
    """Every key of the schema and of the configs."""
    files = [ROOT / "config.yaml", *(ROOT / "config").rglob("*.yaml")]
    return {name for file in files for name in re.findall(r"[\w-]+(?=:)", file.read_text("utf-8"))}


def keys(page: Path) -> list[str]:
    """Dotted names whose first part is a key of the config, and that are no files."""
    dotted = [t for t in texts(page) if re.fullmatch(r"[a-z_]\w*(\.[a-z_{][\w{}]*)+", t)]
    others = re.compile(rf"{FILES}|\.(weight|bias)$")  # files, and tensors
    return [t for t in dotted if t.split(".")[0] in names() and not others.search(t)]


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
    wrong = [
        f"key {key}"
        for key in keys(page)
        if not {part for part in key.split(".") if "{" not in part} <= names()
    ]
    wrong += [f"path {path}" for path in paths(page) if not any(ROOT.glob(path))]
    for text in texts(page):
        wrong += misused(text)
    assert wrong == []


def test_every_target_of_the_quickstarts_table_exists():
    page = (ROOT / "docs/quickstart.md").read_text("utf-8")
    (table,) = re.findall(r"^\| target .*\n\| --- .*\n((?:\|.*\n)+)", page, re.M)
    named = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines()))
    files = [ROOT / "Snakefile", *ROOT.glob("rules/*.smk")]
    text = "".join(file.read_text("utf-8") for file in files)
    scripts = {f"{path.parent.name}_{path.stem}" for path in ROOT.glob("workflow_scripts/*/*.py")}
    pages = {f"{study}_page" for study in NAMES}
    targets = {*re.findall(r"^rule (\w+):", text, re.M), *scripts, *pages}
    assert len(named) > 20 and [name for name in named if name not in targets] == []


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
    page = (tmp_path / "site/quickstart.html").read_text("utf-8")
    assert 'href="own-files.html"' in page and "images/styles.jpg" in page


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_the_figures_of_pages_are_those_of_their_files():
    """Write them anew by `make docs`."""
    made = runpy.run_path(str(ROOT / "docs/figures.py"))
    assert made["CLAIMS"].read_text("utf-8") == made["claims"]()
    for page in made["PAGES"]:
        text = page.read_text("utf-8")
        assert made["filled"](text) == text, page.name


def anchors(page: Path) -> set[str]:
    """What a link to a heading of a page may name."""
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", head).strip().lower() for head in heads]
    return {re.sub(r"\s+", "-", head) for head in plain}


@pytest.mark.parametrize("page", dict.fromkeys([*PAGES, *WRITTEN]), ids=lambda page: page.name)
def test_a_link_finds_its_file_and_heading(page):
    found = re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", page.read_text("utf-8"))
    for name, anchor in found:
        if "://" not in name:
            there = page.parent / name if name else page
            assert there.exists(), name
            assert not anchor or anchor in anchors(there), f"{name}#{anchor}"


SHIMS = {
    "snakemake": (
        'grep -qsxF -- "$PWD $*" {planned} && exit\n'
        '{python} {warm} -m snakemake --dry-run "$@" && echo "$PWD $*" >> {planned}'
    ),
    "triptych": 'exec {python} {warm} {reader} "$@"',
    "make": 'exec /usr/bin/make --dry-run --directory {root} "$@" >/dev/null',
    "git": (
        '/usr/bin/git -c url.{root}.insteadOf=https://github.com/OWNER/triptych "$@"\n'
        "cp -r .venv photo.jpg triptych/"
    ),
    "pip": "[ $# -gt 1 ]",
    "conda": (
        'case "$*" in\n'
        """*"info --json"*) echo '{{"conda_prefix": "/opt", "platform": "linux-64"}}';;\n"""
        '*--version*) echo "conda 25.1.0";;\n'
        """*config*) echo '{{"get": {{"channel_priority": "strict"}}}}';;\n"""
        '*"env create"*) [ -f envs/workflow.yaml ];;\nesac'
    ),
    "docker": "[ -f Dockerfile ]",
    "apptainer": 'echo "apptainer version 1.3.0"',
    "tmux": "true",
    "generate-slurm-partition-config": "{bin}/generate-slurm-partition-config --help >/dev/null",
}
"""Programs by which printed commands run: Snakemake plans, make says what it would do, what is not
here or needs a network answers, `triptych` is that of reader.py. What was planned in a folder for
an earlier block is not planned again."""
RUN: set[str] = set()
"""What has run for an earlier page."""


def blocks(page: Path) -> list[str]:
    """The shell blocks of a page, and commands of Snakemake and make within its sentences."""
    whole, prose = parts(page, "sh")
    inline = re.findall(r"`((?:snakemake|make|pip) [^`\n]+)`", prose)
    return whole + [line for line in inline if "..." not in line and "<" not in line]


@pytest.fixture(scope="module")
def reader(tmp_path_factory, small_text):
    """A checkout as a reader has it, with pictures, sounds, a config, and the programs of SHIMS."""
    import soundfile
    from skimage import data, io

    root = tmp_path_factory.mktemp("reader")
    copy_checkout(root)
    for name in ("Dockerfile", "benchmarks"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / name)
    (root / "config/mine.yaml").write_text("scale: custom\n")
    io.imsave(root / "photo.jpg", data.astronaut()[::4, ::4])
    (root / "wanted.txt").write_text("rain on a roof\na dog barks\n")
    (root / "sounds").mkdir()
    noise = np.random.default_rng(0).uniform(-0.1, 0.1, 32_000 * 4)
    for name in ("sounds/rain.wav", "bark.wav"):
        soundfile.write(root / name, noise, 32_000)
    shutil.copytree(small_text, text_folder(root / "sounds" / INDEX))
    programs = root / ".venv/bin"
    programs.mkdir(parents=True)
    named = {
        "python": sys.executable,
        "warm": f"-IS {ROOT / 'tests/warm.py'}",
        "reader": ROOT / "tests/reader.py",
        "root": ROOT,
        "planned": root / "planned.txt",
        "bin": Path(sys.executable).parent,
    }
    for name, text in SHIMS.items():
        (programs / name).write_text(f"#!/bin/bash\n{text.format(**named)}\n")
        (programs / name).chmod(0o755)
    (programs / "activate").write_text("")
    return root


def run_block(block: str, folder: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """What a reader types, by bash, in a folder; the checkout is at /path/to/triptych."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return subprocess.run(
        ["bash", "-e", "-c", block.replace("/path/to/triptych", str(root))],
        cwd=folder,
        env={
            **kept,
            "HOME": str(root),
            "XDG_CACHE_HOME": cache,
            "PATH": f"{root}/.venv/bin:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in WRITTEN if blocks(page)], ids=lambda page: page.name
)
def test_a_printed_command_runs(page, reader, tmp_path):
    for block in dict.fromkeys(blocks(page)):
        if block in RUN:
            continue
        RUN.add(block)
        folder = reader
        if "triptych_rl" in block:  # of a workflow of the reader's own
            folder = tmp_path
            module = re.search(r"^```\n(configfile:.*?)^```", page.read_text("utf-8"), re.M | re.S)
            text = module[1].replace("/path/to/triptych", str(reader))
            (tmp_path / "Snakefile").write_text(text)
        shutil.rmtree(reader / "my-study", ignore_errors=True)
        shutil.rmtree(reader / "triptych", ignore_errors=True)
        done = run_block(block, folder, reader)
        assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def configs(page: Path) -> list[str]:
    """The configs that a page prints."""
    printed = re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [text for text in printed if set(yaml.safe_load(text)) <= set(read_config(ROOT))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "place"),
    [(page, place) for page in SITE for place, _ in enumerate(configs(page))],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_printed_config_is_planned(page, place, reader):
    """Its studies' jobs, in the reader's checkout, with the files that it names."""
    text = configs(page)[place]
    for path in re.findall(r"path: ([^ ,}\n]+)", text):
        own = Path("given", path.lstrip("/"))
        text = text.replace(f"path: {path}", f"path: {own}")
        (reader / own).parent.mkdir(parents=True, exist_ok=True)
        if own.suffix in (".jpg", ""):
            picture = reader / own / "photo.jpg" if own.suffix == "" else reader / own
            picture.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(reader / "photo.jpg", picture)
        else:
            (reader / own).touch()
    (reader / "printed.yaml").write_text(text)
    studies = [name for name in yaml.safe_load(text) if name != "scale"]
    done = run_block(
        f"snakemake {' '.join(studies)} --cores 2 --configfile printed.yaml", reader, reader
    )
    assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
