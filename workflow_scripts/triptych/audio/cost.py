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
    TextSize,
    caption_money,
    clips_of,
    judged_by,
    rephrased,
    text_size,
    trained_on,
)
from triptych.audio.experiments import audio_runs, run_records
from triptych.core.cost import (
    FLOAT,
    GB,
    Cost,
    Work,
    download,
    kept,
    moved,
    precision_on_gpus,
    product,
)

STEP = "audio training step"
"""`Cost.step` of the trainings."""
MOST_TOKENS, LONGEST_TOKENS = 14, 32
"""Of a caption; those of a batch in training are padded to its longest."""
SAMPLE_RATE, HOP, MELS, PATCH = 32_000, 320, 128, 16
"""PaSST's input: samples a second and a frame, bands, a patch's sides."""
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
WAV_BYTES, INT16_BYTES = 2 * 44_100, 2 * SAMPLE_RATE
PACKED = 0.7
"""Of the bytes of Clotho's files in its archives: about."""
VIDEOS_A_SECOND = 1.0
"""AudioCaps from YouTube, four at a time: assumed."""
SYNTHESISED_SECONDS = 180
"""Seconds of sound that a core synthesises in a second: measured."""
ROWS_A_SECOND, ROW_BYTES = 10_000, 2_000
"""Of clips and captions that are listed: assumed."""
SCORED_BYTES = 1e8
"""Of similarities that a core ranks in a second, every measure of theirs: assumed."""
BENCH_SECONDS = 900.0
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


def transformer_work(
    size: tuple[int, int], sequences: float, tokens: int, outputs: int, training: bool, half: bool
) -> Work:
    """Sequences of so many tokens through a transformer of which the last layer makes `outputs`.

    size: width and layers;  training: forward and backward;  half: products in half precision
    """
    (dim, layers), ways = size, 3 if training else 1
    products = tokens * 12 * dim**2 * (layers - 1) + (2 * tokens + 10 * outputs) * dim**2
    looks = 2 * tokens * dim * (tokens * (layers - 1) + outputs)
    # Backward, attention makes five products for the two of its way forward.
    work = Work(2.0 * sequences * (products * ways + looks * (3.5 if training else 1)))
    passes, last = ((50 if half else 58), 25) if training else (18, 5)
    numbers, kernels = sequences * tokens * dim, 32 if training else 11
    work += moved(numbers, passes * (layers - 1) + last, kernels * layers)
    weights = 12 * dim**2 * layers
    return work + (moved(weights, 3 if training else 1.5, 20 * layers) if half else Work())


def passt_work(model: Mapping[str, Any], segments: float, training: bool, half: bool) -> Work:
    """So many segments at once through PaSST; in training with patchout, and backward.

    model: an entry of the config's `audio.audio_models`.
    """
    samples = model["segment_seconds"] * SAMPLE_RATE
    frames = (samples - 1) // HOP + 1
    out = model["patchout"] if training else (0, 0)
    high, long = (
        (side - PATCH) // stride + 1 - less
        for side, stride, less in zip((MELS, frames), model["stride"], out, strict=True)
    )
    patches, dim = int(high * long), model["dim"]
    size = dim, model["depth"]
    work = transformer_work(size, segments, patches + 2, 2, training, half)
    work += product(segments * patches, PATCH**2, dim, 2 if training else 1)
    work += moved(segments * patches * dim, 12 if training else 5, 20)
    # The front end: filters of about 126 bins each, and what they are applied to.
    return work + Work(32_192.0 * segments * frames, 170.0 * segments * samples, 90)


def text_work(size: TextSize, captions: float, tokens: int, training: bool, half: bool) -> Work:
    """Captions of so many tokens through a sentence encoder; in training also backward."""
    work = transformer_work((size.hidden, size.layers), captions, tokens, 1, training, half)
    work += moved(captions * tokens * size.hidden, 5, 12)
    return work + moved(size.vocabulary * size.hidden, 2 if training else 1, 2)


def passt_parameters(model: Mapping[str, Any]) -> int:
    """Numbers of a PaSST; a published one holds the heads that it was trained with as well."""
    dim, (down, right) = model["dim"], model["stride"]
    positions = MELS // down + model["frames"] // right
    heads = 0 if model["weights"] == "none" else 2 * dim + 2 * 527 * (dim + 1)
    return dim * (4 + positions + PATCH**2 + 1 + 2) + blocks(dim, model["depth"]) + heads


def text_parameters(size: TextSize) -> int:
    """Numbers of a sentence encoder."""
    roberta = size.kind == "roberta"
    rows_ = size.vocabulary + (514 + 1 if roberta else 512 + 2) + 2
    return rows_ * size.hidden + blocks(size.hidden, size.layers)


def blocks(dim: int, layers: int) -> int:
    """Numbers of so many blocks of a transformer, biases and norms among them."""
    return layers * (12 * dim**2 + 13 * dim)


def step_work(
    model: Mapping[str, Any], text: TextSize, segments: float, captions: int, precision: str
) -> Work:
    """One step of a training: both sides forward and backward, and Adam."""
    half = precision in ("bf16", "fp16")
    work = passt_work(model, segments, True, half)
    work += text_work(text, captions, LONGEST_TOKENS, True, half)
    # Adam reads weights, gradients and moments, and writes all but the gradients.
    return work + moved(passt_parameters(model) + text_parameters(text), 7)


def text_config(size: TextSize) -> dict[str, Any]:
    """What of a published encoder's `config.json` says how large it is."""
    return {
        "model_type": size.kind,
        "vocab_size": size.vocabulary,
        "hidden_size": size.hidden,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "intermediate_size": 4 * size.hidden,
        "max_position_embeddings": 514 if size.kind == "roberta" else 512,
        "type_vocab_size": 1 if size.kind == "roberta" else 2,
        "pad_token_id": 1 if size.kind == "roberta" else 0,
    }


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
        cost = download(self._sources["passt"]["files"][name]["size"], FLOAT * 86.2e6)
        return replace(cost, memory=3 * cost.disk)

    def audio_text_model(self) -> Cost:
        name = self._wildcards["text_model"]
        if self._config["text_models"][name]["source"] == "scratch":
            return Cost()
        numbers = text_parameters(text_size(self._config, name))
        # The published files hold the head that they were trained with as well.
        size = self._sources["text_models"]["files"][name]["size"]
        return replace(download(size, FLOAT * 1.01 * numbers), memory=3 * FLOAT * numbers)

    def audio_unpack_clotho(self) -> Cost:
        seconds = CLOTHO[self._wildcards["split"]].total_seconds
        size = seconds * WAV_BYTES
        return Cost(cpu_seconds=size / 20e6, disk=size, memory=GB)

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
        size = seconds * (FLAC_BYTES if dataset == "wavcaps" else INT16_BYTES)
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
        clips = max(clips_of(self._config, "clotho").values(), key=lambda each: each.captions)
        similarities = 8.0 * clips.count * clips.captions
        models = len(audio_runs(self._config))
        return Cost(cpu_seconds=models * similarities / SCORED_BYTES, memory=10 * similarities)

    def audio_bench(self) -> Cost:
        return Cost(cpu_seconds=BENCH_SECONDS, memory=6 * GB)

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
        model, text = config["audio_models"][audio_name], text_size(config, text_name)
        half = precision in ("bf16", "fp16")

        def segments(clips: Clips) -> int:
            return math.ceil(min(clips.seconds, longest) / model["segment_seconds"])

        def embedding(parts: Iterable[Clips]) -> Work:
            together, captions = round(TOGETHER[0] / model["segment_seconds"]), TOGETHER[1]
            heard = passt_work(model, together, False, half)
            read = text_work(text, captions, MOST_TOKENS, False, half)
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
        numbers = passt_parameters(model) + text_parameters(text)
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
            gpus=devices * settings["nodes"],
            ahead=settings["workers"] > 0,
            disk=FLOAT * numbers * runs,
            scratch=FLOAT * numbers * 4,  # weights, moments and the best epoch
            memory=devices * (FLOAT * numbers * 2 + READER * settings["workers"]),
            tensors=devices * (FLOAT * numbers * 4 + kept(step) * chunk / batch),
        )


def _reading_rate(dataset: str) -> float:
    return FLAC_SECONDS if dataset == "wavcaps" else PLAIN_SECONDS
