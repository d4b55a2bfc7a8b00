"""Corpora that train as the paper did, Clotho alone, and the small copies: what rules are told."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from triptych.audio.experiments import training_of
from triptych.audio.inputs import DOWNLOADS, SOUND
from triptych.audio.workflow import Workflow
from triptych.core.config import check_config, merged, read_config

ROOT = Path(__file__).parents[2]
SOURCES = yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text(encoding="utf-8"))
PAPER = ("config/paper.yaml",)
BEYOND = (*PAPER, "config/beyond.yaml")
CLOTHO = (*PAPER, "config/clotho.yaml")


def config(*names: str, **changes: Any) -> dict[str, Any]:
    """Pages of config laid over one another, then `changes` of the audio study."""
    return merged(read_config(ROOT, [ROOT / name for name in names]), {"audio": changes})


def test_as_published_differs_from_leak_free_in_what_the_paper_did_otherwise() -> None:
    workflow = Workflow(config(*BEYOND), SOURCES)
    assert workflow.exclusions["as_published"] == "none"
    assert workflow.exclusions["leak_free"] == "strict"
    for corpus in ("as_published", "leak_free", "challenge"):  # the authors' captions as published
        assert workflow.variations(corpus).endswith("captions/unfiltered.csv")
    assert workflow.variations("leaky").endswith("captions/variations.csv")
    for stage in ("pretraining", "finetuning"):
        one, other = (
            training_of(workflow.config, corpus, stage) for corpus in ("as_published", "leak_free")
        )
        assert {key for key in one if one[key] != other[key]} == {"precision"}
        assert (one["precision"], other["precision"]) == ("fp16", "bf16")
    assert workflow.claims[1]["trained"] == {
        "exclude": "strict",
        "audiocaps_captions": "all",
        "precisions": ["bf16", "bf16"],
    }
    assert workflow.study["replicated"] == "as_published"


def test_the_page_of_section_2_3_adds_a_twin_with_a_hidden_layer() -> None:
    whole = config(*CLOTHO, "config/projection.yaml")
    check_config(whole, ROOT / "config" / "schema.yaml")
    models = Workflow(whole, SOURCES).study["audio_models"]
    same = {key: value for key, value in models["passt_n"].items() if key != "label"}
    twin = {key: value for key, value in models["passt_n_mlp"].items() if key != "label"}
    assert twin == {**same, "projection_hidden": 1024} and same["projection_hidden"] == 0
    assert ["passt_n_mlp", "roberta_base"] in whole["audio"]["pairs"]


@pytest.mark.parametrize(("dataset", "parts"), [("audiocaps", 1), ("wavcaps", 15)])
def test_the_small_copies_are_unpacked_from_all_their_parts_in_order(
    dataset: str, parts: int
) -> None:
    whole = config(*PAPER, sources={dataset: {"source": "mp3"}})
    check_config({**whole, "scale": "custom"}, ROOT / "config" / "schema.yaml")
    inputs = Workflow(whole, SOURCES).inputs
    folder = f"{SOUND}/mp3/{dataset}"
    places = inputs.places(dataset)
    assert places.recordings == [folder] and places.sound == folder
    archives = inputs.archives(SimpleNamespace(kind="mp3", part=dataset))
    assert len(archives) == parts and archives == sorted(archives)
    assert all(each.startswith(f"{DOWNLOADS}/mp3/") for each in archives)
    name = archives[-1].rpartition("/")[2]
    assert re.fullmatch(inputs.downloaded_files, name)
    wildcards = SimpleNamespace(set="mp3", file=name)
    assert inputs.download("url")(wildcards).endswith(f"/download/{name}")
    # The lists come from where they always do.
    assert places.tables and all(each.endswith((".csv", ".json")) for each in places.tables)
