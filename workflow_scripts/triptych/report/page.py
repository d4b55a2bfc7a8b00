"""results/report.html: one page that needs nothing but itself: no script, no request to a server.

Jinja escapes every value; only `markdown.render` and the style sheet, whose text is the project's
own, enter as markup.
"""

import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from triptych.report.claims import (
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    SEEN,
    UNDECIDED,
    Claim,
)
from triptych.report.embedding import PAGE_WIDTH, data_address, embedded
from triptych.report.glance import Bars, Glance
from triptych.report.jobs import Origin
from triptych.report.markdown import inline, render
from triptych.report.tables import DASH, Table

logger = logging.getLogger(__name__)

TEMPLATES = Path(__file__).parent / "templates"

NO_BREAK = "\N{NO-BREAK SPACE}"
LARGEST_VIDEO = 500_000  # bytes of a video that the page still holds
SHOWN = ("id", "verdict", "measured", "interval", "reason", "seen")  # of results/claims.csv
_CHIPS = {
    REPRODUCED: "yes",
    NOT_REPRODUCED: "no",
    UNDECIDED: "seen",
    SEEN: "seen",
    NOT_TESTABLE: "open",
}
"""Looks of verdicts (style.css), in the order of counts; other marks look like SEEN."""


@dataclass(frozen=True)
class PageFigure:
    """A figure with its number, caption (Markdown) and embedded picture, empty where the file could
    not be read. photographs: whether it shows images, whose colours must stay in a dark page."""

    name: str
    title: str
    caption: str
    source: str
    width: int = PAGE_WIDTH
    height: int = PAGE_WIDTH
    photographs: bool = False

    @classmethod
    def read(cls, path: str | Path, title: str, caption: str) -> "PageFigure":
        """Embed an SVG file."""
        try:
            return cls(Path(path).stem, title, caption, *embedded(path))
        except (OSError, ValueError) as error:
            logger.warning("%s: left out of the page: %s", path, error)
            return cls(Path(path).stem, title, caption, "")

    @property
    def alt(self) -> str:
        """Its alternative text: the title without its number, and the caption's first sentence."""
        title = re.sub(r"^(Figure \d+\.|Beyond the paper:) ", "", self.title)
        first = re.split(r"(?<=\.) ", str(inline(self.caption).striptags()))[0]
        return f"{title[:1].upper()}{title[1:]} {first}"


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
        fits = path.stat().st_size <= LARGEST_VIDEO
        source = data_address(path.read_bytes(), "video/mp4") if fits else ""
        return cls(name, title, caption, source, path.as_posix())


@dataclass(frozen=True)
class Section:
    """A part of a study: what it is about, then its figures, films and tables. intro: Markdown.
    opened: names of those that are shown at once; the others unfold, a part without any as a whole.
    """

    anchor: str
    title: str
    intro: str
    figures: Sequence[PageFigure] = ()
    tables: Sequence[Table] = ()
    videos: Sequence[PageVideo] = ()
    opened: Collection[str] | None = None

    def items(self) -> list[tuple[str, PageFigure | PageVideo | Table, bool]]:
        """Kind, item, and whether it is shown as soon as the part is."""
        kinds: dict[str, Sequence[PageFigure | PageVideo | Table]] = {
            **{"figure": self.figures, "video": self.videos, "table": self.tables}
        }
        return [
            (kind, item, not self.opened or item.name in self.opened)
            for kind, items in kinds.items()
            for item in items
        ]


@dataclass(frozen=True)
class PageClaim:
    """A claim of a paper with this run's verdict and the rule that led to it.

    measured: phrases with semicolons between. published: what the paper says, in a few words.
    price: what it would take to test it. seen: with substitutes, the direction and what they are.
    """

    id: str
    claim: str
    where: str
    criterion: str
    verdict: str
    measured: str
    interval: str
    reason: str
    published: str = ""
    price: str = ""
    seen: str = ""

    @property
    def brief(self) -> str:
        """Measurements, or what a test of an untested claim would take."""
        needs = self.price or self.reason
        return (needs if self.verdict == NOT_TESTABLE else self.measured) or DASH


@dataclass(frozen=True)
class PageStudy:
    """One paper's part of the page: what was run (facts, name to text), its claims, its sections.

    paper: title, authors and year (Markdown). glance: the first screen's part. keys: by the anchor
    of a section, the keys of the config that shape what it shows.
    """

    anchor: str
    title: str
    paper: str
    facts: Mapping[str, str]
    claims: Sequence[PageClaim]
    sections: Sequence[Section]
    glance: Glance | None = None
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """Contents of the page. timings: a bar for each rule. origins: by the name of a product or
    of the page's input, or by path. colophon: Markdown."""

    subtitle: str
    scale: str
    studies: Sequence[PageStudy]
    timings: Bars
    colophon: str
    origins: Mapping[str, Origin] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Counts of verdicts, for instance `Demo run, 37 claims: 3 reproduced, ...`."""
        counts = Counter(claim.verdict for study in self.studies for claim in study.claims)
        words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _CHIPS if counts[verdict])
        return f"{self.scale[:1].upper()}{self.scale[1:]} run, {counts.total()} claims: {words}"

    def origin(self, name: str) -> Origin | None:
        """The origin of an item: of the longest name in `origins` with which its own begins."""
        names = [known for known in self.origins if f"{name}_".startswith(f"{known}_")]
        return self.origins.get(max(names, key=len, default=""))


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
    names_of_study = {name for name in files if name.startswith(f"{study}_")}
    for kind, texts in (("title", titles), ("caption", captions)):
        missing = sorted(names_of_study - set(texts))
        if missing:
            raise ValueError(f"the report lacks the {kind} of {', '.join(missing)}")
    shown = [name for name in titles if name in names_of_study]
    return {name: PageFigure.read(files[name], titles[name], captions[name]) for name in shown}


def page_claims(
    study: str,
    verdicts: pd.DataFrame,
    published: pd.DataFrame,
    claims: Sequence[Claim],
    prices: Mapping[str, str],
) -> list[PageClaim]:
    """Join a study's verdicts (results/claims.csv) to what its paper claims (resources).

    prices: what it would take to test a claim, by its id. Raises KeyError for a verdict on a claim
    that is not listed.
    """
    criteria = {claim.id: claim.criterion for claim in claims}
    listed = published.astype(object).fillna("").set_index("id").to_dict("index")
    of_study = verdicts[verdicts["id"].str.startswith(f"{study}-")]
    return [
        PageClaim(
            **{name: row[name] for name in SHOWN},
            **{key: listed[row["id"]].get(key, "") for key in ("claim", "where", "published")},
            criterion=criteria[row["id"]],
            price=prices.get(row["id"], ""),
        )
        for row in of_study.astype(object).fillna("").to_dict("records")
    ]


def render_page(page: Page) -> str:
    """The whole HTML document, all text escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"inline": inline, "markdown": render, "whole": _whole}
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))
    template = environment.get_template("page.html.j2")
    return template.render(page=page, style=style, chips=_CHIPS, untested=NOT_TESTABLE)


def _whole(text: str) -> str:
    """A cell whose intervals and deviations aren't broken between lines."""
    return re.sub(r"\[.*?\]|± \S+", lambda match: match[0].replace(" ", NO_BREAK), text)
