"""The front end against the original's numbers, other libraries and its own definition."""

import numpy as np
import pytest
import torch
from audio_scrambled import waveforms

from triptych.audio.models.mel import LogMel, Masks, draw_band, draw_masks, mel_filters

SILENCE = (np.log(1e-5) + 4.5) / 5
# From the original (see audio_scrambled): one second, at (band, frame).
PLACES = ((0, 0), (7, 3), (40, 50), (64, 99), (100, 20), (127, 77))
NOISE = (-1.401953, -1.341509, 0.495677, 1.358338, 0.878311, 1.99452)
TONE = (-0.661465, -1.325563, -0.190387, 0.005369, 0.166587, 0.737585)


@pytest.fixture(scope="module")
def second():
    return waveforms(32000)


def test_the_originals_numbers_come_out(second):
    mel = LogMel()(second)
    assert mel.shape == (3, 1, 128, 100)
    assert mel.dtype == torch.float32
    for waveform, expected in enumerate((NOISE, TONE)):
        found = [mel[waveform, 0, band, frame].item() for band, frame in PLACES]
        assert found == pytest.approx(expected, abs=2e-5)
    assert mel[2].numpy() == pytest.approx(np.full((1, 128, 100), SILENCE), abs=1e-6)


def test_spectra_are_those_of_torchs_transform(second):
    """Of any number of waveforms, in any number of threads, over several blocks of frames."""
    waveforms = second[:2].repeat(1, 3)
    emphasised = waveforms[:, 1:] - 0.97 * waveforms[:, :-1]
    window = torch.hann_window(800, periodic=False)
    spectra = torch.stft(emphasised, 1024, 320, 800, window, return_complex=True)
    expected = (mel_filters().float() @ spectra.abs().square() + 1e-5).log()
    threads = torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found = LogMel().logarithm(waveforms)
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-3)
            assert torch.equal(found[1], LogMel().logarithm(waveforms[1:])[0])
    finally:
        torch.set_num_threads(threads)


def test_the_filters_are_those_of_another_library():
    audio_utils = pytest.importorskip("transformers.audio_utils")
    expected = audio_utils.mel_filter_bank(
        513, 128, 0.0, 15000.0, 32000, mel_scale="kaldi", triangularize_in_mel_space=True
    )
    assert mel_filters().numpy() == pytest.approx(expected.T, abs=1e-9)


def test_bands_lie_where_the_authors_draw_them():
    generator = torch.Generator().manual_seed(0)
    bands = [draw_band(generator) for _ in range(4000)]
    low, high = zip(*bands, strict=True)
    assert set(low) == set(range(10))
    assert (min(high), max(high)) == pytest.approx((14001, 16000), abs=10)
    assert min(high) >= 14001
    assert max(high) <= 16000


def test_masked_stripes_are_zero_before_the_affine_map_in_every_example(second):
    front = LogMel()
    plain, masked = front(second), front(second, masks=Masks((5, 9), (40, 60)))
    hidden = torch.zeros(128, 100, dtype=torch.bool)
    hidden[5:9] = True
    hidden[:, 40:60] = True
    assert masked[:, 0, hidden].numpy() == pytest.approx(0.9)
    assert torch.equal(masked[:, 0, ~hidden], plain[:, 0, ~hidden])


def test_stripes_have_uniform_widths_and_fit():
    generator = torch.Generator().manual_seed(0)
    masks = [draw_masks(1000, (48, 192), generator) for _ in range(4000)]
    for stripes, size, widest in (
        ([mask.bands for mask in masks], 128, 48),
        ([mask.frames for mask in masks], 1000, 192),
    ):
        first, end = np.array(stripes).T
        assert (end - first).min() == 0
        assert (end - first).max() == widest - 1
        assert (end - first).mean() == pytest.approx((widest - 1) / 2, rel=0.05)
        assert first.min() >= 0
        assert end.max() <= size
