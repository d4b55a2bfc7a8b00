"""Wrong videos are refused by name, and the other inputs are done."""

import os
from pathlib import Path

import av
import numpy as np
import pytest
import torch
from PIL import Image
from sandbox import trap
from stand_in import Named

from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import save_network

COMMAND = ("--style", "net.safetensors", "--precision", "float32")


@pytest.fixture(autouse=True)
def network(sandbox) -> None:
    torch.manual_seed(0)
    save_network("net.safetensors", TransformationNetwork(Architecture(4)), {"origin": "test"})


def cut(path: Path) -> None:
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
    "its contents at the lost end": (cut, "is the file complete"),
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
    output = Named(frames="results/f.mkv", times="results/t.csv", speed="results/s.csv")
    params = {"device": "cpu", "precision": "float32", "batch": 2}
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
