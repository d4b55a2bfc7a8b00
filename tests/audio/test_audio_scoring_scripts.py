"""The scripts that score, submit and make the search page, run as their rules run them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import soundfile
from retrieval_runs import PAIRS, clip_ids, clips_table, scenes_table, study
from stand_in import Named, run

from triptych.audio.data.shards import write_shards

MEMBERS = [list(PAIRS[0]), list(PAIRS[1])]
SUBMISSIONS = [f"Doe_XYZ_task6b_submission_{n}_output.csv" for n in (1, 2, 3, 4)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder in which the three scripts have run one after another."""
    folder = tmp_path_factory.mktemp("run")
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    runs = study(folder / "models")
    challenge = pd.DataFrame({"clip": clip_ids("challenge"), "split": "challenge", "keywords": ""})
    clips = pd.concat([clips_table(), challenge])
    names = clips["clip"].str.split("/", n=2).str[2]
    clips = clips.assign(file_name=names, path=names)
    clips.to_csv("clips.csv", index=False)
    scenes_table().to_csv("scenes.csv", index=False)
    pd.DataFrame(columns=["split", "caption", "clip"]).to_csv("relevance.csv", index=False)
    ids = clip_ids("evaluation")
    captions = [(clip, 0, f"a sound, of {clip}") for clip in ids]
    pd.DataFrame(captions, columns=["clip", "position", "caption"]).to_csv(
        "captions.csv", index=False
    )
    run(
        "audio_score",
        {"clips": "clips.csv", "relevance": "relevance.csv"},
        Named(
            metrics="metrics.csv",
            queries="queries.csv",
            ensembles="ensembles.csv",
            subsets="subsets.csv",
            history="history.csv",
        ),
        runs=runs,
        finished=[],
        members=MEMBERS,
        scenes="scenes.csv",
        seed=0,
    )
    run(
        "audio_submit",
        {"clips": "clips.csv", "metrics": "metrics.csv"},
        Named(tables=SUBMISSIONS),
        runs=runs,
        members=MEMBERS,
        corpus="all",
        evaluated="clean",
    )
    (folder / "sound").mkdir()
    random = np.random.default_rng(0)
    for clip in ids:
        soundfile.write(f"sound/{clip.split('/')[2]}", random.uniform(-0.1, 0.1, 8000), 32000)
    listed = pd.DataFrame({"clip": ids, "path": [clip.split("/")[2] for clip in ids]})
    write_shards(listed, folder / "sound", folder / "shards", "int16")
    run(
        "audio_search_page",
        {
            "clips": "clips.csv",
            "captions": "captions.csv",
            "shards": "shards",
        },
        Named("search.html"),
        run=runs[3],
        settings={"queries": 6},
        scale="demo",
    )
    yield folder
    patch.undo()


def test_scores_are_written_with_all_subsets(folder):
    metrics = pd.read_csv(folder / "metrics.csv", dtype=str, keep_default_na=False)
    assert set(metrics["subset"]) == {"all", "seen", "unseen", "swapped"}
    assert set(metrics["system"]) == {"model", "ensemble", "baseline"}
    values = metrics["value"].astype(float)
    assert values.between(0, 1).all()
    assert (metrics[metrics["audio_model"] == "chance"]["low"] == "").all()


def test_queries_and_members_are_written_beside(folder):
    queries = pd.read_csv(folder / "queries.csv", dtype=str, keep_default_na=False)
    assert {"clip", "rank", "average_precision", "system", "seed"} <= set(queries.columns)
    assert any(clip.startswith("clotho/evaluation/ clip 0,") for clip in queries["clip"])
    ensembles = pd.read_csv(folder / "ensembles.csv")
    assert set(ensembles["name"]) == {"published", "selected"}
    history = pd.read_csv(folder / "history.csv")
    assert len(history) == 13 and history["epoch"].eq(1).all()


def test_four_submissions_are_written_with_their_meta_information(folder):
    for name in SUBMISSIONS:
        assert (folder / name).read_text(encoding="utf-8").startswith("caption,file_name_1,")
        assert (folder / name.replace("_output.csv", ".meta.yaml")).exists()


def test_the_search_page_has_the_reports_style_and_a_player_for_each_clip(folder):
    html = (folder / "search.html").read_text(encoding="utf-8")
    assert "--accent" in html and html.count("<audio controls") >= 60


def test_the_same_inputs_give_the_same_bytes(folder, tmp_path):
    first = (folder / "metrics.csv").read_bytes()
    runs = study(tmp_path / "models")
    run(
        "audio_score",
        {"clips": "clips.csv", "relevance": "relevance.csv"},
        Named(
            metrics=tmp_path / "m.csv",
            queries=tmp_path / "q.csv",
            ensembles=tmp_path / "e.csv",
            subsets=tmp_path / "s.csv",
            history=tmp_path / "h.csv",
        ),
        runs=runs,
        finished=[],
        members=MEMBERS,
        scenes="scenes.csv",
        seed=0,
    )
    assert (tmp_path / "m.csv").read_bytes() == first
