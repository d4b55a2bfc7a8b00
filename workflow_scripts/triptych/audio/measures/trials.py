"""The audio study's training step at a config's sizes: random weights, noise, random words."""

import math
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from triptych.audio.cost import STEP, step_work, text_config
from triptych.audio.data_sizes import TextSize, text_size
from triptych.audio.measures.bench_worker import RATE, InMemory, noise
from triptych.audio.models.losses import nt_xent
from triptych.audio.models.passt import Passt
from triptych.audio.models.retrieval import RetrievalModel, draw
from triptych.audio.models.sentences import LONGEST_TOKENS, SentenceEncoder
from triptych.audio.models.settings import ModelSettings
from triptych.audio.training.batches import Batches, Pair
from triptych.audio.training.parallel import Alone
from triptych.audio.training.settings import TrainingSettings, kind_of_work
from triptych.audio.training.trainer import Task, TrainingRun
from triptych.core.checkpoint import Checkpoint
from triptych.core.device import choose_precision
from triptych.core.trial import Trial, refuse

Config = Mapping[str, Any]
WORDS = 1000
"""Of the made-up language."""


def pretraining_trials(config: Config, audio: str, device: torch.device) -> Iterator[Trial]:
    """A pretraining step of the last pair with this audio model, every clip of full length.

    config: the section `audio`.
    """
    text = [pair[1] for pair in config["pairs"] if pair[0] == audio][-1]
    size = text_size(config, text)
    stage = {**config["stages"]["common"], **config["stages"]["pretraining"]}
    width = config["audio_models"][audio]["dim"]
    precision = choose_precision(stage["precision"], device, kind_of_work(width))
    stage |= {"precision": precision, "checkpoint_minutes": math.inf}
    settings = TrainingSettings.from_table(stage)
    sizes = ModelSettings.from_config(
        config["audio_models"][audio], config["model"], config["model"]["text_dropout"]
    )
    torch.manual_seed(0)
    encoder = SentenceEncoder(text_config(size), tokenizer(size), sizes.text_dropout)
    model = RetrievalModel(sizes, Passt(sizes.audio), encoder).to(device)
    seconds = config_seconds(config, settings.longest_seconds)
    clips = {
        str(number): waveform.numpy()
        for number, waveform in enumerate(noise(settings.batch, round(seconds * RATE)))
    }
    captions = sentences(len(clips))
    pairs = [Pair(clip, 0, caption) for clip, caption in zip(clips, captions, strict=True)]
    store: Any = InMemory(clips)
    task = Task(
        model,
        Batches(pairs, store, settings.batch, 0.0, seconds, 0),
        lambda heard, read, chosen: nt_xent(heard, read, model.temperature),
        partial(draw, sizes, settings),
        None,
        settings,
        0,
    )
    run = TrainingRun(task, Alone(device), Checkpoint(Path("unused"), ""))
    batch = task.batches[0]
    segments = math.ceil(seconds / sizes.segment_seconds) * settings.batch
    yield Trial(
        STEP,
        f"{audio} and {text}, {settings.batch} clips of {seconds:g} s",
        settings.precision,
        lambda _: run.step(batch),
        lambda: step_work(
            config["audio_models"][audio], size, segments, settings.batch, settings.precision
        ),
        lambda: refuse(run.trouble()),
    )


def config_seconds(config: Config, longest: float) -> float:
    """How long clips are: as training cuts them, and no longer than synthesised ones get."""
    made = config["sources"]["clotho"]["source"] == "synthesised"
    return min(longest, max(config["synthesis"]["seconds"])) if made else longest


def tokenizer(size: TextSize) -> Tokenizer:
    """One token a word; the first ones are for padding, whose number the class chooses."""
    words = ["[PAD 0]", "[PAD 1]", *(f"w{number}" for number in range(WORDS))]
    made = Tokenizer(
        WordLevel({word: n for n, word in enumerate(words[: size.vocabulary])}, unk_token="w0")
    )
    made.pre_tokenizer = Whitespace()
    return made


def sentences(count: int) -> list[str]:
    """Captions as long as the text side reads."""
    drawn = random.Random(0)
    return [
        " ".join(f"w{drawn.randrange(WORDS // 2)}" for _ in range(LONGEST_TOKENS))
        for _ in range(count)
    ]


def trials(config: Config) -> dict[str, Callable[[Config, torch.device], Iterator[Trial]]]:
    """A trial for each audio model of the config, by its name."""
    return {name: partial(_of, name) for name in dict.fromkeys(pair[0] for pair in config["pairs"])}


def _of(name: str, config: Config, device: torch.device) -> Iterator[Trial]:
    return pretraining_trials(config, name, device)
