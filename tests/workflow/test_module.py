"""The printed module runs every rule of a demo in a folder whose name a shell would split."""

import json
import subprocess
import sys

import pytest
from tiny_checkout import COLD, write_module

from makers.publish import publish
from triptych.cli import main


@pytest.mark.long  # every rule once; .ci/run runs it
def test_the_printed_module_makes_verifies_plans_and_publishes_everything(
    tmp_path, monkeypatch, capsys
):
    study = write_module(tmp_path / "Anna's own study")
    study.snakemake(config=None, python=COLD)
    monkeypatch.chdir(study.root)
    made = study.root / "triptych" / "results"
    for path in (made / "provenance").rglob("*.json"):
        assert json.loads(path.read_text())["rule"] == path.relative_to(made).parts[1]
    assert main(["verify", "triptych/results"]) == 0
    assert main(["plan"]) == 0
    said = capsys.readouterr().out
    (total,) = [line for line in said.splitlines() if line.startswith("total ")]
    assert "unknown" not in said and int(total.split()[1]) > 80
    names = publish(made.relative_to(study.root), tmp_path / "published", ["rl", "audio"])
    assert {"claims.csv", "tables/rl_scores.csv", "tables/audio_table1.csv"} <= set(names)
    again = [sys.executable, "-m", "snakemake", "--cores", "2"]
    done = subprocess.run(again, cwd=study.root, capture_output=True, text=True)
    assert "Nothing to be done" in done.stdout + done.stderr
