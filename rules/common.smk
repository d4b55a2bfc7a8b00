"""Shared by all rules: the checked config, digests of code, files, what is shown."""

import csv
import os
import sys
from contextlib import nullcontext
from functools import cache

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

# This checkout's library, whatever is installed; planning hands it to every script by PYTHONPATH.
sys.path.insert(0, str(SOURCE / "workflow_scripts"))

from triptych.apps.listing import Job
from triptych.apps.missing import missing_text
from triptych.core.config import ConfigError, check_paths, with_prefix
from triptych.core.job import own_rule
from triptych.core.provenance import CodeChanged
from triptych.planning import plan
from triptych.report.files import (
    figure_files,
    summary_files,
    table_files,
    title_and_caption,
)
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
# Minutes that a job of seconds asks a cluster for; a group asks for the sum.
SECONDS = 2
TEMPLATES = "workflow_scripts/triptych/report/templates"
GPU = 1 if config["device"] == "cuda" else 0
# Limits, where neither a profile nor --resources, which replaces a profile's, has a number: a machine's
# GPU takes one job at a time; on a cluster, a group of jobs of seconds, which the plugin runs one after
# another, asks for the cores and memory of one of them and the minutes of all.
LIMITED = "gpu" if workflow.global_resources["_nodes"].value is None else "together"
if LIMITED not in workflow.global_resources:
    workflow.register_resource(LIMITED, 1)
# All cores, for rules that measure time. Snakemake lists and lints without --cores, too.
CORES = workflow.global_resources["_cores"].value or os.cpu_count()
# Figures, tables and summaries by name; rules/report.smk makes a rule of each.
PRODUCTS = {}
PAGE_TEMPLATES = [
    "page.html.j2",
    "bars.html.j2",
    "figure.html.j2",
    "film.html.j2",
    "style.css",
]
# Files on the page that no product is: by study and kind, such as "style_films".
ON_PAGE = {}
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
    resources/costs.csv says: as often as much at its next attempt, and two days at most, a common
    limit of partitions, after which a training resumes.
    No profile has defaults of these: --default-resources would replace them all.
    """
    return {
        "mem_mb": lambda wildcards, attempt: mem_mb * attempt,
        "runtime": lambda wildcards, attempt: min(minutes * attempt, 2 * 24 * 60),
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


def product(files, name, params, priority, inputs, env="report", threads=1, gpu=0):
    """Declare what one script makes: a rule of this name, its target and its box in the rule graph.
    The docstring of workflow_scripts/<study>/<product>.py is title and caption, in which the
    config's values stand as in {{ rl.shown_sparsity }}. env: of envs/.
    """
    study, _, script = name.partition("_")
    title, caption = title_and_caption(
        SOURCE / f"workflow_scripts/{study}/{script}.py", config
    )
    first, *others = files(name)
    if not first.endswith(".html"):  # Snakemake's own report shows no parts of pages
        labels = dict(zip(("product", "shows"), title.rstrip(".").split(". ", 1)))
        first = report(first, category=NAMES[study], labels=labels)
    PRODUCTS[name] = {
        "files": [first, *others],
        "inputs": inputs,
        "params": {
            **params,
            "title": title,
            "caption": caption,
            "script": f"{study}/{script}.py",
        },
        "priority": priority,
        "env": env,
        "threads": threads,
        "resources": {**cluster(SECONDS), **({"gpu": gpu} if gpu else {})},
    }


def figure(name, params={}, priority=0, **inputs):
    """Declare a figure: svg, pdf, png, and the numbers that it draws as csv, in this order."""
    product(figure_files, name, params, priority, inputs)


def table(name, params={}, priority=0, env="report", threads=1, gpu=0, **inputs):
    """Declare a table: csv, md, tex, and html for the page, in this order."""
    shaped = {**inputs, "shape": shipped(f"{TEMPLATES}/table.html.j2")}
    product(table_files, name, params, priority, shaped, env, threads, gpu)


def summary(name, params={}, priority=0, **inputs):
    """Declare a study's part of the page's first screen: html."""
    shape = [
        shipped(f"{TEMPLATES}/{part}") for part in ("summary.html.j2", "bars.html.j2")
    ]
    product(summary_files, name, params, priority, {**inputs, "shape": shape})


def products_of(study):
    """The files of a study's products that are declared so far."""
    return sorted(
        str(file)
        for name, product in PRODUCTS.items()
        if name.startswith(f"{study}_")
        for file in product["files"]
    )


def products(study):
    """The files of all products of a study: an input function, since rules declare them later."""
    return lambda wildcards: products_of(study)


def claims_input(study):
    """An input function: the tables that a study's judges compare, by their names."""
    return lambda wildcards: {
        kind: module_input(files) for kind, files in STUDIES[study].claims.items()
    }


def page_input(studies):
    """Input of a page: what these studies show, their documents and claims, what papers state."""
    return {
        "shown": [
            next(
                str(file)
                for file in product["files"]
                if file.endswith((".svg", ".html"))
            )
            for name, product in PRODUCTS.items()
            if name.split("_")[0] in studies
        ],
        **{
            kind: module_input(files)
            for kind, files in ON_PAGE.items()
            if kind.split("_")[0] in studies
        },
        "documents": [shipped(f"report/{name}.md") for name in studies],
        "claims": [f"results/claims/{name}.csv" for name in studies],
        "stated": [file for name in studies for file in stated(name)],
        "sources": [shipped("resources/sources.yaml")],
        "colophon": [shipped("docs/colophon.md")],
        "templates": [shipped(f"{TEMPLATES}/{name}") for name in PAGE_TEMPLATES],
    }


def lacked(wildcards):
    """When a file was last found missing or its server busy, or "": a later run asks again."""
    path = Path(f"{prefix()}results/inputs/{wildcards.asked}.csv")
    with path.open(newline="") if path.exists() else nullcontext([]) as lines:
        lacking = any(row["problem"] for row in csv.DictReader(lines))
    return str(path.stat().st_mtime) if lacking else ""


def show_missing():
    """Print what a run has not made, and why."""
    jobs = [
        Job(
            own_rule(job.log[0]) if job.log else job.rule.name,
            tuple(map(str, job.input)),
            tuple(map(str, job.output)),
            benchmark="",
            log=str(job.log[0]) if job.log else "",
        )
        for job in workflow.dag.needrun_jobs()
        if job.output
    ]
    print(missing_text(jobs, Path()), file=sys.stderr)
