"""Wrong videos are refused by name, and one that was cut is painted as far as it goes."""

import os
from pathlib import Path

import av
import numpy as np
import pytest
import torch
from PIL import Image
from sandbox import trap
from stand_in import Named

from triptych.style.network.network import Architecture, TransformationNetwork
from triptych.style.network.network_files import save_network

COMMAND = ("--style", "net.safetensors", "--precision", "float32")


@pytest.fixture(autouse=True)
def network(sandbox) -> None:
    torch.manual_seed(0)
    save_network("net.safetensors", TransformationNetwork(Architecture(4)), {"origin": "test"})


def video(path: Path, front: bool = False, frames: int = 40) -> None:
    """A moving shade in H.264, its table of contents at the end or at the front."""
    options = {"movflags": "+faststart"} if front else {}
    with av.open(str(path), "w", format="mp4", options=options) as file:
        stream = file.add_stream("libx264", rate=10, options={"g": "5", "bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        noise = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
        for number in range(frames):
            frame = av.VideoFrame.from_ndarray(np.roll(noise, number, axis=1), format="rgb24")
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))


def sound_alone(path: Path) -> None:
    with av.open(str(path), "w", format="mp4") as file:
        stream = file.add_stream("aac", rate=44_100, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        frame.sample_rate = 44_100
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))


def cut_at_the_end(path: Path) -> None:
    video(path)
    os.truncate(path, path.stat().st_size * 6 // 10)


VIDEOS = {
    "zero bytes": (lambda path: path.write_bytes(b""), "cannot be read as a video"),
    "text": (lambda path: path.write_text("no video"), "cannot be read as a video"),
    "its contents at the lost end": (cut_at_the_end, "is the file complete"),
    "sound alone": (sound_alone, "no picture stream"),
    "a folder": (lambda path: path.mkdir(), "no such file"),
    "nothing": (lambda path: None, "no such file"),
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
    if kind != "a folder":  # which means the videos in it
        code, _, told = sandbox.triptych(
            "stylize", "own video.mp4", "a.png", *COMMAND, "-o", "painted"
        )
        assert code == 2 and "own video.mp4" in told and said in told
        assert [path.name for path in Path("painted").iterdir()] == ["a.png"]
    sandbox.check("painted")


def test_a_video_cut_behind_its_contents_is_painted_as_far_as_it_goes(sandbox, caplog):
    video(sandbox.here / "cut.mp4", front=True)
    os.truncate("cut.mp4", os.path.getsize("cut.mp4") * 6 // 10)
    code, _, _ = sandbox.triptych("stylize", "cut.mp4", *COMMAND, "-o", "painted")
    assert code == 0
    assert "cut.mp4 promises 40 frames, but only" in caplog.text
    with av.open("painted/cut.mp4") as file:
        frames = sum(1 for _ in file.decode(video=0))
    assert 15 <= frames < 35
    sandbox.check("painted")
