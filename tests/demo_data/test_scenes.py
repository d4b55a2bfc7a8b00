"""Scenes: distance, order, background and foreground can all be measured in the sound."""

import numpy as np
import pytest
from scene_measures import RATE, centroid, decibels, envelope, share

from triptych.demo.scenes.backgrounds import BACKGROUNDS
from triptych.demo.scenes.foregrounds import FOREGROUNDS
from triptych.demo.scenes.mixing import PEAK, Scene, render, variants


def alone(name, distance="near", tempo="normal", count="twice"):
    return Scene("single", name, "", tempo, distance, count)


def halves(signal):
    return signal[: signal.size // 2], signal[signal.size // 2 :]


@pytest.mark.parametrize("name", FOREGROUNDS)
def test_far_is_quieter_and_duller_than_near(name):
    near, far = (render(alone(name, distance), 4.0, "distance") for distance in ("near", "far"))
    # the loudest moments differ by 13 dB; reverberation lengthens short sounds, hence the margin
    loudest = [20 * np.log10(envelope(sound, 20).max()) for sound in (near, far)]
    assert loudest[0] - loudest[1] == pytest.approx(13, abs=2)
    assert decibels(near) - decibels(far) > 6
    # the noise floor, which stays, is up to 3% of what is far
    assert share(far, 1000, RATE / 2) <= share(near, 1000, RATE / 2) + 0.03
    # a tone, and the three low modes of a knock, have no treble to lose: only reverberation, which
    # favours one mode or the other, moves their centre
    if name not in ("beep", "knock"):
        assert centroid(far) < 0.99 * centroid(near)


@pytest.mark.parametrize(("high", "low"), [("bird", "door"), ("glass", "horn"), ("clock", "knock")])
def test_swapped_scenes_have_their_sounds_in_swapped_order(high, low):
    scene = Scene("then", high, low, "normal", "near", "several")
    first, second = halves(render(scene, 5.0, "order"))
    assert centroid(first) > 1.5 * centroid(second)
    first, second = halves(render(scene.swapped(), 5.0, "order"))
    assert centroid(second) > 1.5 * centroid(first)


@pytest.mark.parametrize("name", BACKGROUNDS)
def test_a_foreground_stands_out_from_every_background(name):
    pure = render(Scene("single", name, "", "", "", ""), 4.0, "alone")
    with_beep = render(Scene("while", name, "beep", "", "near", "several"), 4.0, "alone")
    assert share(with_beep, 900, 1100) > 3 * share(pure, 900, 1100)


def test_nothing_is_beyond_full_scale_and_lengths_are_kept():
    for number, length in enumerate((1.0, 3.3, 6.0)):
        for name in ("clock", "clapping", "hammer"):
            clip = render(alone(name, tempo="fast"), length, number)
            assert clip.dtype == np.float32
            assert clip.size == round(length * RATE)
            assert np.abs(clip).max() <= PEAK + 1e-6


def test_a_clip_is_a_function_of_scene_length_and_key():
    scene = Scene("while", "rain", "dog", "", "near", "twice")
    first = render(scene, 3.0, "clip", 1)
    render(scene, 3.0, "clip", 2)
    np.testing.assert_array_equal(first, render(scene, 3.0, "clip", 1))
    assert not np.array_equal(first, render(scene, 3.0, "clip", 2))


def test_variants_are_the_product_of_the_attributes_that_apply():
    assert len(variants("single", "rain")) == 1
    assert len(variants("while", "rain", "clock")) == 3 * 2  # tempo, distance
    assert len(variants("while", "rain", "dog")) == 2 * 3  # distance, count
    assert len(variants("then", "clock", "dog")) == 3 * 2 * 3
    assert len(set(variants("then", "clock", "dog"))) == 18
    assert {scene.count for scene in variants("while", "rain", "clock")} == {""}
