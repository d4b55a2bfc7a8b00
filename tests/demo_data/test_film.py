from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from triptych.core.errors import InputError
from triptych.demo.film import (
    Film,
    film_frames,
    with_balloon,
    write_film,
)
from triptych.style.video.info import probe

SMALL = Film(width=96, height=54, frames=13, frames_per_second=12)


@pytest.fixture(scope="module")
def frames() -> list[np.ndarray]:
    return list(film_frames(SMALL))


def test_the_file_is_what_was_ordered(tmp_path: Path) -> None:
    write_film(tmp_path / "film.mp4", SMALL)
    info = probe(tmp_path / "film.mp4")
    assert (info.width, info.height, info.frames, info.fps) == (96, 54, 13, 12)
    assert info.duration == Fraction(13, 12)
    (sound,) = info.sounds
    assert (sound.codec, sound.channels) == ("aac", 2)
    assert sound.seconds == pytest.approx(13 / 12, abs=0.05)


def test_the_same_film_has_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_film(tmp_path / name, SMALL)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


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


def test_an_unknown_photograph_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no bundled photograph 'moonrise'.*china"):
        write_film(tmp_path / "film.mp4", Film(photograph="moonrise"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [{"frames": 1}, {"width": 8}, {"frames_per_second": 0}])
def test_a_film_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="at least 2 frames"):
        Film(**wrong)
