"""The scripts of the video, run one after another as the rules run them."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from PIL import Image
from videos import Clip, write_clip

from triptych.style.feedforward.network import Architecture, TransformationNetwork
from triptych.style.feedforward.network_files import save_network

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"

FILM = {
    "photograph": "china",
    "frames": 6,
    "frames_per_second": 12,
    "width": 64,
    "height": 36,
}


class Named(list):
    """Snakemake's lists, whose entries have names too."""

    def __init__(self, **named: object) -> None:
        super().__init__(named.values())
        self.__dict__.update(named)
        self.items, self.get = named.items, named.get


def run(rule: str, given: dict, output: dict, **params: object) -> None:
    snakemake = SimpleNamespace(
        rule=rule,
        input=Named(**given),
        output=Named(**output),
        params=Named(**params),
        log=[f"results/logs/{rule}/log.log"],
        wildcards=Named(painting="swirls"),
        threads=1,
    )
    runpy.run_path(
        str(SCRIPTS / (rule.replace("_", "/", 1) + ".py")), init_globals={"snakemake": snakemake}
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        torch.manual_seed(0)
        network = TransformationNetwork(Architecture(width=4, blocks=(0,)))
        save_network("network.safetensors", network, {"origin": "shipped"})
        run("style_film", {"video": []}, {"video": "source.mp4"}, film=FILM)
        run(
            "style_video",
            {"source": "source.mp4", "network": "network.safetensors"},
            {"frames": "frames.mkv", "times": "times.csv", "speed": "speed.csv"},
            device="cpu",
            precision="float32",
            batch=4,
            speed={"frames": 6, "repeats": 2},
            painting="swirls",
        )
        run(
            "style_encode",
            {"source": "source.mp4", "frames": "frames.mkv", "times": "times.csv"},
            {
                **{"video": "video.mp4", "properties": "properties.csv", "strip": "strip.png"},
                "flicker": "flicker.csv",
            },
            crf=18,
            strip=3,
            painting="swirls",
            variant="plain",
        )
    return folder


def test_the_video_has_the_films_properties_and_sound(results: Path) -> None:
    table = pd.read_csv(results / "properties.csv").set_index("file")
    assert list(table.index) == ["source", "frames", "video"]
    assert (table["frames_per_second"] == 12).all()
    assert (table["frames"] == 6).all()
    assert list(table["audio_codec"].fillna("")) == ["aac", "", "aac"]


def test_the_tables_have_their_columns(results: Path) -> None:
    speed = pd.read_csv(results / "speed.csv")
    assert sorted(set(speed["batch"])) == [1, 4]
    assert set(speed["frames"]) == {6}
    flicker = pd.read_csv(results / "flicker.csv")
    assert list(flicker.columns) == [
        "painting",
        "variant",
        "frame",
        "source_error",
        "stylised_error",
        "ratio",
        "valid_percent",
    ]
    assert set(flicker["painting"]) == {"swirls"}
    assert len(flicker) == 5


def test_the_strip_is_a_picture_of_two_rows(results: Path) -> None:
    assert Image.open(results / "strip.png").size == (3 * 320, 2 * 180)


def test_ones_own_video_takes_the_films_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = write_clip(tmp_path / "own.mkv", Clip())
    run("style_film", {"video": str(own)}, {"video": "source.mp4"}, film=FILM)
    assert (tmp_path / "source.mp4").read_bytes() == own.read_bytes()
