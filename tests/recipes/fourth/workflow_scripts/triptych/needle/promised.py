"""Which claim a run of a config will decide."""

import pandas as pd
from triptych.needle import report
from triptych.needle.workflow import Workflow

from triptych.report.verdicts import Verdict


def foreseen(workflow: Workflow, on_gpu: bool) -> list[Verdict]:
    """The verdict on a run that has not begun: whether the claim will be decided, never how."""
    return [report.found(pd.DataFrame({"seed": workflow.config["seeds"], "pi": 3.0}))]
