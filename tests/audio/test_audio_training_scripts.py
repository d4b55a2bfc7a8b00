"""The scripts that train, up to what they hand to the library."""

import pytest
from stand_in import Named, run

from triptych.audio.training import runs
from triptych.audio.training.runs import Plan

AUDIO_MODEL = {
    "weights": "passt_n",
    "segment_seconds": 10,
    "stride": [16, 16],
    "frames": 998,
    "dim": 24,
    "depth": 1,
    "heads": 2,
    "patchout": [0, 0],
}
MODEL = {"projection": 8, "temperature": 0.07, "learn_temperature": True, "targets": "identity"}
TRAINING = {
    **{"epochs": 1, "warmup_epochs": 1, "rampdown_epochs": 1, "learning_rate": 1e-3},
    **{"batch": 4, "swap": 0.0, "longest_seconds": 10, "frequency_mask": 0, "time_mask": 0},
    **{"band_jitter": False, "patchout": False, "precision": "float32", "chunk": None},
    **{"workers": 0, "devices": 1, "checkpoint_minutes": 1},
}


@pytest.mark.parametrize(
    ("weights", "start"),
    [("passt_n.safetensors", "passt_n.safetensors"), ([], None)],  # as audio_weights gives them
)
def test_a_model_begins_with_the_published_weights_where_there_are_any(
    weights, start, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    plans: list[Plan] = []
    monkeypatch.setattr(runs, "train_runs", lambda runs, folders, plan, *more: plans.append(plan))
    monkeypatch.setattr(runs, "result_digest", lambda params, inputs: "")
    files = {name: f"{name}.csv" for name in ("manifest", "queries")}
    run(
        "audio_pretrain",
        {**files, "captions": [], "shards": [], "text": "text", "audio_weights": weights},
        Named("pretrained"),
        runs=[],
        audio_model=AUDIO_MODEL,
        model=MODEL,
        training=TRAINING,
        text_dropout=0.2,
        untrained=False,
        sources={},
        one_caption=[],
        device="cpu",
        checkpoint="checkpoint",
    )
    assert plans[0].start.audio_weights == start
