"""A Snakemake executor that treats jobs as Kubernetes' does, on this machine.

Each job is the command that a pod would be given, run in an empty folder of its own: it finds
nothing but what the command itself fetches from the storage. One job at a time.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings, ExecMode

# As snakemake_executor_plugin_kubernetes and _aws_batch have them; the storage's plugin is in the
# environment, as in an image.
common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=True,
    job_deploy_sources=True,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    pass_envvar_declarations_to_cmd=False,
    auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=0,
)


class Executor(RemoteExecutor):
    """Runs a job where a pod would be created, and tells of it where the pod would be asked for."""

    def run_job(self, job):
        """Run the job's command in an empty folder."""
        with tempfile.TemporaryDirectory() as pod:
            done = subprocess.run(
                ["/bin/sh", "-c", self.format_job_exec(job)],
                cwd=pod,
                env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **self.envvars()},
                capture_output=True,
                text=True,
            )
        for name in ("stdout", "stderr"):
            with Path(f"pods.{name}").open("a") as log:
                log.write(getattr(done, name))
        info = SubmittedJobInfo(job, aux={"failed": done.returncode})
        self.report_job_submission(info)

    async def check_active_jobs(self, active_jobs):
        """Report every job, since all have ended."""
        for info in active_jobs:
            if info.aux["failed"]:
                self.report_job_error(info)
            else:
                self.report_job_success(info)
            continue
            yield info

    def cancel_jobs(self, active_jobs):
        """Do nothing: none is active."""

    def get_exec_mode(self):
        """A job's snakemake is told that it is remote."""
        return ExecMode.REMOTE
