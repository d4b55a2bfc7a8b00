"""The audio study's experiment table."""

import json

import pytest

from triptych.audio.experiments import audio_runs
from triptych.audio.training.runs import KEYS

CONFIG = {
    "audio_models": {"n": {}, "s": {}},
    "text_models": {"bert": {}, "roberta": {}},
    "pairs": [["n", "bert"], ["n", "roberta"], ["s", "bert"]],
    "main": ["n", "roberta"],
    "ensemble": {"members": [["n", "bert"], ["s", "bert"]]},
    "finetuning": {"seeds": [3, 4, 5]},
    "corpora": {"clean": {}, "dirty": {}, "all": {}},
    "evaluated": "clean",
    "leaky": "dirty",
    "submitted": "all",
}


def labels(**changes):
    return {run["run"] for run in audio_runs({**CONFIG, **changes})}


def test_the_runs_are_those_of_table_2_figure_2_and_section_4():
    stages = ("clean/pretrained", "clean/finetuned/gpt-seed3")
    stages += ("all/pretrained", "all/finetuned/gpt-seed3")
    assert labels() == {
        *(f"{pair}/{stage}" for pair in ("n-bert", "n-roberta", "s-bert") for stage in stages),
        *(f"n-roberta/clean/finetuned/{c}-seed{s}" for c in ("human", "gpt") for s in (3, 4, 5)),
        "n-roberta/dirty/pretrained",
        "n-roberta/all/finetuned/human-seed3",
    }


def test_a_replicated_corpus_has_the_rows_of_table_2_from_the_first_seed():
    corpora = {**CONFIG["corpora"], "theirs": {}}
    stages = ("pretrained", "finetuned/gpt-seed3")
    assert labels(corpora=corpora, replicated="theirs") - labels() == {
        *(f"{pair}/theirs/{s}" for pair in ("n-bert", "n-roberta", "s-bert") for s in stages),
        "n-roberta/theirs/finetuned/human-seed3",
    }


def test_every_run_has_its_own_keys_and_starts_from_an_earlier_row_of_its_pair_and_corpus():
    runs = audio_runs(CONFIG)
    assert len({tuple(run[key] for key in KEYS) for run in runs}) == len(runs)
    seen = {}
    for row in runs:
        if row["parent"]:
            parent = seen[row["parent"]]
            assert (parent["stage"], parent["pair"]) == ("pretrained", row["pair"])
            assert parent["corpus"] == row["corpus"]
        assert row["folder"] == "results/audio/models/" + row["run"]
        seen[row["folder"]] = row
    assert {run["pair"] for run in runs if run["main"]} == {"n-roberta"}
    assert json.loads(json.dumps(runs)) == runs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": [["n", "gpt2"]]}, r"audio.pairs names 'gpt2'.*text_models: bert, roberta"),
        ({"main": ["s", "roberta"]}, r"audio.main names .*audio.pairs: \['n', 'bert'\]"),
        ({"ensemble": {"members": [["s", "roberta"]]}}, "audio.ensemble.members"),
        ({"replicated": "ours"}, "audio.replicated names 'ours'"),
    ],
)
def test_an_unknown_name_is_told_with_its_key_and_the_allowed_values(changes, message):
    with pytest.raises(ValueError, match=message):
        audio_runs({**CONFIG, **changes})
