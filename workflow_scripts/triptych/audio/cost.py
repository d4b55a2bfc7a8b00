"""What the jobs of the audio study cost, by their config."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import torch

from triptych.audio.data.decoding import SAMPLE_RATE
from triptych.audio.data_sizes import (
    AUDIOCAPS,
    CLOTHO,
    WAVCAPS,
    Clips,
    caption_money,
    clips_of,
    judged_by,
    rephrased,
    trained_on,
)
from triptych.audio.embedding import BATCH_SECONDS, CAPTIONS
from triptych.audio.experiments import audio_runs, run_records
from triptych.audio.models.audio_encoders import MELS, AudioEncoder
from triptych.audio.models.mel import LogMel
from triptych.audio.models.sentence_encoders import (
    LONGEST_TOKENS,
    SentenceSettings,
    sentence_encoder,
)
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.settings import ModelSettings
from triptych.core.cost import Cost, download
from triptych.core.device import precision_on_gpus, training_precision
from triptych.core.operations import Work, counted, shaped, shapes_only

CPU = torch.device("cpu")
FLOAT = 4
STEP = "audio training step"
"""`Cost.step` of the trainings."""
MOST_TOKENS = 14
"""Of a caption; those of a batch in training are padded to its longest."""

FLAC_SECONDS, PLAIN_SECONDS = 1_560, 12_100
"""Seconds of sound that a process reads in a second out of the two kinds of shards: measured."""
DECODED_SECONDS = 2_000
"""Seconds of sound that a core decodes and resamples in a second: measured."""
FLAC_BYTES = 34_500
"""Of a second of WavCaps: its 940 GB over its 7,563 hours."""
WAV_BYTES, INT16_BYTES = 2 * 44_100, 2 * SAMPLE_RATE
PACKED = 0.7
"""Of the bytes of Clotho's files in its archives: about."""
VIDEOS_A_SECOND = 1.0
"""AudioCaps from YouTube, four at a time: assumed."""


def job_cost(
    config: Mapping[str, Any], sources: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]
) -> Cost:
    """The cost of one job. config: the section `audio`; sources: resources/sources.yaml."""
    jobs = _Jobs(config, sources["audio"], wildcards)
    job: Callable[[], Cost] | None = getattr(jobs, rule, None)
    return job() if job else Cost()


def notes(config: Mapping[str, Any]) -> list[str]:
    """What new captions would cost from a language model."""
    price, currency = caption_money(config), config["captions"]["prices"]["currency"]
    return [
        f"New captions by the backend `openai` would be {rephrased(config):,} requests, "
        f"for about {price:.2f} {currency} at the prices in the config."
    ]


def rows(config: Mapping[str, Any]) -> dict[str, str]:
    """The folder of the workflow that every trained model comes in, by the model's name."""
    return {
        run["run"]: "results/audio/models/{pair}/{corpus}/{stage}".format(**run)
        for run in run_records(audio_runs(config))
    }


@lru_cache(maxsize=32)
def audio_work(settings: ModelSettings, segments: int, training: bool, precision: str) -> Work:
    """So many segments at once through the audio encoder; in training also backward."""
    with shapes_only(), training_precision(CPU, precision):
        model = shaped(settings.audio.network).train(training)
        mel = torch.empty(segments, 1, MELS, settings.segment_frames)
        if not training:
            with torch.no_grad():
                tower = counted(lambda: model(mel))
        else:
            kept = settings.audio.draw(settings.segment_frames, torch.Generator())
            given = (mel,) if kept is None else (mel, kept)
            tower = counted(lambda: model(*given).sum().backward())
    return tower + _front_end(settings.segment_samples).together(segments)


@lru_cache(maxsize=8)
def _front_end(samples: int) -> Work:
    """The mel front end: it looks at values, so it runs, on one segment of silence."""
    front = LogMel()
    return counted(lambda: front(torch.zeros(1, samples)))


@lru_cache(maxsize=32)
def text_work(
    size: SentenceSettings, captions: int, tokens: int, training: bool, precision: str
) -> Work:
    """Captions of so many tokens through a sentence encoder; in training also backward."""
    with shapes_only(), training_precision(CPU, precision):
        model = _encoder(size).train(training)
        asked = {
            "input_ids": torch.zeros(captions, tokens, dtype=torch.long),
            "attention_mask": torch.ones(captions, tokens, dtype=torch.long),
        }
        if training:
            return counted(lambda: model(asked).sum().backward())
        with torch.no_grad():
            return counted(lambda: model(asked))


def step_work(
    model: ModelSettings, text: SentenceSettings, segments: int, captions: int, precision: str
) -> Work:
    """One step of a training: both sides forward and backward, and Adam."""
    work = audio_work(model, segments, True, precision)
    work += text_work(text, captions, LONGEST_TOKENS, True, precision)
    # Adam reads weights, gradients and moments, and writes all but the gradients.
    return work + Work(0, 7 * FLOAT * parameter_count(model.audio, text), 1)


@lru_cache(maxsize=32)
def parameter_count(audio: AudioEncoder, text: SentenceSettings) -> int:
    """Numbers in a joint model's file, without the projections."""
    with shapes_only():
        models = (shaped(audio.network), _encoder(text))
        return sum(each.numel() for model in models for each in model.parameters())


def _encoder(size: SentenceSettings) -> SentenceEncoder:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    words = Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a"))  # nothing is tokenized
    return shaped(lambda: SentenceEncoder(size.config(), words, 0.0))


class _Jobs:
    """A method for each rule that costs something."""

    def __init__(
        self,
        config: Mapping[str, Any],
        sources: Mapping[str, Any],
        wildcards: Mapping[str, str],
    ) -> None:
        self._config, self._sources, self._wildcards = config, sources, wildcards

    # Inputs.

    def audio_download(self) -> Cost:
        group, name = self._wildcards["set"], self._wildcards["file"]
        about = 5e6
        for split in CLOTHO:
            if name.endswith(f"{split}.7z"):
                about = PACKED * CLOTHO[split].total_seconds * WAV_BYTES
        if "gpt" in name or name == "variations.json":
            about = 34.3e6
        return download(self._sources[group]["files"][name]["size"], about)

    def audio_download_wavcaps(self) -> Cost:
        size = WAVCAPS[self._wildcards["part"]].total_seconds * FLAC_BYTES
        return download(None, size)

    def audio_download_passt(self) -> Cost:
        name = self._wildcards["variant"]
        return download(self._sources["passt"]["files"][name]["size"], FLOAT * 86.2e6)

    def audio_text_model(self) -> Cost:
        name = self._wildcards["text_model"]
        entry = self._config["text_models"][name]
        if entry["source"] == "scratch":
            return Cost()
        with shapes_only():
            encoder = _encoder(sentence_encoder(name, entry))
            numbers = sum(each.numel() for each in encoder.parameters())
        # The published files hold the head that they were trained with as well.
        return download(self._sources["text_models"]["files"][name]["size"], FLOAT * 1.01 * numbers)

    def audio_unpack_clotho(self) -> Cost:
        seconds = CLOTHO[self._wildcards["split"]].total_seconds
        return Cost(cpu_seconds=seconds * WAV_BYTES / 20e6, disk=seconds * WAV_BYTES)

    def audio_fetch_audiocaps(self) -> Cost:
        clips = AUDIOCAPS["all"]
        size = clips.total_seconds * FLAC_BYTES
        waits = clips.count / VIDEOS_A_SECOND
        return Cost(download=size, disk=size, waits=waits, about=True)

    def audio_synthesise(self) -> Cost:
        seconds = sum(
            clips.total_seconds
            for dataset in self._config["sources"]
            for clips in clips_of(self._config, dataset).values()
        )
        return Cost(disk=seconds * WAV_BYTES)

    def audio_shard(self) -> Cost:
        dataset = self._wildcards["dataset"]
        seconds = sum(each.total_seconds for each in clips_of(self._config, dataset).values())
        size = seconds * (FLAC_BYTES if dataset == "wavcaps" else INT16_BYTES)
        return Cost(cpu_seconds=seconds / DECODED_SECONDS, cores=2, disk=size)

    def audio_caption(self) -> Cost:
        captions = self._config["captions"]
        if captions["backend"] != "openai":
            return Cost()
        waits = 60 * rephrased(self._config) / captions["requests_per_minute"]
        return Cost(money=caption_money(self._config), waits=waits)

    # Training.

    def audio_pretrain(self) -> Cost:
        return self._trained("pretraining", ("clotho", "audiocaps", "wavcaps"), "pretrained")

    def audio_finetune(self) -> Cost:
        return self._trained("finetuning", ("clotho",), "finetuned")

    def audio_distill(self) -> Cost:
        return self._trained("distillation", ("clotho",), "distilled")

    def _trained(self, stage: str, datasets: tuple[str, ...], name: str) -> Cost:
        """All runs of a job: epochs, a validation after each, embeddings at the end."""
        config, corpus = self._config, self._wildcards["corpus"]
        settings = {**config["stages"]["common"], **config["stages"][stage]}
        precision = precision_on_gpus(settings["precision"], "training")
        longest = settings["longest_seconds"]
        audio_name, text_name = self._wildcards["pair"].split("-")
        model = ModelSettings.from_config(
            config["audio_models"][audio_name], config["model"], config["model"]["text_dropout"]
        )
        text = sentence_encoder(text_name, config["text_models"][text_name])

        def segments(clips: Clips) -> int:
            return math.ceil(min(clips.seconds, longest) / model.segment_seconds)

        def embedding(parts: Iterable[Clips]) -> Work:
            together = round(BATCH_SECONDS["cuda"] / model.segment_seconds)
            heard = audio_work(model, together, False, precision)
            read = text_work(text, CAPTIONS, MOST_TOKENS, False, precision)
            return sum(
                (
                    heard * (clips.count * segments(clips) / together)
                    + read * (clips.captions / CAPTIONS)
                    for clips in parts
                ),
                Work(),
            )

        parts, judges = trained_on(config, corpus, datasets), judged_by(config, corpus)
        batch, epochs = settings["batch"], settings["epochs"]
        steps = sum(clips.captions for _, clips in parts) // batch
        heard = sum(clips.captions * segments(clips) for _, clips in parts)
        step = step_work(model, text, round(heard / steps), batch, precision)
        numbers = parameter_count(model.audio, text)
        validation = embedding(clips for split, clips in judges.items() if split == "validation")
        work = (step * steps + validation) * epochs + embedding(judges.values())
        if name == "distilled":
            teachers = len(config["ensemble"]["members"])
            work += embedding(clips for _, clips in parts) * teachers
        reading = sum(
            min(clips.seconds, longest) * clips.captions / _reading_rate(dataset)
            for dataset, clips in parts
        )
        keys = ["pair", "corpus", "stage"]
        own = [self._wildcards["pair"], corpus, name]
        runs = int((audio_runs(config)[keys] == own).all(axis=1).sum())
        return Cost(
            work={precision: work * runs},
            step=STEP,
            cpu_seconds=reading * epochs * runs,
            cores=max(1, settings["workers"]),
            ahead=settings["workers"] > 0,
            disk=FLOAT * numbers * runs,
            scratch=FLOAT * numbers * 4,  # weights, moments and the best epoch
        )


def _reading_rate(dataset: str) -> float:
    return FLAC_SECONDS if dataset == "wavcaps" else PLAIN_SECONDS
