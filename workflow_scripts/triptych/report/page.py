"""results/report.html: one page that needs nothing but itself.

Figures are embedded as data, styles are inline, there is no script and no request to any
server. Jinja escapes every value; only `markdown.render` and the style sheet, whose text is
the project's own, enter as markup.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from triptych.report.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED
from triptych.report.markdown import inline, render
from triptych.report.tables import Table

TEMPLATES = Path(__file__).parent / "templates"

_MEDIA = {".svg": "image/svg+xml", ".png": "image/png"}
_CHIPS = {REPRODUCED: "yes", NOT_REPRODUCED: "no", NOT_TESTABLE: "open"}


@dataclass(frozen=True)
class PageFigure:
    """A figure with its number, caption (Markdown) and embedded picture."""

    name: str
    title: str
    caption: str
    source: str

    @classmethod
    def read(cls, path: str | Path, title: str, caption: str) -> "PageFigure":
        """Embed an SVG or PNG file."""
        path = Path(path)
        if path.suffix not in _MEDIA:
            raise ValueError(f"{path}: a figure of the page is {' or '.join(_MEDIA)}")
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        return cls(path.stem, title, caption, f"data:{_MEDIA[path.suffix]};base64,{data}")


@dataclass(frozen=True)
class Section:
    """A part of the page: what it is about, then its figures, then its tables.

    study: the paper it belongs to, shown above the title. intro: Markdown.
    """

    anchor: str
    study: str
    title: str
    intro: str
    figures: Sequence[PageFigure] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class PageClaim:
    """A claim of a paper with this run's verdict and the rule that led to it."""

    id: str
    claim: str
    where: str
    criterion: str
    verdict: str
    measured: Sequence[str]
    interval: str
    reason: Sequence[str]
    chip: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "chip", _CHIPS[self.verdict])


@dataclass(frozen=True)
class Page:
    """All that the page shows. facts: what was run, name to text. differences: Markdown."""

    title: str
    subtitle: str
    scale: str
    facts: Mapping[str, str]
    claims: Sequence[PageClaim]
    sections: Sequence[Section]
    timings: Table
    versions: Mapping[str, str]
    differences: str
    colophon: str


def page_claims(
    verdicts: pd.DataFrame, published: pd.DataFrame, criteria: Mapping[str, str]
) -> list[PageClaim]:
    """Join the verdicts (results/claims.csv) to what the papers claim (resources).

    Raises ValueError for a verdict on a claim that is not listed.
    """
    listed = published.set_index("id")
    unknown = sorted(set(verdicts["id"]) - set(listed.index))
    if unknown:
        raise ValueError(f"verdicts on claims that resources/published/claims.csv lacks: {unknown}")
    return [
        PageClaim(
            id=str(row["id"]),
            claim=str(listed.at[row["id"], "claim"]),
            where=str(listed.at[row["id"], "where"]),
            criterion=criteria.get(str(row["id"]), ""),
            verdict=str(row["verdict"]),
            measured=str(row["measured"]).split("; "),
            interval="" if pd.isna(row["interval"]) else str(row["interval"]),
            reason=str(row["reason"]).split("; "),
        )
        for _, row in verdicts.iterrows()
    ]


def render_page(page: Page) -> str:
    """The whole HTML document."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = inline
    environment.filters["markdown"] = render
    counts = {verdict: sum(claim.verdict == verdict for claim in page.claims) for verdict in _CHIPS}
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))
    template = environment.get_template("page.html.j2")
    return template.render(page=page, counts=counts, chips=_CHIPS, style=style)
