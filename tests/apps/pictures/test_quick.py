"""`triptych stylize` by ONNX Runtime, against the same command by PyTorch."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from triptych.apps.init import export_shipped
from triptych.apps.pictures import catalogue, commands, onnx_stylizer
from triptych.cli import main
from triptych.style.data.images import read_image, write_image
from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import export_styles, load_network, save_network
from triptych.style.network.stylize import stylise

BY_PYTORCH = ["--precision", "float32"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A network of two styles with its ONNX file, and a photograph with opacity."""
    folder = tmp_path_factory.mktemp("quick")
    networks = folder / catalogue.SHIPPED
    networks.mkdir(parents=True)
    torch.manual_seed(0)
    shape = Architecture(4, "nearest", (0, 1), palette=True, styles=2, halved=True)
    network = TransformationNetwork(shape)
    for value in network.of_styles().values():
        value.data += 0.3 * torch.randn_like(value)
    network.load_state_dict({k: v.half().float() for k, v in network.state_dict().items()})
    record = {"origin": "shipped", "styles": ["oil", "chalk"], "painting_size": 48}
    save_network(networks / "two.safetensors", network, record)
    export_styles(networks / "two.onnx", network)
    write_image(folder / "photo.png", torch.rand(3, 61, 83), torch.rand(1, 61, 83))
    return folder


@pytest.mark.parametrize(
    ("size", "options"),
    [
        ((61, 83), ["--style", "oil"]),
        ((31, 33), ["--style", "oil:2+chalk", "--style-scale", "0.5", "--strength", "0.4"]),
        ((16, 300), ["--style", "chalk", "--size", "40", "--keep-colours"]),
        ((7, 200), ["--style", "oil:2+chalk", "--style-scale", "0.5"]),
        ((1, 40), ["--style", "oil"]),
    ],
)
def test_it_paints_what_pytorch_paints(folder, monkeypatch, size, options):
    monkeypatch.chdir(folder)
    write_image("any.png", torch.rand(3, *size), torch.rand(1, *size))
    options = [*options, "--overwrite"]
    assert main(["stylize", "any.png", "-o", "quick.png", *options]) == 0
    monkeypatch.setattr(onnx_stylizer, "suits", lambda *_: False)
    assert main(["stylize", "any.png", "-o", "slow.png", *options, *BY_PYTORCH]) == 0
    quick, slow = read_image("quick.png"), read_image("slow.png")
    assert quick.std() > 0.03 and quick.shape == slow.shape
    # Pillow and PyTorch resize alike but for rounding.
    torch.testing.assert_close(quick, slow, rtol=0, atol=2.01 / 255)


@pytest.mark.parametrize("trained_again", [False, True])
def test_an_onnx_file_older_than_its_network_is_not_painted_with(
    folder, tmp_path, monkeypatch, trained_again
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("two.safetensors", "two.onnx"):
        shutil.copy2(folder / catalogue.SHIPPED / name, name)
    if trained_again:
        os.utime("two.safetensors")
    asked = []
    nothing = SimpleNamespace(work=lambda items, _: asked.append(items) or [], left=[])
    monkeypatch.setattr(commands, "_by_pytorch", lambda _: nothing)
    # The file's name is no style's: what is painted says which of its styles is meant.
    monkeypatch.setattr(
        onnx_stylizer, "find_network", lambda _: (Path("two.safetensors"), "oil", "")
    )
    given = ["stylize", str(folder / "photo.png"), "--style", "two.safetensors", "-o", "x.png"]
    assert main(given) == 0
    assert bool(asked) == trained_again and Path("x.png").is_file() != trained_again


def test_an_onnx_file_beside_a_checkpoint_of_another_kind_is_left(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint = TransformationNetwork(Architecture(4, "transposed", (0,) * 5))
    torch.save(checkpoint.state_dict(), "candy.pth")
    shutil.copy(folder / catalogue.SHIPPED / "two.onnx", "candy.onnx")
    write_image("small.png", torch.rand(3, 24, 32))
    given = ["stylize", "small.png", "--style", "candy.pth", "-o", "x.png"]
    assert main([*given, "--precision", "float32"]) == 0
    network, _ = load_network("candy.pth")
    expected = stylise(network, read_image("small.png"))
    torch.testing.assert_close(read_image("x.png"), expected, rtol=0, atol=1.01 / 255)


def test_a_picture_needs_no_pytorch(folder):
    code = "import sys; from triptych.cli import main; code = main(sys.argv[1:]); "
    code += "sys.exit(code or 'torch' in sys.modules)"
    given = ["stylize", "photo.png", "--style", "oil", "-o", "oil.jpg"]
    assert subprocess.run([sys.executable, "-c", code, *given], cwd=folder).returncode == 0
    assert (folder / "oil.jpg").is_file()


def test_quiet_prints_errors_alone(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    given = ["stylize", "photo.png", "gone.png", "--style", "oil", "-o", "quiet", "--quiet"]
    assert main(given) == 2
    said = capsys.readouterr()
    assert said.out == "" and Path("quiet/photo.png").is_file()
    assert all("gone.png" in line or "1 of 2" in line for line in said.err.splitlines())


def test_the_shipped_networks_file_lies_in_the_cache(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    given = ["stylize", "photo.png", "--style", "oil", "-o"]
    assert main([*given, str(tmp_path / "beside.png")]) == 0
    (folder / catalogue.SHIPPED / "two.onnx").rename(tmp_path / "elsewhere.onnx")
    assert "two: the shipped network for ONNX Runtime" in export_shipped()
    monkeypatch.setattr(commands, "_by_pytorch", None)  # PyTorch is not asked
    assert main([*given, str(tmp_path / "cached.png")]) == 0
    (tmp_path / "elsewhere.onnx").rename(folder / catalogue.SHIPPED / "two.onnx")
    assert (tmp_path / "cached.png").read_bytes() == (tmp_path / "beside.png").read_bytes()


@pytest.mark.parametrize("quick", [True, False])
def test_a_sheet_shows_the_photograph_and_then_each_style(
    folder, tmp_path, monkeypatch, capsys, quick
):
    """Every cell is what the style alone gives; a file that is no network spoils none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "CHECKOUT", folder)
    broken = tmp_path / catalogue.TRAINED / "broken/plain/network.safetensors"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no network")
    monkeypatch.setattr(onnx_stylizer, "MOST_PIXELS", 4e6 if quick else 100)
    for name, size in {"tall.png": (70, 40), "wide.png": (40, 90)}.items():
        write_image(name, torch.rand(3, *size))
        for style in ("chalk", "oil", "all"):
            given = ["stylize", name, "--style", style, "-o", f"{style}-{name}"]
            assert main([*given, "--precision", "float32"]) == 0
        sheet = np.asarray(Image.open(f"all-{name}"))
        files = [name, f"chalk-{name}", f"oil-{name}"]
        places = [place_of(np.asarray(Image.open(file)), sheet) for file in files]
        assert places == sorted(places)
    assert "broken@plain is left out" in capsys.readouterr().err


def place_of(cell: np.ndarray, sheet: np.ndarray) -> tuple[int, int]:
    """Row and column at which a sheet shows a cell, pixel by pixel."""
    windows = np.lib.stride_tricks.sliding_window_view(sheet, cell.shape)[:, :, 0]
    ((row, column),) = np.argwhere((windows == cell).all((2, 3, 4)))
    return int(row), int(column)
