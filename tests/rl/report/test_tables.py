"""Tables: numbers, layouts, files."""

import re
from pathlib import Path

import pandas as pd
import pytest
import synthetic
from stand_in import Named, run

from rl.inputs import numbers as inputs_long
from rl.scores import numbers as scores_long
from rl.scores import table as scores_table
from rl.table1 import numbers as table1_long
from rl.table1 import table as table1_table
from triptych.report.tables import Table, latex, markdown, write_table
from triptych.rl.report.inference import latency_long
from triptych.rl.report.scores import by_level, run_scores

PUBLISHED = Path(__file__).parents[3] / "resources" / "published"


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return pd.read_csv(PUBLISHED / "rl_table1_megabytes.csv")


@pytest.fixture(scope="module")
def table1(published) -> pd.DataFrame:
    return table1_long(synthetic.sizes(), published, task="halfcheetah", sparsity=95, scale="demo")


HOSTILE = Table(
    name="hostile",
    title="A title with 100% & <script>.",
    caption="under_score",
    columns=(("", "Key"), ("Group", "a|b"), ("Group", "c")),
    rows=(("<script>|x", "50 %", "a_b$"),),
)


def at_95(scores):
    return by_level(scores, 95)[0]


def test_every_published_cell_stands_beside_ours(table1):
    printed = table1[table1["published"].notna()]
    table = [0.5287, 1.04492, 4.7621, 2.6318, 5.2035, 23.7739, 0.14099, 0.2768, 1.2122]
    assert sorted(printed["published"]) == sorted([*table, 0.14297, 0.2824, 1.2303])
    cell = table1[(table1["row"] == "SNIP (95% sparse)") & (table1["column"] == "critic")].iloc[0]
    assert cell["published"] == 0.2824
    assert cell["difference"] == pytest.approx(cell["value"] - 0.2824)
    assert cell["difference_percent"] == pytest.approx(100 * (cell["value"] / 0.2824 - 1))


def test_published_megabytes_stand_beside_the_papers_tasks_alone(published):
    sizes = synthetic.sizes().assign(networks="narrow")
    own = sizes[sizes["task"] == "halfcheetah"].assign(task="pendulum")
    long = table1_long(own, published, task="pendulum", sparsity=95, scale="custom")
    assert long["published"].isna().all() and long["value"].notna().any()
    assert table1_table(long, "", "").caption.startswith("pendulum, narrow networks, ")


def test_a_table_is_written_as_long_csv_markdown_and_latex(table1, tmp_path):
    files = [tmp_path / f"rl_table1.{kind}" for kind in ("csv", "md", "tex", "html")]
    write_table(table1, table1_table(table1, "Table 1.", "Caption."), files)
    long = pd.read_csv(tmp_path / "rl_table1.csv")
    assert {"value", "published", "difference", "unit", "scale"} <= set(long.columns)
    assert len(long) == 6 * 3
    assert set(long["unit"]) == {"MB"} and set(long["scale"]) == {"demo"}
    assert "| Dense Model | 0.5287 |" in (tmp_path / "rl_table1.md").read_text()
    assert r"\toprule" in (tmp_path / "rl_table1.tex").read_text()


def test_files_have_a_block_for_each_sparsity_and_the_page_has_the_shown_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = synthetic.scores()
    scores.to_csv("scores.csv", index=False)
    synthetic.datasets().to_csv("datasets.csv", index=False)
    output = Named(*(f"results/tables/rl_scores.{kind}" for kind in ("csv", "md", "tex", "html")))
    params = {"observations": "normalised", "sparsity": 90, "title": "T.", "caption": ""}
    files = {name: [f"{name}.csv"] for name in ("scores", "datasets")}
    run("rl_scores", files, output, **params, scale="demo")
    csv, md, tex, page = map(Path, output)
    assert set(pd.read_csv(csv)["sparsity_percent"]) == {0, 50, 80, 90, 95}
    blocks = [re.findall(r"Pruned to (\d+)", path.read_text()) for path in (md, tex, page)]
    assert blocks == [["90", "50", "80", "95"], ["90", "50", "80", "95"], ["90"]]
    labels = re.findall(r"\\label\{(.*?)\}", tex.read_text())
    assert len(set(labels)) == len(labels) == 4
    alone = synthetic.cells(scores_long(run_scores(at_95(scores))))
    assert markdown(scores_table(alone, "T.", "")) in md.read_text()


def test_markdown_escapes_markup_and_cell_borders():
    text = markdown(HOSTILE)
    assert "<" not in text and ">" not in text
    row = text.strip().splitlines()[-1]
    assert row.replace("\\|", "").count("|") == 4


def test_latex_escapes_its_special_characters():
    text = latex(HOSTILE)
    assert r"100\% \& \textless{}script\textgreater{}" in text
    assert r"under\_score" in text and r"a\_b\$" in text
    assert r"\multicolumn{2}{c}{Group}" in text
    assert r"\begin{tabular}{lrr}" in text


def test_a_row_of_the_wrong_length_is_an_error():
    with pytest.raises(ValueError, match="3 columns, a row of 1"):
        Table("x", "", "", HOSTILE.columns, (("a",),))


def test_a_cell_says_how_many_seeds_are_left_after_a_divergence():
    scores = synthetic.scores()
    first = scores["seed"].min()
    gone = (scores["task"] == "hopper") & (scores["method"] == "snip") & (scores["seed"] == first)
    scores.loc[gone & (scores["sparsity_percent"] == 95), "score_normalised"] = float("nan")
    table = scores_table(synthetic.cells(scores_long(run_scores(at_95(scores)))), "", "")
    seeds = scores["seed"].nunique()
    hopper = {row[0]: row[1] for row in table.rows}
    assert hopper["BCQ, SNIP"].endswith(f"({seeds - 1} of {seeds} seeds)")
    assert "seeds)" not in hopper["BCQ, Dense"] + hopper["BCQ, GraSP"]
    assert table.caption.endswith("Runs that diverged have no score and are left out.")


def test_success_rates_are_told_apart():
    scores = synthetic.scores()
    scores["score_normalised"] /= 100
    scores["unit"] = scores["unit"].mask(scores["task"] == "hopper", "return")
    long = synthetic.cells(scores_long(run_scores(at_95(scores))), scores)
    cells = scores_table(long, "", "").rows[0][1:]
    assert re.fullmatch(r"0\.\d{3} \[-?\d\.\d{3}, \d\.\d{3}\]", cells[0])
    assert re.match(r"-?\d\.\d ", cells[2])  # normalised scores keep one decimal


def test_two_seeds_show_no_interval_not_even_over_all_tasks():
    runs = run_scores(at_95(synthetic.scores(seeds=range(2))))
    rows = scores_table(synthetic.cells(scores_long(runs)), "", "").rows
    assert not [cell for row in rows for cell in row[1:] if "[" in cell]


def test_speed_is_measured_against_the_fastest_dense_kernel_of_the_case():
    long = latency_long(synthetic.latency(), scale="demo")
    case = long[(long["part"] == "actor") & (long["batch"] == 1)].set_index("kernel")
    assert case.at["numpy dense", "speedup"] == 1.0
    assert case.at["policy.c", "speedup"] == pytest.approx(11.6 / 6.6)
    assert case.at["torch dense", "speedup"] == pytest.approx(11.6 / 22.7)


def test_a_mask_that_two_sweeps_share_counts_once_among_the_inputs():
    inputs = synthetic.inputs()
    once = inputs_long(inputs, scale="demo")
    seed = inputs[inputs["seed"] == inputs["seed"].min()]
    twice = inputs_long(pd.concat([inputs, seed]), scale="demo")
    pd.testing.assert_frame_equal(once, twice)
