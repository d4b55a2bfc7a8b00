"""PaSST: the published checkpoints' names and sizes, the original's numbers, patchout."""

import numpy as np
import pytest
import torch
from audio_scrambled import waveforms, weights

from triptych.audio.models.audio_encoders.passt import PUBLISHED
from triptych.audio.models.mel import LogMel
from triptych.audio.models.passt import Kept, Passt, draw_patchout

# From the original (see audio_scrambled): ten seconds of noise and of a tone, at these dimensions.
DIMENSIONS = [0, 1, 2, 100, 200, 300, 400, 500, 600, 700, 766, 767]
N_NOISE = [-0.16198, 1.37288, 0.10116, -0.49361, -0.86949, 1.24311]
N_NOISE += [0.72928, 0.4314, 0.2571, -2.01262, 1.59039, -1.46917]
N_TONE = [1.20055, 1.38332, 0.02487, 0.27688, 0.45877, 0.58889]
N_TONE += [0.95565, 0.51572, -1.62641, -1.72651, 1.23304, 0.69059]
# In train mode with s_patchout_f=2, s_patchout_t=15 and torch.randperm that counts down.
N_PATCHOUT_NOISE = [-0.82627, 0.6026, 0.20598, -0.80655, -1.58624, -0.13131]
N_PATCHOUT_NOISE += [1.14005, 0.28197, 0.67454, -2.07057, 1.25079, -2.57807]
# The first 500 frames.
S_NOISE = [0.16281, 1.4764, 0.14618, -0.10678, -0.58504, 1.69053]
S_NOISE += [0.51725, 0.56849, -0.43867, -2.19493, 1.47587, -0.96219]
S_TONE = [0.82494, 2.06052, 0.24977, 0.10086, 0.19696, 1.34466]
S_TONE += [0.95725, 0.42478, -1.86469, -0.73835, 1.50579, 0.3309]


def published_shapes(rows, columns):
    """Names and shapes of a checkpoint's 159 tensors, by rule."""
    shapes = {"cls_token": (1, 1, 768), "dist_token": (1, 1, 768), "new_pos_embed": (1, 2, 768)}
    shapes |= {"freq_new_pos_embed": (1, 768, rows, 1), "time_new_pos_embed": (1, 768, 1, columns)}
    layers = {"patch_embed.proj": (768, 1, 16, 16), "norm": (768,)}
    for block in range(12):
        layers |= {f"blocks.{block}.{norm}": (768,) for norm in ("norm1", "norm2")}
        layers |= {f"blocks.{block}.attn.qkv": (2304, 768), f"blocks.{block}.attn.proj": (768, 768)}
        layers |= {f"blocks.{block}.mlp.fc1": (3072, 768), f"blocks.{block}.mlp.fc2": (768, 3072)}
    layers |= {"head.0": (768,), "head.1": (527, 768), "head_dist": (527, 768)}
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def made_again(name):
    """The published size with weights that the original had too."""
    with torch.device("meta"):
        network = Passt(PUBLISHED[name]).eval()
    network.load_state_dict(weights(network.state_dict()), assign=True)
    return network


@pytest.mark.parametrize(
    ("name", "positions", "parameters"),
    [
        ("passt_n", (8, 62), 86_122_270),
        ("passt_s", (12, 99), 86_153_758),
        ("passt_s15", (12, 200), 86_231_326),
    ],
)
def test_the_tensors_are_those_of_the_published_checkpoints(name, positions, parameters):
    with torch.device("meta"):
        state = Passt(PUBLISHED[name]).state_dict()
    shapes = {key: tuple(value.shape) for key, value in state.items()}
    assert shapes == published_shapes(*positions) and len(shapes) == 159
    assert sum(value.numel() for value in state.values()) == parameters


@pytest.mark.parametrize(
    ("name", "frames", "grid", "drop", "tokens"),
    [
        ("passt_n", 1000, (8, 62), (2, 15), 284),
        ("passt_s", 1000, (12, 99), (4, 50), 394),
        ("passt_s15", 1500, (12, 149), (4, 80), 554),
    ],
)
def test_patchout_leaves_the_reports_number_of_tokens(name, frames, grid, drop, tokens):
    found = PUBLISHED[name].grid(frames)
    kept = draw_patchout(*found, drop, torch.Generator())
    assert found == grid
    assert len(kept.rows) * len(kept.columns) + 2 == tokens


KEPT = Kept(torch.arange(2, 8), torch.arange(15, 62))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "frames", "passes"),
    [
        ("passt_n", 1000, {None: [N_NOISE, N_TONE], KEPT: [N_PATCHOUT_NOISE]}),
        ("passt_s", 500, {None: [S_NOISE, S_TONE]}),
    ],
)
@torch.no_grad()
def test_passt_computes_what_the_original_does(name, frames, passes):
    mel = LogMel()(waveforms(320000)[:2])[..., :frames]
    network = made_again(name)
    for kept, expected in passes.items():
        found = network(mel[: len(expected)], kept)[:, DIMENSIONS]
        assert found.numpy() == pytest.approx(np.array(expected), abs=5e-5)


def test_patchout_draws_without_repetition_in_order_and_by_its_generator():
    draws = [draw_patchout(8, 62, (2, 15), torch.Generator().manual_seed(s)) for s in (1, 1, 2)]
    for kept in draws:
        rows, columns = kept.rows.tolist(), kept.columns.tolist()
        assert (len(rows), len(columns)) == (6, 47)
        assert rows == sorted(set(rows)) and columns == sorted(set(columns))
        assert rows[-1] < 8 and columns[-1] < 62
    assert torch.equal(draws[0].columns, draws[1].columns)
    assert not torch.equal(draws[0].columns, draws[2].columns)


def test_a_spectrogram_beyond_the_positions_is_refused():
    settings = PUBLISHED["passt_s"]
    assert settings.grid(1005)[1] == settings.positions[1]
    with pytest.raises(ValueError, match="takes 16 to 1005 frames"):
        settings.grid(1006)
