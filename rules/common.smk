"""What every rule file uses: the checked config, the experiment tables, code digests."""

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# This checkout's library, for the rules here and, by PYTHONPATH, for every script, whatever may be
# installed in the environment: Snakemake itself would put it behind all installed packages.
_LIBRARY = str(Path(workflow.basedir) / "workflow_scripts")
sys.path.insert(0, _LIBRARY)
os.environ["PYTHONPATH"] = _LIBRARY

from triptych.core.config import ConfigError, check_config
from triptych.core.provenance import code_digest
from triptych.rl.sweep import Grid, experiment_table, run_records

try:
    check_config(config, Path(workflow.basedir) / "config" / "schema.yaml")
except ConfigError as error:
    raise WorkflowError(str(error))


def code(rule):
    """Digest of a rule's script and all it imports; in params, it reruns the rule when that changes."""
    return code_digest(f"{rule}.py")


def figure_files(name):
    """The three formats of a figure, and the numbers that it draws."""
    return [f"results/figures/{name}.{kind}" for kind in ("svg", "pdf", "png")] + [
        f"results/tables/{name}.csv"
    ]


def table_files(name):
    """The three formats of a table."""
    return [f"results/tables/{name}.{kind}" for kind in ("csv", "md", "tex")]
