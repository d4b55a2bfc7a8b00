"""Recordings whose captions are easily learnt, and small models of random weights."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import soundfile
import torch
from audio_small_models import SMALL, write_text
from stops import Never

from triptych.apps.sounds.adapting.adapting import adapt
from triptych.audio.models.retrieval import build_model, save_model

KINDS = {
    "a deep hum": 150.0,
    "a low drone": 400.0,
    "a clear note": 1000.0,
    "a shrill whistle": 2500.0,
    "a piercing hiss": 6000.0,
}
"""Captions, and what is to be heard, in Hz."""
WORDS = ("{}", "{} is heard", "somebody listens to {}", "{} in a quiet room")


def sound(hertz: float, seed: int, seconds: float) -> np.ndarray:
    """A tone of a chance pitch nearby, level and phase, in noise: float64 at 32 kHz."""
    random = np.random.default_rng(seed)
    time = np.arange(round(seconds * 32000)) / 32000
    tone = np.sin(2 * np.pi * (hertz * random.uniform(0.95, 1.05) * time + random.random()))
    noise = 0.02 * random.standard_normal(len(time))
    return np.asarray(random.uniform(0.1, 0.4) * tone + noise)


def write_recordings(folder: Path, each: int, seconds: float = 0.4) -> Path:
    """`each` recordings of each kind in `folder`/sounds, and the table of their captions."""
    (folder / "sounds").mkdir(parents=True)
    rows = []
    for kind, (caption, hertz) in enumerate(KINDS.items()):
        for number in range(each):
            file = f"{kind}-{number}.wav"
            samples = sound(hertz, 1000 * kind + number, seconds)
            soundfile.write(folder / "sounds" / file, samples, 32000)
            rows.append((file, WORDS[number % len(WORDS)].format(caption)))
    pd.DataFrame(rows, columns=["file", "caption"]).to_csv(folder / "pairs.csv", index=False)
    return folder


def write_model(folder: Path, **about: object) -> Path:
    """A model of this study with random weights, of three blocks and three layers."""
    text = write_text(folder.with_name("text"), list(KINDS), "bert", 32, 80, layers=3, heads=2)
    audio = replace(SMALL.audio, dim=64, depth=3, heads=2, patchout=(1, 1))
    settings = replace(SMALL, audio=audio, temperature=0.1, text_dropout=0.0)
    model = build_model(settings, text, None, 0)
    generator = torch.manual_seed(1)
    with torch.no_grad():  # or captions would be all but the same to it
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_((0.3 if name.startswith("text") else 0.05) * noise)
    save_model(model, folder, dict(about))
    return folder


def run(folder: Path, to: str = "adapted", stop=None):
    """Adapt `folder`/model with `folder`'s recordings."""
    places = [folder / name for name in ("model", "pairs.csv", "sounds", to)]
    return adapt(*places, torch.device("cpu"), stop or Never())
