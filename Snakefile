"""Triptych: three machine-learning papers, reproduced by one workflow.

snakemake --cores 8 --use-conda             everything at the scale of config.yaml
snakemake --cores 8 --use-conda rl_table1   one table
snakemake --list-target-rules               the table of contents
"""

from snakemake.utils import min_version

min_version("9.0")


configfile: "config.yaml"


# Made from the Dockerfile; used with --software-deployment-method apptainer alone.
container: "triptych.sif"


include: "rules/common.smk"
include: "rules/rl_inputs.smk"
include: "rules/rl.smk"
include: "rules/rl_report.smk"
include: "rules/style_inputs.smk"
include: "rules/style.smk"
include: "rules/style_report.smk"
include: "rules/style_beyond.smk"
include: "rules/audio_inputs.smk"
include: "rules/audio.smk"
include: "rules/audio_report.smk"
include: "rules/report.smk"


rule all:
    """The report with every table, figure and claim: results/report.html."""
    default_target: True
    input:
        "results/report.html",
        "results/claims.csv",
        AUDIO.submissions,
        "results/manifest.json",


rule style:
    """Style transfer (Shen and Wang 2022): all its tables and figures."""
    input:
        STYLE.products,


rule audio:
    """Text-to-audio retrieval (Primus et al. 2023): its tables, figure, submissions, search page."""
    input:
        AUDIO.products,


rule rl:
    """Offline-RL pruning (Arnob et al. 2021): all its tables and figures."""
    input:
        RL.products,
