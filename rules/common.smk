"""Shared by all: the checked config, code digests, a study as its rules ask for it, what is shown."""

import os
import sys
from importlib import import_module
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

# This checkout's library, for the rules here and, by PYTHONPATH, for every script, whatever may be
# installed in the environment: Snakemake itself would put it behind all installed packages.
sys.path.insert(0, str(SOURCE / "workflow_scripts"))

from triptych.core.config import ConfigError, check_config, merged
from triptych.core.imported import PLAN, python_path
from triptych.core.lease import SNAKEMAKE, this_process
from triptych.core.provenance import changed_since, planned_code, read_code, write_plan
from triptych.plan.records import KEPT, read
from triptych.plan.requests import Requests
from triptych.plan.scale import scale_of
from triptych.report.files import figure_files, table_files
from triptych.studies import NAMES

os.environ.update(PYTHONPATH=python_path())

# A folder's own config, a module's, or one on the command line says what differs from the demo's.
config = merged(yaml.safe_load((SOURCE / "config.yaml").read_text("utf-8")), config)

try:
    check_config(config, SOURCE / "config" / "schema.yaml")
    SCALE = scale_of(config, SOURCE)
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
    *(SOURCE / name for name in ("Snakefile", "config.yaml", "config/schema.yaml")),
    *sorted((SOURCE / "config" / "schema").glob("*.yaml")),
    *sorted((SOURCE / "rules").glob("*.smk")),
    SOURCE / "resources" / "sources.yaml",
    *(Path(file).resolve() for file in workflow.configfiles),
    *filter(Path.exists, [Path(workflow.main_snakefile)]),
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
    return _CODE.digests["{}/{}.py".format(*rule.split("_", 1))]


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


if workflow.storage_settings.default_storage_provider == "s3":
    # The plugin (0.3.6) names the local copies as before Snakemake put the wildcards' constraints in.
    from snakemake_storage_plugin_s3 import StorageObject

    StorageObject.local_suffix = lambda stored: stored.query.removeprefix("s3://")

# Snakemake moves the names of files below a module's prefix or into a storage, and not those that are
# local, nor what params name.
_moved = workflow.modifier.path_modifier.modify
_FROM = "" if SOURCE == Path.cwd() else f"{SOURCE}/"


def shipped(name):
    """A file of this repository: by its name where snakemake runs here, elsewhere by its whole path."""
    return local(f"{_FROM}{name}")


def found(asked):
    """Input files as a study names them: made in results/, shipped, or the user's own."""
    if callable(asked):
        return lambda wildcards: found(asked(wildcards))
    if not isinstance(asked, str):
        return [found(each) for each in asked]
    if asked.startswith("results/"):
        return asked
    if asked.startswith("resources/") and (SOURCE / asked).exists():
        return shipped(asked)
    return local(asked)


def made(value):
    """A value in params that names what jobs make, wherever in it."""
    if callable(value):
        return lambda wildcards: made(value(wildcards))
    if isinstance(value, dict):
        return {key: made(each) for key, each in value.items()}
    if isinstance(value, list):
        return [made(each) for each in value]
    named = isinstance(value, str) and value.startswith("results/")
    return str(_moved(value)) if named else value


SOURCES = yaml.safe_load(
    (SOURCE / "resources" / "sources.yaml").read_text(encoding="utf-8")
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

# All that there are, for rules that measure time. Without --cores Snakemake draws, lists and lints too.
CORES = workflow.global_resources["_cores"].value or os.cpu_count()

# What every job asks a scheduler for: memory and minutes, by its rule's name and wildcards.
REQUESTED = Requests(config, SOURCES, read(SOURCE / KEPT)).resources
