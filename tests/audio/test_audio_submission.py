"""The submission files, written and read back."""

from pathlib import Path

import pandas as pd
import pytest
from retrieval_runs import PAIRS, clip_ids, study

from triptych.audio.embedding_files import read_embeddings
from triptych.audio.scoring.submission import submitted_systems, write_submissions

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
def outputs(runs, tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("submissions")
    outputs = [folder / f"Doe_XYZ_task6b_submission_{n}_output.csv" for n in (1, 2, 3, 4)]
    write_submissions(submitted_systems(runs, MEMBERS, "all"), outputs, listed())
    return outputs


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


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
    assert [[r["run"] for r in system] for system in systems] == [
        ["n-bert/all/finetuned/gpt-seed0", "n-roberta/all/finetuned/gpt-seed0"],
        ["n-bert/all/finetuned/human-seed0"],
        ["n-bert/all/finetuned/gpt-seed0"],
        ["n-bert/all/pretrained"],
    ]
