"""The audio study's part of the page."""

from pathlib import Path

import pandas as pd
import pytest
import synthetic_audio as made
from script_runs import AUDIO_FIGURES, AUDIO_TABLES, EXCLUSIONS
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


@pytest.fixture(scope="module", params=[False, True], ids=["demo", "paper"])
def run(request, tmp_path_factory):
    """Whether it is at paper scale, and the study's sections."""
    folder = tmp_path_factory.mktemp("audio")
    paper, study = request.param, made.study(paper=request.param)
    files = made.write_results(folder, paper=paper, clips=30, captions=2)
    for name in TITLES:
        (folder / f"{name}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    scores = read_rows(files["metrics"])
    leaks = leaks_long(
        scores,
        read_rows(files["queries"]),
        read_corpora(files["removed"]),
        read_corpora(files["counts"]),
        read_rows(files["clotho"]),
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
            read_rows(files["queries"]),
            read_rows(files["ensembles"]),
            published,
            study,
            scale="x",
        ),
        ensembles=ensembles_long(read_rows(files["subsets"]), study, scale="x"),
        leaks=leaks,
        beyond=beyond_long(scores, study, scale="x"),
        usage=pd.read_csv(files["usage"]),
        clips=read_rows(files["clips"]),
        study=study,
    )
    return paper, of_run


def test_the_page_shows_every_product_once(run):
    elements = Elements(page(sections=run[1]))
    ids = [attrs["id"] for _, attrs in elements.seen if attrs.get("id")]
    for name in (*AUDIO_FIGURES, *AUDIO_TABLES, "audio_table2_published", "audio_ledger"):
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
