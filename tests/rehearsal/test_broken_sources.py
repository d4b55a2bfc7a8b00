"""The papers' graph on sources that break: all else is made, and one list says what is missing."""

import csv
import re
import subprocess

import pytest
import warm
import yaml
from audio_inputs import make_audio_tables
from broken_sources import (
    DOWN,
    DOWN_TASK,
    FAILED,
    GONE,
    HEIGHT,
    MIRRORED_TASK,
    SMALL,
    WIDTH,
    break_sources,
    lost_outputs,
)
from run import clean_environment, copy_checkout, serving
from sources import make_rl, make_style, real_sources

from triptych.apps.listing import ASKS, listed_jobs
from triptych.apps.missing import missing_text
from triptych.style.data.missing import missing_among, missing_reason

REAL = {
    "report": ("inputs",),
    "rl": ("download", "prepare"),
    "style": ("download_picture", "prepare_content", "prepare_painting"),
    "audio": ("download", "count", "unpack", "list_clotho", "caption"),
}
"""Scripts by study that read sources or what was read of them; the others leave empty outputs."""
EMPTY = """
from pathlib import Path

for output in map(Path, snakemake.output):
    output.parent.mkdir(parents=True, exist_ok=True)
    output.touch() if output.suffix or output.name == "Snakefile" else output.mkdir(exist_ok=True)
"""
CONFIG = ["config/paper.yaml", "config/rehearsal.yaml"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Where the papers' run has ended."""
    folder = tmp_path_factory.mktemp("broken")
    checkout, served = folder / "checkout", folder / "served"
    served.mkdir()
    copy_checkout(checkout)
    for script in (checkout / "workflow_scripts").glob("*/*.py"):
        if script.stem not in REAL.get(script.parent.name, ()) and script.parent.name in REAL:
            script.write_text(EMPTY)
    patience = checkout / "workflow_scripts/triptych/core/download.py"
    text = patience.read_text()
    patience.write_text(text.replace("wait_seconds: float = 2.0", "wait_seconds: float = 0.01"))
    with serving(served) as address:
        sources = real_sources()
        for make in (make_rl, make_style, make_audio_tables):
            sources |= make(served, address)[0]
        (served / "passt").write_bytes(b"weights")
        for entry in sources["audio"]["passt"]["files"].values():
            entry |= {"url": f"{address}/passt", "size": None}
        for entry in sources["audio"]["text_models"]["files"].values():
            model = served / entry["repository"] / "resolve" / entry["revision"]
            model.mkdir(parents=True)
            (model / "model.safetensors").write_bytes(b"weights")
        break_sources(sources, served)
        (checkout / "resources/sources.yaml").write_text(yaml.safe_dump(sources))
        options = ["--config", "scale=rehearsal", "--cores", "2", "--configfile", *CONFIG]
        command = [*warm.COMMAND, "-m", "snakemake", "all", *options]
        environment = {**clean_environment(), "HF_ENDPOINT": address}
        done = subprocess.run(
            command, cwd=checkout, env=environment, capture_output=True, text=True
        )
    assert done.returncode == 1
    assert "jobs are missing. Of them 2 failed" in done.stdout + done.stderr
    return checkout


@pytest.mark.long  # a process for each job of the papers' graph
def test_all_that_can_be_made_is_made_and_one_list_says_what_is_missing_and_why(checkout):
    overlays = [checkout / name for name in CONFIG]
    listed, _ = listed_jobs(checkout, overlays=overlays)
    asks = {job.outputs[0] for job in listed if job.rule == ASKS}  # they would ask again
    assert asks == {"results/inputs/audio.csv", "results/inputs/rl.csv"}
    jobs = [job for job in listed if job.rule != ASKS]
    everything = listed_jobs(checkout, "--forceall", overlays=overlays)[0]
    assert {job.outputs for job in jobs} == lost_outputs(everything)
    missing = {name for job in jobs for name in job.outputs}
    made = {name for job in everything for name in job.outputs} - missing
    assert all((checkout / name).exists() for name in made)
    assert not any((checkout / name).exists() for name in missing)
    assert f"results/rl/{MIRRORED_TASK}/d4rl.hdf5" in made
    page = missing_text(jobs, checkout)
    print(page)
    errors = re.findall(r"^(\w+): (\S+)\n((?:  .*\n?)+)", page, re.M)
    assert {rule: output for rule, output, _ in errors} == FAILED
    told = {rule: error for rule, _, error in errors}
    assert f"{DOWN}/{DOWN_TASK}.hdf5" in told["rl_download"]
    assert f"{DOWN}/mirror.hdf5" in told["rl_download"]
    assert "404" in told["audio_download"] and GONE in told["audio_download"]
    assert f"{len(jobs)} " in page.splitlines()[0]
    assert re.search(r"^Missing with them: .*audio_table2, .*rl_figure1, ", page, re.M)


@pytest.mark.long
def test_figure_8_is_told_to_lack_its_picture(checkout):
    for path in (f"downloads/{SMALL}", f"contents/{SMALL}.png"):
        reason = missing_reason(checkout / "results/style" / path)
        assert f"{WIDTH}x{HEIGHT}" in reason and "4032x2480" in reason
        assert reason in missing_text([], checkout)
    pictures = (checkout / "results/style/contents").glob("*.png")
    assert list(missing_among(pictures)) == [SMALL]


@pytest.mark.long
def test_the_first_jobs_have_told_it(checkout):
    told = {}
    for path in (checkout / "results/inputs").glob("*.csv"):
        with path.open(newline="") as lines:
            told |= {row["file"]: row["problem"] for row in csv.DictReader(lines)}
    missing = {name for name, problem in told.items() if problem}
    assert missing == {f"{DOWN_TASK}_expert-v2", GONE}
