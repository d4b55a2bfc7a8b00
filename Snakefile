"""Triptych: three machine-learning papers, reproduced by one workflow.

snakemake --cores 8 --use-conda             everything at the scale of config.yaml
snakemake --cores 8 --use-conda rl_table1   one table
snakemake --list-target-rules               the table of contents
"""

from snakemake.utils import min_version

min_version("9.20.0")


include: "rules/source.smk"


# What a folder's own config.yaml says, or a clone's config/config.yaml, is laid over the demo's
# (rules/common.smk).
OWN_CONFIG = "config/config.yaml" if Path.cwd() == SOURCE else "config.yaml"
if Path(OWN_CONFIG).exists():

    configfile: OWN_CONFIG


# Made from the Dockerfile; used with --software-deployment-method apptainer alone.
container: "triptych.sif"


include: f"{SOURCE}/rules/common.smk"


for name in NAMES:

    include: f"{SOURCE}/rules/{name}.smk"


include: f"{SOURCE}/rules/report.smk"


rule all:
    """The report with every table, figure and claim: results/report.html."""
    default_target: True
    input:
        "results/report.html",
        "results/claims.csv",
        "results/manifest.json",
        [asked(name) for name in NAMES],


onerror:
    if workflow.is_main_process:
        show_missing()
