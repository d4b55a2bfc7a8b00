"""results/report.html: one page that needs nothing but itself: no script, no request to a server.

Jinja escapes every value; only `markdown.render` and the style sheet, whose text is the project's
own, enter as markup.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from triptych.report.claims import (
    AGREES,
    DISAGREES,
    INCONCLUSIVE,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    SEEN,
    UNDECIDED,
)
from triptych.report.embedding import PAGE_WIDTH, data_address, embedded
from triptych.report.jobs import Origin
from triptych.report.markdown import inline, render
from triptych.report.summary import Bars, Summary
from triptych.report.tables import DASH, Table

TEMPLATES = Path(__file__).parent / "templates"

NO_BREAK = "\N{NO-BREAK SPACE}"
LARGEST_VIDEO = 500_000  # bytes of a video that the page still holds
_CHIPS = {
    REPRODUCED: "yes",
    NOT_REPRODUCED: "no",
    UNDECIDED: "seen",
    SEEN: "seen",
    NOT_TESTABLE: "open",
}
"""Looks of verdicts (style.css), in the order of counts; other marks look like SEEN."""
_WAYS = {AGREES: "agree", DISAGREES: "disagree", INCONCLUSIVE: INCONCLUSIVE}
"""Directions of claims seen with substitutes, as they are counted."""


@dataclass(frozen=True)
class PageFigure:
    """A figure with its number, caption (Markdown) and embedded picture. photographs: whether it
    shows images, whose colours must stay in a dark page."""

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
        return cls(Path(path).stem, title, caption, *embedded(path))

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
    missing: why the run lacks a product, by its title.
    """

    anchor: str
    title: str
    intro: str
    figures: Sequence[PageFigure] = ()
    tables: Sequence[Table] = ()
    videos: Sequence[PageVideo] = ()
    opened: Collection[str] | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    def items(self) -> Iterator[tuple[str, PageFigure | PageVideo | Table, bool]]:
        """Kind, item, and whether it is shown as soon as the part is."""
        kinds: dict[str, Sequence[PageFigure | PageVideo | Table]]
        kinds = {"figure": self.figures, "video": self.videos, "table": self.tables}
        for kind, items in kinds.items():
            for item in items:
                yield kind, item, not self.opened or item.name in self.opened


@dataclass(frozen=True)
class Part:
    """A section as its study describes it before any run: its text (Markdown), the keys of the
    config that shape it, its figures' titles by name, the layout of its tables by the study's file
    that they are of, and the names of what is shown at once."""

    title: str
    text: str
    keys: Sequence[str]
    figures: Mapping[str, str] = field(default_factory=dict)
    tables: dict[str, Callable[[pd.DataFrame], Table | Sequence[Table]]] = field(
        default_factory=dict
    )
    opened: Collection[str] = ()

    def laid_out(self, frames: Mapping[str, pd.DataFrame]) -> list[Table]:
        """Its tables of these frames, by the names of their files."""
        laid = [layout(frames[name]) for name, layout in self.tables.items() if name in frames]
        return [table for one in laid for table in ([one] if isinstance(one, Table) else one)]


def sections(
    parts: Mapping[str, Part],
    figures: Mapping[str, PageFigure],
    frames: Mapping[str, pd.DataFrame],
    *,
    videos: Mapping[str, Sequence[PageVideo]] = MappingProxyType({}),
    notes: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[Section]:
    """A study's sections, without those of which the run shows nothing.

    parts: by anchor. figures: of the run, by name. frames: of its files, by name. videos, notes
    (more paragraphs of the text): by the part's anchor.
    """
    shown = [
        Section(
            anchor=anchor,
            title=part.title,
            intro="\n\n".join([part.text, *notes.get(anchor, ())]),
            figures=[figures[name] for name in part.figures if name in figures],
            tables=part.laid_out(frames),
            videos=videos.get(anchor, ()),
            opened=part.opened,
        )
        for anchor, part in parts.items()
    ]
    return [section for section in shown if any(section.items())]


@dataclass(frozen=True)
class PageStudy:
    """One paper's part of the page: what was run (facts, name to text), its claims (as
    `page_claims` returns them), its sections.

    paper: title, authors and year (Markdown). glance: the first screen's part. keys: by the anchor
    of a section, the keys of the config that shape what it shows. missing: why the run lacks what
    belongs to no section, by its title.
    """

    anchor: str
    title: str
    paper: str
    facts: Mapping[str, str]
    claims: Sequence[Mapping[Any, Any]]
    sections: Sequence[Section]
    glance: Summary | None = None
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Gap:
    """Files that a run has not made for one reason.

    errors: of the failed jobs that they wait for, each by its rule and its first output; none where
    no job has failed.
    """

    files: Sequence[str]
    errors: Mapping[str, str]

    @property
    def reason(self) -> str:
        """Why the files are missing, in a line."""
        failed = [
            f"{job.partition(':')[0]} failed: {error.splitlines()[0]}"
            for job, error in self.errors.items()
        ]
        return "; ".join(failed) or "the run ended before it, and no job had failed"

    @property
    def products(self) -> list[str]:
        """The names of the figures, tables and other products among the files."""
        return sorted({product_name(file) for file in self.files if is_shown(file)})


def told(gaps: Sequence[Gap]) -> list[Gap]:
    """The gaps that a reader is told: those of products, and those of errors beside no product."""
    beside = {job for gap in gaps if gap.products for job in gap.errors}
    return [gap for gap in gaps if gap.products or gap.errors.keys() - beside]


def product_name(file: str) -> str:
    """The name of the figure, table or verdicts that a file is of; else its path in results/."""
    below = file.rpartition("results/")[2]
    if below.startswith("claims/"):
        return f"{Path(file).stem}_verdicts"
    return Path(file).stem if below.startswith(("figures/", "tables/")) else below


def is_shown(file: str) -> bool:
    """Whether a file is of those that people look at."""
    shown = ("figures/", "tables/", "claims/", "submissions/", "search.html")
    of_table = file.endswith(("/video.mp4", "/dataset.csv"))
    return of_table or file.rpartition("results/")[2].startswith(shown)


@dataclass(frozen=True)
class Page:
    """Contents of the page. timings: a bar for each rule. origins: by the name of a product or
    of the page's input, or by path. colophon: Markdown. gaps: what the run has not made; rest: a
    config that leaves it out (YAML), if one does."""

    subtitle: str
    scale: str
    studies: Sequence[PageStudy]
    timings: Bars
    colophon: str
    origins: Mapping[str, Origin] = field(default_factory=dict)
    gaps: Sequence[Gap] = ()
    rest: str = ""

    @property
    def title(self) -> str:
        """Counts of verdicts, for instance `Demo run, 37 claims: 3 reproduced, ...`."""
        counts = Counter(claim["verdict"] for study in self.studies for claim in study.claims)
        words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _CHIPS if counts[verdict])
        seen = [claim for study in self.studies for claim in study.claims if claim["seen"]]
        ways = Counter(str(claim["seen"]).partition(",")[0] for claim in seen)
        of_seen = ", ".join(f"{ways[way]} {text}" for way, text in _WAYS.items() if ways[way])
        words = words.replace(SEEN, f"{SEEN} ({of_seen})") if of_seen else words
        name = f"{self.scale[:1].upper()}{self.scale[1:]} run{', unfinished' if self.gaps else ''}"
        return f"{name}, {counts.total()} claims: {words or 'no verdict yet'}"

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
    """A study's figures among these, by name. Raises KeyError for one that has no title."""
    paths = {Path(path).stem: path for path in figures if Path(path).stem.startswith(f"{study}_")}
    return {
        name: PageFigure.read(path, titles[name], captions[name]) for name, path in paths.items()
    }


def page_claims(
    study: str,
    verdicts: pd.DataFrame,
    published: pd.DataFrame,
    criteria: Mapping[str, str],
    prices: Mapping[str, str],
) -> list[dict[Any, Any]]:
    """Join a study's verdicts (results/claims.csv) to what its paper claims (resources).

    criteria: rule and needs of each claim, by its id; prices: what it would take to test it.
    Returns a row a claim with the columns of both, criterion, and brief: measurements, or what a
    test of an untested claim would take. Raises KeyError for a verdict on an unlisted claim.
    """
    about = published.reindex(columns=["id", "claim", "where", "published"])
    of_study = verdicts[verdicts["id"].str.startswith(f"{study}-")]
    rows = of_study.merge(about, on="id", how="left").astype(object).fillna("").to_dict("records")
    for row in rows:
        needs = prices.get(row["id"]) or row["reason"]
        row["brief"] = (needs if row["verdict"] == NOT_TESTABLE else row["measured"]) or DASH
        row["criterion"] = criteria[row["id"]]
    return rows


def render_page(page: Page) -> str:
    """The whole HTML document, all text escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"inline": inline, "markdown": render, "told": told, "whole": _whole}
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))
    template = environment.get_template("page.html.j2")
    return template.render(page=page, style=style, chips=_CHIPS, untested=NOT_TESTABLE)


def _whole(text: str) -> str:
    """A cell whose intervals and deviations aren't broken between lines."""
    return re.sub(r"\[.*?\]|± \S+", lambda match: match[0].replace(" ", NO_BREAK), text)
