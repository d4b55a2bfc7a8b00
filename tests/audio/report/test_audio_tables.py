"""Tables of the audio study: whose number stands where, the ledger, what a template took up."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import synthetic_audio as made

from triptych.audio.report.tables import RUN, table2_long, table2_tables
from triptych.audio.report.tables_leaks import leaks_long, leaks_tables
from triptych.audio.report.tables_others import table1_long, table1_table
from triptych.report.tables import DASH, write_table

RESOURCES = Path(__file__).parents[3] / "resources" / "published"


@pytest.fixture(scope="module")
def published():
    return pd.read_csv(RESOURCES / "audio_table2.csv")


@pytest.fixture(scope="module")
def demo():
    """runs, queries and metrics of synthesised scenes."""
    runs = made.runs()
    queries = made.queries(runs, clips=40, captions=3)
    return runs, queries, made.metrics(queries, clips=40)


@pytest.fixture(scope="module")
def clotho():
    """The same as if all of Clotho's evaluation split had been scored by the report's models."""
    runs = made.runs(paper=True)
    queries = made.queries(runs, clips=40, captions=3)
    scores = made.metrics(queries, clips=1045, synthesised=False)
    return runs, queries, scores.assign(queries=5225)


def table2(of_runs, scores, published, **changes):
    study = made.study(**changes)
    nothing = pd.DataFrame(columns=["corpus", "split"])
    return table2_long(scores, nothing, made.ensembles(of_runs), published, study, scale="demo")


@pytest.fixture(scope="module")
def replicated():
    """Synthesised scenes, Table 2 run twice."""
    runs = made.runs(replicated=True)
    queries = made.queries(runs, clips=40, captions=3)
    study = made.study(replicated="as_published")
    published = pd.read_csv(RESOURCES / "audio_table2.csv")
    scores, members = made.metrics(queries, clips=40), made.ensembles(runs)
    return queries, table2_long(scores, queries, members, published, study, scale="demo")


def test_two_presets_stand_side_by_side_and_the_last_row_is_their_difference(replicated):
    queries, long = replicated
    shown, _ = table2_tables(long)
    groups = [group for group, _ in shown.columns if group]
    assert groups == ["clean"] * 5 + ["as_published"] * 5
    first = next(row for row in shown.rows if row[4] == "no" and row[3] == "BERT mini")
    assert DASH not in first[7:]
    assert shown.rows[-1][0] == "as_published minus clean, mean, in points"
    assert shown.rows[-1][7:12] == (DASH,) * 5 and "[" in shown.rows[-1][12]
    rows = long[(long["block"] == "difference") & (long["metric"] == "r_at_1")]
    # Four pairs pretrained and fine-tuned, the main one with human captions too, two ensembles.
    assert len(rows) == 11 + 1 and rows["label"].iloc[-1] == "mean of the 11"
    assert set(rows["unit"]) == {"percentage points"}
    one = rows[(rows["kind"] == "pretrained") & (rows["audio_model"] == "mini_n")]
    one = one[one["text_model"] == "mini_bert"].iloc[0]
    chosen = (queries["split"] == "evaluation") & (queries["stage"] == "pretrained")
    chosen &= (queries["audio_model"] == "mini_n") & (queries["text_model"] == "mini_bert")
    hit = queries[chosen].assign(hit=100 * (queries["rank"] == 1)).groupby("corpus")["hit"].mean()
    assert one["value"] == pytest.approx(hit["as_published"] - hit["clean"])
    assert one["low"] < one["value"] < one["high"]
    mean = rows[rows["system"] == "mean"].iloc[0]
    assert mean["value"] == pytest.approx(rows[rows["system"] != "mean"]["value"].mean())


EXCLUSIONS = {"clean": "strict", "leaky": "none"}


def counts_and_removed(clips):
    counts = [made.counts(exclude=how).assign(corpus=name) for name, how in EXCLUSIONS.items()]
    removed = made.removed(clips).assign(corpus="clean")
    leaky = made.removed(clips).tail(1).assign(corpus="leaky")
    return pd.concat(counts, ignore_index=True), pd.concat([removed, leaky], ignore_index=True)


def test_synthesised_scenes_meet_no_published_number(demo, published):
    runs, _, scores = demo
    long = table2(runs, scores, published)
    ours = long[long["block"] == RUN]
    assert ours["published"].isna().all() and not ours["comparable"].any()
    shown, printed = table2_tables(long)
    assert "synthesised sound scenes, demo scale" in shown.title
    assert "published" not in [header for _, header in shown.columns]
    assert "Not comparable" in printed.caption and "as published" in printed.title


def test_each_published_row_of_the_report_stands_beside_its_own_model_once(clotho, published):
    runs, _, scores = clotho
    long = table2(runs, scores, published, paper=True)
    beside = long[(long["block"] == RUN) & long["published"].notna()]
    report = published[published["source"] == "this report"]
    assert len(report) == 13 and len(beside) == 4 * 13
    best = beside[(beside["metric"] == "map_at_10") & (beside["audio_model"] == "passt_n")]
    best = best[best["text_model"] == "roberta_large"].set_index("kind")["published"]
    assert best.to_dict() == {"finetuned_gpt": 38.56, "finetuned_human": 38.00, "pretrained": 36.27}
    assert set(beside["seed"]) <= {"0", ""}
    ensemble = beside[beside["system"] == "ensemble"]
    assert set(ensemble["audio_model"]) == {"published"}
    np.testing.assert_allclose(beside["difference"], beside["value"] - beside["published"])


def test_table2_has_every_run_of_the_evaluated_corpus_in_percent(demo, published):
    runs, _, scores = demo
    long = table2(runs, scores, published)
    ours = long[(long["block"] == RUN) & (long["metric"] == "map_at_10")]
    assert len(ours) == len(runs[runs["corpus"] != "leaky"]) + 1  # and chance
    assert "leaky" not in set(ours["corpus"])
    row = ours[(ours["kind"] == "finetuned_human") & (ours["seed"] == "2")].iloc[0]
    given = scores[(scores["captions"] == "human") & (scores["seed"] == "2")]
    given = given[(given["split"] == "evaluation") & (given["subset"] == "all")]
    given = given[given["metric"] == "map_at_10"].iloc[0]
    assert row["value"] == 100 * given["value"] and row["low"] == 100 * given["low"]
    shown, _ = table2_tables(long)
    scored = dict(zip([header for _, header in shown.columns], shown.rows[-1], strict=True))
    assert scored["Audio model"] == "Chance" and scored["mAP@10"] == "7.32"  # H(10) / 40
    assert [header for _, header in shown.columns][-1] == "mAP@10, unseen"
    assert {row[5] for row in shown.rows} == {"template", "no", DASH}
    assert ("PaSST-S mini", "3 s", "yes", "BERT mini", "yes", "template", "0") in {
        row[:7] for row in shown.rows
    }


def test_the_example_shows_what_answers_add_to_the_caption():
    long = table1_long(made.example(), scale="demo")
    table = table1_table(long)
    assert table.prose and "template without any language model" in table.caption
    added = {row[0]: row[2] for row in table.rows}
    assert added["Answer 2"] == added["Answer 4"] == "thunder"
    assert added["Answer 1"] == added["Answer 3"] == DASH  # dog and rain stand in the caption
    asked = table1_table(table1_long(made.example(backend="openai", model="gpt-9"), scale="x"))
    assert "language model gpt-9" in asked.caption


def test_leaks_are_compared_query_by_query(demo):
    _, queries, scores = demo
    counts, removed = counts_and_removed(40)
    clips, study = made.clotho_clips(40), made.study()
    # Two clips have leaked, and only they gain: from rank 2 to rank 1.
    leaky = queries["corpus"] == "leaky"
    same = queries[~leaky & (queries["stage"] == "pretrained")]
    same = same[(same["audio_model"] == "mini_n") & (same["text_model"] == "mini_roberta")]
    lost = same.assign(rank=2)
    won = lost.assign(corpus="leaky")
    names = made.clip_names("evaluation", 40)[:12]
    won.loc[won["clip"].isin(names), "rank"] = 1
    long = leaks_long(
        scores, pd.concat([lost, won]), removed, counts, clips, study,
        exclusions=EXCLUSIONS, scale="demo",
    )  # fmt: skip
    gaps = long[long["metric"] == "map_at_10"].set_index("row")["value"]
    assert gaps["difference"] == pytest.approx(50 * 12 / 40)
    assert gaps["difference_leaked"] == pytest.approx(50)
    table = leaks_tables(long)[0]
    assert [row[0] for row in table.rows] == [
        "With leaks: corpus leaky, exclude none",
        "Without leaks: corpus clean, exclude strict",
        "Chance",
        "With minus without, in points",
        "Same difference, over the 12 leaked clips",
    ]


def test_the_ledger_adds_up(demo, tmp_path):
    _, queries, scores = demo
    counts, removed = counts_and_removed(40)
    long = leaks_long(
        scores, queries, removed, counts, made.clotho_clips(40), made.study(),
        exclusions=EXCLUSIONS, scale="demo",
    )  # fmt: skip
    _, ledger = leaks_tables(long)
    total = dict(zip([header for _, header in ledger.columns[:4]], ledger.rows[-1], strict=False))
    assert ledger.rows[-1][0] == "all" and total["Listed"] == "540"
    # Excluded, trained on and leaked, of the clean corpus and then of the leaky one.
    assert ledger.rows[-1][4:] == ("13", "376", "0", "0", "389", "13")
    files = [tmp_path / f"audio_leaks.{kind}" for kind in ("csv", "md", "tex")]
    write_table(long, leaks_tables(long), files)
    assert leaks_tables(pd.read_csv(tmp_path / "audio_leaks.csv")) == leaks_tables(long)
