"""python planned_resources.py FILE [CONFIG ...]: all jobs of a config, in FILE.

FILE gets a JSON list, one entry a job: rule, whether it runs where snakemake does, the positions of
the jobs that it depends on, and how many GPUs it asks for.
"""

import json
import sys
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings


def planned(configs: list[Path]) -> list[dict]:
    with SnakemakeApi(OutputSettings(quiet=None)) as api:
        workflow_api = api.workflow(
            resource_settings=ResourceSettings(cores=8),
            config_settings=ConfigSettings(configfiles=configs),
            snakefile=Path("Snakefile"),
        )
        dag_api = workflow_api.dag(DAGSettings(forceall=True))
        workflow = dag_api.workflow_api._workflow  # no public call returns the DAG
        workflow._prepare_dag(forceall=True, ignore_incomplete=True, lock_warn_only=True)
        workflow._build_dag()
        jobs = [job for job in workflow.dag.jobs if job.rule.script]
        position = {job: number for number, job in enumerate(jobs)}
        return [
            {
                "rule": job.rule.name,
                "local": job.rule.name in workflow._localrules,
                "needs": [position[other] for other in workflow.dag.dependencies[job]],
                "gpu": dict(job.resources.items()).get("gpu", 0),
            }
            for job in jobs
        ]


if __name__ == "__main__":
    file, *configs = map(Path, sys.argv[1:])
    file.write_text(json.dumps(planned(configs)))
