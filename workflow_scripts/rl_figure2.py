"""Figure 2: score against sparsity, GraSP, with the numbers that it draws."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures import sparsity_figure
from triptych.report.scores import read_frames, run_scores, summarise_scores
from triptych.report.style import save_figure
from triptych.report.tables import with_cells

with job(snakemake):
    evaluations = read_frames(snakemake.input.scores)
    behaviour = read_frames(snakemake.input.datasets)
    svg, _, _, numbers = snakemake.output
    summary = summarise_scores(run_scores(evaluations, snakemake.params.last_evaluations))
    summary = summary[summary["method"] != "snip"]
    save_figure(sparsity_figure(summary, behaviour, "grasp"), Path(svg).with_suffix(""))
    unit = "D4RL-normalised score"
    write_csv(with_cells(summary, unit=unit, scale=snakemake.params.scale), numbers)
