"""The audio study's experiment table, and the file of embeddings."""

import copy
import json

import numpy as np
import pytest

from triptych.audio.embedding_files import Split, read_embeddings, write_embeddings
from triptych.audio.experiments import audio_runs
from triptych.audio.training.runs import KEYS
from triptych.core.errors import InputError

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


def changed(**changes):
    return {**copy.deepcopy(CONFIG), **changes}


def labels(config=CONFIG):
    return {run["run"] for run in audio_runs(config)}


def test_the_runs_are_those_of_table_2_figure_2_and_section_4():
    assert labels() == {
        "n-bert/clean/pretrained",
        "n-roberta/clean/pretrained",
        "s-bert/clean/pretrained",
        "n-bert/clean/finetuned/gpt-seed3",
        "s-bert/clean/finetuned/gpt-seed3",
        *(f"n-roberta/clean/finetuned/{c}-seed{s}" for c in ("human", "gpt") for s in (3, 4, 5)),
        "n-roberta/dirty/pretrained",
        "n-bert/all/pretrained",
        "s-bert/all/pretrained",
        "n-roberta/all/pretrained",
        "n-bert/all/finetuned/gpt-seed3",
        "s-bert/all/finetuned/gpt-seed3",
        "n-roberta/all/finetuned/gpt-seed3",
        "n-roberta/all/finetuned/human-seed3",
    }


def test_a_replicated_corpus_has_the_rows_of_table_2_from_the_first_seed():
    corpora = {**CONFIG["corpora"], "theirs": {}}
    added = labels(changed(corpora=corpora, replicated="theirs")) - labels()
    assert added == {
        *(f"{pair}/theirs/pretrained" for pair in ("n-bert", "n-roberta", "s-bert")),
        *(f"{pair}/theirs/finetuned/gpt-seed3" for pair in ("n-bert", "n-roberta", "s-bert")),
        "n-roberta/theirs/finetuned/human-seed3",
    }
    with pytest.raises(ValueError, match=r"audio.replicated names 'ours'"):
        audio_runs(changed(replicated="ours"))


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
        ({"evaluated": "cleen"}, "audio.evaluated names 'cleen'.*clean, dirty, all"),
        ({"submitted": "x"}, "audio.submitted names 'x'"),
    ],
)
def test_an_unknown_name_is_told_with_its_key_and_the_allowed_values(changes, message):
    with pytest.raises(ValueError, match=message):
        audio_runs(changed(**changes))


def a_split(clips=3, queries=4, seed=0):
    random = np.random.default_rng(seed)
    names = np.array([f"clotho/validation/ {i}é.wav" for i in range(clips)], dtype=str)
    return Split(
        names,
        random.standard_normal((clips, 6)).astype(np.float32),
        np.array([f"caption {i}" for i in range(queries)], dtype=str),
        np.array([""] * queries, dtype=str),
        random.standard_normal((queries, 6)).astype(np.float32),
    )


def test_embeddings_are_read_as_they_were_written(tmp_path):
    splits = {"validation": a_split(), "challenge": a_split(2, 0, seed=1)}
    write_embeddings(tmp_path / "a.npz", splits)
    read = read_embeddings(tmp_path / "a.npz")
    assert list(read) == ["validation", "challenge"]
    for name, split in splits.items():
        for column in ("clips", "audio", "captions", "query_clips", "text"):
            expected, stored = getattr(split, column), getattr(read[name], column)
            np.testing.assert_array_equal(stored, expected)
            assert stored.dtype.kind == expected.dtype.kind


def test_a_file_that_holds_no_embeddings_is_told(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK nothing")
    np.savez(tmp_path / "b.npz", other=np.zeros(3))
    for name in ("a.npz", "b.npz", "absent.npz"):
        with pytest.raises(InputError, match="cannot be read as embeddings"):
            read_embeddings(tmp_path / name)
