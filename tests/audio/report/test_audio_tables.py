"""Tables and figures of the audio study: whose number stands where, and what is said."""

import math
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import synthetic_audio as made

from audio import figure2, leaks, summary, table1, table2, training
from triptych.audio.report.rows import interval_texts
from triptych.report.tables import DASH, MINUS, write_table

PUBLISHED = pd.read_csv(Path(__file__).parents[3] / "resources" / "published" / "audio_table2.csv")
EXCLUSIONS = {"clean": "strict", "leaky": "none"}


@cache
def made_run(*, paper=False, replicated=False):
    """A run of synthesised scenes, or as if all of Clotho's evaluation split had been scored by the
    report's models; replicated: Table 2 run twice."""
    study = made.study(paper=paper, replicated="as_published" if replicated else None)
    runs = made.runs(paper=paper, replicated=replicated)
    queries = made.queries(runs, clips=40, captions=3)
    scores = made.metrics(queries, clips=1045 if paper else 40, synthesised=not paper)
    scores = scores.assign(queries=5225) if paper else scores
    members = made.ensembles(runs)
    long = table2.numbers(scores, queries, members, PUBLISHED, study, scale="demo")
    return SimpleNamespace(study=study, runs=runs, queries=queries, scores=scores, table2=long)


def leaks_of(run, queries=None):
    counts = [made.counts(exclude=how).assign(corpus=name) for name, how in EXCLUSIONS.items()]
    sounds = [str(9000 + number) for number in range(40)]
    names = made.clip_names("evaluation", 40)
    # Twelve recordings of the test split, and a broken file; the leaky corpus lacks another one.
    removed = {"sound_id": [*sounds[:12], "", sounds[20]], "corpus": ["clean"] * 13 + ["leaky"]}
    return leaks.numbers(
        run.scores,
        run.queries if queries is None else queries,
        pd.DataFrame(removed),
        pd.concat(counts, ignore_index=True),
        pd.DataFrame({"clip": names, "split": "evaluation", "sound_id": sounds}),
        run.study,
        exclusions=EXCLUSIONS,
        scale="demo",
    )


def test_two_presets_stand_side_by_side_and_the_last_row_is_their_difference():
    run = made_run(replicated=True)
    shown, _ = table2.tables(run.table2, "", "")
    groups = [group for group, _ in shown.columns if group]
    assert groups == ["clean"] * 5 + ["as_published"] * 5
    first = next(row for row in shown.rows if row[4] == "no" and row[3] == "BERT mini")
    assert DASH not in first[7:]
    assert shown.rows[-1][0] == "as_published minus clean, mean, in points"
    assert shown.rows[-1][7:12] == (DASH,) * 5 and "[" in shown.rows[-1][12]
    rows = run.table2[run.table2["block"] == "difference"].set_index("metric")
    assert set(rows["unit"]) == {"percentage points"}
    # Of all that were run with both, the mean: the main pair's other seeds were not.
    both = run.queries[(run.queries["split"] == "evaluation") & run.queries["seed"].isin(["0", ""])]
    both = both[~both["stage"].eq("untrained") & ~both["audio_model"].eq("keywords")]
    hits = both.assign(hit=100 * (both["rank"] == 1)).groupby("corpus")["hit"].mean()
    gain = rows.loc["r_at_1"]
    assert gain["value"] == pytest.approx(hits["as_published"] - hits["clean"])
    assert gain["low"] < gain["value"] < gain["high"]


def test_synthesised_scenes_meet_no_published_number():
    long = made_run().table2
    ours = long[long["block"] == "run"]
    assert ours["published"].isna().all() and not ours["comparable"].any()
    shown, printed = table2.tables(long, "", "")
    assert "ynthesised sound scenes, demo scale" in shown.caption
    assert "published" not in [header for _, header in shown.columns]
    assert len(printed.rows) == len(PUBLISHED) and "as published" in printed.title


def test_each_published_row_of_the_report_stands_beside_its_own_model_once():
    long = made_run(paper=True).table2
    beside = long[(long["block"] == "run") & long["published"].notna()]
    report = PUBLISHED[PUBLISHED["source"] == "this report"]
    assert len(report) == 13 and len(beside) == 4 * 13
    best = beside[(beside["metric"] == "map_at_10") & (beside["audio_model"] == "passt_n")]
    best = best[best["text_model"] == "roberta_large"].set_index("kind")["published"]
    assert best.to_dict() == {"finetuned_gpt": 38.56, "finetuned_human": 38.00, "pretrained": 36.27}
    assert set(beside["seed"]) <= {"0", ""}
    ensemble = beside[beside["system"] == "ensemble"]
    assert set(ensemble["audio_model"]) == {"published"}
    np.testing.assert_allclose(beside["difference"], beside["value"] - beside["published"])


def test_table2_has_every_run_of_the_evaluated_corpus_in_percent():
    run = made_run()
    ours = run.table2[(run.table2["block"] == "run") & (run.table2["metric"] == "map_at_10")]
    assert len(ours) == len(run.runs[run.runs["corpus"] != "leaky"]) + 1  # and chance
    assert "leaky" not in set(ours["corpus"])
    row = ours[(ours["kind"] == "finetuned_human") & (ours["seed"] == "2")].iloc[0]
    scores = run.scores[(run.scores["captions"] == "human") & (run.scores["seed"] == "2")]
    keys = {"split": "evaluation", "subset": "all", "metric": "map_at_10"}
    given = scores[(scores[[*keys]] == keys).all(axis=1)].iloc[0]
    assert row["value"] == 100 * given["value"] and row["low"] == 100 * given["low"]
    shown, _ = table2.tables(run.table2, "", "")
    headers = [header for _, header in shown.columns]
    chance = dict(zip(headers, shown.rows[-1], strict=True))
    assert chance["Audio model"] == "Chance" and chance["mAP@10"] == "7.32"  # H(10) / 40
    assert headers[-1] == "mAP@10, unseen"
    assert {row[5] for row in shown.rows} == {"template", "no", DASH}
    assert ("PaSST-S mini", "3.2 s", "yes", "BERT mini", "yes", "template", "0") in {
        row[:7] for row in shown.rows
    }


def test_the_papers_table_is_as_printed():
    assert len(PUBLISHED) == 18
    assert sorted(PUBLISHED["ensemble_member"].dropna()) == list(range(1, 9))
    assert sorted(PUBLISHED["submission_id"].dropna()) == [1, 2, 3, 4]
    ours = PUBLISHED[PUBLISHED["source"] == "this report"].set_index("submission_id")["map_at_10"]
    # What the text says of the table: the ensemble's lead over the baseline and the last winner.
    assert ours[1] - PUBLISHED["map_at_10"].iloc[13] == pytest.approx(19.2, abs=0.05)
    assert ours[1] - PUBLISHED["map_at_10"].iloc[15] == pytest.approx(11.5, abs=0.05)


def test_the_example_shows_what_answers_add_to_the_caption():
    shown = table1.table(table1.numbers(made.example(), scale="demo"), "", "")
    assert shown.prose and "template without any language model" in shown.caption
    added = {row[0]: row[2] for row in shown.rows}
    assert added["Answer 2"] == added["Answer 4"] == "thunder"
    assert added["Answer 1"] == added["Answer 3"] == DASH  # dog and rain stand in the caption
    example = made.example(backend="openai", model="gpt-9")
    asked = table1.table(table1.numbers(example, scale="x"), "", "")
    assert "language model gpt-9" in asked.caption
    assert "19,195 captions were asked for: 12 got none" in asked.caption
    assert "95,915 as they came and 71,000 that keep" in asked.caption


def test_leaks_are_compared_query_by_query():
    run = made_run()
    # Twelve clips have leaked, and only they gain: from rank 2 to rank 1.
    same = run.queries[(run.queries["corpus"] != "leaky") & (run.queries["stage"] == "pretrained")]
    same = same[(same["audio_model"] == "mini_n") & (same["text_model"] == "mini_roberta")]
    lost = same.assign(rank=2)
    won = lost.assign(corpus="leaky")
    won.loc[won["clip"].isin(made.clip_names("evaluation", 40)[:12]), "rank"] = 1
    long = leaks_of(run, pd.concat([lost, won]))
    gaps = long[long["metric"] == "map_at_10"].set_index("row")["value"]
    assert gaps["difference"] == pytest.approx(50 * 12 / 40)
    assert gaps["difference_leaked"] == pytest.approx(50)
    assert [row[0] for row in leaks.table(long, "", "").rows] == [
        "With leaks: corpus leaky, exclude none",
        "Without leaks: corpus clean, exclude strict",
        "Chance",
        "With minus without, in points",
        "Same difference, over the 12 leaked clips",
    ]


def test_the_ledger_adds_up(tmp_path):
    long = leaks_of(made_run())
    ledger = leaks.ledger(long)
    total = dict(zip([header for _, header in ledger.columns[:4]], ledger.rows[-1], strict=False))
    assert ledger.rows[-1][0] == "all" and total["Listed"] == "540"
    # Excluded, trained on and leaked, of the clean corpus and then of the leaky one.
    assert ledger.rows[-1][4:] == ("13", "376", "0", "0", "389", "13")
    files = [tmp_path / f"audio_leaks.{kind}" for kind in ("csv", "md", "tex", "html")]
    write_table(long, ledger, files)
    assert leaks.ledger(pd.read_csv(files[0])) == ledger


def test_figure2_has_a_line_and_bars_for_each_kind_of_captions():
    curves = figure2.numbers(made.history(made.runs()), made.study(), scale="demo")
    figure = figure2.figure(curves)
    loss, score = figure.axes
    for captions, colour in figure2.COLOURS.items():
        bars = [each for each in loss.containers if each[0].get_color() == colour]
        assert len(bars) == 1
        cells = curves[(curves["captions"] == captions) & (curves["measure"] == "validation_loss")]
        heights = np.asarray(bars[0][0].get_ydata(), dtype=float)
        np.testing.assert_allclose(heights, cells.sort_values("epoch")["value"])
        ends = np.array(bars[0][2][0].get_segments())[:, :, 1]
        np.testing.assert_allclose(ends, cells[["minimum", "maximum"]].astype(float))
    assert score.get_title(loc="left") == "Validation mAP@10"
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {
        "human captions, 3 runs",
        "new captions, 3 runs",
    }


def test_each_training_is_a_line_and_the_main_pairs_are_in_front():
    study, history = made.study(), made.history(made.runs())
    panels = training.figure(training.numbers(history, study, scale="demo"), study).axes
    ours = history[history["corpus"] == study.evaluated]
    measures = ("validation_loss", *["validation_map_at_10"] * 2)
    stages = ("pretrained", "pretrained", "finetuned")
    for axes, stage, measure in zip(panels, stages, measures, strict=True):
        drawn = [line for line in axes.lines if len(line.get_xdata())]
        factor = 100 if "map" in measure else 1
        of_stage = ours[ours["stage"] == stage].groupby(
            ["audio_model", "text_model", "captions", "seed"]
        )
        assert len({(audio, text) for audio, text, *_ in of_stage.groups}) > 1
        for (audio, text, *_), run in of_stage:
            same = [
                line.get_linewidth()
                for line in drawn
                if np.array_equal(line.get_xdata(), run["epoch"])
                and np.allclose(line.get_ydata(), factor * run[measure])
            ]
            assert (len(same), same[-1] > 1) == (
                (2, True) if (audio, text) == study.main else (1, False)
            )


def test_an_interval_without_a_width_is_no_certainty():
    cells = pd.DataFrame(
        [
            ("r_at_1", 100.0, 100.0, 100.0),
            ("map_at_10", 5.0, 4.0, 6.0),
            ("r_at_1", 3.0, *[np.nan] * 2),
        ],
        columns=["metric", "value", "low", "high"],
    )
    assert interval_texts(cells) == ["100.0 [all equal]", "5.00 [4.0, 6.0]", "3.0"]


def systems(scores, data="scenes", captions="template"):
    """The long Table 2 of systems (audio model, kind, system, mAP@10), each but chance with an
    interval one point wide to either side; R@10 is twice as high."""
    return pd.DataFrame(
        {"block": "run", "metric": metric, "kind": kind, "value": value * factor, "data": data}
        | {"audio_model": model, "text_model": "t", "clips": 100, "system": system}
        | {"low": (value - wide) * factor, "high": (value + wide) * factor, "gpt": captions}
        | {"published": 41.42 if system == "ensemble" else None}
        for metric, factor in (("map_at_10", 1), ("r_at_10", 2))
        for model, kind, system, value in scores
        for wide in [math.nan if kind == "chance" else 1]
    )


LEARNT = (
    *(("a", "finetuned_gpt", "model", 30.0), ("a", "finetuned_gpt", "model", 28.0)),
    *(("a", "finetuned_human", "model", 31.0), ("a", "pretrained", "model", 20.0)),
    ("b", "finetuned_gpt", "model", 50.0),
    *((None, "ensemble_published", "ensemble", 33.0), (None, "chance", "baseline", 3.0)),
    (None, "keywords", "baseline", 40.0),
)


def test_audio_shows_the_main_pair_between_chance_and_the_ensemble():
    shown = summary.summary(systems(LEARNT), "")
    assert "66 [64, 68]% of the sentences" in shown.sentence and "chance: 6%" in shown.sentence
    assert "33.0 [32.0, 34.0]" in shown.sentence and "50.0 [49.0, 51.0]" in shown.sentence
    assert "40.0 [39.0, 41.0]" in shown.sentence
    assert [value for value, _ in shown.numbers] == ["33.0%", "+11.0", f"{MINUS}17.0"]
    [*_, (captions, label)] = summary.summary(systems(LEARNT, captions="GPT"), "").numbers
    assert captions == f"{MINUS}2.0" and "captions" in label
    assert "paper: 41.4" in shown.numbers[0][1]
    values = {bar.label: bar.value for bar in shown.bars.bars}
    assert values["With new captions"] == 29.0 and next(iter(values)) == "Chance"
    assert "Untrained" not in values


def test_audio_that_learnt_nothing_says_so_in_place_of_gains():
    chance = [(*system, 2.5 + number / 10) for number, (*system, _) in enumerate(LEARNT)]
    shown = summary.summary(systems(chance), "")
    assert "than chance" in shown.sentence
    assert [value for value, _ in shown.numbers] == ["3.0%"]


def test_audio_tells_of_computed_sounds_and_templates_only_where_there_are_some():
    def limits(*kind):
        return summary.summary(systems(LEARNT, *kind), "").limits

    assert "computed" in limits("scenes", "template") and "template" in limits("scenes", "template")
    assert not {"computed", "template"} & set(re.findall(r"\w+", limits("Clotho", "GPT")))
    assert limits("Clotho", "GPT")
