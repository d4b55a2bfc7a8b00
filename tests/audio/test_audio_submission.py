"""The submission files, written and read back."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from retrieval_runs import PAIRS, clip_ids, clips_table, run, study

from triptych.audio.embedding_files import read_embeddings
from triptych.audio.scoring.scores import score_runs
from triptych.audio.scoring.submission import (
    HEADER,
    check_submission,
    submission_table,
    submitted_systems,
)
from triptych.audio.scoring.submission_files import meta_path, write_submissions
from triptych.core.errors import InputError

MEMBERS = [list(PAIRS[0]), list(PAIRS[2])]


def archived(clip: str) -> str:
    """A clip's name in the challenge's archive; here it differs from the one in its id."""
    return clip.split("/", 2)[2].replace("clip 3,", "Clip_3,")


def listed() -> pd.DataFrame:
    clips = clip_ids("challenge")
    return pd.DataFrame({"clip": clips, "path": [f"test/{archived(clip)}" for clip in clips]})


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[dict]:
    return study(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def metrics(runs, tmp_path_factory) -> pd.DataFrame:
    none = pd.DataFrame(columns=["split", "caption", "clip"])
    path = tmp_path_factory.mktemp("scores") / "metrics.csv"
    score_runs(runs, MEMBERS, clips_table(), none).metrics.to_csv(path, index=False)
    return pd.read_csv(path, dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def outputs(runs, metrics, tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("submissions")
    outputs = [folder / f"Doe_XYZ_task6b_submission_{n}_output.csv" for n in (1, 2, 3, 4)]
    write_submissions(submitted_systems(runs, MEMBERS, "all"), outputs, listed(), metrics, "clean")
    return outputs


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def test_the_header_is_the_organisers():
    assert ",".join(HEADER) == (
        "caption,file_name_1,file_name_2,file_name_3,file_name_4,file_name_5,"
        "file_name_6,file_name_7,file_name_8,file_name_9,file_name_10"
    )


def test_each_query_lists_its_ten_best_files_best_first(runs, outputs):
    main = next(r for r in runs if r["corpus"] == "all" and r["captions"] == "gpt" and r["main"])
    split = read_embeddings(Path(main["folder"]) / "embeddings.npz")["challenge"]
    table = read(outputs[2])
    assert table["caption"].tolist() == split.captions.tolist()
    for row, text in zip(table.to_numpy(), split.text, strict=True):
        cosines = {
            archived(str(c)): float(a @ text) for c, a in zip(split.clips, split.audio, strict=True)
        }
        expected = sorted(cosines, key=cosines.__getitem__, reverse=True)[:10]
        assert row[1:].tolist() == expected


def test_files_are_named_as_in_the_challenges_archive(outputs):
    names = set(read(outputs[0]).iloc[:, 1:].to_numpy().ravel())
    assert " clip 0, challenge.wav" in names
    assert any("Clip_3," in name for name in names)
    assert not any("clip 3," in name for name in names)


def test_the_first_system_ranks_by_the_mean_of_its_members(runs, outputs):
    total = 0
    for pair in MEMBERS:
        member = next(
            r
            for r in runs
            if r["corpus"] == "all"
            and r["captions"] == "gpt"
            and [r["audio_model"], r["text_model"]] == pair
        )
        split = read_embeddings(Path(member["folder"]) / "embeddings.npz")["challenge"]
        total = total + split.text.astype(float) @ split.audio.astype(float).T
    best = [archived(str(split.clips[column])) for column in total.argmax(axis=1)]
    assert read(outputs[0])["file_name_1"].tolist() == best


def test_the_four_systems_are_those_of_section_4(runs):
    systems = submitted_systems(runs, MEMBERS, "all")
    assert [[r["run"] for r in system.runs] for system in systems] == [
        ["n-bert/all/finetuned/gpt-seed0", "n-roberta/all/finetuned/gpt-seed0"],
        ["n-bert/all/finetuned/human-seed0"],
        ["n-bert/all/finetuned/gpt-seed0"],
        ["n-bert/all/pretrained"],
    ]


def test_a_run_that_is_missing_is_named(runs):
    with pytest.raises(InputError, match="system 2"):
        submitted_systems([r for r in runs if r["captions"] != "human"], MEMBERS, "all")


def test_meta_information_says_who_what_how_large_and_how_good(outputs, metrics):
    meta = yaml.safe_load(meta_path(outputs[0]).read_text(encoding="utf-8"))
    assert meta["submission"]["label"] == "Doe_XYZ_task6b_1"
    (author,) = meta["submission"]["authors"]
    assert (author["lastname"], author["affiliation"]["abbreviation"]) == ("Doe", "XYZ")
    assert meta["system"]["complexity"]["total_parameters"] == 2 * (3 * 5 + 7)
    row = metrics.query(
        "audio_model == 'published' and split == 'evaluation' and metric == 'map_at_10'"
    ).iloc[0]
    reported = meta["results"]["development_testing"]
    assert reported["mAP10"] == pytest.approx(float(row["value"]), abs=5e-5)
    assert set(reported) == {"R1", "R5", "R10", "mAP10"}


def test_a_single_systems_results_are_its_counterparts_trained_without_evaluation(outputs, metrics):
    meta = yaml.safe_load(meta_path(outputs[3]).read_text(encoding="utf-8"))
    row = metrics.query(
        "stage == 'pretrained' and audio_model == 'n' and text_model == 'bert' "
        "and corpus == 'clean' and split == 'evaluation' and metric == 'r_at_1'"
    ).iloc[0]
    assert meta["results"]["development_testing"]["R1"] == pytest.approx(
        float(row["value"]), abs=5e-5
    )


def test_fewer_than_ten_files_cannot_be_submitted():
    with pytest.raises(InputError, match="there are 9"):
        submission_table(["a"], clip_ids("challenge", 9), np.zeros((1, 9)))


CAPTIONS = [f"query {i}" for i in range(3)]
NAMES = [f"{i}.wav" for i in range(12)]


def good() -> pd.DataFrame:
    return pd.DataFrame([[c, *NAMES[:10]] for c in CAPTIONS], columns=list(HEADER))


def drop_a_row(table: pd.DataFrame) -> pd.DataFrame:
    return table.iloc[:2]


def reorder(table: pd.DataFrame) -> pd.DataFrame:
    return table.iloc[::-1]


def repeat_a_file(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(file_name_2=["0.wav", "1.wav", "1.wav"])


def invent_a_file(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(file_name_10="invented.wav")


def other_header(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns={"file_name_1": "fname_1"})


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (drop_a_row, "3 rows expected, one a query, got 2"),
        (reorder, "2 rows have another caption, first row 1"),
        (repeat_a_file, "1 rows name a file twice, first row 1"),
        (invent_a_file, "first 'invented.wav'"),
        (other_header, "got caption, fname_1"),
    ],
)
def test_the_check_says_what_is_wrong(tmp_path, spoil, said):
    path = tmp_path / "A_B_task6b_submission_1_output.csv"
    good().to_csv(path, index=False)
    check_submission(path, CAPTIONS, NAMES)
    spoil(good()).to_csv(path, index=False)
    with pytest.raises(InputError, match=said):
        check_submission(path, CAPTIONS, NAMES)


def test_the_check_wants_the_challenges_file_name(tmp_path):
    good().to_csv(tmp_path / "output.csv", index=False)
    with pytest.raises(InputError, match="its name is not"):
        check_submission(tmp_path / "output.csv", CAPTIONS, NAMES)


def test_runs_of_another_corpus_are_not_submitted():
    with pytest.raises(InputError, match="on corpus all"):
        submitted_systems([run(PAIRS[0], "clean", "pretrained")], [], "all")
