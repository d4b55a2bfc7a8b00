"""A picture that can't be had stands alone: what doesn't need it is made, and what does says so."""

from pathlib import Path

import pandas as pd
import pytest
import synthetic_style as made
from download_server import Behaviour, serving, status
from matplotlib.text import Text
from PIL import Image
from random_networks import network
from stand_in import Named, run

from style import figure8, styles
from triptych.core.errors import InputError
from triptych.style.data.image_files import open_image
from triptych.style.data.missing import missing_among, missing_reason, write_missing
from triptych.style.data.wikimedia import download_picture
from triptych.style.network.network_files import save_network
from triptych.style.report.panels import Shown
from triptych.style.report.runs import stylised_long

ALEXNET = str(Path(__file__).parents[2] / "resources/style/narrow_alexnet.safetensors")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("pixels", "refusal", "reason"),
    [
        (None, status(403), "answered 403"),
        ([90, 50], None, "it has 80x60 pixels, and 50x90 are asked for"),
        ([60, 81], None, "it has 80x60 pixels"),
    ],
)
def test_a_refused_or_too_small_picture_leaves_one_that_says_so(pixels, refusal, reason):
    made.photograph("city", (80, 60)).save("city.jpg")
    behaviour = Behaviour(content=Path("city.jpg").read_bytes(), always=refusal)
    with serving(behaviour) as address:
        download_picture(f"{address}/city.jpg", "city", "me@example.org", pixels=pixels)
        assert reason in missing_reason("city")
        with pytest.raises(InputError, match="city is missing"):
            open_image("city")
        behaviour.always = None
        download_picture(f"{address}/city.jpg", "city", "me@example.org", pixels=[60, 80])
    assert Path("city").read_bytes() == Path("city.jpg").read_bytes()
    assert missing_reason("city") == ""


def test_the_other_photographs_are_stylised_and_figures_name_the_missing_one():
    save_network("net.safetensors", network(), {"origin": "test"})
    write_missing("results/d/city", "city", "answered 404")
    made.photograph("lake", (80, 60)).save("lake.png")
    made.photograph("waves", (80, 70)).save("waves.png")
    for name, source in (("city", "results/d/city"), ("lake", "lake.png")):
        output = Named(f"results/contents/{name}.png")
        run("style_prepare_content", {"content": source}, output, size=None)
    contents = [f"results/contents/{name}.png" for name in ("city", "lake")]
    run(
        "style_stylize",
        {"network": "net.safetensors", "contents": contents},
        Named(runs="results/out/waves/runs.csv"),
        painting="waves",
        variant="plain",
        precision="float32",
        device="cpu",
    )
    runs = pd.read_csv("results/out/waves/runs.csv")
    assert list(runs["content"]) == ["lake"]
    results = [f"results/out/waves/{name}.png" for name in ("city", "lake")]
    assert missing_among(results) == {"city": "answered 404"}
    files = {"result": results, "content": contents, "painting": ["waves.png"]}
    large = stylised_long(runs, content="city", painting="waves", scale="custom")
    figure = figure8.figure(Shown(large, **files))
    assert [text.get_text() for text in figure.findobj(Text)] == ["Missing: city. answered 404"]
    figure = styles.figure(Shown(styles.numbers(runs, ["lake"], scale="custom"), **files))
    shown = [text.get_text() for text in figure.findobj(Text)]
    assert "Missing: city. answered 404" in shown and "Lake" in shown


@pytest.mark.parametrize(("size", "reason"), [((80, 60), "80x60 pixels"), ((90, 90), "one colour")])
def test_a_downloaded_painting_that_cannot_be_used_stands_alone_and_ones_own_is_an_error(
    capsys, size, reason
):
    Image.new("RGB", size, "red").save("downloaded", "PNG")
    output = Named("results/style/paintings/scream.png")
    run("style_prepare_painting", {"painting": "downloaded"}, output, longest=None, own=False)
    assert reason in missing_reason(output[0])
    assert "goes on without it" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run("style_prepare_painting", {"painting": "downloaded"}, output, longest=None, own=True)


def test_an_experiment_leaves_out_the_images_of_a_missing_painting():
    write_missing("gone.png", "gone", "answered 404")
    for name in ("lake", "waves"):
        made.photograph(name, (80, 70)).save(f"{name}.png")
    row = {
        "experiment": "paintings",
        "backbone": "alexnet",
        "architecture": "narrow_alexnet",
        "weights": "embedded",
        "content": "lake",
        "preset": "tuned",
        "rates": "tuned",
        "optimizer": "adam",
        "content_loss": "mse",
        "style_loss": "gram",
        "initialisation": "content",
        "scales": 1,
        "size": 64,
        "evaluations": 2,
        "precision": "float32",
    }
    rows = [{**row, "run": name, "painting": name} for name in ("gone", "waves")]
    given = {
        "weights_alexnet": ALEXNET,
        "contents": ["lake.png"],
        "paintings": ["gone.png", "waves.png"],
        "photographs": [],
    }
    for number, expected in ((2, ["waves"]), (1, [])):
        folder = f"results/{number}"
        output = Named(
            runs=f"{folder}/runs.csv", history=f"{folder}/history.csv", images=f"{folder}/images"
        )
        checkpoint = f"{folder}/checkpoint"
        run(
            "style_optimize", given, output, runs=rows[:number], device="cpu", checkpoint=checkpoint
        )
        runs = pd.read_csv(output.runs, keep_default_na=False)
        assert list(runs["run"]) == expected and set(runs["style_loss"]) <= {"gram"}
        assert [path.stem for path in Path(output.images).iterdir()] == expected
