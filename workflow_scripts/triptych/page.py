"""The page of all studies: of a whole run, and of what there is of one whose jobs failed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from triptych.core.files import atomic_path, read_frames
from triptych.core.provenance import SOURCE
from triptych.report.claims import REHEARSAL
from triptych.report.files import Files
from triptych.report.jobs import origin_on_page, origins, time_by_rule
from triptych.report.manifest import of_this_run, read_records
from triptych.report.page import (
    Gap,
    Page,
    PageStudy,
    Part,
    Section,
    is_shown,
    page_claims,
    page_figures,
    product_name,
    render_page,
)
from triptych.scale import PAPER, deciding, shipped
from triptych.studies import criteria, page_files, studies

PARTIAL = "report-partial.html"
"""The page of an unfinished run, beside the whole one's place."""
SUBTITLE = (
    "Three machine-learning papers, reproduced by one workflow. What is called published is the "
    "papers'; every other number was computed by this run."
)
REHEARSED = "A rehearsal: every rule has run, on made-up inputs. No number below means anything."
UNFINISHED = "**This run is unfinished.** What it has not made is named, with the reason. "


def write_page(
    path: str | Path,
    files: Files,
    studies_run: Mapping[str, tuple[Mapping[str, str], Mapping[str, Any]]],
    scale: str,
    provenance: str | Path,
    gaps: Sequence[Gap] = (),
    rest: str = "",
) -> None:
    """Write the page of a run.

    files: `studies.page_input`, claims and colophon. studies_run: facts and settings of each study.
    provenance: folder of the jobs' records. gaps: what the run has not made, and why. rest: config
    (YAML) of a run without that.
    """
    lost = _lost(files, gaps)
    made = {name: [file for file in paths if file not in lost] for name, paths in files.items()}
    jobs = of_this_run(read_records(provenance), chain.from_iterable(made.values()))
    captions = {Path(file).stem: Path(file).read_text("utf-8") for file in files["captions"]}
    nothing = pd.DataFrame({"id": []}, dtype=str)
    verdicts = read_frames(made["claims"]) if made["claims"] else nothing
    published = read_frames(files["published_claims"])
    sources = yaml.safe_load(Path(files["sources"][0]).read_text("utf-8"))
    larger, rules = deciding(scale, SOURCE, sources), criteria(shipped(PAPER, SOURCE), sources)
    by_name, parts = origins(jobs), []
    for name, study in studies().items():
        facts, settings = studies_run[name]
        shown = page_files(name, made)
        by_name = {
            f"{name}_{key}": origin_on_page(paths, jobs) for key, paths in shown.items()
        } | by_name
        titles = {f: title for part in study.PARTS.values() for f, title in part.figures.items()}
        figures = page_figures(name, titles, made["figures"], captions)
        own = {*chain.from_iterable(page_files(name, files).values())}
        missing = _missing(name, study.PARTS, own, lost)
        parts.append(
            PageStudy(
                anchor=name,
                title=study.TITLE,
                paper=study.PAPER,
                facts=facts,
                claims=page_claims(name, verdicts, published, rules, larger),
                sections=_whole(study.sections(shown, settings, figures), study.PARTS, missing),
                glance=study.glance(shown, settings),
                keys={anchor: part.keys for anchor, part in study.PARTS.items()},
                missing=missing[""],
            )
        )
    page = Page(
        subtitle=(UNFINISHED if gaps else "") + (REHEARSED if scale == REHEARSAL else SUBTITLE),
        scale=scale,
        studies=parts,
        timings=time_by_rule(jobs),
        colophon=Path(files["colophon"][0]).read_text(encoding="utf-8"),
        origins=by_name,
        gaps=gaps,
        rest=rest,
    )
    with atomic_path(path) as temporary:
        temporary.write_text(render_page(page), encoding="utf-8")


def _lost(files: Files, gaps: Sequence[Gap]) -> dict[str, str]:
    """Why the run lacks each of these files that it has not made. Without gaps all are there."""
    reasons = {file: gap.reason for gap in gaps for file in gap.files}
    lost = {}
    for path in chain.from_iterable(files.values()):
        places = [place for place in (path, *map(str, Path(path).parents)) if place in reasons]
        if places or (gaps and not Path(path).exists()):
            lost[path] = reasons[places[0]] if places else "it was made, and is gone"
    return lost


def _missing(
    study: str, parts: Mapping[str, Part], own: Collection[str], lost: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Why the run lacks products of a study: by the anchor of their part, "" where they have none,
    and their title. own: the study's files. lost: reasons by file."""
    reasons = {
        name: reason
        for file, reason in lost.items()
        if is_shown(file) and ((name := product_name(file)).startswith(f"{study}_") or file in own)
    }
    missing = {}
    for anchor, part in parts.items():
        titles = {f"{study}_{table}": f"The table {study}_{table}" for table in part.tables}
        titles |= part.figures
        missing[anchor] = {
            title: reasons.pop(name) for name, title in titles.items() if name in reasons
        }
    return {**missing, "": reasons}


def _whole(
    sections: Sequence[Section],
    parts: Mapping[str, Part],
    missing: Mapping[str, Mapping[str, str]],
) -> list[Section]:
    """The sections, each with what it lacks, and those of which the run has made nothing."""
    made = {section.anchor: section for section in sections}
    return [
        replace(made.get(anchor) or Section(anchor, part.title, part.text), missing=missing[anchor])
        for anchor, part in parts.items()
        if anchor in made or missing[anchor]
    ]
