"""Two small runs compared cell by cell."""

import pandas as pd
import pytest

from triptych.cli import main
from triptych.core.errors import InputError
from triptych.report.compare import INSIDE, NONE, OUTSIDE, compare, text

A, B = "results-a", "results-b"


def write(folder, claims, **tables):
    (folder / "tables").mkdir(parents=True)
    for name, rows in tables.items():
        pd.DataFrame(rows).assign(scale=folder.name).to_csv(
            folder / "tables" / f"{name}.csv", index=False
        )
    pd.DataFrame(claims.items(), columns=["id", "verdict"]).to_csv(
        folder / "claims.csv", index=False
    )


def row(task, seed, value, low=None, high=None, **others):
    return {"task": task, "seed": seed, "value": value, "low": low, "high": high, **others}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path / A,
        {"one": "reproduced", "two": "not reproduced", "three": "reproduced"},
        scores=[
            row("hopper", 0, 10.0, 9.0, 11.0, seconds=1.5, device="cpu"),
            row("hopper", 1, 10.0, 9.0, 11.0, seconds=1.5, device="cpu"),
            row("walker2d", 0, 4.0, seconds=1.5, device="cpu"),
            row("ant", 0, 7.0, seconds=1.5, device="cpu"),
            row("swimmer", 0, 2.0, 30.0, 40.0, seconds=1.5, device="cpu"),
        ],
        words=[{"part": "query", "value": "rain"}, {"part": "answer", "value": "rain falls"}],
        first=[{"part": "x", "value": 1}],
    )
    write(
        tmp_path / B,
        {"one": "reproduced", "two": "seen with substitutes", "four": "reproduced"},
        scores=[
            row("hopper", 1, 10.5, 9.5, 11.5, seconds=2.25, device="gpu"),
            row("hopper", 0, 12.5, 12.0, 13.0, seconds=2.25, device="gpu"),
            row("walker2d", 0, 3.0, seconds=2.25, device="gpu"),
            row("cheetah", 0, 7.0, seconds=2.25, device="gpu"),
            row("swimmer", 0, 3.0, 30.0, 40.0, seconds=2.25, device="gpu"),
        ],
        words=[{"part": "query", "value": "rain"}, {"part": "answer", "value": "it <b>pours"}],
    )
    return compare(tmp_path / A, tmp_path / B)


def test_cells_are_matched_by_what_names_them_in_whatever_order(runs):
    cells = runs[runs["table"] == "scores"].set_index("cell")
    expected = {
        "hopper, 0": (2.5, 25.0, OUTSIDE),
        "hopper, 1": (0.5, 5.0, INSIDE),
        "walker2d, 0": (-1.0, -25.0, NONE),
        "swimmer, 0": (1.0, 50.0, NONE),  # whose intervals are of something else
    }
    for cell, (difference, percent, interval) in expected.items():
        found = cells.loc[cell]
        assert found["difference"] == pytest.approx(difference)
        assert found["percent"] == pytest.approx(percent)
        assert found["interval"] == interval


def test_rows_tables_and_claims_of_one_run_alone_are_listed(runs):
    alone = {
        run: set(runs.loc[runs[f"text_{other}"].isna(), ["table", "cell"]].agg(": ".join, axis=1))
        for run, other in (("a", "b"), ("b", "a"))
    }
    assert alone == {
        "a": {"scores: ant, 0", "first: x", "claims: three"},
        "b": {"scores: cheetah, 0", "claims: four"},
    }


def test_a_run_does_not_differ_from_itself(runs, tmp_path):
    same = compare(tmp_path / A, tmp_path / A)
    assert not same["changed"].any() and same.notna()[["text_a", "text_b"]].all(axis=None)
    assert "4 tables are the same" in text(same)


def test_folders_that_are_no_results_are_refused(runs, tmp_path):
    with pytest.raises(InputError, match="no tables"):
        compare(tmp_path / A, tmp_path)
    write(tmp_path / "other", {}, unlike=[{"value": 1}])
    with pytest.raises(InputError, match="no table in common"):
        compare(tmp_path / A, tmp_path / "other")


@pytest.mark.parametrize("broken", [b"", b"id;verdict\n", b"\xff\xfe\x00", b"claim\nx\n"])
def test_broken_claims_are_told_by_their_file(runs, tmp_path, broken, capsys):
    (tmp_path / B / "claims.csv").write_bytes(broken)
    assert main(["compare", str(tmp_path / A), str(tmp_path / B)]) == 2
    said = capsys.readouterr().err
    assert str(tmp_path / B / "claims.csv") in said and "Traceback" not in said


def test_the_command_prints_the_most_changed_cells_or_all(runs, capsys, monkeypatch):
    monkeypatch.setattr("triptych.report.compare.SHOWN", 1)
    assert main(["compare", A, B]) == 0
    said = capsys.readouterr().out
    assert "claims: 1 of 2 cells changed" in said
    assert "two | not reproduced | seen with substitutes" in said
    assert "hopper, 0 | 10 | 12.5 | 2.5 | +25.0 % | outside" in said
    assert "and 3 more: --all prints them" in said and "walker2d, 0" not in said
    assert main(["compare", A, B, "--all"]) == 0
    said = capsys.readouterr().out
    assert "walker2d, 0 | 4 | 3 | -1" in said and "more" not in said


def test_a_sparsity_with_a_fraction_identifies_its_row(tmp_path):
    """Levels that only one run has, and their order, do not mix up the others."""
    for name, levels in ((A, (80, 95, 97.5)), (B, (97.5, 95))):
        rows = [row("hopper", 0, float(level), sparsity_percent=level) for level in levels]
        write(tmp_path / name, {}, scores=rows)
    compared = compare(tmp_path / A, tmp_path / B)
    both = compared.dropna(subset=["text_a", "text_b"])
    assert set(both["cell"]) == {"hopper, 0, 95", "hopper, 0, 97.5"}
    assert (both["difference"] == 0).all()
    assert set(compared["cell"]) - set(both["cell"]) == {"hopper, 0, 80"}
