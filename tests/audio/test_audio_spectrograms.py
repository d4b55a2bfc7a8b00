"""Spectrograms that a job computes once a clip change nothing but its time."""

import dataclasses

import numpy as np
import pytest
import tiny_corpus as tiny
import tiny_retrieval
import torch
from stops import Never

from triptych.audio.models.mel import LogMel
from triptych.audio.training.runs import Spectrograms, train_runs
from triptych.core.provenance import Fingerprint

FILES = ["embeddings.npz", "history.csv", "model.safetensors", "untrained/embeddings.npz"]
SAMPLES = 600
"""Of a segment: some clips of `tiny_retrieval.Noise` have one, others two."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return tiny.write(tmp_path_factory.mktemp("corpus"))


def trained(corpus, folder, **changes):
    """The bytes of what a training with masks and without jitter writes; half of its clips are
    longer than its longest_seconds."""
    training = dataclasses.replace(tiny.TRAINING, band_jitter=False, **changes)
    train_runs(
        [tiny.run("pretrained")],
        [folder / "pretrained"],
        tiny.plan(corpus, untrained=True, training=training),
        "cpu",
        folder / "checkpoint",
        Fingerprint({"data": "digest"}),
        Never(),
    )
    return [(folder / "pretrained" / name).read_bytes() for name in FILES]


@pytest.mark.slow
def test_a_training_on_them_ends_with_the_bytes_of_one_on_waveforms(corpus, tmp_path):
    kept, computed = tmp_path / "kept", tmp_path / "computed"
    # Readers in processes of their own give waveforms.
    assert trained(corpus, kept) == trained(corpus, computed, workers=1)


class Counting(tiny_retrieval.Noise):
    """Noise that counts how often each clip is read."""

    def __init__(self):
        self.counts = dict.fromkeys(tiny_retrieval.CLIPS, 0)

    def read(self, clip, start=0, frames=None):
        self.counts[clip] += 1
        return super().read(clip, start, frames)


def segments(sound):
    """Log-mel spectrograms of a sound's segments, the last filled up with zeros."""
    padded = torch.nn.functional.pad(torch.from_numpy(sound), (0, -len(sound) % SAMPLES))
    return LogMel().logarithm(padded.view(-1, SAMPLES)).numpy()


def test_whole_clips_are_read_once_as_long_as_there_is_room_and_all_sound_as_they_do():
    noise = tiny_retrieval.Noise()
    expected = {clip: segments(noise.read(clip)) for clip in tiny_retrieval.CLIPS}
    assert {len(mel) for mel in expected.values()} == {1, 2}
    room = sum(mel.nbytes for mel in expected.values())
    for share, once in ((1.0, len(expected)), (0.5, len(expected) // 2), (0.0, 0)):
        counting = Counting()
        store = Spectrograms(counting, SAMPLES, int(share * room))
        for _ in range(2):
            for clip, mel in expected.items():
                np.testing.assert_array_equal(store.read(clip, 0, noise.frames(clip)), mel)
        read_once = [count for count in counting.counts.values() if count == 1]
        assert len(read_once) == pytest.approx(once, abs=2 * (0 < share < 1))


def test_a_part_of_a_clip_is_not_taken_for_the_clip():
    noise, clip = tiny_retrieval.Noise(), tiny_retrieval.CLIPS[0]
    store = Spectrograms(noise, SAMPLES)
    parts = ((0, None), (10, 300), (0, 300), (0, None))
    for part in parts:
        np.testing.assert_array_equal(store.read(clip, *part), segments(noise.read(clip, *part)))
