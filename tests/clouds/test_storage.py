"""The offline-RL study of .test with its results in a bucket: the bytes of one on disk.

Run by `make clouds`, in an environment with the plugins; the bucket is moto's, on this machine.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_checkout import copy_checkout

boto3 = pytest.importorskip("boto3", reason="run by make clouds")
moto = pytest.importorskip("moto.server", reason="run by make clouds")

HERE = Path(__file__).parent
BUCKET, FOLDER = "your-bucket", "triptych"  # as the profiles have them
TABLES = [f"results/tables/rl_{name}.csv" for name in ("table1", "scores", "inputs", "figure3")]
KEYS = {"access_key": "somebody", "secret_key": "anything"}  # pragma: allowlist secret


@pytest.fixture(scope="module")
def address():
    """Where the server of buckets answers."""
    server = moto.ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(address):
    """An empty bucket."""
    aws = {"aws_access_key_id": KEYS["access_key"], "aws_secret_access_key": KEYS["secret_key"]}
    found = boto3.resource("s3", endpoint_url=address, region_name="us-east-1", **aws).Bucket(
        BUCKET
    )
    found.create()
    yield found
    found.objects.delete()
    found.delete()


def run(root, address, *arguments):
    """Run snakemake there with the bucket's keys, and return what it printed."""
    settings = {"endpoint_url": address, **KEYS}
    named = {f"SNAKEMAKE_STORAGE_S3_{name.upper()}": value for name, value in settings.items()}
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=root,
        env={**os.environ, **named, "PYTHONPATH": str(HERE)},  # where the executor for pods is
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert not done.returncode, done.stdout
    return done.stdout


STORED = ["rl", "--configfile", "tiny.yaml", "--default-storage-provider", "s3"]
STORED += ["--default-storage-prefix", f"s3://{BUCKET}/{FOLDER}"]


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    """The same study's tables, made without a storage."""
    checkout = copy_checkout(tmp_path_factory.mktemp("on_disk"))
    checkout.snakemake("rl")
    return {name: (checkout.root / name).read_bytes() for name in TABLES}


def stored(bucket):
    """The tables that the bucket holds."""
    return {name: bucket.Object(f"{FOLDER}/{name}").get()["Body"].read() for name in TABLES}


def test_results_in_a_bucket_are_those_on_disk_and_made_once(tmp_path, address, bucket, on_disk):
    root = copy_checkout(tmp_path).root
    run(root, address, *STORED, "--cores", "2")
    assert stored(bucket) == on_disk
    assert not (root / "results").exists()
    assert "Nothing to be done" in run(root, address, *STORED, "--cores", "2")


def test_jobs_in_empty_folders_find_all_they_need_in_the_bucket(tmp_path, address, bucket, on_disk):
    root = copy_checkout(tmp_path).root
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *command], cwd=root, check=True)  # of a clone all files are sent
    run(root, address, *STORED, "--executor", "pods", "--jobs", "1")
    assert stored(bucket) == on_disk


@pytest.mark.parametrize("profile", ["kubernetes", "aws-batch"])
def test_the_profiles_plan_every_job_of_the_demo(tmp_path, address, bucket, profile):
    root = copy_checkout(tmp_path).root
    text = run(root, address, "--dry-run", "--workflow-profile", f"profiles/{profile}")
    assert int(re.search(r"^total +(\d+)$", text, re.MULTILINE)[1]) > 70
    assert "This was a dry-run" in text and f"s3://{BUCKET}/{FOLDER}/results/report.html" in text
