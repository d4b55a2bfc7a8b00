"""The audio study's part of the page."""

from pathlib import Path

import pandas as pd
import pytest
import synthetic_audio as made
from test_audio_tables import EXCLUSIONS, counts_and_removed
from test_page import Elements, page

from triptych.audio.report.page import KEYS, TITLES, audio_sections
from triptych.audio.report.tables import table2_long
from triptych.audio.report.tables_leaks import leaks_long
from triptych.audio.report.tables_others import table1_long
from triptych.report.page import page_figures

CAPTIONS = Path(__file__).parents[3] / "resources" / "captions"
AUDIO_TABLES = ("audio_table1", "audio_table2", "audio_leaks")


@pytest.fixture(scope="module", params=[False, True], ids=["demo", "paper"])
def run(request, tmp_path_factory):
    """Whether it is at paper scale, and the study's sections."""
    folder = tmp_path_factory.mktemp("audio")
    paper, study = request.param, made.study(paper=request.param)
    runs = made.runs(paper=paper)
    queries = made.queries(runs, clips=30, captions=2)
    scores = made.metrics(queries, clips=30, synthesised=not paper)
    members = made.ensembles(runs)
    for name in TITLES:
        (folder / f"{name}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    counts, removed = counts_and_removed(30)
    clips, about = made.clotho_clips(30), {"exclusions": EXCLUSIONS, "scale": "x"}
    leaks = leaks_long(scores, queries, removed, counts, clips, study, **about)
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
        table2=table2_long(scores, queries, members, published, study, scale="x"),
        leaks=leaks,
        study=study,
    )
    return paper, of_run


def test_the_page_shows_every_product_once(run):
    elements = Elements(page(sections=run[1]))
    assert {part.anchor for part in run[1]} <= set(KEYS)
    ids = [attrs["id"] for _, attrs in elements.seen if attrs.get("id")]
    for name in (*TITLES, *AUDIO_TABLES, "audio_table2_published", "audio_leaks_ledger"):
        assert name in ids
    assert len(ids) == len(set(ids))
    assert not elements.open


def test_synthesised_sounds_and_template_captions_are_said_to_be_such(run):
    paper, of_run = run
    text = Elements(page(sections=of_run)).text
    for said in (
        "All sounds of this run are synthesised",
        "new captions of this run were written by a template",
        "combine sounds as no training scene does",
        "Not comparable with this run",
    ):
        assert (said in text) is not paper


def test_the_papers_table_is_as_printed():
    published = CAPTIONS.parent / "published"
    table = pd.read_csv(published / "audio_table2.csv")
    assert len(table) == 18 and sorted(table["ensemble_member"].dropna()) == list(range(1, 9))
    assert sorted(table["submission_id"].dropna()) == [1, 2, 3, 4]
    best = table[table["source"] == "this report"].set_index("submission_id")["map_at_10"]
    # What the text says of the table: the ensemble's lead over the baseline and the last winner.
    assert best[1] - table["map_at_10"].iloc[13] == pytest.approx(19.2, abs=0.05)
    assert best[1] - table["map_at_10"].iloc[15] == pytest.approx(11.5, abs=0.05)
