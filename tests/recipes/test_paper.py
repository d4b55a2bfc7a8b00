"""A fourth paper added as CONTRIBUTING.md says is everywhere that the others are."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import warm
from recipes import follow, keep_alone
from tiny_checkout import ROOT, copy_checkout

pytestmark = pytest.mark.slow

FOURTH = Path(__file__).parent / "fourth"
NEW = sorted(str(path.relative_to(FOURTH)) for path in FOURTH.rglob("*") if path.is_file())
NEW = [name for name in NEW if "__pycache__" not in name]


def python(checkout, *arguments):
    """A warm Python in a checkout, with its library; stdout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout.root / "workflow_scripts")}
    return subprocess.run(
        [*warm.COMMAND, *arguments],
        cwd=checkout.root,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def add_paper(checkout):
    """Copy its files and do what the recipe says. Returns the existing files that it touches."""
    assert not [name for name in NEW if (ROOT / name).exists()]
    shutil.copytree(FOURTH, checkout.root, dirs_exist_ok=True)
    return {name for name, new in follow("A paper", checkout.root).items() if not new}


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """The checkout with four papers, in which the fourth has run."""
    checkout = copy_checkout(tmp_path_factory.mktemp("fourth"))
    shutil.copy(ROOT / "config.yaml", checkout.root)
    touched = add_paper(checkout)
    checkout.snakemake("needle", config=None)
    return checkout, touched


def test_one_existing_file_is_touched_and_its_products_made(added):
    checkout, touched = added
    assert len(touched) == 1
    assert (checkout.root / "results/figures/needle_figure1.svg").stat().st_size > 100
    # The scale's label: a demo of four papers is the shipped one.
    assert set(pd.read_csv(checkout.root / "results/tables/needle_table1.csv")["scale"]) == {"demo"}


def test_page_claims_and_manifest_wait_for_it(added):
    jobs = added[0].jobs("all", "--forceall", config=None)
    inputs = {job["rule_name"]: {*job["input"]} for job in jobs}
    assert "results/claims/needle.csv" in inputs["report_claims"]
    assert {
        "results/figures/needle_figure1.svg",
        "results/tables/needle_table1.html",
        "report/needle.md",
        "resources/published/needle_claims.csv",
    } <= inputs["report_page"]
    assert "results/tables/needle_table1.tex" in inputs["report_manifest"]


def test_the_plan_counts_it_and_its_own_tests_run_with_the_others(added):
    (line,) = re.findall(r"^needle_throw.*", python(added[0], "-m", "triptych.cli", "plan"), re.M)
    assert "unknown" in line
    assert "1 passed" in python(added[0], "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")


def test_alone_its_page_claim_and_records_are_whole(tmp_path):
    """In a house with this one wing no study is known by name."""
    checkout = copy_checkout(tmp_path)
    add_paper(checkout)
    keep_alone(checkout.root, "needle")
    checkout.snakemake(config=None)
    page = (checkout.root / "results" / "report.html").read_text()
    for shown in ("Pi by throwing needles", 'id="needle_figure1"', 'id="needle_table1"', "Buffon"):
        assert shown in page
    assert "needle-pi" in page and "within 0.05 of pi" in page
    claims = pd.read_csv(checkout.root / "results" / "claims.csv")
    assert claims[["id", "verdict"]].to_numpy().tolist() == [["needle-pi", "reproduced"]]
    assert "all as it was made" in python(checkout, "-m", "triptych.cli", "verify")
