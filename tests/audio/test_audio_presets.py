"""Corpora that train as the paper did, Clotho alone, and the small copies: what rules are told."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from triptych.audio.experiments import training_of
from triptych.audio.inputs import DOWNLOADS, SOUND
from triptych.audio.workflow import Workflow
from triptych.core.config import check_config, merged, read_config

ROOT = Path(__file__).parents[2]


def config(*names: str, **changes: Any) -> dict[str, Any]:
    """The paper's config with pages laid over it, then `changes` of the audio study, checked."""
    pages = [ROOT / "config" / f"{name}.yaml" for name in ("paper", *names)]
    whole = merged(read_config(ROOT, pages), {"audio": changes})
    check_config({**whole, "scale": "custom"}, ROOT / "config" / "schema.yaml")
    return whole


def test_as_published_differs_from_leak_free_in_what_the_paper_did_otherwise(sources) -> None:
    workflow = Workflow(config("beyond"), sources)
    exclusions = workflow.exclusions
    assert (exclusions["as_published"], exclusions["leak_free"]) == ("none", "strict")
    for corpus in ("as_published", "leak_free", "challenge"):  # the authors' captions as published
        assert workflow.variations(corpus).endswith("captions/unfiltered.csv")
    assert workflow.variations("leaky").endswith("captions/variations.csv")
    for stage in ("pretraining", "finetuning"):
        one, other = (
            training_of(workflow.config, corpus, stage) for corpus in ("as_published", "leak_free")
        )
        assert one == {**other, "precision": "fp16"} and other["precision"] == "bf16"
    trained = {"exclude": "strict", "audiocaps_captions": "all", "precisions": ["bf16", "bf16"]}
    assert workflow.trained == trained


@pytest.mark.parametrize(("dataset", "parts"), [("audiocaps", 1), ("wavcaps", 15)])
def test_the_small_copies_are_unpacked_from_all_their_parts_in_order(
    sources, dataset: str, parts: int
) -> None:
    inputs = Workflow(config(sources={dataset: {"source": "mp3"}}), sources).inputs
    folder, places = f"{SOUND}/mp3/{dataset}", inputs.places(dataset)
    assert places.recordings == [folder] and places.sound == folder
    archives = inputs.archives(SimpleNamespace(kind="mp3", part=dataset))
    assert len(archives) == parts and archives == sorted(archives)
    assert all(archive.startswith(f"{DOWNLOADS}/mp3/") for archive in archives)
    name = archives[-1].rpartition("/")[2]
    assert re.fullmatch(inputs.downloaded_files, name)
    wildcards = SimpleNamespace(set="mp3", file=name)
    assert inputs.download("url")(wildcards).endswith(f"/download/{name}")
    # The lists come from where they always do.
    assert places.tables and all(table.endswith((".csv", ".json")) for table in places.tables)
