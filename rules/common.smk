"""Shared by all: the checked config, code digests, a study as its rules ask for it, what is shown."""

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# This checkout's library, for the rules here and, by PYTHONPATH, for every script, whatever may be
# installed in the environment.
sys.path.insert(0, str(SOURCE / "workflow_scripts"))

from triptych.core.config import (
    ConfigError,
    check_config,
    check_unique_keys,
    completed,
    placed,
    read_yaml,
)
from triptych.core.job_lock import SNAKEMAKE, this_process
from triptych.core.provenance import (
    RESUME,
    CodeChanged,
    link_to,
    planned_code,
    python_path,
)
from triptych.report.files import figure_files, table_files
from triptych.scale import scale_of
from triptych.studies import NAMES, workflows

os.environ.update(PYTHONPATH=python_path())

# A folder's own config, a module's, or one on the command line says what differs from the demo's,
# or with `base: papers` from the papers'.
config = completed(config, SOURCE)
SOURCES = read_yaml(SOURCE / "resources" / "sources.yaml")

# What a cluster's job reads again, hours later.
_READ = [
    *map(Path, [workflow.main_snakefile, *workflow.configfiles]),
    *(SOURCE / name for name in ("Snakefile", "config.yaml", "config/schema.yaml")),
    *sorted([*SOURCE.glob("config/*/*.yaml"), *SOURCE.glob("rules/*.smk")]),
    SOURCE / "resources" / "sources.yaml",
]
try:
    for _file in workflow.configfiles:
        check_unique_keys(Path(_file))
    check_config(config, SOURCE / "config" / "schema.yaml")
    SCALE = scale_of(config, SOURCE)
    # Each study's part of the config and of resources/sources.yaml, as its rules ask for it.
    WINGS = {
        name: module.Workflow(config, SOURCES) for name, module in workflows().items()
    }
    CODE = planned_code(_READ, workflow.is_main_process)
except (ConfigError, CodeChanged) as error:
    raise WorkflowError(str(error))
os.environ.update({SNAKEMAKE: this_process(), RESUME: config["resume"]})


def code(rule, methods=()):
    """A param: digests of what computes with a rule, its script and `methods` (core/provenance.py).

    methods: dotted modules that the job's rows name, or a function of wildcards.
    """
    script = f"{rule.replace('_', '/', 1)}.py"

    def digests(wildcards):
        return CODE.digests(
            script, methods(wildcards) if callable(methods) else methods
        )

    return digests


# What each figure and table says of itself, and its files; rules/report.smk makes them targets.
TARGETS = {}


def figure(name, product, shows, files=figure_files):
    """A figure's files as an output, the first of them shown in Snakemake's own report."""
    TARGETS[name] = f"{product}: {shows}.", files(name)
    caption, study = f"../resources/captions/{name}.rst", NAMES[name.split("_")[0]]
    labels = {"product": product, "shows": shows}
    first, *others = files(name)
    return [report(first, caption=caption, category=study, labels=labels), *others]


def table(name, product, shows):
    """A table's files as an output, the first of them shown in Snakemake's own report."""
    return figure(name, product, shows, table_files)


def kept(file, keep):
    """A file that is only a step towards others: deleted after its last use where it isn't kept."""
    return file if keep else temp(file)


# Snakemake knows inputs by their paths: elsewhere than in a checkout they begin with this link, so
# that another clone or wheel with the same files makes nothing stale.
SHIPPED = (
    "" if SOURCE == Path.cwd() else f"{link_to(SOURCE, '.snakemake/triptych/shipped')}/"
)


def shipped(name):
    """A file of this repository, by its path there."""
    return local(f"{SHIPPED}{name}")


def found(asked):
    """Input files as a study names them: made in results/, shipped, or the user's own."""
    if callable(asked):
        return lambda wildcards: found(asked(wildcards))
    if not isinstance(asked, str):
        return [found(each) for each in asked]
    if asked.startswith("resources/") and (SOURCE / asked).exists():
        return shipped(asked)
    return asked if asked.startswith("results/") else local(asked)


def made(value):
    """A value in params in which paths below results/ are this run's: below a module's prefix, too."""

    def named(wildcards):
        # A function of `output`, too, would be told it, but Snakemake reruns nothing for its values.
        prefix = str(rules.report_claims.output[0]).partition("results/")[0]
        asked = value(wildcards) if callable(value) else value
        return placed(asked, prefix, dict(wildcards.items()))

    return named


# Further attempts of the rules that download or train: two, or the profile's `retries`. On a cluster's
# node there are none: the next attempt would run inside the time limit of this one.
RETRIES = 0
if workflow.is_main_process:
    RETRIES = max(2, getattr(workflow.execution_settings, "retries", 0))

GPU = 1 if config["device"] == "cuda" else 0

# All that there are, for rules that measure time. Without --cores Snakemake draws, lists and lints too.
CORES = workflow.global_resources["_cores"].value or os.cpu_count()
