"""The tidy tables of scores, from model folders with made-up embeddings."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from retrieval_runs import CAPTIONS, CLIPS, PAIRS, clips_table, scenes_table, study

from triptych.audio.embedding_files import read_embeddings, write_embeddings
from triptych.audio.scoring.metrics import mean_average_precision, similarities
from triptych.audio.scoring.scores import Scores, score_runs

MEMBERS = [list(PAIRS[0]), list(PAIRS[2])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def runs(folder) -> list[dict]:
    return study(folder)


@pytest.fixture(scope="module")
def scores(runs) -> Scores:
    return score_runs(runs, MEMBERS, clips_table(), scenes_table())


def one(table: pd.DataFrame, **wanted: object) -> pd.Series:
    for key, value in wanted.items():
        table = table[table[key] == value]
    assert len(table) == 1, table
    return table.iloc[0]


MAIN = dict(stage="finetuned", audio_model="n", text_model="bert", corpus="clean", captions="gpt")
ALL = dict(split="evaluation", subset="all")


def test_a_models_score_is_that_of_its_stored_embeddings(scores, runs):
    split = read_embeddings(Path(runs[3]["folder"]) / "embeddings.npz")["evaluation"]
    matrix = similarities(split.text, split.audio)
    row = one(scores.metrics, metric="map_at_10", **MAIN, **ALL)
    true = np.repeat(np.arange(CLIPS), CAPTIONS)
    assert row["value"] == pytest.approx(mean_average_precision(matrix, true))
    assert row["low"] < row["value"] < row["high"]
    assert (row["queries"], row["clips"]) == (CLIPS * CAPTIONS, CLIPS)


def test_queries_of_unseen_combinations_are_scored_apart(scores, runs):
    split = read_embeddings(Path(runs[3]["folder"]) / "embeddings.npz")["evaluation"]
    matrix = similarities(split.text, split.audio)
    true = np.repeat(np.arange(CLIPS), CAPTIONS)
    unseen = true % 2 == 1
    row = one(scores.metrics, metric="map_at_10", **MAIN, **(ALL | {"subset": "unseen"}))
    expected = mean_average_precision(matrix[unseen], true[unseen])
    assert (row["value"], row["queries"]) == (pytest.approx(expected), CLIPS * CAPTIONS // 2)


def test_ensembles_hold_gpt_models_and_are_chosen_on_validation_alone(scores, runs, folder):
    published = scores.ensembles.query("name == 'published'")
    assert published["member"].tolist() == [
        "n-bert/clean/finetuned/gpt-seed0",
        "n-roberta/clean/finetuned/gpt-seed0",
    ]
    row = one(
        scores.metrics,
        audio_model="selected",
        metric="map_at_10",
        **(ALL | {"split": "validation"}),
    )
    labels = scores.ensembles.query("name == 'selected'")["member"].tolist()
    folders = {run["run"]: Path(run["folder"]) for run in runs}
    splits = [read_embeddings(folders[label] / "embeddings.npz")["validation"] for label in labels]
    mean = sum(similarities(split.text, split.audio) for split in splits) / len(splits)
    true = np.repeat(np.arange(CLIPS), CAPTIONS)
    assert row["value"] == pytest.approx(mean_average_precision(mean, true))

    spoilt = []  # the same models, worthless on evaluation
    for run in runs:
        path = folder / "spoilt" / run["run"]
        splits = read_embeddings(Path(run["folder"]) / "embeddings.npz")
        if "evaluation" in splits:
            splits["evaluation"].text[:] = splits["evaluation"].text[::-1]
        write_embeddings(path / "embeddings.npz", splits)
        spoilt.append(run | {"folder": str(path)})
    again = score_runs(spoilt, MEMBERS, clips_table())
    pd.testing.assert_frame_equal(again.ensembles, scores.ensembles)


def test_the_sets_of_members_are_compared_with_the_listed_ensemble(scores):
    listed = scores.subsets[(scores.subsets["removed"] + scores.subsets["added"]) == 0].iloc[0]
    row = one(scores.metrics, system="ensemble", audio_model="published", metric="map_at_10", **ALL)
    assert listed["map_at_10"] == pytest.approx(row["value"], abs=1e-6)
    assert list(scores.subsets["place"]) == sorted(scores.subsets["place"])
    alone = scores.subsets[scores.subsets["members"] == "n-bert/clean/finetuned/gpt-seed0"].iloc[0]
    single = one(scores.metrics, metric="map_at_10", **MAIN, **ALL)
    assert alone["map_at_10"] == pytest.approx(single["value"], abs=1e-6)
    assert len(scores.subsets) == 3 + 1  # two members, one other pair
