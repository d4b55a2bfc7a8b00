"""What the jobs of the audio study cost, by their config."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

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
from triptych.audio.experiments import audio_runs, run_records, training_of
from triptych.audio.models.audio_encoders import MELS
from triptych.audio.models.sentence_encoders import (
    LONGEST_TOKENS,
    SentenceSettings,
    sentence_encoder,
)
from triptych.audio.models.settings import MelSettings, ModelSettings
from triptych.core.cost import FLOAT, GB, Cost, Work, download, kept, moved, precision_on_gpus

STEP = "audio training step"
"""`Cost.step` of the trainings."""
MOST_TOKENS = 14
"""Of a caption; those of a batch in training are padded to its longest."""
TOGETHER = 1800.0, 256
"""Seconds of sound and captions that a GPU embeds at once."""
READER = 1e9
"""Bytes of a process that reads sound beside a training: about."""

FLAC_SECONDS, PLAIN_SECONDS = 1_560, 12_100
"""Seconds of sound that a process reads in a second out of the two kinds of shards: measured."""
DECODED_SECONDS = 2_000
"""Seconds of sound that a core decodes and resamples in a second: measured."""
FLAC_BYTES = 34_500
"""Of a second of WavCaps: its 940 GB over its 7,563 hours."""
WAV_BYTES, INT16_BYTES = 2 * 44_100, 2 * MelSettings.sample_rate
PACKED = 0.7
"""Of the bytes of Clotho's files in its archives: about."""
MP3_AUDIOCAPS, MP3_WAVCAPS = 2.8e9, 157e9
"""Of the MP3 copies of these sets, the latter in 15 parts: about, as their makers say."""
VIDEOS_A_SECOND = 1.0
"""AudioCaps from YouTube, four at a time: assumed."""
SYNTHESISED_SECONDS = 180
"""Seconds of sound that a core synthesises in a second: measured."""
ROWS_A_SECOND, ROW_BYTES = 10_000, 2_000
"""Of clips and captions that are listed: assumed."""
CACHED = 4 / 3
"""How much longer a step takes whose batch goes through in chunks: about."""
SCORED_BYTES = 1e8
"""Of similarities that a core ranks in a second, every measure of theirs: assumed."""
CLAP_NUMBERS, JOINT_NUMBERS = 153.5e6, 443e6
"""Of finished models of others: CLAP's, and those of PaSST with RoBERTa-large."""
FINISHED_SECONDS = 10
"""Seconds of sound that a core embeds in a second by PaSST without overlap: about."""
EVERYDAY_KINDS = 159
"""Of sounds that the small model learns."""
EVERYDAY_SECONDS, MIXED_SECONDS = 0.05, 0.0025
"""Of a core for one of their sounds, and for one scene mixed of them: measured."""
BENCH_SECONDS = 1200.0
"""Of the bench: about."""


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


def heard_work(model: ModelSettings, segments: float, training: bool, half: bool) -> Work:
    """So many segments at once through the front end and an audio encoder; in training also
    backward, and without what a step leaves out."""
    samples, frames = model.segment_samples, model.segment_frames
    # The front end: filters of about 126 bins each, and what they are applied to.
    front = Work(32_192.0 * segments * frames, 170.0 * segments * samples, 90)
    return model.audio.work(frames, segments, training, half) + front


def parameter_count(model: ModelSettings, text: SentenceSettings) -> int:
    """Numbers in a joint model's file, without the projections."""
    return model.audio.parameters + text.parameters


def step_work(
    model: ModelSettings, text: SentenceSettings, segments: float, captions: int, precision: str
) -> Work:
    """One step of a training: both sides forward and backward, and Adam."""
    half = precision in ("bf16", "fp16")
    work = heard_work(model, segments, True, half)
    work += text.work(LONGEST_TOKENS, captions, True, half)
    # Adam reads weights, gradients and moments, and writes all but the gradients.
    return work + moved(parameter_count(model, text), 7)


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
        if group == "mp3":
            about = MP3_AUDIOCAPS if name.endswith(".zip") else MP3_WAVCAPS / 15
        return self._kept(download(self._sources[group]["files"][name]["size"], about))

    def audio_download_wavcaps(self) -> Cost:
        size = WAVCAPS[self._wildcards["part"]].total_seconds * FLAC_BYTES
        return download(None, size)

    def audio_download_passt(self) -> Cost:
        name = self._wildcards["variant"]
        cost = download(self._sources["passt"]["files"][name]["size"], FLOAT * 86.2e6)
        return replace(cost, memory=3 * cost.disk)

    def audio_text_model(self) -> Cost:
        name = self._wildcards["text_model"]
        entry = self._config["text_models"][name]
        if entry["source"] == "scratch":
            return Cost()
        numbers = sentence_encoder(name, entry).parameters
        # The published files hold the head that they were trained with as well.
        size = self._sources["text_models"]["files"][name]["size"]
        return replace(download(size, FLOAT * 1.01 * numbers), memory=3 * FLOAT * numbers)

    def audio_finished_model(self) -> Cost:
        entry = self._sources["finished"]["files"][self._wildcards["finished"]]
        numbers = CLAP_NUMBERS if "repository" in entry else JOINT_NUMBERS
        # Lightning keeps Adam's two moments beside the weights.
        size = FLOAT * numbers * (1 if "repository" in entry else 3)
        return replace(download(entry.get("size"), size), memory=3 * FLOAT * numbers)

    def audio_embed_finished(self) -> Cost:
        clips = clips_of(self._config, "clotho")
        seconds = sum(each.total_seconds for each in clips.values())
        return Cost(cpu_seconds=seconds / FINISHED_SECONDS, memory=6 * GB, about=True)

    def audio_unpack_clotho(self) -> Cost:
        seconds = CLOTHO[self._wildcards["split"]].total_seconds
        size = seconds * WAV_BYTES
        return self._kept(Cost(cpu_seconds=size / 20e6, memory=GB, disk=size))

    def audio_unpack_mp3(self) -> Cost:
        size = MP3_AUDIOCAPS if self._wildcards["dataset"] == "audiocaps" else MP3_WAVCAPS
        return self._kept(Cost(cpu_seconds=size / 20e6, memory=GB, about=True, disk=size))

    def _kept(self, cost: Cost) -> Cost:
        """What stays on disk is there for a while only where downloads aren't kept."""
        return cost if self._config["keep_downloads"] else replace(cost, disk=0, scratch=cost.disk)

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
        made = seconds / SYNTHESISED_SECONDS
        return Cost(cpu_seconds=made, cores=2, disk=seconds * WAV_BYTES)

    def audio_shard(self) -> Cost:
        dataset = self._wildcards["dataset"]
        seconds = sum(each.total_seconds for each in clips_of(self._config, dataset).values())
        source = self._config["sources"][dataset]
        flac = source["shards"] == "flac"
        size = seconds * (FLAC_BYTES if flac else INT16_BYTES)
        if flac and source["source"] == "mp3":
            size = MP3_AUDIOCAPS if dataset == "audiocaps" else MP3_WAVCAPS
        return Cost(cpu_seconds=seconds / DECODED_SECONDS, cores=2, disk=size, memory=GB)

    def audio_list_clotho(self) -> Cost:
        return self._listed("clotho")

    def audio_list_audiocaps(self) -> Cost:
        return self._listed("audiocaps")

    def audio_list_wavcaps(self) -> Cost:
        return self._listed("wavcaps")

    def audio_corpus(self) -> Cost:
        return self._listed(*self._config["sources"])

    def _listed(self, *datasets: str) -> Cost:
        parts = [clips for each in datasets for clips in clips_of(self._config, each).values()]
        rows_ = sum(clips.count + clips.captions for clips in parts)
        return Cost(cpu_seconds=rows_ / ROWS_A_SECOND, memory=rows_ * ROW_BYTES)

    def audio_caption(self) -> Cost:
        captions = self._config["captions"]
        if captions["backend"] != "openai":
            return Cost()
        waits = 60 * rephrased(self._config) / captions["requests_per_minute"]
        return Cost(money=caption_money(self._config), waits=waits)

    def audio_score(self) -> Cost:
        splits = clips_of(self._config, "clotho")
        similarities = max(
            8.0 * splits[name].count * splits[name].captions
            for name in ("validation", "evaluation")
        )
        runs = audio_runs(self._config)
        tuned = runs[runs["captions"] == "gpt"].drop_duplicates(["pair", "corpus"])
        pools = tuned[tuned["corpus"] != self._config["submitted"]]["corpus"].value_counts()
        members = len(self._config["ensemble"]["members"])
        sets = sum(2**members + 2 ** (int(pairs) - members) - 2 for pairs in pools)
        return Cost(
            cpu_seconds=2 * (len(runs) + sets) * similarities / SCORED_BYTES,
            memory=GB + (len(tuned) + 6) * similarities,
        )

    def audio_bench(self) -> Cost:
        return Cost(cpu_seconds=BENCH_SECONDS, memory=8 * GB)

    # Training.

    def audio_train_small(self) -> Cost:
        small = self._config["small"]
        sounds, training = small["sounds"], small["training"]
        model = ModelSettings.from_config(small["audio"], small["model"], 0.0)
        text = sentence_encoder("small", small["text"])
        precision = precision_on_gpus(training["precision"], "training")
        captions = training["batch"] + EVERYDAY_KINDS  # one of each scene and of each kind
        step = step_work(model, text, training["batch"], captions, precision)
        made = EVERYDAY_KINDS * (sounds["each"] + sounds["held_out"])
        seconds = made * EVERYDAY_SECONDS + training["steps"] * training["batch"] * MIXED_SECONDS
        return Cost(
            work={precision: step * training["steps"]},
            cpu_seconds=seconds,
            scratch=made * MELS * 200.0 * sounds["seconds"],
            memory=2 * GB,
            tensors=kept(step),
        )

    def audio_pretrain(self) -> Cost:
        return self._trained("pretraining", ("clotho", "audiocaps", "wavcaps"), "pretrained")

    def audio_finetune(self) -> Cost:
        return self._trained("finetuning", ("clotho",), "finetuned")

    def audio_distill(self) -> Cost:
        return self._trained("distillation", ("clotho",), "distilled")

    def _trained(self, stage: str, datasets: tuple[str, ...], name: str) -> Cost:
        """All runs of a job: epochs, a validation after each, embeddings at the end."""
        config, corpus = self._config, self._wildcards["corpus"]
        settings = training_of(config, corpus, stage)
        precision = precision_on_gpus(settings["precision"], "training")
        longest = settings["longest_seconds"]
        audio_name, text_name = self._wildcards["pair"].split("-")
        model = ModelSettings.from_config(
            config["audio_models"][audio_name], config["model"], config["model"]["text_dropout"]
        )
        text = sentence_encoder(text_name, config["text_models"][text_name])
        half = precision in ("bf16", "fp16")

        def segments(clips: Clips) -> int:
            return math.ceil(min(clips.seconds, longest) / model.segment_seconds)

        def embedding(parts: Iterable[Clips]) -> Work:
            together, captions = round(TOGETHER[0] / model.segment_seconds), TOGETHER[1]
            heard = heard_work(model, together, False, half)
            read = text.work(MOST_TOKENS, captions, False, half)
            return sum(
                (
                    heard * (clips.count * segments(clips) / together)
                    + read * (clips.captions / captions)
                    for clips in parts
                ),
                Work(),
            )

        parts, judges = trained_on(config, corpus, datasets), judged_by(config, corpus)
        batch, epochs, devices = settings["batch"], settings["epochs"], settings["devices"]
        chunk = min(batch, settings["chunk"] or batch)
        steps = max(1, sum(clips.captions for _, clips in parts) // batch)
        heard = sum(clips.captions * segments(clips) for _, clips in parts)
        step = step_work(model, text, round(heard / steps), batch, precision)
        passes = CACHED if chunk < batch else 1.0  # the gradient cache goes forward twice
        numbers = parameter_count(model, text)
        validation = embedding(clips for split, clips in judges.items() if split == "validation")
        work = (step * (steps * passes) + validation) * epochs + embedding(judges.values())
        if name == "distilled":
            teachers = len(config["ensemble"]["members"])
            work += embedding(clips for _, clips in parts) * teachers
        reading = sum(
            min(clips.seconds, longest) * clips.captions / self._reading_rate(dataset)
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
            gpus=devices * settings["nodes"],
            ahead=settings["workers"] > 0,
            disk=FLOAT * numbers * runs,
            scratch=FLOAT * numbers * 4,  # weights, moments and the best epoch
            memory=devices * (FLOAT * numbers * 2 + READER * settings["workers"]),
            tensors=devices * (FLOAT * numbers * 4 + kept(step) * chunk / batch),
        )

    def _reading_rate(self, dataset: str) -> float:
        flac = self._config["sources"][dataset]["shards"] == "flac"
        return FLAC_SECONDS if flac else PLAIN_SECONDS
