"""Seconds a step and peak memory of the papers' audio trainings on this machine's device.

    python -m benchmarks.prices [--steps 20] [--batch 64] [--seconds 10 30] prices.csv

Each pair of config/paper.yaml takes training steps at its true sizes, with random weights, sounds
and token ids: batches whose clips all last so long. What a training costs follows from its steps.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from benchmarks.audio.worker import RATE, InMemory, noise
from triptych.audio.models.audio_encoders.passt import PUBLISHED
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.sentences import Transformer
from triptych.audio.models.settings import ModelSettings
from triptych.audio.training.batches import Batch, Batches, Pair
from triptych.audio.training.settings import training_settings
from triptych.audio.training.trainer import Task, TrainingRun
from triptych.core.config import read_config
from triptych.core.device import choose_device, describe_device

ROOT = Path(__file__).parents[1]
TOKENS = 28
"""Of a batch of captions: padded to its longest, which has about as many."""
SIZES = {"base": (768, 12, 12), "large": (1024, 24, 16)}
"""Hidden size, layers and heads of BERT and RoBERTa (Devlin et al. 2019, Table 1)."""
VOCABULARY = {"bert": 30522, "roberta": 50265}
WARM_UP = 3
"""Steps before those that are timed."""


class RandomText(nn.Module):
    """A published sentence encoder with random weights, and random tokens for every caption."""

    def __init__(self, name: str, dropout: float) -> None:
        super().__init__()
        kind, _, size = name.partition("_")
        hidden, layers, heads = SIZES[size]
        self.config = {
            "model_type": kind,
            "vocab_size": VOCABULARY[kind],
            "hidden_size": hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "intermediate_size": 4 * hidden,
            "max_position_embeddings": 514,
            "type_vocab_size": 2,
            "pad_token_id": 1,
        }
        self.model = Transformer.from_config(self.config, dropout)

    def tokenize(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """Random ids without padding, int64 [captions, TOKENS]."""
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(5, 30000, (len(captions), TOKENS), generator=generator)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def forward(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Embeddings, float32 [captions, hidden size]."""
        return self.model(tokens["input_ids"], tokens["attention_mask"])


def price(
    pair: Sequence[str], audio: Mapping[str, Any], arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Time a pair's training steps with clips of each length. audio: the section of the config."""
    device = choose_device("auto")
    gpu = device.type == "cuda"
    encoder, stages = audio["audio_models"][pair[0]], audio["stages"]
    settings = ModelSettings(
        audio=PUBLISHED[pair[0]],
        segment_seconds=encoder["segment_seconds"],
        projection=audio["model"]["projection"],
        temperature=audio["model"]["temperature"],
        learn_temperature=audio["model"]["learn_temperature"],
        text_dropout=audio["model"]["text_dropout"],
    )
    batch = arguments.batch or stages["common"]["batch"]
    table = {**stages["common"], **stages[arguments.stage], "batch": batch}
    training = training_settings(table)
    with device:
        text: Any = RandomText(pair[1], settings.text_dropout)
        model = RetrievalModel(settings, settings.audio.network(), text)
    model = model.to(device).train()
    batches = Batches([Pair("", 0, "a sound")] * batch, InMemory({}), training, 0)
    run = TrainingRun(Task(model, batches, training, 0), device)
    for seconds in arguments.seconds:
        if gpu:
            torch.cuda.reset_peak_memory_stats()
        samples = round(RATE * seconds)
        waveforms, lengths = noise(batch, samples), torch.full((batch,), samples)
        waveforms = waveforms.pin_memory() if gpu else waveforms  # as in training
        given = Batch(waveforms, lengths, ["a sound"] * batch, torch.arange(batch))
        times = []
        for _ in range(WARM_UP + arguments.steps):
            began = time.perf_counter()
            run.step(given).item()
            times.append(time.perf_counter() - began)
        yield {
            "audio": pair[0],
            "text": pair[1],
            "stage": arguments.stage,
            "clip_seconds": seconds,
            "batch": batch,
            "at_once": run.state()["portion"],
            "precision": training.precision,
            "steps": arguments.steps,
            "seconds_per_step": statistics.median(times[WARM_UP:]),
            "slowest_seconds": max(times[WARM_UP:]),
            "peak_gpu_memory_bytes": torch.cuda.max_memory_allocated() if gpu else None,
            "device": describe_device(device),
            "torch": torch.__version__,
        }


def main() -> None:
    """Write a row for each pair and length as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--steps", type=int, default=20, help="steps that are timed")
    parser.add_argument("--batch", type=int, help="pairs in a batch (default: the paper's)")
    parser.add_argument("--seconds", type=float, nargs="+", default=[10.0, 30.0], help="of clips")
    parser.add_argument("--stage", choices=("pretraining", "finetuning"), default="pretraining")
    parser.add_argument("--pairs", type=int, help="how many pairs (default: all)")
    arguments = parser.parse_args()
    audio = read_config(ROOT, [ROOT / "config" / "paper.yaml"])["audio"]
    rows: list[dict[str, Any]] = []
    for pair in audio["pairs"][: arguments.pairs]:
        try:
            for row in price(pair, audio, arguments):
                rows.append(row)
                pd.DataFrame(rows).to_csv(arguments.output, index=False)
                print(row, flush=True)
        except (RuntimeError, ValueError) as error:
            print(f"{'-'.join(pair)} failed: {error}", flush=True)


if __name__ == "__main__":
    main()
