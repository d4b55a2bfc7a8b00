"""results/report.html: the page that shows everything a run made."""

from pathlib import Path

import pandas as pd

from triptych.core.files import atomic_path
from triptych.core.job import job
from triptych.report.claims_rl import CRITERIA
from triptych.report.page import Page, page_claims, render_page
from triptych.report.page_rl import rl_sections
from triptych.report.scores import read_frames
from triptych.report.timings import read_provenance, timing_table, versions

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    jobs = read_provenance(list(Path(params.provenance).rglob("*.json")))
    captions = {Path(path).stem: Path(path).read_text(encoding="utf-8") for path in given.captions}
    page = Page(
        title=params.title,
        subtitle=params.subtitle,
        scale=params.scale,
        facts=params.facts,
        claims=page_claims(
            pd.read_csv(given.claims), pd.read_csv(given.published_claims), CRITERIA
        ),
        sections=rl_sections(
            figures=given.figures,
            captions=captions,
            table1=pd.read_csv(given.table1),
            scores=pd.read_csv(given.scores),
            latency=pd.read_csv(given.latency),
            latency_task=params.latency_task,
            layers=read_frames(given.layers),
            datasets=read_frames(given.datasets),
        ),
        timings=timing_table(jobs),
        versions=versions(jobs, params.packages),
        differences=Path(given.differences).read_text(encoding="utf-8"),
        colophon=Path(given.colophon).read_text(encoding="utf-8"),
    )
    with atomic_path(snakemake.output[0]) as temporary:
        temporary.write_text(render_page(page), encoding="utf-8")
