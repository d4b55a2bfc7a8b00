"""`triptych stylize --optimize`, as a person would type it: what is said, written, and resumed."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from triptych.apps.pictures import optimising_stylizer
from triptych.cli import main
from triptych.core.stopping import SAVED_EXIT_CODE
from triptych.style.data.image_files import keep_colours
from triptych.style.data.images import read_image, write_image
from triptych.style.optimise.scales import CoarseToFine

COMMAND = ["stylize", "in/a.png", "--optimize", "--style", "p.png", "--evaluations", "2,2,2"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    """Three photographs, two of one size, and two paintings."""
    monkeypatch.chdir(tmp_path)
    generator = torch.Generator().manual_seed(0)

    def smooth(height: int, width: int) -> torch.Tensor:
        coarse = torch.rand(1, 3, 6, 6, generator=generator)
        return torch.nn.functional.interpolate(coarse, (height, width), mode="bilinear")[0]

    Path("in").mkdir()
    for name, shape in {
        "in/a.png": (40, 48),
        "in/b.png": (40, 48),
        "in/c.png": (45, 42),
        "p.png": (70, 84),
        "q.png": (84, 70),
    }.items():
        write_image(name, smooth(*shape))
    write_image("small.png", smooth(20, 90))
    write_image("plain.png", torch.full((3, 80, 80), 0.5))
    write_image("dot.png", torch.rand(3, 1, 1))
    return tmp_path


def painted(*arguments: str) -> torch.Tensor:
    assert main([*COMMAND, *arguments, "-o", "x.png", "--overwrite"]) == 0
    return read_image("x.png")


def test_each_option_changes_the_image_and_the_same_command_repeats_it():
    variants: dict[str, tuple[str, ...]] = {
        "plain": (),
        "one scale": ("--evaluations", "4"),
        "stroke": ("--style-scale", "0.7"),
        "luma": ("--keep-colours",),
    }
    found = {name: painted(*arguments) for name, arguments in variants.items()}
    for name, image in found.items():
        assert sum(torch.equal(image, other) for other in found.values()) == 1, name
    assert torch.equal(painted(*variants["stroke"]), found["stroke"])
    photograph = read_image("in/a.png")
    expected = (keep_colours(photograph, found["plain"]) * 255).round() / 255
    torch.testing.assert_close(found["luma"], expected, rtol=0, atol=2.01 / 255)


def stops_at(count: int, by: Callable[[], None]) -> Callable[[CoarseToFine], None]:
    step = CoarseToFine.step

    def stopping(self: CoarseToFine) -> None:
        step(self)
        if self.done == count:
            by()

    return stopping


def test_an_interrupted_call_goes_on_to_the_same_bytes(capsys, monkeypatch):
    whole = painted()
    Path("x.png").unlink()
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patched:
        interrupt = stops_at(5, lambda: os.kill(os.getpid(), signal.SIGINT))
        patched.setattr(CoarseToFine, "step", interrupt)
        with pytest.raises(SystemExit) as stopped:
            painted()
    assert stopped.value.code == SAVED_EXIT_CODE
    assert signal.getsignal(signal.SIGINT) is before
    assert "SIGINT" in capsys.readouterr().err and not Path("x.png").exists()
    assert len(list(Path("x.png.unfinished").glob("*/state.pt"))) == 1
    steps = []
    step = CoarseToFine.step
    monkeypatch.setattr(CoarseToFine, "step", lambda self: (steps.append(1), step(self))[1])
    assert torch.equal(painted(), whole)
    assert len(steps) == 6 - 5
    assert not Path("x.png.unfinished").exists()


def test_of_a_folder_what_had_ended_is_not_done_again(monkeypatch):
    command = ["stylize", "in", *COMMAND[2:]]
    assert main([*command, "-o", "whole"]) == 0
    stopped_at(2, monkeypatch, [*command, "-o", "out"])
    assert sorted(path.name for path in Path("out").iterdir()) == ["a.png"]
    steps = []
    step = CoarseToFine.step
    monkeypatch.setattr(CoarseToFine, "step", lambda self: (steps.append(1), step(self))[1])
    assert main([*command, "-o", "out"]) == 0
    assert len(steps) == 3 + 6  # of b, which was saved after its third, and of c
    for name in ("a.png", "b.png", "c.png"):
        assert Path("out", name).read_bytes() == Path("whole", name).read_bytes()
    assert not Path("out.unfinished").exists()


def stopped_at(photographs: int, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    """Run a command that is killed while it paints the last of so many photographs."""
    with monkeypatch.context() as patched:
        begun = []

        def killed() -> None:
            begun.append(1)
            if len(begun) == photographs:
                raise KeyboardInterrupt

        patched.setattr(CoarseToFine, "step", stops_at(4, killed))
        patched.setattr("triptych.apps.pictures.optimising_stylizer.SAVE_EVERY_SECONDS", 0.0)
        assert main(command) == 130


def test_a_stopped_calls_results_stay_whatever_comes_after_it(monkeypatch, capsys):
    command = ["stylize", "in", *COMMAND[2:], "-o", "out"]
    stopped_at(3, monkeypatch, command)
    finished = {name: Path("out", name).read_bytes() for name in ("a.png", "b.png")}
    Path("out/b.png").write_bytes(b"edited")
    other = [*command, "--style", "q.png"]
    assert main(other) == 0
    assert Path("out/a.png").read_bytes() == finished["a.png"]
    assert Path("out/b.png").read_bytes() == b"edited"
    names = {"a.png", "a-2.png", "b.png", "b-2.png", "c.png"}
    assert {path.name for path in Path("out").iterdir()} == names
    times = {name: Path("out", name).stat().st_mtime_ns for name in names}
    assert main(command) == 0  # goes on all the same
    assert Path("out/b-3.png").read_bytes() == finished["b.png"]
    assert {path.name for path in Path("out").iterdir()} == {*names, "b-3.png", "c-2.png"}
    assert {name: Path("out", name).stat().st_mtime_ns for name in names} == times
    assert "in/a.png -> out/a.png" in capsys.readouterr().out
    assert not Path("out.unfinished").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--style", "p.png+small.png"], "p.png+small.png is no file; with --optimize give a"),
        (["--style", "small.png"], "small.png: a painting of 90x20 pixels; expected at least 64"),
        (["--style", "plain.png"], "plain.png: every pixel has one colour"),
        (["--style-scale", "0.1"], "--style-scale 0.1: a painting of 6x6 pixels; --optimize expec"),
        (["dot.png"], "dot.png: an image of 1x1 pixels; --optimize expects at least 16 along both"),
    ],
)
def test_what_cannot_be_is_said_in_one_message(arguments, message, capsys):
    inputs = arguments if "dot.png" in arguments else ["in/a.png", *arguments]
    options = [*COMMAND[2:], *inputs]
    assert main(["stylize", *options, "-o", "x.png"]) == 2
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said
    assert not Path("x.png").exists() and not Path("x.png.unfinished").exists()


def test_an_image_that_memory_does_not_hold_is_refused_with_a_size_that_fits(capsys, monkeypatch):
    monkeypatch.setattr(optimising_stylizer, "free_memory", lambda _: 0.275e9)
    write_image("large.png", torch.rand(3, 400, 300))
    command = ["stylize", "large.png", *COMMAND[2:-1], "1", "-o", "x.png"]
    assert main(command) == 2
    size = re.search(r"--size (\d+) fits", capsys.readouterr().err)[1]
    assert 16 < int(size) < 300
    assert main([*command, "--size", size]) == 0
    assert read_image("x.png").shape[2] == int(size)
