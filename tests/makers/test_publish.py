"""What is published of a run: the manifest's tables, figures and rows of a study, unedited."""

import json
from pathlib import Path

import pytest

from makers.publish import publish
from triptych.core.errors import InputError
from triptych.report.manifest import read_manifest, read_records, write_manifest

FILES = {
    "results/tables/rl_scores.csv": "method,value\nsnip,1.0\n",
    "results/tables/rl_scores.md": "| snip | 1.0 |\n",
    "results/rl/hopper/paper/bc-paper/scores.csv": "episode,score\n",
    "results/rl/hopper/paper/bc-paper/layers.csv": "layer,kept\n",
    "results/tables/audio_table1.csv": "model,value\n",
    "results/figures/rl_curves.svg": "<svg/>",
    "results/figures/rl_curves.pdf": "%PDF",
    "results/claims.csv": "id,verdict\n",
}


CONFIG = {"device": "cpu", "style": {"contact": "anna@example.org"}}


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A whole run's results, its manifest last, and a file that no job made."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    record = {"rule": "rl_train", "inputs": [], "outputs": [*FILES], "attempts": [1.0]}
    Path("results/provenance").mkdir()
    Path("results/provenance/a.json").write_text(json.dumps(record))
    records = read_records("results/provenance")
    write_manifest("results/manifest.json", records, [*FILES], CONFIG, "overnight")
    Path("results/rl/hopper/scores.csv").write_text("from elsewhere")
    return Path("results")


def test_files_of_a_study_are_copied_and_nothing_else(results):
    names = publish(results, Path("night"), ["rl"], ["rl_curves"])
    copied = {path.relative_to("night").as_posix() for path in Path("night").rglob("*.*")}
    assert (
        copied
        == set(names)
        == {
            "manifest.json",
            "claims.csv",
            "tables/rl_scores.csv",
            "tables/rl_scores.md",
            "rl/hopper/paper/bc-paper/scores.csv",
        }
    )
    assert (Path("night") / "tables/rl_scores.md").read_text() == "| snip | 1.0 |\n"
    assert not [path for path in Path("night").rglob("*.*") if "anna@" in path.read_text()]
    assert read_manifest("night/manifest.json")["scale"] == "overnight"


@pytest.mark.parametrize("linked", ["results/rl/hopper/paper/bc-paper/scores.csv", "results/rl"])
def test_what_a_link_leads_to_is_not_copied(results, linked):
    Path(linked).rename("elsewhere")
    Path(linked).symlink_to(Path("elsewhere").resolve())
    with pytest.raises(InputError, match=r"bc-paper/scores\.csv: a link"):
        publish(results, Path("night"), ["rl"])
    assert not Path("night").exists()


def test_an_edited_run_a_folder_that_exists_and_large_files_are_refused(results, monkeypatch):
    Path("there").mkdir()
    with pytest.raises(InputError, match="there exists"):
        publish(results, Path("there"), ["rl"])
    monkeypatch.setattr("makers.publish.MOST_BYTES", 10)
    with pytest.raises(InputError, match="the largest"):
        publish(results, Path("night"), ["rl"])
    Path("results/tables/rl_scores.csv").write_text("edited")
    with pytest.raises(InputError, match=r"rl_scores\.csv"):
        publish(results, Path("night"), ["rl"])
    assert not Path("night").exists()
