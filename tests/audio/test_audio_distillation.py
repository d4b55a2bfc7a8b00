"""What an ensemble thinks of the training pairs as the target of one model."""

import numpy as np
import pytest
import tiny_corpus as tiny
import torch
from stops import Never, StopAfter
from torch.nn import functional

from triptych.audio.data.shards import ClipStore
from triptych.audio.models.model_files import build_model, load_model, save_model
from triptych.audio.training.corpus import read_pairs
from triptych.audio.training.distillation import Ensemble, read_ensemble, soft_targets
from triptych.audio.training.runs import FromModel, train_runs
from triptych.core.stopping import Stopped


def unit(*shape, seed):
    rows = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return functional.normalize(rows, dim=-1)


class Student:
    temperature = torch.tensor([0.3], requires_grad=True)


def test_similarities_are_means_over_the_members():
    audio, text = unit(3, 5, 4, seed=0), unit(3, 8, 4, seed=1)  # members, clips or pairs, D
    clips = torch.tensor([0, 0, 1, 2, 3, 3, 4, 1])
    ensemble = Ensemble(torch.cat(list(audio), 1), torch.cat(list(text), 1), clips, 3)
    pairs = torch.tensor([7, 0, 4])
    found = ensemble.similarities(pairs)
    for row, first in enumerate(pairs.tolist()):
        for column, second in enumerate(pairs.tolist()):
            cosines = [float(audio[m, clips[first]] @ text[m, second]) for m in range(3)]
            assert float(found[row, column]) == pytest.approx(np.mean(cosines), abs=1e-6)


def test_a_certain_ensemble_is_the_contrastive_loss():
    """Targets sharp enough are the identity matrix."""
    rows = torch.eye(6)
    ensemble = Ensemble(rows, rows, torch.arange(6), 1)
    audio, text, chosen = unit(6, 3, seed=2), unit(6, 3, seed=3), torch.arange(6)
    objective = soft_targets(Student, lambda: ensemble, 0.01)
    logits = (audio @ text.T / Student.temperature).detach()
    expected = (
        functional.cross_entropy(logits, chosen) + functional.cross_entropy(logits.T, chosen)
    ) / 2
    assert objective(audio, text, chosen).item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_ensemble_is_asked_once_and_not_before_the_first_batch():
    asked = []

    def ensemble():
        asked.append(1)
        return Ensemble(torch.eye(4), torch.eye(4), torch.arange(4), 1)

    objective = soft_targets(Student, ensemble, 0.05)
    assert not asked
    for _ in range(3):
        objective(unit(2, 3, seed=4), unit(2, 3, seed=5), torch.tensor([3, 1]))
    assert len(asked) == 1


@pytest.fixture(scope="module")
def teachers(tmp_path_factory):
    """A corpus and three models that were never trained."""
    folder = tiny.write(tmp_path_factory.mktemp("corpus"))
    for seed in (1, 2, 3):
        model = build_model(tiny.MODEL, folder / "text", None, seed)
        save_model(model, folder / f"teacher{seed}", {})
    return folder


@pytest.mark.slow
def test_each_teacher_embeds_the_training_pairs(teachers):
    corpus = tiny.corpus(teachers)
    pairs = read_pairs(corpus.manifest, corpus.captions, ["clotho"])
    store = ClipStore(corpus.shards)
    cpu = torch.device("cpu")
    folders = [teachers / "teacher1", teachers / "teacher2"]
    ensemble = read_ensemble(folders, pairs, store, cpu, tiny.TRAINING, lambda: None)
    cosines = []
    for folder in folders:
        model = load_model(folder)
        sound = torch.from_numpy(store.read(pairs[5].clip)[None, :16_000])
        with torch.inference_mode():
            audio = model.embed_audio(sound, [sound.shape[1]])
            text = model.embed_text(model.text.tokenize([pairs[2].caption]))
        cosines.append(float(audio[0] @ text[0]))
    found = ensemble.similarities(torch.tensor([5, 2]))[0, 1]
    assert float(found) == pytest.approx(np.mean(cosines), abs=1e-5)


@pytest.mark.slow
def test_a_distilled_run_is_trained_stopped_and_resumed_like_any_other(teachers, tmp_path):
    def distil(folder, stop):
        plan = tiny.plan(
            teachers,
            start=FromModel(teachers / "teacher3"),
            datasets=["clotho"],
            teachers=[teachers / "teacher1", teachers / "teacher2"],
        )
        run = tiny.run("distilled")
        train_runs([run], [folder / "seed0"], plan, "cpu", folder / "checkpoint", "d", stop)
        return (folder / "seed0" / "model.safetensors").read_bytes()

    unbroken = distil(tmp_path / "unbroken", Never())
    for times in (1, 9):  # while the teachers embed, and in the training
        with pytest.raises(Stopped):
            distil(tmp_path / "broken", StopAfter(times))
    assert distil(tmp_path / "broken", Never()) == unbroken
