"""`triptych publish`: what others read of a run, small, whole and unedited."""

import json
from pathlib import Path

import pandas as pd
import pytest

from triptych import cli
from triptych.report.manifest import read_records, write_manifest

FILES = {
    "results/tables/rl_scores.csv": "method,value\nsnip,1.0\n",
    "results/tables/rl_scores.md": "**Scores.**\n\n| snip | 1.0 |\n",
    "results/rl/hopper/paper/bc-all/scores.csv": "episode,score\n",
    "results/rl/hopper/paper/bc-all/layers.csv": "layer,kept\n",
    "results/tables/audio_table1.csv": "model,value\n",
    "results/figures/rl_curves.svg": "<svg/>",
    "results/figures/rl_curves.pdf": "%PDF",
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    claims = {"id": ["rl-bc-95", "audio-map", "rl-bcq-95"]}
    claims["verdict"] = ["seen with substitutes", "undecided", "not testable at this scale"]
    claims |= {name: ["1.01", "", ""] for name in ("measured", "interval", "reason")}
    claims["seen"] = ["agrees, with other data", "", ""]
    pd.DataFrame(claims).to_csv("results/claims.csv", index=False)
    record = {"rule": "rl_train", "inputs": [], "outputs": [*FILES], "attempts": [7200.0]}
    record |= {"seconds": 7200.0, "peak_memory_bytes": 10**9, "device": "a processor"}
    Path("results/provenance").mkdir()
    Path("results/provenance/a.json").write_text(json.dumps(record))
    records = read_records("results/provenance")
    write_manifest("results/manifest.json", records, [*FILES], {"device": "cpu"}, "overnight")


def test_tables_figures_claims_hours_and_config_of_a_study_are_copied(run):
    about = ["--about", "BC, overnight."]
    assert cli.main(["publish", "results", "docs/night", "--study", "rl", *about]) == 0
    made = {str(path.relative_to("docs/night")) for path in Path("docs/night").rglob("*.*")}
    assert made == {
        *("README.md", "claims.csv", "config.yaml", "hours.md", "manifest.json"),
        *("tables/rl_scores.csv", "tables/rl_scores.md", "figures/rl_curves.svg"),
        "rl/hopper/paper/bc-all/scores.csv",
    }
    page = Path("docs/night/README.md").read_text()
    assert (
        "scale overnight" in page and "figures/rl_curves.svg" in page and "| snip | 1.0 |" in page
    )
    assert page.startswith("# night: a run at scale overnight\n\nBC, overnight.\n")
    assert "| rl-bc-95 | seen with substitutes: agrees, with other data | 1.01 |" in page
    assert "Not testable by this run: rl-bcq-95." in page and "| rl-bcq-95" not in page
    assert "audio-map" not in page
    hours = Path("docs/night/hours.md").read_text()
    assert "rl_train" in hours and "2 h 00 min" in hours and "a processor" in hours


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda: Path("results/tables/rl_scores.csv").write_text("edited"), "triptych verify"),
        (lambda: Path("night").mkdir(), "night exists"),
        (lambda: None, "--study poetry; allowed are"),
    ],
)
def test_an_edited_run_a_folder_that_exists_and_another_study_are_refused(run, capsys, spoil, said):
    spoil()
    arguments = ["--study", "poetry"] if "poetry" in said else []
    assert cli.main(["publish", "results", "night", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_more_than_a_repository_should_carry_is_refused_by_its_largest_files(run, capsys):
    name = "results/figures/rl_curves.svg"
    Path(name).write_bytes(bytes(6_000_000))
    records = read_records("results/provenance")
    write_manifest("results/manifest.json", records, [*FILES], {}, "overnight")
    assert cli.main(["publish", "results", "night"]) == 2
    assert "The largest: rl_curves.svg" in capsys.readouterr().err
    assert not Path("night").exists()
    assert cli.main(["publish", "results", "night", "--leave-out", "rl_curves"]) == 0
    assert Path("night/tables/rl_scores.csv").exists() and not Path("night/figures").exists()
