"""The files of a product, and the title and caption that its script states."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

Files = Mapping[str, Sequence[str]]
"""Files by what they hold."""


def named_files(files: Any) -> dict[str, list[str]]:
    """A job's input by name, in lists. files: Snakemake's `input`."""
    return {
        name: [paths] if isinstance(paths, str) else list(map(str, paths))
        for name, paths in files.items()
    }


def figure_files(name: str) -> list[str]:
    """The three formats of a figure, and the numbers that it draws."""
    formats = [f"results/figures/{name}.{kind}" for kind in ("svg", "pdf", "png")]
    return [*formats, f"results/tables/{name}.csv"]


def table_files(name: str) -> list[str]:
    """Numbers of a table, its two formats, and the part of a page."""
    return [f"results/tables/{name}.{kind}" for kind in ("csv", "md", "tex", "html")]


def summary_files(name: str) -> list[str]:
    """A study's part of the page's first screen."""
    return [f"results/tables/{name}.html"]


def title_and_caption(script: Path, config: Mapping[str, Any]) -> tuple[str, str]:
    """The first line of a script's docstring, and the rest as one paragraph of Markdown.

    Both are Jinja's templates, filled in from the config.
    """
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    filled = jinja2.Template(text, undefined=jinja2.StrictUndefined).render(config)
    title, _, caption = filled.partition("\n")
    return title, " ".join(caption.split())
