"""The audio study's part of the page."""

from pathlib import Path

import pandas as pd
import pytest
import synthetic_audio as made
from test_page import Elements, page

from triptych.audio.report.page import TITLES, audio_sections
from triptych.audio.report.rows import read_rows
from triptych.audio.report.tables import table2_long
from triptych.audio.report.tables_leaks import leaks_long, read_corpora
from triptych.audio.report.tables_others import (
    beyond_long,
    ensembles_long,
    table1_long,
)
from triptych.report.page import page_figures

CAPTIONS = Path(__file__).parents[3] / "resources" / "captions"
AUDIO_TABLES = ("audio_table1", "audio_table2", "audio_ensembles", "audio_leaks")
EXCLUSIONS = {"clean": "strict", "leaky": "none"}


def written(folder, **frames):
    """Frames as files below a folder: corpus_name in corpora/corpus/name.csv."""
    for name, frame in frames.items():
        path = folder / f"{name.replace('_', '/')}.csv"
        path.parent.mkdir(exist_ok=True)
        frame.to_csv(path, index=False)


@pytest.fixture(scope="module", params=[False, True], ids=["demo", "paper"])
def run(request, tmp_path_factory):
    """Whether it is at paper scale, and the study's sections."""
    folder = tmp_path_factory.mktemp("audio")
    paper, study = request.param, made.study(paper=request.param)
    runs = made.runs(paper=paper)
    queries = made.queries(runs, clips=30, captions=2)
    others = {"audiocaps": {"train": 80}, "wavcaps": {"AudioSet_SL": 40, "FreeSound": 90}}
    written(
        folder,
        metrics=made.metrics(queries, clips=30, synthesised=not paper),
        queries=queries,
        ensembles=made.ensembles(runs),
        subsets=made.subsets(made.ensembles(runs), ("mini_s-mini_roberta",)),
        clotho=made.clotho_clips(30),
        **{name: made.other_clips(name, splits) for name, splits in others.items()},
        clean_counts=made.counts(),
        leaky_counts=made.counts(exclude="none"),
        clean_removed=made.removed(30),
        leaky_removed=made.removed(30).tail(1),
    )
    read = {path.stem: read_rows(path) for path in folder.glob("*.csv")}
    for name in TITLES:
        (folder / f"{name}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    scores = read["metrics"]
    leaks = leaks_long(
        scores,
        read["queries"],
        read_corpora([folder / name / "removed.csv" for name in EXCLUSIONS]),
        read_corpora([folder / name / "counts.csv" for name in EXCLUSIONS]),
        read["clotho"],
        study,
        exclusions=EXCLUSIONS,
        scale="x",
    )
    if paper:
        scores = scores.assign(clips=1045, queries=5225)
    published = pd.read_csv(CAPTIONS.parent / "published" / "audio_table2.csv")
    of_run = audio_sections(
        figures=page_figures(
            "audio",
            TITLES,
            [folder / f"{name}.svg" for name in TITLES],
            {name: f"Caption of {name}." for name in TITLES},
        ),
        table1=table1_long(made.example(), scale="x"),
        table2=table2_long(
            scores,
            read["queries"],
            read["ensembles"],
            published,
            study,
            scale="x",
        ),
        ensembles=ensembles_long(read["subsets"], study, scale="x"),
        leaks=leaks,
        beyond=beyond_long(scores, study, scale="x"),
        usage=made.usage("authors" if paper else "template"),
        clips=pd.concat([read[name] for name in ("clotho", *others)]),
        study=study,
    )
    return paper, of_run


def test_the_page_shows_every_product_once(run):
    elements = Elements(page(sections=run[1]))
    ids = [attrs["id"] for _, attrs in elements.seen if attrs.get("id")]
    for name in (*TITLES, *AUDIO_TABLES, "audio_table2_published", "audio_ledger"):
        assert name in ids
    # The figure and the table beyond the paper share a name, so the figure alone bears it.
    assert len(ids) == len(set(ids))
    assert not elements.open


def test_synthesised_sounds_and_template_captions_are_said_to_be_such(run):
    paper, of_run = run
    text = Elements(page(sections=of_run)).text
    for said in (
        "All sounds of this run are synthesised",
        "new captions of this run were written by a template",
        "Synthesised scenes allow two more questions",
        "Not comparable with this run",
    ):
        assert (said in text) is not paper


def test_every_product_of_the_study_has_a_caption_of_its_own():
    texts = [(CAPTIONS / f"{name}.rst").read_text() for name in {*TITLES, *AUDIO_TABLES}]
    assert len(set(texts)) == len(texts) == 6 and all(len(text) > 80 for text in texts)


def test_the_papers_table_and_claims_are_as_printed():
    published = CAPTIONS.parent / "published"
    table = pd.read_csv(published / "audio_table2.csv")
    assert len(table) == 18 and sorted(table["ensemble_member"].dropna()) == list(range(1, 9))
    assert sorted(table["submission_id"].dropna()) == [1, 2, 3, 4]
    best = table[table["source"] == "this report"].set_index("submission_id")["map_at_10"]
    # What the text says of the table: the ensemble's lead over the baseline and the last winner.
    assert best[1] - table["map_at_10"].iloc[13] == pytest.approx(19.2, abs=0.05)
    assert best[1] - table["map_at_10"].iloc[15] == pytest.approx(11.5, abs=0.05)
    claims = pd.read_csv(published / "audio_claims.csv")["id"]
    assert claims.str.startswith("audio-").sum() == 14 and not claims.duplicated().any()
