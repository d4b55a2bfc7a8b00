"""results/report.html: the page that shows everything a run made."""

from pathlib import Path

import pandas as pd
import yaml

from triptych.core.files import atomic_path, read_frames
from triptych.core.job import job
from triptych.core.provenance import SOURCE
from triptych.report.jobs import origin_on_page, origins, time_by_rule
from triptych.report.manifest import of_this_run, read_records
from triptych.report.page import Page, PageStudy, page_claims, page_figures, render_page
from triptych.scale import deciding
from triptych.studies import page_files, studies

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    jobs = of_this_run(read_records(params.provenance), map(str, files))
    captions = {Path(path).stem: Path(path).read_text(encoding="utf-8") for path in files.captions}
    verdicts = pd.read_csv(files.claims)
    published = read_frames(files.published_claims)
    sources = yaml.safe_load(Path(files.sources).read_text("utf-8"))
    larger = deciding(params.scale, SOURCE, sources)
    parts = []
    by_name = origins(jobs)
    for name, study in studies().items():
        shown = page_files(name, files)
        settings = params.settings[name]
        inputs = {f"{name}_{key}": origin_on_page(paths, jobs) for key, paths in shown.items()}
        by_name = inputs | by_name
        parts.append(
            PageStudy(
                anchor=name,
                title=study.TITLE,
                paper=study.PAPER,
                facts=params.facts[name],
                claims=page_claims(name, verdicts, published, study.CLAIMS, larger),
                sections=study.sections(
                    shown, settings, page_figures(name, study.TITLES, files.figures, captions)
                ),
                glance=study.glance(shown, settings),
                keys=study.KEYS,
            )
        )
    page = Page(
        subtitle=params.subtitle,
        scale=params.scale,
        studies=parts,
        timings=time_by_rule(jobs),
        colophon=Path(files.colophon).read_text(encoding="utf-8"),
        origins=by_name,
    )
    with atomic_path(snakemake.output[0]) as temporary:
        temporary.write_text(render_page(page), encoding="utf-8")
