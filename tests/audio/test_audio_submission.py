"""The submission files, written and read back."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from retrieval_runs import PAIRS, clip_ids, study

from triptych.audio.embedding_files import Split, read_embeddings
from triptych.audio.scoring import submission
from triptych.audio.scoring.submission import submitted_systems, write_submissions

MEMBERS = [list(PAIRS[0]), list(PAIRS[2])]


@pytest.fixture(scope="module")
def systems(tmp_path_factory):
    return submitted_systems(study(tmp_path_factory.mktemp("models")), MEMBERS, "all")


def test_the_four_systems_are_those_of_section_4(systems):
    assert [[run["run"] for run in system] for system in systems] == [
        ["n-bert/all/finetuned/gpt-seed0", "n-roberta/all/finetuned/gpt-seed0"],
        ["n-bert/all/finetuned/human-seed0"],
        ["n-bert/all/finetuned/gpt-seed0"],
        ["n-bert/all/pretrained"],
    ]


def test_of_fewer_than_ten_clips_all_are_listed_and_the_rest_is_empty(tmp_path, monkeypatch):
    split = Split(
        np.array(["c/challenge/a.wav", "c/challenge/b.wav"]),
        np.eye(2, 3, dtype=np.float32),
        np.array(["rain"]),
        np.array([""]),
        np.array([[0.1, 1, 0]], np.float32),
    )
    monkeypatch.setattr(submission, "read_embeddings", lambda path: {"challenge": split})
    clips = pd.DataFrame({"clip": split.clips, "path": ["a.wav", "b.wav"]})
    write_submissions([({"folder": "x"},)], [tmp_path / "s.csv"], clips)
    [row] = pd.read_csv(tmp_path / "s.csv", dtype=str, keep_default_na=False).to_numpy().tolist()
    assert row == ["rain", "b.wav", "a.wav", *[""] * 8]


def test_each_query_lists_its_ten_best_files_by_the_mean_of_the_members_best_first(
    systems, tmp_path
):
    """A file's name in the challenge's archive may differ from the one in its id."""
    clips = clip_ids("challenge")
    files = [clip.split("/", 2)[2].replace("clip 3,", "Clip_3,") for clip in clips]
    listed = pd.DataFrame({"clip": clips, "path": [f"test/{file}" for file in files]})
    outputs = [tmp_path / f"Doe_XYZ_task6b_submission_{n}_output.csv" for n in (1, 2, 3, 4)]
    write_submissions(systems, outputs, listed)
    for system, output in zip(systems, outputs, strict=True):
        table = pd.read_csv(output, dtype=str, keep_default_na=False)
        paths = [Path(run["folder"]) / "embeddings.npz" for run in system]
        splits = [read_embeddings(path)["challenge"] for path in paths]
        assert table.pop("caption").tolist() == splits[0].captions.tolist()
        assert list(table) == [f"file_name_{position}" for position in range(1, 11)]
        for query, row in enumerate(table.to_numpy()):
            cosines = sum(split.audio.astype(float) @ split.text[query] for split in splits)
            expected = sorted(zip(cosines, files, strict=True), reverse=True)[:10]
            assert row.tolist() == [file for _, file in expected]
