"""A target needs what it shows: dry runs at the paper's scale."""

import re

import pytest
import yaml
from tiny_checkout import ROOT, copy_checkout

from triptych.audio.workflow import Workflow
from triptych.core.config import read_config


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return copy_checkout(tmp_path_factory.mktemp("targets"))


@pytest.mark.parametrize(
    ("target", "pretrained", "finetuned"),
    [
        ("audio_table1", 0, 0),
        ("audio_figure2", 1, 1),
    ],
)
def test_a_target_trains_the_models_that_it_shows(checkout, target, pretrained, finetuned):
    text = checkout.snakemake(target, "--dry-run", config="config/paper.yaml")
    counts = dict(re.findall(r"^(audio_\w+)\s+(\d+)$", text, re.MULTILINE))
    jobs = [int(counts.get(f"audio_{stage}", 0)) for stage in ("pretrain", "finetune")]
    assert jobs == [pretrained, finetuned]


def test_figure_2_shows_six_finetunings_of_the_main_pair():
    sources = yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text())
    workflow = Workflow(read_config(ROOT, [ROOT / "config" / "paper.yaml"]), sources)
    runs = {(run["captions"], run["seed"]) for run in workflow.finetuned_main}
    assert runs == {(captions, seed) for captions in ("human", "gpt") for seed in (0, 1, 2)}
    assert {run["folder"].rsplit("/", 2)[0] for run in workflow.finetuned_main} == {
        "results/audio/models/passt_n-roberta_large/as_published"
    }
