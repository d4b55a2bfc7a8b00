"""The audio encoder of the small model: statistics of spectrograms."""

import numpy as np
import pytest
import torch

from triptych.audio.models.audio_encoders.statistics import Settings as StatisticsSettings
from triptych.audio.models.mel import LogMel
from triptych.audio.models.statistics import LAGS, MEASURED, MODULATIONS, measure

SECONDS = 3
WHOLE = 64 * 5 + 32 * 9
"""Where the statistics of the whole envelope begin: nine modulations, nine repetitions."""


def noise(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return 0.1 * torch.randn(1, SECONDS * 32000, generator=generator)


def time():
    return torch.arange(SECONDS * 32000) / 32000


def measured(wave):
    return measure(LogMel()(wave))[0]


def test_the_network_embeds_all_that_is_measured():
    assert len(measured(noise())) == MEASURED
    network = StatisticsSettings(dim=24, width=32).network()
    assert network.eval()(LogMel()(noise())).shape == (1, 24)


def test_statistics_do_not_change_with_the_gain():
    loud, soft = measured(noise()), measured(0.25 * noise())
    torch.testing.assert_close(loud, soft, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("hertz", [1.1, 8])
def test_a_modulation_is_found_at_its_rate(hertz):
    modulated = noise() * (0.55 + 0.45 * torch.sin(2 * torch.pi * hertz * time()))
    band = int(np.searchsorted(MODULATIONS, hertz)) - 1
    gained = (measured(modulated) - measured(noise()))[WHOLE : WHOLE + 9]
    assert int(gained.argmax()) == band


@pytest.mark.parametrize("period", [0.09, 0.5])
def test_a_repetition_is_found_at_its_period(period):
    clicks = torch.where((time() % period) < 0.01, noise()[0], torch.tensor(0.0))[None]
    repeats = measured(clicks)[WHOLE + 9 : WHOLE + 18]
    place = int(np.searchsorted(LAGS, 100 * period, side="right")) - 1
    assert repeats[place] > 0.5
    assert measured(noise())[WHOLE + 9 : WHOLE + 18].max() < 0.5
