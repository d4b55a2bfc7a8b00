"""Shared by all: the checked config, code digests, a study as its rules ask for it, what is shown."""

import os
import sys
from importlib import import_module
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

# This checkout's library, for the rules here and, by PYTHONPATH, for every script, whatever may be
# installed in the environment: Snakemake itself would put it behind all installed packages.
_LIBRARY = str(Path(workflow.basedir) / "workflow_scripts")
sys.path.insert(0, _LIBRARY)
os.environ.update(PYTHONPATH=_LIBRARY)

from triptych.core.config import ConfigError, check_config
from triptych.core.imported import PLAN
from triptych.core.lease import SNAKEMAKE, this_process
from triptych.core.provenance import changed_since, planned_code, read_code, write_plan
from triptych.plan.records import KEPT, read
from triptych.plan.requests import Requests
from triptych.plan.scale import scale_of
from triptych.present.files import figure_files, table_files
from triptych.studies import NAMES

try:
    check_config(config, Path(workflow.basedir) / "config" / "schema.yaml")
    SCALE = scale_of(config, Path(workflow.basedir))
except ConfigError as error:
    raise WorkflowError(str(error))


onstart:
    # Snakemake's default limit, 100 starts of jobs a second, limits nothing here and costs much: each
    # job that ends leaves one more timer that has all waiting jobs looked at anew every second.
    limit = getattr(workflow.scheduler, "job_rate_limiter", None)
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


if workflow.is_main_process or PLAN not in os.environ:
    _CODE = read_code(memory=".snakemake/triptych/modules.json")
else:
    _CODE = planned_code(os.environ[PLAN])

# What a cluster's job reads again, hours later.
_READ = [
    *(Path(workflow.basedir, name) for name in ("Snakefile", "config/schema.yaml")),
    *sorted(Path(workflow.basedir, "config", "schema").glob("*.yaml")),
    *sorted(Path(workflow.basedir, "rules").glob("*.smk")),
    Path(workflow.basedir, "resources", "sources.yaml"),
    *(Path(file).resolve() for file in workflow.configfiles),
]
if workflow.is_main_process:
    os.environ[PLAN] = write_plan(".snakemake/triptych/plans", _CODE, _READ)
elif PLAN in os.environ and (_changed := changed_since(os.environ[PLAN], _READ)):
    raise WorkflowError(
        f"{', '.join(_changed)} was changed after Snakemake had read it for this run, so this job "
        "would not do what was planned. Nothing was written; run snakemake again."
    )
os.environ[SNAKEMAKE] = this_process()


def code(rule):
    """Digest of a rule's script and all it imports; in params, it reruns the rule when that changes."""
    return _CODE.digests[f"{rule}.py"]


# What each figure and table says of itself, and its files; rules/report.smk makes them targets.
TARGETS = {}


def figure(name, product, shows):
    """A figure's files as an output, the first of them shown in Snakemake's own report."""
    return _in_report(name, figure_files(name), product, shows)


def table(name, product, shows):
    """A table's files as an output, likewise."""
    return _in_report(name, table_files(name), product, shows)


def kept(file, keep):
    """A file that is only a step towards others: deleted after its last use where it isn't kept."""
    return file if keep else temp(file)


def _in_report(name, files, product, shows):
    TARGETS[name] = f"{product}: {shows}.", files
    category, labels = NAMES[name.split("_")[0]], {"product": product, "shows": shows}
    caption = f"../resources/captions/{name}.rst"
    first = report(files[0], caption=caption, category=category, labels=labels)
    return [first, *files[1:]]


SOURCES = yaml.safe_load(
    (Path(workflow.basedir) / "resources" / "sources.yaml").read_text(encoding="utf-8")
)


try:
    # Each study's part of the config and of resources/sources.yaml, as its rules ask for it.
    WINGS = {
        name: import_module(f"triptych.{name}.workflow").Workflow(config, SOURCES)
        for name in NAMES
    }
except ConfigError as error:
    raise WorkflowError(str(error))


# Rules that need the network have `localrule: True`: compute nodes often have none, so a cluster isn't
# asked, and they run where snakemake does.

# Further attempts of the rules that download or train: two, or the profile's `retries`. On a
# cluster's node there are none: Snakemake starts itself again there, with --retries 0, which a
# number in a rule overrides; the next attempt would run inside the time limit of this one, and
# believe that it had its own.
RETRIES = 0
if workflow.is_main_process:
    RETRIES = max(2, getattr(workflow.execution_settings, "retries", 0))

GPU = 1 if config["device"] == "cuda" else 0

# What every job asks a scheduler for: memory and minutes, by its rule's name and wildcards.
REQUESTED = Requests(config, SOURCES, read(Path(workflow.basedir) / KEPT)).resources
