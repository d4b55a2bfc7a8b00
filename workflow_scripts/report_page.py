"""results/report.html: the page that shows everything a run made."""

from pathlib import Path

import pandas as pd

from triptych.audio.report import claims as claims_audio
from triptych.audio.report.page import audio_sections
from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.core.files import atomic_path
from triptych.core.job import job
from triptych.present.manifest import of_this_run, read_records
from triptych.present.page import Page, Study, page_claims, render_page
from triptych.present.timings import job_table, timing_table, versions
from triptych.rl.report import claims as claims_rl
from triptych.rl.report.page import rl_sections
from triptych.rl.report.scores import read_frames
from triptych.style.report import claims as claims_style
from triptych.style.report.page import style_sections
from triptych.style.report.tables_beyond import read_variants

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    jobs = job_table(of_this_run(read_records(params.provenance), map(str, given)))
    captions = {Path(path).stem: Path(path).read_text(encoding="utf-8") for path in given.captions}
    verdicts = pd.read_csv(given.claims)
    published = pd.read_csv(given.published_claims)
    pictures = {"figures": given.figures, "captions": captions}
    style = style_sections(
        **pictures,
        table1=pd.read_csv(given.style_table1),
        breakeven=pd.read_csv(given.style_breakeven),
        targets=pd.read_csv(given.style_targets),
        scores=pd.read_csv(given.style_scores),
        stylised=read_frames(given.style_stylised_runs),
        parity=read_frames(given.style_parity),
        properties=read_variants(given.style_properties),
        videos=given.style_videos,
    )
    audio = audio_sections(
        **pictures,
        table1=pd.read_csv(given.audio_table1),
        table2=pd.read_csv(given.audio_table2),
        leaks=pd.read_csv(given.audio_leaks),
        beyond=pd.read_csv(given.audio_beyond),
        usage=pd.read_csv(given.audio_usage),
        clips=read_rows(given.audio_clips),
        study=AudioStudy.read(**params.audio_study),
    )
    rl = rl_sections(
        **pictures,
        table1=pd.read_csv(given.table1),
        scores=pd.read_csv(given.scores),
        latency=pd.read_csv(given.latency),
        latency_task=params.latency_task,
        layers=read_frames(given.layers).drop_duplicates(),  # some runs are trained and measured
        datasets=read_frames(given.datasets),
    )
    criteria = {
        "style": claims_style.CRITERIA,
        "audio": claims_audio.CRITERIA,
        "rl": claims_rl.CRITERIA,
    }
    studies = []
    for anchor, sections in (("style", style), ("audio", audio), ("rl", rl)):
        about = params.studies[anchor]
        of_study = verdicts[verdicts["id"].str.startswith(f"{anchor}-")]
        claims = page_claims(of_study, published, criteria[anchor])
        studies.append(
            Study(anchor, about["title"], about["paper"], about["facts"], claims, sections)
        )
    page = Page(
        title=params.title,
        subtitle=params.subtitle,
        scale=params.scale,
        studies=studies,
        timings=timing_table(jobs),
        versions=versions(jobs, params.packages),
        differences=Path(given.differences).read_text(encoding="utf-8"),
        colophon=Path(given.colophon).read_text(encoding="utf-8"),
    )
    with atomic_path(snakemake.output[0]) as temporary:
        temporary.write_text(render_page(page), encoding="utf-8")
