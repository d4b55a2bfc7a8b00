"""A study's part of the page: a Markdown document (report/<study>.md) with values and directives.

Jinja first, then directives, each a paragraph of one line, then Markdown:

    # Title                          first line; the paragraph below names the paper
    ## Title {#anchor}               begins a section
    :: keys rl.tasks rl.sweeps       keys of the config that shape the section's products
    :: figure rl_figure1             a product shown at once; also `table NAME` and `film PATH`
    :: fold figure rl_figure1        a product folded under its title
    :: fold                          folds the whole section

A product that the run doesn't have shows nothing, and a section without any is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from triptych.report.jobs import Origin
from triptych.report.markdown import render

KINDS = ("figure", "table", "film")
HEADING = re.compile(r"^## (.+?) *\{#([\w-]+)\}$", re.MULTILINE)


class Item(NamedTuple):
    """A product as the page shows it. kind: one of KINDS. origin: of the job that made it."""

    kind: str
    title: str
    html: Markup
    origin: Origin | None


class Block(NamedTuple):
    """A paragraph or more of text, or an item, perhaps folded."""

    text: Markup
    item: Item | None = None
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """A section with its blocks in order. keys: of the config that shape its products. folded:
    whether it opens as a whole."""

    anchor: str
    title: str
    blocks: Sequence[Block]
    keys: Sequence[str]
    folded: bool


@dataclass(frozen=True)
class Document:
    """A study's title, its paper (Markdown), and the sections that show something."""

    title: str
    paper: str
    sections: Sequence[Section]


def read_document(text: str, values: Mapping[str, Any], items: Mapping[str, Item]) -> Document:
    """A document of a run. values: for Jinja. items: the run's, by name or, of films, path.

    Raises ValueError for a directive that is none, or that names an item of another kind.
    """
    template = jinja2.Template(
        text,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        comment_start_string="{!--",  # {# begins an anchor
        comment_end_string="--}",
    )
    head, *rest = HEADING.split(template.render(values))
    title, _, paper = head.strip().partition("\n")
    sections = [
        _section(heading.strip(), anchor, body, items)
        for heading, anchor, body in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    ]
    shown = [section for section in sections if any(block.item for block in section.blocks)]
    return Document(title.removeprefix("#").strip(), paper.strip(), shown)


def _section(title: str, anchor: str, body: str, items: Mapping[str, Item]) -> Section:
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", body) if part.strip()]
    directives = [part.removeprefix("::").split() for part in paragraphs if part.startswith("::")]
    return Section(
        anchor,
        title,
        [*_blocks(paragraphs, items)],
        [key for name, *keys in directives if name == "keys" for key in keys],
        ["fold"] in directives,
    )


def _blocks(paragraphs: Sequence[str], items: Mapping[str, Item]) -> Iterator[Block]:
    """Blocks of a section; neighbouring paragraphs of text are one."""
    text: list[str] = []
    for paragraph in [*paragraphs, ":: fold"]:
        if not paragraph.startswith("::"):
            text.append(paragraph)
            continue
        if text:
            yield Block(render("\n\n".join(text)))
            text = []
        words = paragraph.removeprefix("::").split()
        folded = len(words) == 3 and words[0] == "fold"
        match words[folded:]:
            case ["keys", *_] | ["fold"]:
                pass
            case [kind, name] if kind in KINDS:
                item = items.get(name)
                if item and item.kind != kind:
                    raise ValueError(f"{paragraph!r}: {name} is a {item.kind}")
                if item:
                    yield Block(Markup(), item, folded)
            case _:
                raise ValueError(f"{paragraph!r} is no directive of a document")
