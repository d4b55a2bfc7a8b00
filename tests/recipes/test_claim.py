"""A claim added as CONTRIBUTING.md says is predicted and judged as the others are."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from recipes import follow
from tiny_checkout import ROOT, copy_checkout

pytestmark = pytest.mark.slow
SHOW = """
import sys
sys.path.insert(0, "tests/report")
from paper_runs import claims, paper_run
from triptych.report.claims import predict
run = paper_run("rl")
print(*(claim.id for claim in claims("rl")))
print(predict(claims("rl"), run.plan("rl"))["rl-ours-half"].decided)
print(claims("rl")[0].rule)
print(run.verdicts("rl", "rl-ours-half")["rl-ours-half"])
"""


def test_a_claim_is_one_function(tmp_path):
    checkout = copy_checkout(tmp_path)
    touched = follow("A claim", checkout.root)
    assert not any(touched.values())
    shown = subprocess.run(
        [sys.executable, "-c", SHOW.replace('"tests/report"', f'"{ROOT}/tests/report"')],
        cwd=checkout.root,
        env={**os.environ, "PYTHONPATH": str(checkout.root / "workflow_scripts")},
        check=True,
        capture_output=True,
        text=True,
    )
    ids, decided, rule, verdict = shown.stdout.splitlines()
    listed = pd.read_csv(checkout.root / "resources/published/rl_claims.csv")
    assert ids.split() == list(listed["id"])
    assert decided == "yes"
    assert rule.endswith("is at least 0.9.")
    assert "verdict='reproduced'" in verdict and "Hopper SNIP" in verdict
