import cv2
import numpy as np
import pandas as pd
import pytest

from triptych.style.data.photographs import embedded_photographs
from triptych.style.video.flicker import Flicker, flow_between, warped_error

HEIGHT, WIDTH = 96, 128


def texture(seed: int, height: int = 200, width: int = 200, blur: float = 3) -> np.ndarray:
    """Coloured blotches, float [height, width, 3], between 40 and 215: noise has room."""
    noise = np.random.default_rng(seed).normal(size=(height, width, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), blur)
    return 127.5 + 87 * np.tanh(smooth / (2 * smooth.std()))


def window(picture: np.ndarray, down: int, across: int) -> np.ndarray:
    return picture[down : down + HEIGHT, across : across + WIDTH].round().astype(np.uint8)


def flicker_of(source: list[np.ndarray], stylised: list[np.ndarray]) -> pd.DataFrame:
    flicker = Flicker()
    for pair in zip(source, stylised, strict=True):
        flicker.add(*pair)
    return flicker.table()


@pytest.fixture(scope="module")
def moving():
    """A texture that moves by 2 pixels right and 1 down a frame."""
    picture = texture(0)
    return [window(picture, 40 - number, 50 - 2 * number) for number in range(6)]


def noisy(frames: list[np.ndarray], sigma: float) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [
        (frame + random.normal(0, sigma, frame.shape)).round().clip(0, 255).astype(np.uint8)
        for frame in frames
    ]


def test_a_shift_by_whole_pixels_is_no_flicker(moving):
    table = flicker_of(moving, moving)
    assert list(table["frame"]) == [1, 2, 3, 4, 5]
    # One grey level of 255 is 0.0039; what is left is flow that is off by a hundredth of a pixel.
    assert table["source_error"].max() < 0.004
    np.testing.assert_allclose(table["ratio"], 1)
    assert table["valid_percent"].min() > 90


@pytest.mark.parametrize("sigma", [4.0, 12.0])
def test_independent_noise_is_seen_as_root_two_times_its_size(sigma: float) -> None:
    # The warp is by whole pixels here, so that it doesn't average the noise.
    still = [window(texture(0), 40, 50)] * 5
    table = flicker_of(still, noisy(still, sigma))
    np.testing.assert_allclose(table["stylised_error"], np.sqrt(2) * sigma / 255, rtol=0.02)
    assert (table["source_error"] == 0).all()
    assert table["ratio"].isna().all()


def test_what_comes_out_from_behind_an_object_is_left_out():
    background, body = texture(2, HEIGHT, WIDTH), texture(3, 40, 40)
    frames = []
    for left in (30, 38):
        frame = background.copy()
        frame[30:70, left : left + 40] = body
        frames.append(frame.astype(np.uint8))
    flow = flow_between(*frames)
    uncovered = flow.valid[34:66, 31:37]
    far = flow.valid[:, 90:-4]
    assert uncovered.mean() < 0.05
    assert far.mean() > 0.95
    assert flow.valid[36:64, 46:70].mean() > 0.9
    np.testing.assert_allclose(
        np.median(flow.offsets[40:60, 50:66], axis=(0, 1)), [-8, 0], atol=0.1
    )
    everywhere = flow.__class__(flow.offsets, np.ones_like(flow.valid))
    assert warped_error(*frames, flow) < 0.3 * warped_error(*frames, everywhere)


def test_a_cut_has_no_error():
    china, coffee = (
        cv2.resize(
            np.asarray(embedded_photographs()[name]), (160, 90), interpolation=cv2.INTER_AREA
        )
        for name in ("china", "coffee")
    )
    frames = [china, china, coffee, coffee]
    table = flicker_of(frames, frames).set_index("frame")
    assert table.loc[2, "valid_percent"] < 20
    assert np.isnan(table.loc[2, ["source_error", "stylised_error", "ratio"]]).all()
    assert table.loc[1, "valid_percent"] > 90
    assert list(table.loc[[1, 3], "source_error"]) == [0, 0]
