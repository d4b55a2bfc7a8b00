"""Needles at a glance."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.summary import Summary, write_summary

with job(snakemake):
    pi = read_frames(snakemake.input.table1)["value"].mean()
    shown = Summary("Needles were thrown on a ruled floor.", [(f"{pi:.3f}", "estimate of pi")])
    write_summary(shown, snakemake.output[0])
