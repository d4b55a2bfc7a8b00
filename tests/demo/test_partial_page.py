"""The page of a demo of which one job had failed: of each study once."""

import json
import os
import re
import shutil
from functools import cache
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from triptych.apps.missing import show_missing
from triptych.apps.plan import planned_run
from triptych.studies import NAMES, studies

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
ERROR = "OSError: the share link is gone <404>"
FAILED = {
    "style": "results/style/optimize/backbones/runs.csv",
    "audio": "results/audio/captions/variations.csv",
    "rl": "results/rl/hopper/transitions.safetensors",
}
"""An output of the job that fails, by study."""

pytestmark = pytest.mark.skipif(
    not (RESULTS / "report.html").exists(), reason="there is no results/report.html: make demo"
)


@cache
def demo():
    return planned_run(ROOT, [])


def waiting_for(file):
    """The outputs of the job that made a file and of all after it, by the records of the run."""
    records = [json.loads(path.read_text()) for path in RESULTS.glob("provenance/**/*.json")]
    lost = {
        output for record in records if file in record["outputs"] for output in record["outputs"]
    }
    size = 0
    while size < len(lost):
        size = len(lost)
        for record in records:
            if any({name, *map(str, Path(name).parents)} & lost for name in record["inputs"]):
                lost |= {*record["outputs"]}
    return lost


@pytest.fixture(scope="module", params=NAMES)
def partial(request, tmp_path_factory):
    """Study, what waits for the failed job, and the page."""
    folder, file = tmp_path_factory.mktemp(request.param), FAILED[request.param]
    others = shutil.ignore_patterns("checkpoints", "leases", "cache", "report.html")
    shutil.copytree(RESULTS, folder / "results", copy_function=os.symlink, ignore=others)
    lost = waiting_for(file)
    for path in (folder / name for name in lost):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    jobs, config, source, scale = demo()
    jobs = [job for job in jobs if {*job.outputs} & lost]
    (failed,) = (job for job in jobs if file in job.outputs)
    log = folder / failed.log
    log.unlink()
    log.write_text(f"Traceback (most recent call last):\n  File x\n{ERROR}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        show_missing(jobs, [{"config": config, "source": str(source), "scale": scale}])
    page = (folder / "results" / "report-partial.html").read_text(encoding="utf-8")
    return request.param, lost, page


def test_what_was_made_is_shown_and_no_other(partial):
    _, lost, page = partial
    ids = set(re.findall(r' id="([^"]+)"', page))
    figures = {
        title
        for study in studies().values()
        for part in study.PARTS.values()
        for title in part.figures
    }
    drawn = {Path(name).stem for name in lost if name.startswith("results/figures")}
    assert (
        figures & ids
        == {name for name in figures if (RESULTS / f"figures/{name}.svg").exists()} - drawn
    )
    tables = {path.stem for path in RESULTS.glob("tables/*.md")}
    laid = {Path(name).stem for name in lost if name.endswith(".md")}
    whole = set(re.findall(r' id="([^"]+)"', (RESULTS / "report.html").read_text(encoding="utf-8")))
    assert tables & ids == tables & whole - laid


def test_what_is_missing_stands_in_its_place_and_in_one_list_with_the_failed_job_and_its_error(
    partial,
):
    study, lost, page = partial
    (gap,) = re.findall(
        r'<div class="gap">\s*<p>(.*?)</p>\s*<p>(.*?)</p>\s*<pre[^>]*>(.*?)</pre>\s*</div>',
        page,
        re.S,
    )
    products, job, error = map(unescape, gap)
    assert job.split(": ")[1] in lost and error == ERROR
    listed = set(products.split(", "))
    assert f"{study}_verdicts" in listed
    kinds = ("results/figures/", "results/tables/")
    assert {Path(name).stem for name in lost if name.startswith(kinds)} <= listed
    lines = dict(
        re.findall(r'<p class="missing"><strong>(.*?)</strong> is missing: (.*?)</p>', page)
    )
    assert f"{study}_verdicts" in lines
    titles = {unescape(title) for title in lines}
    for part in studies()[study].PARTS.values():
        for name, title in part.figures.items():
            is_lost = f"results/figures/{name}.svg" in lost
            assert (title.rstrip(".") in titles) == is_lost, name
    for reason in lines.values():
        assert unescape(reason) == f"{job.split(':')[0]} failed: {ERROR}"


def test_the_other_studies_have_their_verdicts(partial):
    study, _, page = partial
    judged = set(re.findall(r' id="claim-([^"]+)"', page))
    known = pd.concat(pd.read_csv(path) for path in RESULTS.glob("claims/*.csv"))["id"]
    assert judged == {claim for claim in known if not claim.startswith(f"{study}-")}
