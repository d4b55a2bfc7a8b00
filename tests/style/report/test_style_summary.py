"""The style study at a glance: pictures that could be had, measured ratios, other conditions."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from style.summary import summary
from triptych.report.tables import DASH
from triptych.style.data.missing import write_missing

PAPERS = {
    "backbones": {"vgg": ["vgg19", "imagenet"], "alexnet": ["alexnet", "imagenet"]},
    "sources": ["wikimedia"],
}


@pytest.fixture
def styled(tmp_path):
    """Results of a style study as large as the paper's, and the pictures that it shows."""
    for name in ("stylised/great_wave/china", "contents/china", "paintings/great_wave"):
        path = tmp_path / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (80, 50)).save(path)
    network = {"painting": ["great_wave"], "origin": "trained", "batches": 29571}
    write(tmp_path, "stylised", pd.DataFrame({**network, "content": "china", "seconds": 0.25}))
    cells = [("network", 0.05, 0), ("vgg", 1.0, 2), ("speedup_high", 20, 2)]
    table = pd.DataFrame(
        {"size": 256, "column": column, "counts": "run", "value": value, "evaluations": count}
        | {"published": 9.0, "comparable": column == "network", "unit": "seconds"}
        | {"device": "NVIDIA H200"}
        for column, value, count in cells
    )
    write(tmp_path, "table1", table)
    write(tmp_path, "timing", timing(run=700))
    write(tmp_path, "runs", pd.DataFrame({"run": [], "content": [], "painting": []}))
    write(tmp_path, "selection", pd.DataFrame({"painting": "great_wave", "total": [3.0, 2.0]}))
    return tmp_path


def write(folder, name, rows):
    """Add the columns that differ from row to row, and write the table."""
    rows.assign(batch=range(len(rows))).to_csv(folder / f"{name}.csv", index=False)


def timing(run, slower=10, photographs=3):
    """Seconds of photographs with which Version 1 takes so many times as long."""
    seconds = pd.Series([0.5, 0.75, 1.0][:photographs])
    parts = []
    for backbone, factor, evaluations in (("network", 1, 0), ("vgg", slower, run)):
        rows = pd.DataFrame({"image": range(photographs), "seconds": seconds * factor})
        parts.append(rows.assign(backbone=backbone, evaluations=evaluations))
    whole = pd.concat(parts).assign(size=256, evaluations_stated=700)
    return whole.assign(evaluations_done=whole["evaluations"])


def shown(folder, settings=PAPERS, contents=("china",)):
    names = ("stylised", "table1", "timing", "selection", "runs")
    files = {name: [folder / f"{name}.csv"] for name in names} | {
        "painted": [folder / f"stylised/great_wave/{name}.png" for name in contents],
        "contents": [folder / f"contents/{name}.png" for name in contents],
        "painting": [folder / "paintings/great_wave.png"],
        "images": [folder / "images"],
    }
    return summary(files, **settings)


@pytest.mark.parametrize("stated", [True, False])
def test_it_shows_a_photograph_that_could_be_painted_and_seconds_of_one_size(styled, stated):
    Image.new("RGB", (80, 50)).save(styled / "stylised/great_wave/lost.png")
    write_missing(styled / "contents/lost.png", "lost", "no answer")
    table = pd.read_csv(styled / "table1.csv")
    if stated:
        scaled = table.assign(counts="scaled", evaluations=700, value=table["value"] * 350)
        table = pd.concat([table, scaled[scaled["column"] != "network"]])
    larger = table[table["column"] != "vgg"].assign(size=512)
    write(styled, "table1", pd.concat([table, larger]))
    seen = shown(styled, contents=("lost", "china"))
    assert "*China* in the style of *Great wave* in one pass of 0.25 s" in seen.sentence
    values, labels = zip(*seen.numbers, strict=True)
    assert values[0] == "0.050 s" and "256 pixels" in labels[0]
    assert ["paper: 9.00" in text for text in labels] == [True, False, False]
    assert values[1:] == (("0.50 s", "700") if stated else ("1.00 s", "20×"))  # noqa: RUF001
    assert [image.width for image, _ in seen.photographs] == [80, 80, 80]
    write(styled, "table1", table.assign(value=np.nan))
    assert shown(styled).numbers[1][0] == f"{DASH} s"


@pytest.mark.parametrize(
    ("measured", "sentence"),
    [
        ({"run": 700}, "in 700 steps (Version 1) takes **10 times** as long as a pass"),
        ({"run": 2}, "One of the 700 steps"),
        ({"run": 2}, "**5.00 times** as long as a pass at 256 pixels (95% interval over 3 ph"),
        ({"run": 700, "photographs": 1}, "(1 photograph: no interval)"),
        ({"run": 700, "slower": 0.5}, "not seen to take longer"),
    ],
)
def test_it_says_how_many_times_as_long_a_measured_optimisation_takes(styled, measured, sentence):
    write(styled, "timing", timing(**measured))
    assert sentence in shown(styled).sentence


def test_it_gives_no_ratio_for_a_network_that_learnt_nothing(styled):
    assert " times** " in shown(styled).sentence
    losses = pd.DataFrame({"painting": "great_wave", "total": [2.0, 2.0, 3.0]})
    write(styled, "selection", losses)
    sentence = shown(styled).sentence
    assert "(*Great wave*) learnt nothing" in sentence and " times** " not in sentence


def test_it_shows_the_optimised_picture_of_the_same_photograph_and_painting(styled):
    assert "Version 1" not in shown(styled).caption
    (styled / "images").mkdir()
    Image.new("RGB", (64, 40)).save(styled / "images/b.png")
    runs = [("a", "china", "swirls"), ("b", "china", "great_wave"), ("c", "lake", "great_wave")]
    write(styled, "runs", pd.DataFrame(runs, columns=["run", "content", "painting"]))
    assert [image.width for image, _ in shown(styled).photographs] == [80, 64, 80, 80]
    assert "Version 1" in shown(styled).caption


def test_it_says_what_is_not_the_papers(styled):
    assert shown(styled).limits == ""
    ours = {
        "backbones": {"vgg": ["vgg16", "hed"], "alexnet": ["alexnet", "imagenet"]},
        "sources": ["shipped"],
    }
    networks = [("swirls", "shipped", 9000), ("great_wave", "trained", 60)]
    rows = pd.DataFrame(networks, columns=["painting", "origin", "batches"])
    rows.assign(content="china", seconds=0.25).to_csv(styled / "stylised.csv")
    limits = shown(styled, ours).limits
    for part in ("VGG-16", "VGG-19", "a program drew", "network of Swirls", "60 of the paper's"):
        assert part in limits
    assert "AlexNet" not in limits and "processor" not in limits
