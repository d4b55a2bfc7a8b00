"""The bench compares the same results: what the plain code computes is what the library computes.

The plain code is an implementation of its own, so this checks the models, too.
"""

import numpy as np
import pytest
import torch

from benchmarks.audio import plain
from benchmarks.audio import worker as bench_worker
from triptych.audio.embedding import embed_clips
from triptych.audio.models.audio_encoders.passt import Settings as PasstSettings
from triptych.audio.models.mel import LogMel, Masks
from triptych.audio.models.passt import Kept, Passt
from triptych.audio.models.retrieval import Augmentation, RetrievalModel
from triptych.audio.models.settings import ModelSettings
from triptych.audio.training.losses import nt_xent

CPU = torch.device("cpu")
SMALL = ModelSettings(
    audio=PasstSettings(stride=(10, 10), frames=100, dim=48, depth=3, heads=4, patchout=(3, 2)),
    segment_seconds=1.0,
    projection=20,
    temperature=0.1,
    learn_temperature=True,
    text_dropout=0.0,
)
LENGTHS = [70_000, 20_000, 64_000, 32_001]  # samples: 3, 1, 2 and 2 segments


@pytest.fixture
def models():
    """The same weights in both implementations, larger than initial ones so that all matter."""
    torch.manual_seed(0)
    ours = RetrievalModel(SMALL, Passt(SMALL.audio), bench_worker.Captions(4)).eval()
    with torch.no_grad():
        for name, parameter in ours.audio.named_parameters():
            if "norm" not in name:
                parameter.mul_(2)
    passt = plain.PlainPasst((10, 10), 100, 48, 3, 4)
    passt.load_state_dict(plain.published(ours.audio.state_dict()))
    theirs = plain.PlainModel(passt, 48, 20, SMALL.segment_samples).eval()
    theirs.project_audio.load_state_dict(ours.project_audio.state_dict())
    return ours, theirs


def sounds():
    random = np.random.default_rng(0)
    return [0.1 * random.standard_normal(length).astype(np.float32) for length in LENGTHS]


@pytest.mark.parametrize("band", [None, (7.0, 14321.0)])
def test_both_front_ends_make_the_same_spectrogram(band):
    waveforms = torch.from_numpy(np.stack([sound[:20_000] for sound in sounds()]))
    masks = Masks((3, 40), (10, 17))
    theirs = plain.log_mel(waveforms, band or (0.0, 15000.0), ((3, 40), (10, 17)))
    torch.testing.assert_close(LogMel()(waveforms, band, masks), theirs, atol=2e-4, rtol=0)


def test_a_split_gets_the_same_embeddings_with_and_without_repeats_and_padding(models):
    ours, theirs = models
    clips = {str(number): sound for number, sound in enumerate(sounds())}
    once = embed_clips(ours, bench_worker.InMemory(clips), list(clips), CPU, "float32")
    repeated = plain.embed_split(theirs, list(clips.values()), captions=3, longest=96_000)
    np.testing.assert_allclose(once, repeated.numpy(), atol=1e-4)


def test_a_training_step_has_the_same_loss_and_gradients(models):
    ours, theirs = models
    waveforms = 0.1 * torch.randn(4, 32_000)
    rows, columns = torch.tensor([0, 2, 5, 11]), torch.tensor([1, 2, 8])
    masks = ((3, 40), (10, 17))
    texts = torch.nn.functional.normalize(torch.randn(4, 20), dim=1)
    temperature = torch.tensor([0.1])

    draws = Augmentation((5.0, 14500.0), Masks(*masks), Kept(rows, columns))
    own = nt_xent(ours.embed_audio(waveforms, [32_000] * 4, draws), texts, temperature)
    own.backward()
    embedded = theirs(waveforms, [32_000] * 4, (5.0, 14500.0), masks, rows, columns)
    other = plain.contrastive_loss(embedded, texts, temperature)
    other.backward()
    torch.testing.assert_close(own, other, atol=1e-4, rtol=0)
    gradients = dict(theirs.audio.named_parameters())
    for name, parameter in plain.published(dict(ours.audio.named_parameters())).items():
        difference = (parameter.grad - gradients[name].grad).norm()
        assert difference <= 2e-3 * gradients[name].grad.norm() + 1e-7, name
