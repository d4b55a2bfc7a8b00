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

from triptych.present.markdown import inline, render
from triptych.present.tables import Table
from triptych.present.verdicts import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, SEEN

TEMPLATES = Path(__file__).parent / "templates"

_MEDIA = {".svg": "image/svg+xml", ".png": "image/png"}
LARGEST_VIDEO = 2_000_000  # bytes of a video that the page still holds
_CHIPS = {REPRODUCED: "yes", NOT_REPRODUCED: "no", SEEN: "seen", NOT_TESTABLE: "open"}


@dataclass(frozen=True)
class PageFigure:
    """A figure with its number, caption (Markdown) and embedded picture.

    photographs: whether it shows images, whose colours must stay in a dark page.
    """

    name: str
    title: str
    caption: str
    source: str
    photographs: bool = False

    @classmethod
    def read(cls, path: str | Path, title: str, caption: str) -> "PageFigure":
        """Embed an SVG or PNG file."""
        path = Path(path)
        if path.suffix not in _MEDIA:
            raise ValueError(f"{path}: a figure of the page is {' or '.join(_MEDIA)}")
        content = path.read_bytes()
        return cls(
            path.stem,
            title,
            caption,
            _data_address(content, _MEDIA[path.suffix]),
            photographs=path.suffix == ".svg" and b"<image" in content,
        )


@dataclass(frozen=True)
class PageVideo:
    """A film that plays in the page; one too large for that is named by its path alone."""

    name: str
    title: str
    caption: str
    source: str
    path: str

    @classmethod
    def read(cls, path: str | Path, name: str, title: str, caption: str) -> "PageVideo":
        """Embed an MP4 file of at most LARGEST_VIDEO bytes."""
        path = Path(path)
        if path.suffix != ".mp4":
            raise ValueError(f"{path}: a film of the page is an .mp4")
        fits = path.stat().st_size <= LARGEST_VIDEO
        source = _data_address(path.read_bytes(), "video/mp4") if fits else ""
        return cls(name, title, caption, source, path.as_posix())


def _data_address(content: bytes, media: str) -> str:
    return f"data:{media};base64,{base64.b64encode(content).decode('ascii')}"


@dataclass(frozen=True)
class Section:
    """A part of a study: what it is about, then its figures, films and tables. intro: Markdown."""

    anchor: str
    title: str
    intro: str
    figures: Sequence[PageFigure] = ()
    tables: Sequence[Table] = ()
    videos: Sequence[PageVideo] = ()


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
class PageStudy:
    """One paper's part of the page: what was run (facts, name to text), its claims, its sections.

    paper: title, authors and year (Markdown).
    """

    anchor: str
    title: str
    paper: str
    facts: Mapping[str, str]
    claims: Sequence[PageClaim]
    sections: Sequence[Section]

    def counts(self) -> dict[str, int]:
        """Claims by verdict."""
        return {verdict: sum(c.verdict == verdict for c in self.claims) for verdict in _CHIPS}


@dataclass(frozen=True)
class Page:
    """All that the page shows. differences, colophon: Markdown."""

    title: str
    subtitle: str
    scale: str
    studies: Sequence[PageStudy]
    timings: Table
    versions: Mapping[str, str]
    differences: str
    colophon: str


def page_figures(
    study: str,
    titles: Mapping[str, str],
    figures: Sequence[str | Path],
    captions: Mapping[str, str],
) -> dict[str, PageFigure]:
    """A study's figures among these, by name; in the order of its titles.

    Raises ValueError naming a figure that has no title or caption.
    """
    files = {Path(path).stem: path for path in figures}
    own = {name for name in files if name.startswith(f"{study}_")}
    for kind, given in (("title", titles), ("caption", captions)):
        missing = sorted(own - set(given))
        if missing:
            raise ValueError(f"the report lacks the {kind} of {', '.join(missing)}")
    return {
        name: PageFigure.read(files[name], title, captions[name])
        for name, title in titles.items()
        if name in own
    }


def page_claims(
    study: str, verdicts: pd.DataFrame, published: pd.DataFrame, criteria: Mapping[str, str]
) -> list[PageClaim]:
    """Join a study's verdicts (results/claims.csv) to what its paper claims (resources).

    Raises ValueError for a verdict on a claim that is not listed.
    """
    listed = published.set_index("id")
    unknown = sorted(set(verdicts["id"]) - set(listed.index))
    if unknown:
        raise ValueError(
            f"verdicts on claims that no resources/published/*_claims.csv lists: {unknown}"
        )
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
        for _, row in verdicts[verdicts["id"].str.startswith(f"{study}-")].iterrows()
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
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))
    template = environment.get_template("page.html.j2")
    return template.render(page=page, chips=_CHIPS, style=style)
