"""The rule's folder of images and its rows."""

import math

import torch
from random_networks import image, network

from triptych.core import device
from triptych.style.feedforward import stylised_files
from triptych.style.feedforward.network_files import save_network
from triptych.style.feedforward.stylised_files import COLUMNS, stylise_files
from triptych.style.feedforward.stylize import PrecisionError, stylise
from triptych.style.images import read_image, write_image


def test_every_photograph_gets_an_image_and_a_row(tmp_path):
    save_network(tmp_path / "net.safetensors", network(), {"batches": 12})
    for name, size in (("cat", (24, 33)), ("dog", (40, 20))):
        write_image(tmp_path / f"{name}.png", image(*size))
    rows = stylise_files(
        tmp_path / "net.safetensors",
        [tmp_path / "cat.png", tmp_path / "dog.png"],
        tmp_path / "images",
        painting="waves",
        variant="shipped",
        precision="float32",
        device=torch.device("cpu"),
    )
    assert tuple(rows.columns) == COLUMNS
    assert rows["content"].tolist() == ["cat", "dog"]
    assert rows[["height", "width_px"]].to_numpy().tolist() == [[24, 33], [40, 20]]
    assert set(rows["origin"]) == {"shipped"} and set(rows["batches"]) == {12}
    assert set(rows["width"]) == {4} and not rows["tiled"].any()
    assert (rows["seconds"] > 0).all() and set(rows["psnr_to_float32"]) == {math.inf}
    expected = stylise(network(), read_image(tmp_path / "cat.png"))
    written = read_image(tmp_path / "images" / "cat.png")
    torch.testing.assert_close(written, expected, rtol=0, atol=0.51 / 255)


def test_auto_gives_way_at_the_first_photograph_that_is_far_from_float32(tmp_path, monkeypatch):
    """No image is written that is under 30 dB, whichever photograph shows the fault."""
    save_network(tmp_path / "net.safetensors", network(), {"batches": 12})
    names = ["cat", "dog", "elk"]
    for number, name in enumerate(names):
        write_image(tmp_path / f"{name}.png", image(24 + number, 33))
    figures = iter([35.0, 29.0, float("inf")])

    def error(network, image, precision):
        return PrecisionError(1.0, 1.0, next(figures))

    monkeypatch.setattr(device, "_best", lambda *_: ("bf16", "a processor in a test"))
    monkeypatch.setattr(stylised_files, "precision_error", error)
    rows = stylise_files(
        tmp_path / "net.safetensors",
        [tmp_path / f"{name}.png" for name in names],
        tmp_path / "images",
        painting="waves",
        variant="shipped",
        precision="auto",
        device=torch.device("cpu"),
    )
    assert rows["precision"].tolist() == ["bf16", "float32", "float32"]
    assert rows["psnr_to_float32"].tolist() == [35.0, math.inf, math.inf]
    for name in names[1:]:
        expected = stylise(network(), read_image(tmp_path / f"{name}.png"))
        written = read_image(tmp_path / "images" / f"{name}.png")
        torch.testing.assert_close(written, expected, rtol=0, atol=0.51 / 255)
