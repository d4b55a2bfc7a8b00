"""Conda itself builds an environment; skipped where there is no conda."""

import json
import shutil
import subprocess

import pytest

conda = pytest.mark.skipif(shutil.which("conda") is None, reason="there is no conda here")


@conda
@pytest.mark.slow
def test_conda_builds_the_environment_of_the_downloads(fresh):
    target = "results/rl/hopper/d4rl.hdf5"
    fresh.snakemake(target, "--use-conda", "--conda-create-envs-only", config="config/paper.yaml")
    (made,) = (fresh.root / ".snakemake" / "conda").glob("*/bin/python")
    ask = "import json, sys, requests, tqdm; print(json.dumps([sys.prefix, requests.__version__]))"
    done = subprocess.run([made, "-I", "-c", ask], capture_output=True, text=True, check=True)
    prefix, version = json.loads(done.stdout)
    assert prefix == str(made.parents[1])
    assert f"requests=={version}" in (fresh.root / "envs" / "download.yaml").read_text()
