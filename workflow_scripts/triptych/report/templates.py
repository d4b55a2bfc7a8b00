"""HTML of the page and of its parts, from the templates beside this module.

Jinja escapes every value; only what `markdown` and these templates have made, and the style sheet,
whose text is the project's own, enter as markup.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from triptych.report.markdown import inline, render

TEMPLATES = Path(__file__).parent / "templates"
NO_BREAK = "\N{NO-BREAK SPACE}"


def filled(name: str, /, **values: Any) -> str:
    """A template with these values."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"inline": inline, "markdown": render, "whole": _whole}
    return environment


def _whole(text: str) -> str:
    """A cell whose intervals and deviations aren't broken between lines."""
    return re.sub(r"\[.*?\]|± \S+", lambda match: match[0].replace(" ", NO_BREAK), text)
