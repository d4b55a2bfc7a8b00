"""Wrong photographs and videos: refused or skipped by name, and the others painted."""

import io
import os
import pickle
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import av
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sandbox import Sandbox, trap
from stand_in import Named

from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import save_network

COMMAND = ("--style", "net.safetensors", "--precision", "float32")


def photograph(height: int = 80, width: int = 96) -> Image.Image:
    """Shades with a little noise, in colour."""
    rows, columns = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    noise = np.random.default_rng(0).uniform(0, 0.1, (height, width))
    shades = np.dstack([rows, columns, 0.5 + 0.4 * np.sin(9 * rows)]) * 0.9 + noise[..., None]
    return Image.fromarray((shades * 255).clip(0, 255).astype(np.uint8))


def encoded(kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    photograph().save(stream, kind, **options)
    return stream.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def bomb(side: int) -> bytes:
    """A PNG of a few hundred bytes that claims side x side pixels."""
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(100_000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def damaged_scan() -> bytes:
    """A JPEG whose header is right and whose picture ends in its first rows."""
    data = encoded("JPEG", quality=95)
    return data[: data.index(b"\xff\xda") + 40]


BROKEN = {
    "cut.jpg": damaged_scan(),
    "cut.png": encoded("PNG")[:-2000],
    "bomb.png": bomb(50_000),
    "zero bytes.png": b"",
    "page.jpg": b"<html>404</html>",
    "pickle.png": pickle.dumps([1, 2, 3]),
}
ODD = {
    "upper case.PNG": encoded("PNG"),
    "two\nlines.png": encoded("PNG"),
    os.fsdecode(b"caf\xe9.png"): encoded("PNG"),
    "%d {0} 'x'.png": encoded("PNG"),
}


@pytest.fixture(autouse=True)
def network(sandbox: Sandbox) -> None:
    torch.manual_seed(0)
    save_network("net.safetensors", TransformationNetwork(Architecture(4)), {"origin": "test"})


@pytest.fixture
def folder(sandbox: Sandbox) -> Path:
    """Broken and odd photographs, and a link that leads nowhere."""
    for name, content in (BROKEN | ODD).items():
        path = sandbox.here / "photographs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return sandbox.here / "photographs"


def test_of_a_folder_the_broken_photographs_are_told_and_the_others_painted(sandbox, folder):
    arguments = ("photographs", "gone.png", *COMMAND, "-o", "painted")
    code, _, said = sandbox.triptych("stylize", *arguments)
    assert code == 2
    for name in BROKEN:
        assert f"stylize: photographs/{name}" in said
    assert "gone.png: no such file" in said
    assert f"{len(ODD)} of {len(BROKEN) + len(ODD) + 1} inputs done" in said
    made = {path.name for path in Path("painted").iterdir()}
    assert made == {f"{Path(name).stem}.png" for name in ODD}
    sandbox.check("painted")


def test_a_bomb_is_refused_and_fills_no_memory(sandbox):
    side = 2**31 - 1
    Path("bomb.png").write_bytes(bomb(side))
    tracemalloc.start()
    said = ("bomb.png", "make it smaller")
    sandbox.command_refuses("stylize", "bomb.png", *COMMAND, "-o", "x.png", said=said)
    given, output = {"image": "bomb.png"}, Named("results/p.png")
    sandbox.refuses("style_prepare_painting", given, output, "bomb.png", longest=99, own=True)
    assert tracemalloc.get_traced_memory()[1] < side / 50  # less than a fiftieth of one row
    tracemalloc.stop()
    sandbox.check()


@pytest.mark.parametrize("name", ["cut.jpg", "pickle.png", "a folder"])
def test_a_broken_picture_is_refused_by_the_rules_that_need_it(sandbox, folder, name):
    path = folder / name
    if name == "a folder":
        path.mkdir()
    given = {"image": path}
    sandbox.refuses(
        "style_prepare_painting", given, Named("results/p.png"), name, longest=None, own=True
    )
    sandbox.refuses("style_prepare_content", given, Named("results/c.png"), name, size=None)
    arguments = ("photographs/upper case.PNG", "--optimize", "--style", path, "-o", "x.png")
    sandbox.command_refuses("stylize", *arguments, said=(name,))
    sandbox.check()


CROPS = Named(crops="results/crops.bin", index="results/index.csv", skipped="results/skipped.csv")


def skipped() -> dict[str, str]:
    table = pd.read_csv("results/skipped.csv")
    return dict(zip(table["source"], table["reason"] + ": " + table["detail"], strict=True))


def test_of_training_photographs_the_broken_are_listed_and_the_others_cut(sandbox, folder):
    (folder / "leads nowhere.png").symlink_to("gone.png")
    (folder / "folder.png").mkdir()
    settings = {"path": "photographs", "size": 64, "validation": 1}
    sandbox.rule("style_prepare_photographs", {}, CROPS, source="folder", photographs=settings)
    left_out = skipped()
    assert set(left_out) == {*BROKEN, "leads nowhere.png"}
    assert all(reason.startswith(("broken: ", "grey: ")) for reason in left_out.values())
    assert len(pd.read_csv("results/index.csv")) == len(ODD)
    sandbox.check()


def test_an_archive_cut_short_is_refused_by_name(sandbox):
    with zipfile.ZipFile("train.zip", "w") as archive:
        archive.writestr("a.png", encoded("PNG"))
    os.truncate("train.zip", int(0.4 * os.path.getsize("train.zip")))
    said = ("train.zip", "not a readable zip", "download it again")
    params = {"source": "coco", "photographs": {"size": 64, "validation": 0}}
    rule, given = "style_prepare_photographs", {"archive": "train.zip"}
    sandbox.refuses(rule, given, CROPS, *said, **params)


def cut_video(path: Path) -> None:
    """A video whose table of contents stood at the end, which was lost."""
    with av.open(str(path), "w", format="mp4") as file:
        stream = file.add_stream("libx264", rate=10, options={"g": "1"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        noise = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
        for _ in range(40):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(noise, format="rgb24")))
        file.mux(stream.encode(None))
    os.truncate(path, path.stat().st_size * 6 // 10)


VIDEOS = {
    "text": (lambda path: path.write_text("no video"), "cannot be read as a video"),
    "its contents at the lost end": (cut_video, "is the file complete"),
    "nothing": (lambda path: None, "No such file"),
    "a pickle": (lambda path: trap(path.parent, path.name), "cannot be read as a video"),
}


@pytest.mark.parametrize("kind", VIDEOS)
def test_what_is_no_video_is_refused_and_the_other_inputs_are_done(sandbox, kind):
    make, said = VIDEOS[kind]
    make(sandbox.here / "own video.mp4")
    Image.new("RGB", (32, 24), (200, 60, 0)).save("a.png")
    given = {"video": "own video.mp4"}
    sandbox.refuses("style_film", given, Named("results/film.mp4"), "own video.mp4", said, film={})
    output = Named(video="results/v.mp4", speed="results/s.csv")
    params = {"device": "cpu", "precision": "float32", "batch": 2, "crf": 18}
    sandbox.refuses(
        "style_video",
        {"source": "own video.mp4", "network": "net.safetensors"},
        output,
        "own video.mp4",
        said,
        speed={"repeats": 1, "frames": 2},
        **params,
    )
    code, _, told = sandbox.triptych("stylize", "own video.mp4", "a.png", *COMMAND, "-o", "painted")
    assert code == 2 and "own video.mp4" in told and said in told
    assert [path.name for path in Path("painted").iterdir()] == ["a.png"]
    sandbox.check("painted")
