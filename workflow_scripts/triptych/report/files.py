"""The files of a table and of a figure: what a rule declares and a writer writes, in this order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
    """The three formats of a table."""
    return [f"results/tables/{name}.{kind}" for kind in ("csv", "md", "tex")]


def products(figures: Iterable[str], tables: Iterable[str]) -> list[str]:
    """The files of all these, each once."""
    files = {file for name in figures for file in figure_files(name)}
    return sorted(files | {file for name in tables for file in table_files(name)})
