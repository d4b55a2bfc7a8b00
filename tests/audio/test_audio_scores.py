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
PUBLISHED = ["n-bert/clean/finetuned/gpt-seed0", "n-roberta/clean/finetuned/gpt-seed0"]
MAIN = dict(stage="finetuned", audio_model="n", text_model="bert", corpus="clean", captions="gpt")
TRUE = np.repeat(np.arange(CLIPS), CAPTIONS)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[dict]:
    return study(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def scores(runs) -> Scores:
    return score_runs(runs, MEMBERS, clips_table(), scenes_table())


def one(table: pd.DataFrame, **wanted: object) -> pd.Series:
    """The row of mAP@10 with these keys, of the evaluation split's whole unless they say other."""
    for key, value in (dict(metric="map_at_10", split="evaluation", subset="all") | wanted).items():
        table = table[table[key] == value]
    assert len(table) == 1, table
    return table.iloc[0]


def matrix_of(runs, labels, split) -> np.ndarray:
    """Mean similarities of the stored embeddings of runs."""
    folders = [Path(run["folder"]) for run in runs if run["run"] in labels]
    splits = [read_embeddings(folder / "embeddings.npz")[split] for folder in folders]
    return sum(similarities(split.text, split.audio) for split in splits) / len(labels)


def test_a_models_score_is_that_of_its_stored_embeddings_also_for_unseen_combinations(scores, runs):
    matrix = matrix_of(runs, PUBLISHED[:1], "evaluation")
    row = one(scores.metrics, **MAIN)
    assert row["value"] == pytest.approx(mean_average_precision(matrix, TRUE))
    assert row["low"] < row["value"] < row["high"]
    assert (row["queries"], row["clips"]) == (CLIPS * CAPTIONS, CLIPS)
    unseen = TRUE % 2 == 1
    row = one(scores.metrics, subset="unseen", **MAIN)
    expected = mean_average_precision(matrix[unseen], TRUE[unseen])
    assert (row["value"], row["queries"]) == (pytest.approx(expected), CLIPS * CAPTIONS // 2)


def test_ensembles_hold_gpt_models_and_are_chosen_on_validation_alone(scores, runs, tmp_path):
    members = scores.ensembles.groupby("name")["member"].agg(list)
    assert members["published"] == PUBLISHED
    row = one(scores.metrics, audio_model="selected", split="validation")
    mean = matrix_of(runs, members["selected"], "validation")
    assert row["value"] == pytest.approx(mean_average_precision(mean, TRUE))

    spoilt = []  # the same models, worthless on evaluation
    for run in runs:
        splits = read_embeddings(Path(run["folder"]) / "embeddings.npz")
        if "evaluation" in splits:
            splits["evaluation"].text[:] = splits["evaluation"].text[::-1]
        write_embeddings(tmp_path / run["run"] / "embeddings.npz", splits)
        spoilt.append(run | {"folder": str(tmp_path / run["run"])})
    again = score_runs(spoilt, MEMBERS, clips_table())
    pd.testing.assert_frame_equal(again.ensembles, scores.ensembles)


def test_the_sets_of_members_are_compared_with_the_listed_ensemble(scores):
    subsets = scores.subsets.set_index("members")
    listed = one(scores.metrics, system="ensemble", audio_model="published")
    single = one(scores.metrics, **MAIN)
    for members, row in ((" ".join(PUBLISHED), listed), (PUBLISHED[0], single)):
        assert subsets.loc[members, "map_at_10"] == pytest.approx(row["value"], abs=1e-6)
    assert list(subsets["place"]) == sorted(subsets["place"])
    assert len(subsets) == 3 + 1  # two members, one other pair
