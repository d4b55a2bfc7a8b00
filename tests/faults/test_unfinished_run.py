"""A run whose first job fails: what it prints at its end."""

import re

import pytest
import yaml
from tiny_checkout import TINY, copy_checkout

from triptych.core.config import merged

DATA = {"rl": {"tasks": {"hopper": {"source": "path", "path": "broken.hdf5"}}}}


@pytest.mark.slow
def test_a_run_that_ends_with_a_failed_job_says_what_is_missing(tmp_path):
    checkout = copy_checkout(tmp_path)
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(merged(TINY, DATA)))
    (tmp_path / "broken.hdf5").write_bytes(b"no HDF5")
    planned = {tuple(job["output"]) for job in checkout.jobs("all")}
    first = ("--prioritize", "results/rl/hopper/transitions.safetensors")
    said = checkout.snakemake("--workflow-profile", "none", *first, check=False, cores=1)
    (failed, error) = re.search(r"^(rl_prepare: \S+)\n  (.*)", said, re.M).groups()
    assert failed.endswith("transitions.safetensors") and "broken.hdf5" in error
    assert re.search(r"^Missing with them: .*rl_figure1, ", said, re.M)
    assert {tuple(job["output"]) for job in checkout.jobs("all")} == planned
