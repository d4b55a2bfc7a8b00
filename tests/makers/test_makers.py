"""Each maker once, at its smallest, by makers/Snakefile."""

import json
import subprocess
from pathlib import Path

import pytest
import warm
import yaml

ROOT = Path(__file__).parents[2]
TINY = {
    "paintings": {"size": [32, 32]},
    "experts": {"hopper": {"steps": 4096}},
    "small": {
        "sounds": {"each": 1, "held_out": 1, "seconds": 0.5},
        "scenes": 128,
        "audio": {"segment_seconds": 1, "dim": 16, "width": 8},
        "text": {"hidden": 16},
        "model": {"projection": 8},
        "training": {"steps": 4, "batch": 16, "warmup": 1, "log_every": 2, "checkpoint_every": 2},
    },
}
MADE = ("style/paintings/ink.png", "experts/hopper.json", "audio/small/model.json")


def snakemake(snakefile, folder, config, *arguments):
    command = [*warm.COMMAND, "-m", "snakemake", "--snakefile", ROOT / snakefile, *arguments]
    subprocess.run([*command, "-d", folder, "--cores", "2", "--configfile", config], check=True)


@pytest.mark.slow
def test_each_maker_makes_its_files_laid_out_as_they_are_shipped(tmp_path):
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    made = [f"results/made/{name}" for name in MADE]
    snakemake("makers/Snakefile", tmp_path, tmp_path / "tiny.yaml", *made)
    folder = tmp_path / "results/made"
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    shipped = {path.relative_to(ROOT / "resources") for path in (ROOT / "resources").rglob("*")}
    assert set(files) <= shipped
    assert {str(name.parent) for name in files} == {"style/paintings", "experts", "audio/small"}
    assert json.loads((folder / "experts/hopper.json").read_text())["task"] == "hopper"


@pytest.mark.slow
def test_the_shipped_network_is_trained_by_the_workflow_itself(tmp_path):
    network = "results/style/networks/several_styles/plain/network.safetensors"
    folder = tmp_path / "networks"  # beside what the maker of photographs makes
    (tmp_path / "photographs").mkdir()
    snakemake("Snakefile", folder, ROOT / "makers/networks.yaml", network, "--dry-run", "--quiet")
