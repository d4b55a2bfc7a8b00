"""The papers' graph on sources that break: all else is made, and one list says what is missing."""

import csv
import re
import subprocess

import pytest
import warm
import yaml
from audio_inputs import make_audio_tables
from broken_sources import DOWN_TASK, GONE, MIRRORED_TASK, SMALL, break_sources
from run import clean_environment, copy_checkout, serving
from sources import make_rl, make_style, real_sources

from triptych.apps.listing import listed_jobs
from triptych.apps.plan import missing_page

REAL = {
    "report": ("inputs",),
    "rl": ("download", "prepare"),
    "style": ("download_picture", "prepare_content", "prepare_painting"),
    "audio": ("download", "unpack", "list_clotho", "caption"),
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
    assert "triptych plan --missing" in done.stdout + done.stderr
    return checkout


@pytest.mark.long  # a process for each job of the papers' graph
def test_all_that_can_be_made_is_made_and_one_list_says_what_is_missing_and_why(checkout):
    jobs = listed_jobs(checkout, overlays=[checkout / name for name in CONFIG])[0]
    page = missing_page(jobs, checkout)
    print(page)
    failed = dict(re.findall(r"^(\w+): (\S+)\n  .*Error", page, re.M))
    assert failed == {
        "rl_download": f"results/rl/{DOWN_TASK}/d4rl.hdf5",
        "audio_download": f"results/audio/downloads/mp3/{GONE}",
    }
    assert "again" not in page.splitlines()[-1]  # nothing else is left to be made
    assert "404" in page and SMALL in page and "pixels" in page
    for part in (f"results/rl/{MIRRORED_TASK}/transitions.safetensors", "results/tables/rl_table1"):
        assert part in page or list(checkout.glob(f"{part}*"))


@pytest.mark.long
def test_the_first_jobs_have_told_it(checkout):
    told = {}
    for path in (checkout / "results/inputs").glob("*.csv"):
        with path.open(newline="") as lines:
            told |= {row["file"]: row["problem"] for row in csv.DictReader(lines)}
    missing = {name for name, problem in told.items() if problem}
    assert missing == {f"{DOWN_TASK}_expert-v2", GONE}


@pytest.mark.long
def test_captions_that_break_the_rules_are_counted(checkout):
    with (checkout / "results/audio/captions/unfiltered.csv").open(newline="") as lines:
        assert len(list(csv.DictReader(lines))) > 0
