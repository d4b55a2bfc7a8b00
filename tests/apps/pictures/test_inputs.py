"""Pictures and films that people bring to `triptych stylize`: accounted for, by content."""

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from random_networks import network

from triptych.apps.pictures import stylizer
from triptych.apps.pictures.network_stylizer import NetworkStylizer
from triptych.cli import main
from triptych.style.data import image_files
from triptych.style.data.images import image_tensors, read_image, write_image
from triptych.style.network.network_files import save_network

av = pytest.importorskip("av")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_network("NET:2+a.SAFETENSORS", network(), {"origin": "test"})
    return tmp_path


def stylize(*arguments: str) -> int:
    command = ["stylize", "--style", "NET:2+a.SAFETENSORS", "--precision", "float32"]
    return main([*command, *arguments])


def write_film(path: str, form: str = "mp4", frames: int = 3, side: int = 32) -> None:
    with av.open(f"file:{path}", "w", format=form) as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = side
        for number in range(frames):
            pixels = np.full((side, side, 3), 100 * number % 256, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))


def encoded(form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.full((40, 40, 3), 128, np.uint8)).save(stream, form, **options)
    return stream.getvalue()


def test_of_a_folder_every_file_is_painted_or_listed_once_with_why(capsys):
    painted = {
        "a.mpo": encoded("JPEG"),
        "png.jpg": encoded("PNG"),
        "scan.dat": encoded("TIFF"),
        "take 1:b+~.png": encoded("PNG"),
    }
    left_out = {
        "raw.NEF": encoded("TIFF"),
        "telephone.jpg": b"\0\0\0\x18ftypheic" + bytes(20),
        "notes.txt": b"holiday\n\x1b[1m",
        "song.mp3": b"ID3" + bytes(40),
        "empty.png": b"",
    }
    for name in ("more", "@eaDir"):
        Path("in", name).mkdir(parents=True)
    for name, content in {**painted, **left_out, ".hidden": b"", "Thumbs.db": b""}.items():
        Path("in", name).write_bytes(content)
    Path("in/gone.jpg").symlink_to("nowhere")
    write_film("in/clip:1.3gp")
    write_film("in/film.bin")
    assert stylize("in", "in/a.mpo", "-o", "in/out") == 2
    said = capsys.readouterr().err
    for name in (*left_out, "gone.jpg", "more"):
        assert (
            sum(line.startswith(f"triptych stylize: in/{name}") for line in said.splitlines()) == 1
        )
    assert "6 of 13 inputs done" in said
    made = {path.name for path in Path("in/out").iterdir()}
    assert made == {
        *("a.png", "png.jpg", "scan.png", "take 1:b+~.png"),
        *("clip:1.mp4", "film.mp4"),
    }
    with av.open("file:in/out/clip:1.mp4") as container:
        assert sum(1 for _ in container.decode(video=0)) == 3


def test_no_file_that_is_there_is_written_over(capsys):
    write_film("clip.mov", "mov")
    write_image("photo.png", torch.rand(3, 32, 32))
    for name in ("clip.mp4", "PHOTO.png", "x.png"):
        Path(name).write_bytes(b"something else")
    Path("other").mkdir()
    shutil.copy("photo.png", "other")
    assert stylize("clip.mov", "other/photo.png", "-o", ".") == 0
    assert stylize("photo.png", "-o", "x.png") == 2
    assert "x.png exists" in capsys.readouterr().err
    assert {Path(name).read_bytes() for name in ("clip.mp4", "PHOTO.png", "x.png")} == {
        b"something else"
    }
    assert Path("clip-2.mp4").is_file() and Path("photo-2.png").is_file()
    assert stylize("photo.png", "-o", "x.png", "--overwrite") == 0
    assert read_image("x.png").shape == (3, 32, 32)


def test_inputs_of_one_name_have_a_result_each(capsys):
    for number, source in enumerate(("x/a.png", "y/a.png", "y/a.bmp", "z/a.png")):
        Path(source).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8 + number, 8)).save(source)
    assert stylize("x/a.png", "y", "z/a.png", "-o", "out", "--overwrite") == 0
    for name, width in {"a": 8, "a-2": 10, "a-3": 9, "a-4": 11}.items():
        assert Image.open(f"out/{name}.png").width == width
    assert "y/a.png -> out/a-3.png" in capsys.readouterr().out


def test_each_name_of_one_file_has_a_result():
    Path("in").mkdir()
    write_image("in/a.png", torch.rand(3, 8, 8))
    Path("in/b.png").symlink_to("a.png")
    os.link("in/a.png", "in/c.png")
    Path("again").symlink_to("in")
    assert stylize("in", "again", "in/a.png", "-o", "out") == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["a.png", "b.png", "c.png"]


def test_results_in_the_folder_of_their_inputs_are_not_painted_again(capsys):
    Path("in").mkdir()
    for name in ("a.jpg", "b.png", "c.webp", "d.tif"):
        write_image(f"in/{name}", torch.rand(3, 16, 16))
    write_film("in/e.mp4")
    assert stylize("in", "-o", "in") == 0
    assert len(list(Path("in").iterdir())) == 10
    capsys.readouterr()
    assert stylize("in", *map(str, Path("in").iterdir()), "-o", "in") == 0
    assert "earlier calls in in, not painted again: 5" in capsys.readouterr().err
    assert len(list(Path("in").iterdir())) == 15
    assert stylize("in/a-2.jpg", "-o", "in") == 0  # nothing to do
    assert "not painted again: 1" in capsys.readouterr().err
    assert stylize("in/a-2.jpg", "in/e-2.mp4", "-o", "other") == 0  # asked for elsewhere
    assert len(list(Path("other").iterdir())) == 2


def test_a_file_that_was_made_meanwhile_stays(monkeypatch, capsys):
    render = NetworkStylizer.render

    def slow(self: NetworkStylizer, photographs: np.ndarray) -> np.ndarray:
        Path("x.png").write_bytes(b"another call's")
        return render(self, photographs)

    monkeypatch.setattr(NetworkStylizer, "render", slow)
    write_image("photo.png", torch.rand(3, 32, 32))
    assert stylize("photo.png", "-o", "x.png") == 0
    assert "photo.png -> x-2.png" in capsys.readouterr().out
    assert Path("x.png").read_bytes() == b"another call's"
    assert read_image("x-2.png").shape == (3, 32, 32)


def test_a_network_that_gives_no_numbers_writes_nothing(monkeypatch, capsys):
    monkeypatch.setattr(NetworkStylizer, "render", lambda _, images: images * np.float32("nan"))
    write_image("photo.png", torch.rand(3, 8, 8))
    write_film("film.mp4")
    assert stylize("photo.png", "film.mp4", "-o", "out") == 2
    said = capsys.readouterr().err
    assert said.count("the network gave NaN") == 2 and ".partial" not in said
    assert list(Path("out").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_temporary_file(number):
    write_film("long.mp4", frames=400, side=320)
    command = [sys.executable, "-m", "triptych.cli", "stylize", "--device", "cpu", "long.mp4"]
    command += ["--style", "NET:2+a.SAFETENSORS", "-o", "out"]
    library = str(Path(stylizer.__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": library}
    call = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in Path("out").glob(".partial-*")):
        assert time.monotonic() < deadline and call.poll() is None
        time.sleep(0.05)
    call.send_signal(number)
    call.send_signal(number)  # as `timeout` does
    _, said = call.communicate(timeout=30)
    assert call.returncode == 128 + number and "Traceback" not in said
    assert list(Path("out").iterdir()) == []
    if number == signal.SIGINT:
        assert said.splitlines()[-1].startswith("triptych stylize: stopped; 0 of 1 inputs done")


def test_of_a_film_that_is_cut_the_exit_code_tells(capsys):
    write_film("whole.mkv", "matroska", frames=60, side=64)
    content = Path("whole.mkv").read_bytes()
    Path("cut.mkv").write_bytes(content[: len(content) * 6 // 10])
    assert stylize("whole.mkv", "-o", "a.mp4", "-q") == 0
    assert capsys.readouterr().err == ""
    assert stylize("whole.mkv", "cut.mkv", "-o", "out", "-q") == 2
    said = capsys.readouterr().err.splitlines()
    assert "cut.mkv" in said[0] and "1 of 2 inputs" in said[1] and len(said) == 2
    assert {path.name for path in Path("out").iterdir()} == {"whole.mp4", "cut.mp4"}


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "AVIF", "PPM"])
def test_a_picture_that_is_cut_is_refused_and_heic_not_spoken_of(form, capsys):
    pixels = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form)
    Path("cut.jpg").write_bytes(stream.getvalue()[: len(stream.getvalue()) * 6 // 10])
    assert stylize("cut.jpg", "-o", "x.png") == 2
    said = capsys.readouterr().err
    assert "cut.jpg" in said and "HEIC" not in said and not Path("x.png").exists()


def test_what_takes_pictures_alone_names_the_film(capsys):
    write_film("clip.mp4")
    write_image("photo.png", torch.rand(3, 8, 8))
    for option in (["--size", "8"], ["--style", "all"], ["--optimize"]):
        given = ["stylize", "photo.png", "clip.mp4", "-o", "out", "--style", "NET:2+a.SAFETENSORS"]
        assert main([*given, *option]) == 2
        said = capsys.readouterr().err
        assert "clip.mp4" in said and " ".join(option[:1]) in said
    for option in (["--steady", "0.95"], ["--optimize", "--steady", "0"]):
        assert stylize("photo.png", *option, "-o", "out") == 2
        assert "--steady" in capsys.readouterr().err
    assert not Path("out").exists()


def test_progress_and_the_last_line_count_alike(monkeypatch, capsys):
    Path("in/more").mkdir(parents=True)
    for name in ("a", "b"):
        write_image(f"in/{name}.png", torch.rand(3, 8, 8))
    Path("in/c.png").write_bytes(b"")
    assert stylize("in", "-o", "out") == 2
    said = capsys.readouterr().err
    assert said.count("2 of 4 inputs") == 2 and "0 s left" in said


def test_what_is_transparent_leaves_no_fringe_when_it_is_made_smaller():
    rows, columns = np.mgrid[:120, :120]
    alpha = np.clip(50.5 - np.hypot(rows - 60, columns - 60), 0, 1)
    pixels = np.zeros((120, 120, 4), np.uint8)
    pixels[..., 0], pixels[..., 3] = 255, np.rint(255 * alpha)
    Image.fromarray(pixels).save("disc.png")
    assert stylize("disc.png", "--size", "33", "--strength", "0", "-o", "x.png") == 0
    rgb, opacity = image_tensors(Image.open("x.png"))
    seen = opacity[0] > 0
    assert 0.3 < seen.float().mean() < 0.7 and opacity.unique().numel() > 10
    assert rgb[1:, seen].max() <= 1.01 / 255 and rgb[0, seen].min() >= 1 - 1.01 / 255
    expected = Image.open("disc.png").resize((33, 33), Image.Resampling.BICUBIC).getchannel("A")
    np.testing.assert_allclose(opacity[0] * 255, np.asarray(expected), atol=5)


@pytest.mark.parametrize(
    ("form", "mode"), [("JPEG", "RGB"), ("JPEG", "L"), ("PNG", "RGBA"), ("PNG", "P"), ("TIFF", "1")]
)
def test_a_huge_picture_is_read_where_it_is_made_smaller(form, mode, monkeypatch, capsys):
    monkeypatch.setattr(image_files, "MOST_PIXELS", 300 * 400 - 1)
    smooth = Image.linear_gradient("L").resize((400, 300)).convert("RGB").convert(mode)
    smooth.save("huge", form)
    assert stylize("huge", "-o", "x.png") == 2
    assert "400x300 pixels" in capsys.readouterr().err
    assert stylize("huge", "--size", "30", "--strength", "0", "-o", "x.png") == 0
    expected = np.asarray(smooth.convert("RGB").resize((40, 30), Image.Resampling.BICUBIC))
    found = (read_image("x.png") * 255).permute(1, 2, 0).numpy()
    # Of dithered black and white alone the two reductions differ.
    assert np.abs(found - expected).mean() < (20 if mode == "1" else 2)


def test_sides_that_a_result_cannot_have_are_told_before_it_is_painted(monkeypatch, capsys):
    monkeypatch.setattr(NetworkStylizer, "render", lambda *_: pytest.fail("painted"))
    write_image("wide.png", torch.zeros(3, 16, 16_400))
    write_image("line.png", torch.zeros(3, 1, 900))
    assert stylize("wide.png", "-o", "x.webp") == 2
    assert "x.webp: 16400x16 pixels" in capsys.readouterr().err
    assert stylize("line.png", "--size", "512", "-o", "x.png") == 2
    assert "--size 512 makes it 460800x512" in capsys.readouterr().err
    assert stylizer.MOST_PIXELS < 460_800 * 512
    with pytest.raises(image_files.InputError, match="65500"):
        image_files.check_target("x.JPG", 1, 65_501)
