"""The rule's folder of images and its rows."""

import math

import torch
from random_networks import image, network

from triptych.style.feedforward.network_files import save_network
from triptych.style.feedforward.stylised_files import COLUMNS, stylise_files
from triptych.style.feedforward.stylize import stylise
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
