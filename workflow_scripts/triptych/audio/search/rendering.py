"""The templates of this folder, in the look of the report."""

from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

import triptych.report

TEMPLATES = Path(__file__).parent / "templates"
STYLE = Path(triptych.report.__path__[0]) / "templates" / "style.css"
"""The report's; `present.page` would take a second to import."""


def render(template: str, **values: Any) -> str:
    """A page, with what all pages of searches share; `style`, the report's, may be given."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    shared = {
        "style": Markup(STYLE.read_text(encoding="utf-8")),
        "own_style": Markup((TEMPLATES / "search.css").read_text(encoding="utf-8")),
    }
    return environment.get_template(template).render(**shared | values).lstrip()
