import itertools
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest
from videos import Clip, decoded, sound_wave, write_clip

from triptych.core.errors import InputError
from triptych.style.inputs.photographs import embedded_photographs
from triptych.style.video.film import (
    SAMPLES_A_SECOND,
    Film,
    copy_video,
    film_frames,
    tones,
    with_balloon,
    write_film,
)
from triptych.style.video.info import probe

SMALL = Film(width=96, height=54, frames=13, frames_per_second=12)


@pytest.fixture(scope="module")
def frames() -> list[np.ndarray]:
    return list(film_frames(SMALL))


def test_the_file_is_what_was_ordered(tmp_path: Path, frames: list[np.ndarray]) -> None:
    write_film(tmp_path / "film.mp4", SMALL)
    info = probe(tmp_path / "film.mp4")
    assert (info.width, info.height, info.frames, info.fps) == (96, 54, 13, 12)
    assert info.duration == Fraction(13, 12)
    (sound,) = info.sounds
    assert (sound.codec, sound.channels) == ("aac", 2)
    assert sound.seconds == pytest.approx(13 / 12, abs=0.05)
    shown = decoded(tmp_path / "film.mp4")[0]
    assert np.abs(np.stack(shown).astype(int) - np.stack(frames)).mean() < 6


def test_the_same_film_has_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_film(tmp_path / name, SMALL)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_camera_shows_the_photograph(frames: list[np.ndarray]) -> None:
    photograph = np.asarray(embedded_photographs()["china"])
    grey = cv2.cvtColor(photograph, cv2.COLOR_RGB2GRAY)
    # The first view is 0.84 of the photograph's width; the balloon is still outside.
    patch = cv2.resize(
        cv2.cvtColor(frames[0], cv2.COLOR_RGB2GRAY)[10:44, 20:76],
        None,
        fx=0.84 * 640 / 96,
        fy=0.84 * 640 / 96,
        interpolation=cv2.INTER_CUBIC,
    )
    found = cv2.matchTemplate(grey, patch, cv2.TM_CCOEFF_NORMED)
    assert found.max() > 0.9


def test_the_camera_moves_evenly(frames: list[np.ndarray]) -> None:
    shifts = []
    for before, after in itertools.pairwise(frames):
        lower = [
            cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)[34:].astype(np.float32)
            for frame in (before, after)
        ]
        shifts.append(cv2.phaseCorrelate(*lower)[0][0])
    # Gently off, fastest in the middle, and no jump by whole pixels on the way.
    assert abs(shifts[0]) < abs(shifts[6])
    assert np.abs(np.diff(shifts)).max() < 1


def test_the_balloon_hides_what_is_behind_it_and_nothing_else() -> None:
    picture = np.full((90, 160, 3), 7, np.float32)
    drawn = with_balloon(picture, 0.5, 0.4)
    changed = (drawn != 7).any(-1)
    assert changed[20:50, 70:90].all()
    assert not changed[:, :55].any()
    assert not changed[:, 105:].any()
    # By sub-pixel steps: a quarter of a pixel across changes little, but something.
    moved = with_balloon(picture, 0.5 + 0.25 / 160, 0.4)
    assert 0 < np.abs(moved - drawn).mean() < 3


def test_the_sound_is_soft_stereo_that_ends_in_silence() -> None:
    sound = tones(1.5)
    assert sound.shape == (2, round(1.5 * SAMPLES_A_SECOND))
    assert np.abs(sound).max() == pytest.approx(0.5)
    assert np.abs(sound[:, -10:]).max() < 1e-3
    assert np.abs(np.diff(sound)).max() < 0.1
    assert not np.allclose(sound[0], sound[1])


def test_the_sound_in_the_file_is_the_one_that_was_made(tmp_path: Path) -> None:
    write_film(tmp_path / "film.mp4", SMALL)
    heard = sound_wave(tmp_path / "film.mp4")[4_000:40_000]
    made = tones(13 / 12)[0]
    times = np.arange(4_000, 40_000) / 48_000 * SAMPLES_A_SECOND
    expected = np.interp(times, np.arange(len(made)), made)
    assert np.corrcoef(heard, expected)[0, 1] > 0.98


def test_an_unknown_photograph_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no bundled photograph 'moonrise'.*china"):
        write_film(tmp_path / "film.mp4", Film(photograph="moonrise"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [{"frames": 1}, {"width": 8}, {"frames_per_second": 0}])
def test_a_film_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="at least 2 frames"):
        Film(**wrong)


def test_ones_own_video_is_copied_byte_by_byte(tmp_path: Path) -> None:
    own = write_clip(tmp_path / "own.mkv", Clip())
    copy_video(own, tmp_path / "source.mp4")
    assert (tmp_path / "source.mp4").read_bytes() == own.read_bytes()
    assert probe(tmp_path / "source.mp4").frames == 12


def test_ones_own_file_that_is_no_video_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "own.mp4").write_text("not a video")
    with pytest.raises(InputError, match="cannot be read as a video"):
        copy_video(tmp_path / "own.mp4", tmp_path / "source.mp4")
    assert not (tmp_path / "source.mp4").exists()
