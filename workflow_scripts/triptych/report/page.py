"""Build results/report.html: one file, no scripts, no requests."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from triptych.core.files import atomic_path, read_frames
from triptych.report.claims import (
    AGREES,
    DISAGREES,
    INCONCLUSIVE,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REHEARSAL,
    REPRODUCED,
    SEEN,
    UNDECIDED,
)
from triptych.report.document import Document, Item, read_document
from triptych.report.embedding import data_address, embedded
from triptych.report.files import Files
from triptych.report.jobs import Origin, origins, time_by_rule
from triptych.report.manifest import of_this_run, read_records
from triptych.report.markdown import inline
from triptych.report.summary import Bars
from triptych.report.tables import DASH
from triptych.report.templates import TEMPLATES, filled

WHOLE = "Three machine-learning papers, reproduced by one workflow. "
SUBTITLE = "What is called published is the papers'; every other number was computed by this run."
REHEARSED = "A rehearsal: every rule has run, on made-up inputs. No number below means anything."
LARGEST_VIDEO = 500_000  # bytes of a video that the page still holds
CHIPS = {
    REPRODUCED: "yes",
    NOT_REPRODUCED: "no",
    UNDECIDED: "seen",
    SEEN: "seen",
    NOT_TESTABLE: "open",
}
"""Looks of verdicts (style.css), in the order of counts; other marks look like SEEN."""
WAYS = {AGREES: "agree", DISAGREES: "disagree", INCONCLUSIVE: INCONCLUSIVE}
"""Directions of claims seen with substitutes, as they are counted."""


@dataclass(frozen=True)
class PageStudy:
    """One paper's part of the page: what was run (facts, name to text), its claims (as
    `page_claims` returns them), its part of the first screen and its document."""

    anchor: str
    facts: Mapping[str, str]
    claims: Sequence[Mapping[Any, Any]]
    summary: Markup
    document: Document


@dataclass(frozen=True)
class Page:
    """Contents of the page. timings: a bar for each rule. colophon: Markdown. whole: whether it
    shows all studies of the workflow."""

    subtitle: str
    scale: str
    studies: Sequence[PageStudy]
    timings: Bars
    colophon: str
    whole: bool = True

    @property
    def title(self) -> str:
        """Counts of verdicts, for instance `Demo run, 37 claims: 3 reproduced, ...`."""
        claims = [claim for study in self.studies for claim in study.claims]
        counts = Counter(claim["verdict"] for claim in claims)
        words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in CHIPS if counts[verdict])
        ways = Counter(str(claim["seen"]).partition(",")[0] for claim in claims if claim["seen"])
        of_seen = ", ".join(f"{ways[way]} {text}" for way, text in WAYS.items() if ways[way])
        words = words.replace(SEEN, f"{SEEN} ({of_seen})") if of_seen else words
        return f"{self.scale[:1].upper()}{self.scale[1:]} run, {counts.total()} claims: {words}"


def write_page(
    path: str | Path,
    files: Files,
    *,
    studies: Mapping[str, Mapping[str, str]],
    products: Mapping[str, tuple[str, str]],
    films: Mapping[str, str],
    values: Mapping[str, Any],
    criteria: Mapping[str, str],
    scale: str,
    whole: bool,
    provenance: str | Path,
) -> None:
    """Write the page of a run.

    files: the job's input. studies: facts of each. products: title and caption of each by its name.
    films: titles by path. values: for the documents, beside `films`. criteria: rule and
    needs of each claim, by its id. provenance: folder of the jobs' records.
    """
    jobs = of_this_run(read_records(provenance), chain.from_iterable(files.values()))
    by_name = origins(jobs)
    shown = {Path(file).stem: Path(file) for file in files["shown"]}
    items = {
        name: page_item(file, *products[name], by_name.get(name)) for name, file in shown.items()
    }
    items |= {film: film_item(film, title, by_name.get(film)) for film, title in films.items()}
    documents = {Path(file).stem: Path(file).read_text("utf-8") for file in files["documents"]}
    known = {**values, "films": [*films]}
    verdicts = read_frames(files["claims"])
    published = read_frames([file for file in files["stated"] if file.endswith("_claims.csv")])
    page = Page(
        subtitle=REHEARSED if scale == REHEARSAL else f"{WHOLE * whole}{SUBTITLE}",
        scale=scale,
        studies=[
            PageStudy(
                anchor=name,
                facts=facts,
                claims=page_claims(name, verdicts, published, criteria),
                summary=items[f"{name}_summary"].html if f"{name}_summary" in items else Markup(),
                document=read_document(documents[name], known, items),
            )
            for name, facts in studies.items()
        ],
        timings=time_by_rule(jobs),
        colophon=Path(files["colophon"][0]).read_text(encoding="utf-8"),
        whole=whole,
    )
    with atomic_path(path) as temporary:
        temporary.write_text(render_page(page), encoding="utf-8")


def render_page(page: Page) -> str:
    """The whole HTML document, all text escaped."""
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))
    return filled("page.html.j2", page=page, style=style, chips=CHIPS, untested=NOT_TESTABLE)


def page_item(path: Path, title: str, caption: str, origin: Origin | None = None) -> Item:
    """A figure's SVG, or a table as its job has laid it out."""
    if path.suffix == ".html":
        return Item("table", title, Markup(path.read_text(encoding="utf-8")), origin)
    html = filled(
        "figure.html.j2",
        name=path.stem,
        title=title,
        caption=caption,
        image=embedded(path),
        alternative=alternative_text(title, caption),
    )
    return Item("figure", title, Markup(html), origin)


def alternative_text(title: str, caption: str) -> str:
    """A figure's title without its number, and its caption's first sentence."""
    subject = re.sub(r"^(Figure \d+\.|Beyond the paper:) ", "", title)
    first = re.split(r"(?<=\.) ", str(inline(caption).striptags()))[0]
    return f"{subject[:1].upper()}{subject[1:]} {first}"


def film_item(path: str, title: str, origin: Origin | None = None) -> Item:
    """An MP4 that plays in the page; one of more than LARGEST_VIDEO bytes is named by its path."""
    file = Path(path)
    fits = file.stat().st_size <= LARGEST_VIDEO
    html = filled(
        "film.html.j2",
        name="_".join(["video", *file.parts[-3:-1]]),
        title=title,
        path=file.as_posix(),
        source=data_address(file.read_bytes(), "video/mp4") if fits else "",
    )
    return Item("film", title, Markup(html), origin)


def page_claims(
    study: str, verdicts: pd.DataFrame, published: pd.DataFrame, criteria: Mapping[str, str]
) -> list[dict[Any, Any]]:
    """Join a study's verdicts (results/claims.csv) to what its paper claims (resources).

    criteria: rule and needs of each claim, by its id. Returns a row a claim with the columns of
    both, criterion, and brief: measurements, or what a test of an untested claim would take. Raises
    KeyError for a verdict on an unlisted claim.
    """
    about = published.reindex(columns=["id", "claim", "where", "published"])
    of_study = verdicts[verdicts["id"].str.startswith(f"{study}-")]
    rows = of_study.merge(about, on="id", how="left").astype(object).fillna("").to_dict("records")
    for row in rows:
        brief = row["reason"] if row["verdict"] == NOT_TESTABLE else row["measured"]
        row["brief"] = brief or DASH
        row["criterion"] = criteria[row["id"]]
    return rows
