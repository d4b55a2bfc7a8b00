"""Shared by all rules: the checked config, digests of code, files, what is shown."""

import csv
import json
import os
import sys
from contextlib import nullcontext
from functools import cache

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

# This checkout's library, whatever is installed; planning hands it to every script by PYTHONPATH.
sys.path.insert(0, str(SOURCE / "workflow_scripts"))

from triptych.core.config import ConfigError, check_paths, with_prefix
from triptych.core.provenance import CodeChanged
from triptych.planning import RUNS, plan
from triptych.report.files import figure_files, table_files
from triptych.studies import NAMES

_READ = [workflow.main_snakefile, *workflow.configfiles]
try:
    PLANNED = plan(
        config,
        SOURCE,
        _READ,
        workflow.is_main_process,
        workflow.config_settings.config_args or [],
    )
except (ConfigError, CodeChanged) as error:
    raise WorkflowError(str(error))
config, SOURCES, SCALE, STUDIES, CODE, SHIPPED = PLANNED


resource_scopes:
    together="local",  # in each SLURM job


# Further attempts of the rules that download or train: two, or the profile's if more. On a cluster's
# node there are none: the next attempt would run inside the time limit of this one.
RETRIES = 0
if workflow.is_main_process:
    RETRIES = max(2, getattr(workflow.execution_settings, "retries", 0))
GPU = 1 if config["device"] == "cuda" else 0
# Limits, where neither a profile nor --resources, which replaces a profile's, has a number: a machine's
# GPU takes one job at a time; on a cluster, a group of jobs of seconds, which the plugin runs one after
# another, asks for the cores and memory of one of them and the minutes of all.
LIMITED = "gpu" if workflow.global_resources["_nodes"].value is None else "together"
if LIMITED not in workflow.global_resources:
    workflow.register_resource(LIMITED, 1)
# All cores, for rules that measure time. Snakemake lists and lints without --cores, too.
CORES = workflow.global_resources["_cores"].value or os.cpu_count()
# Title and files of each figure and table; rules/report.smk makes targets of them.
TARGETS = {}
# Entries of resources/sources.yaml that a target downloads.
ASKED = {name: study.downloads for name, study in STUDIES.items()}


def code(rule, methods=()):
    """A param: digests of a rule's script and of `methods`, modules or a function of wildcards."""
    script = f"{rule.replace('_', '/', 1)}.py"
    return lambda wildcards: CODE.digests(
        script, methods(wildcards) if callable(methods) else methods
    )


def asked(target):
    """Files that the first jobs of a target make, which ask for what it downloads, if anything."""
    return [f"results/inputs/{target}.csv"] if ASKED[target] else []


def cluster(minutes=15, mem_mb=4000):
    """Resources that a job asks a cluster for at the papers' scale on an A40, about twice what
    resources/costs.csv says: as often as much at its next attempt, and four days at most.
    No profile has defaults of these: --default-resources would replace them all.
    """
    return {
        "mem_mb": lambda wildcards, attempt: mem_mb * attempt,
        "runtime": lambda wildcards, attempt: min(minutes * attempt, 4 * 24 * 60),
        "together": 1,
    }


def shipped(name):
    """A file of the repository, by its path there."""
    return local(f"{SHIPPED}{name}")


def is_made(path):
    """Whether a rule makes a file; the rules of other workflows come after those of a module."""
    return any(rule.is_producer(path) for rule in workflow.rules)


@cache
def check_module_paths():
    """Refuse a config's path at which there is nothing, as jobs are planned: Snakemake would use
    what was made of an earlier input.
    """
    try:
        if workflow.is_main_process:
            check_paths(config, SOURCE, is_made)
    except ConfigError as error:
        refuse(error)


def refuse(error):
    """End while jobs are planned. Snakemake goes on after any Exception of an input function where
    the file is there that the job would make.
    """
    sys.exit(f"WorkflowError:\n{error}")


def after_check(paths):
    """An input function, which first looks at the paths of the config."""
    return lambda wildcards: check_module_paths() or paths(wildcards)


def stated(study):
    """What a paper states, which its judges read: its values and published numbers."""
    numbers = sorted((SOURCE / "resources/published").glob(f"{study}_*.csv"))
    return [
        shipped(f"config/paper/{study}.yaml"),
        *(shipped(f"resources/published/{path.name}") for path in numbers),
    ]


def module_input(paths):
    """Input of three kinds, where the workflow is a module, too: made in results/, shipped, a user's."""
    if callable(paths):
        return after_check(lambda wildcards: module_input(paths(wildcards)))
    if not isinstance(paths, str):
        return [module_input(path) for path in paths]
    if paths.startswith("resources/") and (SOURCE / paths).exists():
        return shipped(paths)
    if paths.startswith("results/"):
        return paths
    if workflow.is_main_process and not (os.path.exists(paths) or is_made(paths)):
        refuse(f"the config names {paths}, where there is no file")
    return local(paths)


def prefix():
    """What a workflow that uses this one as a module puts before results/."""
    path, plain = str(rules.report_claims.output[0]), "results/claims.csv"
    if workflow.modifier.path_modifier.modifies_prefixes or not path.endswith(plain):
        raise WorkflowError(
            "module: replace_prefix moves outputs, but not the paths in params; write "
            'prefix: "some/folder" instead, which moves all that is made'
        )
    return path.removesuffix(plain)


def module_param(value):
    """A param whose paths below results/ get a module's prefix. Its functions take no `output`:
    Snakemake would rerun nothing when the value changes."""

    def prefixed(wildcards):
        known = value(wildcards) if callable(value) else value
        return with_prefix(known, prefix(), dict(wildcards.items()))

    return prefixed


def temp_unless(keep, file):
    """A file that is deleted after its last use unless `keep`."""
    return file if keep else temp(file)


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


def lacked(wildcards):
    """When a file was last found missing or its server busy, or "": a later run asks again."""
    path = Path(f"{prefix()}results/inputs/{wildcards.asked}.csv")
    with path.open(newline="") if path.exists() else nullcontext([]) as lines:
        lacking = any(row["problem"] for row in csv.DictReader(lines))
    return str(path.stat().st_mtime) if lacking else ""


def show_missing():
    """Print what a run has not made, and why, and write a page of what it has, in the page's
    environment."""
    jobs = [job for job in workflow.dag.needrun_jobs() if job.output]
    listed = [
        {
            "rule_name": job.rule.name,
            "benchmark": job.benchmark and str(job.benchmark),
            "threads": 1,
            "resources": {},
            "wildcards": dict(job.wildcards.items()),
            **{n: [*map(str, getattr(job, n))] for n in ("input", "output", "log")},
        }
        for job in jobs
    ]
    listing = Path(".snakemake/triptych/missing.json")
    listing.parent.mkdir(parents=True, exist_ok=True)
    listing.write_text(json.dumps({"jobs": listed, "runs": RUNS}))
    with_conda = (
        DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
    )
    pages = (
        [job for job in jobs if job.rule.name == "report_page"] if with_conda else []
    )
    address = pages[0].conda_env.address if pages else None
    shell(
        "{python} -m triptych.apps.missing {listing} || echo 'What is missing, and why: "
        "triptych plan --missing, with the --configfile of this run' || true",
        python="python" if address else sys.executable,
        conda_env=address,
    )
