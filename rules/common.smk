"""Shared by all: the checked config, the experiment table, code digests, names of files."""

import os
import sys
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
from triptych.core.provenance import changed_since, read_code, write_plan
from triptych.core.scale import scale_of
from triptych.rl.sweep import run_records, runs_of

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


_CODE = read_code(memory=".snakemake/triptych/modules.json")

# What a cluster's job reads again, hours later.
_READ = [
    *(Path(workflow.basedir, name) for name in ("Snakefile", "config/schema.yaml")),
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


def figure_files(name):
    """The three formats of a figure, and the numbers that it draws."""
    return [f"results/figures/{name}.{kind}" for kind in ("svg", "pdf", "png")] + [
        f"results/tables/{name}.csv"
    ]


def table_files(name):
    """The three formats of a table."""
    return [f"results/tables/{name}.{kind}" for kind in ("csv", "md", "tex")]


def figure(name, category, product, shows):
    """A figure's files as an output, the first of them shown in Snakemake's own report."""
    return _in_report(name, figure_files(name), category, product, shows)


def table(name, category, product, shows):
    """A table's files as an output, likewise."""
    return _in_report(name, table_files(name), category, product, shows)


def _in_report(name, files, category, product, shows):
    labels = {"product": product, "shows": shows}
    caption = f"../resources/captions/{name}.rst"
    first = report(files[0], caption=caption, category=category, labels=labels)
    return [first, *files[1:]]


SOURCES = yaml.safe_load(
    (Path(workflow.basedir) / "resources" / "sources.yaml").read_text(encoding="utf-8")
)


RL = config["rl"]

for _grid in ("sweep", "measure"):
    if RL[_grid]["widths"] not in RL["widths"]:
        raise WorkflowError(
            f"config: rl.{_grid}.widths is {RL[_grid]['widths']!r}; "
            f"allowed is a name from rl.widths: {', '.join(RL['widths'])}"
        )

_evaluations = -(-RL["training"]["updates"] // RL["evaluation"]["every"])
if RL["evaluation"]["last"] > _evaluations:
    raise WorkflowError(
        f"config: rl.evaluation.last is {RL['evaluation']['last']}; allowed is at most "
        f"{_evaluations}, the evaluations that {RL['training']['updates']} updates with one "
        f"every {RL['evaluation']['every']} make"
    )

RL_RUNS = runs_of(RL)


# What is only measured, a table for each task.
RL_MEASURED = [
    RL_RUNS[(RL_RUNS["task"] == task) & ~RL_RUNS["trained"]] for task in RL["tasks"]
]


def rl_runs_of(task, networks, stack):
    """The rows of one stack, as plain records for params."""
    of_stack = (RL_RUNS[["task", "networks", "stack"]] == [task, networks, stack]).all(
        axis=1
    )
    if not of_stack.any():
        known = ", ".join(sorted(set(RL_RUNS["stack"])))
        raise WorkflowError(
            f"no runs of {task} with networks {networks} make a stack {stack!r}: with this config "
            f"(rl.sweep, rl.measure) stacks are {known}"
        )
    return run_records(RL_RUNS[of_stack])


def rl_runs(wildcards):
    return rl_runs_of(wildcards.task, wildcards.networks, wildcards.stack)


def rl_files(name, trained=None):
    """Paths of the file `name` of every stack, or only of those trained, or only measured."""
    table = RL_RUNS
    if trained is not None:
        table = table[table["trained"] == trained]
    stacks = table[["task", "networks", "stack"]].drop_duplicates()
    return [
        f"results/rl/{task}/{networks}/{stack}/{name}"
        for task, networks, stack in stacks.itertuples(index=False)
    ]


def rl_widths(wildcards):
    return RL["widths"][wildcards.networks]


def rl_facts():
    """What was run, for the head of the page."""
    trained, measured = RL["sweep"], RL["measure"]
    widths, full = RL["widths"][trained["widths"]], RL["widths"][measured["widths"]]

    def units(table):
        actor, critic = (
            "-".join(map(str, table[name])) for name in ("actor", "critic")
        )
        return f"actor {actor}, critic {critic}, VAE {table['vae']}-{table['vae']}"

    return {
        "Tasks": ", ".join(
            f"{task} ({RL['tasks'][task]['source']})" for task in RL["tasks"]
        ),
        "Trained runs": f"{int(RL_RUNS['trained'].sum())}, each scored as "
        + " and ".join(trained["algorithms"]),
        "Sparsities": ", ".join(f"{level}%" for level in trained["sparsities"]),
        "Seeds": ", ".join(map(str, trained["seeds"])),
        "Updates": f"{RL['training']['updates']:,} of batches of {RL['training']['batch']}",
        "Hidden units when trained": units(widths),
        "Hidden units when only pruned": units(full),
        "Evaluation": f"{RL['evaluation']['episodes']} episodes, mean of the last "
        f"{RL['evaluation']['last']} evaluations",
    }


# The one measured run whose speed is taken, and the stack that holds its mask.
RL_TIMED = RL_RUNS[
    (RL_RUNS["task"] == RL["latency"]["task"])
    & ~RL_RUNS["trained"]
    & (RL_RUNS["method"] == RL["latency"]["method"])
    & (RL_RUNS["sparsity_percent"] == RL["latency"]["sparsity"])
].head(1)

if RL_TIMED.empty:
    raise WorkflowError(
        f"config: rl.latency asks for {RL['latency']['method']} at {RL['latency']['sparsity']}% "
        f"on {RL['latency']['task']}; rl.tasks and rl.measure make no such mask"
    )


def rl_tasks_from(*sources):
    """A pattern for the tasks whose data come from one of these sources."""
    tasks = RL["tasks"].items()
    return "|".join(name for name, task in tasks if task["source"] in sources) or "none"


def rl_source(wildcards):
    """The HDF5 file of a task whose data are downloaded or the user's own."""
    task = RL["tasks"][wildcards.task]
    return task.get("path") or f"results/rl/{wildcards.task}/d4rl.hdf5"


def d4rl_file(key):
    """An entry's value for a task's file in resources/sources.yaml."""
    return lambda wildcards: SOURCES["d4rl"]["files"][f"{wildcards.task}_expert-v2"][
        key
    ]
