"""python planned_jobs.py CONFIG FILE TARGET...: the jobs that would make the targets, in FILE.

Run in a checkout. FILE gets a pickle: a list of `Snakemake` objects, those that Snakemake itself
would give to the jobs' scripts, each after those that it depends on.
"""

import pickle
import sys
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.iocontainers import Snakemake
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings


def planned_jobs(config: Path, targets: list[str]) -> list[Snakemake]:
    """The jobs, with a rule's name, as the scripts know it, in `rule`."""
    with SnakemakeApi(OutputSettings(quiet=None)) as api:
        workflow_api = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[config]),
            snakefile=Path("Snakefile"),
        )
        dag_api = workflow_api.dag(DAGSettings(targets=set(targets), forceall=True))
        # No public call returns the DAG.
        workflow = dag_api.workflow_api._workflow
        workflow._prepare_dag(forceall=True, ignore_incomplete=True, lock_warn_only=True)
        workflow._build_dag()
        jobs = [job for level in workflow.dag.toposorted() for job in sorted(level, key=str)]
        return [_as_given(job, workflow.config) for job in jobs if job.rule.script]


def _as_given(job, config) -> Snakemake:
    files = (job.input._plainstrings(), job.output._plainstrings())
    given = (job.params, job.wildcards, job.threads, job.resources, job.log._plainstrings())
    return Snakemake(*files, *given, config, job.rule.name, None, "workflow_scripts")


if __name__ == "__main__":
    config, file, *targets = sys.argv[1:]
    Path(file).write_bytes(pickle.dumps(planned_jobs(Path(config), targets)))
