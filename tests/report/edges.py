"""Runs near the bounds of claims: what a run just passes or just fails."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from paper_runs import Run, below, said, scaled

Case = tuple[tuple[str, ...], Run]
"""Claims, and the run that they are judged on."""
GRID = np.geomspace(0.4, 2.5, 19)
"""Factors, each 11% more than the one before."""


def of(study: str, base: Run) -> Iterator[Case]:
    """A study's runs near its bounds. base: its run of the papers' scale."""
    for (claim, frame), changes in CHANGED[study].items():
        yield from (((claim,), base.changed(frame, change)) for change in changes)
    for (claim, path), values in CONFIGURED[study].items():
        yield from (((claim,), base.configured(path, value)) for value in values)
    name, frames = DISAGREEING[study]
    for frame, change in frames.items():
        base = base.changed(frame, change)
    yield (name,), base


def became(study: str, base: Run) -> Iterator[Case]:
    """Runs whose precision the jobs chose, and on every caption of AudioCaps."""
    if study == "rl":
        auto = base.configured("rl.training.precision", "auto")
        yield ("rl-bc-95",), replace(auto, became={"rl_train": {"float32"}})
    if study == "audio":
        yield ("audio-ensemble",), replace(base, became={"audio_pretrain": {"int8"}})
        yield ("audio-ensemble",), replace(base, became={"audio_finetune": {"int8"}})
        every = base.configured("audio.corpora.clean.audiocaps_captions", "all")
        yield ("audio-best-single",), every
        yield ("audio-best-single",), every.changed("audio_captions", fifth_more)


def fifth_more(frame: pd.DataFrame) -> pd.DataFrame:
    """Captions, with a fifth of AudioCaps' twice."""
    return pd.concat([frame, frame[frame["clip"].str.startswith("audiocaps")][::5]])


SCORE = "score_normalised"
AT_95 = {"sparsity_percent": 95, "algorithm": "BC"}
HOPPER = {"task": "hopper", "sparsity_percent": 95, "algorithm": "BCQ"}


def noisy(frame: pd.DataFrame) -> pd.DataFrame:
    """BCQ on Hopper at 0.85 of dense, with an interval that holds 1."""
    rows = (frame["task"] == "hopper") & (frame["algorithm"] == "BCQ")
    rows &= (frame["sparsity_percent"] == 95) & (frame["observations"] == "normalised")
    shift = frame["seed"].map({0: -18, 1: -9, 2: 0, 3: 9, 4: 18})
    return frame.assign(**{SCORE: frame[SCORE].mask(rows, 85 + shift)})


def swept(column: str, **rows: Any) -> list[Any]:
    """A column of these rows by every factor of GRID."""
    return [scaled(column, float(factor), **rows) for factor in GRID]


def unlearned(*tasks: str, by: float = 0.5) -> Any:
    """Dense BC on these tasks scores less than its data."""
    return scaled(SCORE, by, task=list(tasks), method="dense", algorithm="BC")


RISES = tuple(1 + 0.01 * step for step in range(2, 16))
BUMPS = (1.2, 2.0, 5.0, 8.0, 12.0, 18.0)
MEANS = ("clotho", "audiocaps", "wavcaps")
WORDED = (5, 7, 9, 14, 22, 33)
ALEXNET = "experiment == 'backbones' and run == 'alexnet'"
ALEXNET_EARLY = f"{ALEXNET} and evaluation < 550"
VGG_LAST = "experiment == 'backbones' and run == 'vgg' and evaluation == 700"
APART = {"ssim_luma": (0.70, 0.74), "colour_distance": (0.09, 0.11)}
"""Measures of AlexNet's image; VGG's have 0.62 and 0.05."""
UNSTEADY = {"task": "hopper", "method": "dense", "algorithm": "BC", "seed": 0}
OTHER = {"run": "alexnet", "experiment": "backbones"}


def lost(rows: str, by: float, least_of: str) -> Any:
    """The total loss in these rows is so many times the least of others."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        least = frame.query(least_of)["total"].min()
        return frame.assign(total=frame["total"].mask(frame.eval(rows), by * least))

    return change


def spiked(by: float) -> Any:
    """SGD's loss is even but for one that is so many times the others."""
    even = said("total", 70.0, run="sgd-authors")
    return lambda frame: said("total", 70.0 * by, run="sgd-authors", evaluation=9)(even(frame))


def as_quick(*names: str) -> Any:
    """The last of these content losses takes as long as MSE; Huber or MSE, if named, longer."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        mse = frame[frame["content_loss"] == "mse"].set_index("repeat")["seconds"]
        for name in names:
            seconds = frame["repeat"].map(mse) + (0.1 if name in ("huber", "mse") else 0)
            frame = frame.assign(
                seconds=frame["seconds"].where(frame["content_loss"] != name, seconds)
            )
        return frame

    return change


def few_pairs(count: int) -> Any:
    """Version 2 has so many images."""
    return lambda frame: frame.drop(frame.index[frame["version"] == 2][count:])


def kept(share: float, of: str = "") -> Any:
    """This share of the rows, evenly; of a data set all others."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        others = ~frame["clip"].str.startswith(of) if of else False
        return frame[((np.arange(len(frame)) * share) % 1 < share) | others]

    return change


def worded(words: int) -> Any:
    """One caption of a recording has so many words."""
    return lambda frame: frame.assign(
        caption=frame["caption"].mask(frame.index % 5 == 0, "word " * words)
    )


DISAGREEING: dict[str, tuple[str, dict[str, Any]]] = {
    "rl": (
        "rl-bc-95",
        {
            "rl_datasets": said("transitions", 800_000),
            "rl_scores": scaled(SCORE, 0.7, method="snip", **AT_95),
        },
    ),
    "style": (
        "style-losses-alike",
        {
            "style_runs": said("weights", "embedded"),
            "style_quality": said("ssim_luma", 0.4, run="l1"),
        },
    ),
    "audio": (
        "audio-ensemble",
        {
            "audio_usage": lambda frame: frame.assign(backend="openai", model="llama"),
            "audio_queries": said("rank", 90, system="ensemble", audio_model="published"),
        },
    ),
}
"""A claim and what a run with a substitute finds that contradicts it."""
CHANGED: dict[str, dict[tuple[str, str], list[Any]]] = {
    "rl": {
        ("rl-bc-95", "rl_scores"): [
            *swept(SCORE, method="snip", task="walker2d", **AT_95),
            *(scaled(SCORE, 1 + by / 99, **UNSTEADY) for by in (11, 13, 18, 21)),
            *(unlearned("hopper"), unlearned("hopper", "walker2d"), unlearned("hopper", by=0.75)),
        ],
        ("rl-bcq-95", "rl_scores"): [*swept(SCORE, method=["snip", "grasp"], **HOPPER), noisy],
        ("rl-consistent", "rl_scores"): swept(SCORE, method="snip", sparsity_percent=30),
        ("rl-memory-4x", "rl_sizes"): [
            *swept("bytes", format="coo"),
            *swept("bytes", format="coo", method="dense"),
            *swept("bytes", format="coo", method=["snip", "grasp"]),
        ],
        ("rl-sparse-inference", "rl_latency"): [
            *swept("microseconds_median", kernel=["torch CSR", "policy.c"]),
            *(said("maximum_difference", by) for by in (1.2e-6, 0.8e-6)),
        ],
        ("rl-ours-sparse-training", "rl_latency"): [
            *swept("microseconds_median", kernel="torch embedding_bag"),
            *swept("maximum_difference"),
        ],
        ("rl-ours-shuffled", "rl_scores"): [
            *swept(SCORE, method="shuffled", **AT_95),
            *(scaled(SCORE, by, method="shuffled", **AT_95) for by in np.linspace(1.16, 1.32, 17)),
            scaled(SCORE, 1.24, method="shuffled", task="hopper", **AT_95),
        ],
        ("rl-last-layer", "rl_datasets"): swept("transitions"),
        ("rl-last-layer", "rl_layers"): [
            scaled("kept", 0.1, group=group, method="grasp")
            for group in ("actor", "critic", "decoder")
        ],
    },
    "style": {
        ("style-speedup", "style_timing"): [
            *swept("seconds", backbone="network", size=512),
            *(scaled("seconds", by, backbone="network") for by in (2.6, 3.3)),
            *(below("image", images) for images in (15, 18)),
        ],
        ("style-4k", "style_stylised_runs"): [
            *swept("seconds"),
            *swept("height"),
            *(said("seconds", by) for by in (2.5, 3.5)),
        ],
        ("style-alexnet-faster", "style_timing"): [
            *swept("seconds", backbone="alexnet"),
            *(below("image", images) for images in (15, 18)),
        ],
        ("style-video-consistency", "style_flicker"): [
            *swept("ratio"),
            *(below("frame", frames) for frames in (85, 120)),
        ],
        ("style-sgd-fails", "style_runs"): [
            *swept("total_loss_final", run="sgd-authors"),
            # 80 and 120 times that of L-BFGS
            *(said("total_loss_final", end, run="sgd-authors") for end in (2.9, 4.3)),
        ],
        ("style-sgd-fails", "style_quality"): [
            *swept("ssim_luma", run="lbfgs-authors"),
            *(said("ssim_luma", ssim, run="sgd-authors") for ssim in (0.25, 0.37)),
        ],
        ("style-sgd-fails", "style_history"): [spiked(by) for by in (1.2, 1.6, 2.2, 2.8)],
        ("style-video", "style_properties"): [
            scaled("frames_per_second", by, file="video") for by in (1.0008, 1.0012)
        ],
        ("style-video", "style_speed"): [
            *(below("repeat", repeats) for repeats in (1, 2)),
            said("frames_per_second", 20.0),
        ],
        ("style-backbones-alike", "style_quality"): [
            said(measure, value, **OTHER) for measure, ends in APART.items() for value in ends
        ],
        ("style-backbone-loss-trend", "style_history"): [
            *(lost(f"{ALEXNET} and evaluation > 560", by, ALEXNET_EARLY) for by in RISES),
            *(lost(f"{ALEXNET} and evaluation > 500", 1 / by, VGG_LAST) for by in BUMPS),
        ],
        ("style-alexnet-1024", "style_history"): [
            lost("run == 'vgg-1024' and evaluation == 700", by, "run == 'vgg-1024'") for by in BUMPS
        ],
        ("style-alexnet-1024", "style_runs"): [said("status", "finished", run="alexnet-1024")],
        ("style-loss-function-time", "style_loss_timing"): [
            as_quick(*names)
            for names in (["l1"], ["smooth_l1"], ["mse", "l1"], ["huber", "smooth_l1"])
        ],
        ("style-loss-function-time", "style_history"): [
            scaled("total", by, run="l1", evaluation=[*range(690, 701)])
            for by in (0.6, 0.4, 1.7, 2.4)
        ],
        ("style-versions-differ", "style_quality"): [few_pairs(count) for count in (1, 2, 3)],
        ("style-versions-differ", "style_stylised_runs"): [said("batches", 22_000)],
    },
    "audio": {
        ("audio-best-single", "audio_manifest"): [
            *(kept(share) for share in (0.75, 0.95)),
            *(kept(0.75, of=name) for name in MEANS),
        ],
        ("audio-best-single", "audio_counts"): [scaled("train", 0.75)],
        **{
            (f"audio-data-{name}", "audio_clips"): [kept(by) for by in (0.75, 0.994, 0.996)]
            for name in ("audiocaps", "wavcaps")
        },
        ("audio-data-clotho", "audio_clips"): [
            *(kept(by) for by in (0.75, 0.994, 0.996)),
            *(said("seconds", by, split="development") for by in (8.0, 12.0, 30.04, 30.06, 40.0)),
            *(
                said("seconds", 5.0, dataset="clotho", split=split)
                for split in ("development", "validation", "evaluation")
            ),
        ],
        **{
            (f"audio-data-{name}", "audio_captions"): [worded(by) for by in WORDED]
            for name in MEANS
        },
        ("audio-data-clotho", "audio_unfiltered"): [kept(0.75)],
        ("audio-data-clotho", "audio_asked"): [kept(by) for by in (0.5, 0.994, 0.996)],
        ("audio-gpt-helps", "audio_usage"): [
            said("backend", "template"),
            lambda frame: frame.assign(backend="openai", model="gpt-3.5-turbo-0613"),
        ],
        ("audio-ensemble", "audio_counts"): [said("leaked", 1)],
        **{
            (f"audio-{claim}-gain", "audio_published"): [
                said(metric, float(number), source=source) for number in np.arange(10, 75, 1.25)
            ]
            for claim, metric, source in (
                ("recall", "r_at_1", "Mei et al. 2023 [9]"),
                ("baseline", "map_at_10", "DCASE 2023 baseline [1]"),
                ("2022", "map_at_10", "Xu et al. 2022 [3]"),
            )
        },
    },
}
"""Changes of a file, by the claim and the file."""
CONFIGURED: dict[str, dict[tuple[str, str], list[Any]]] = {
    "rl": {
        ("rl-bc-95", "rl.evaluation.final_episodes"): [8, 12],
        ("rl-bc-95", "rl.training.updates"): [80_000, 120_000],
        ("rl-bc-95", "rl.sweeps.bcq.seeds"): [[0, 1, 2, 3]],
        ("rl-memory-4x", "rl.mask_statistics.seeds"): [[0, 1, 2, 3]],
        ("rl-sparse-inference", "rl.latency.repeats"): [4, 6],
        ("rl-ours-small-data", "rl.sweeps"): [
            {
                name: {
                    "runs": {
                        "first_1000": {"max_transitions": count},
                        "first_10000": {"max_transitions": 50_000},
                    }
                }
                for name in ("td3_bc", "iql")
            }
            for count in (8_000, 12_000)
        ],
    },
    "style": {
        ("style-alexnet-1024", "style.experiments.sizes.evaluations"): [400, 600, 800],
        ("style-adam-content", "style.experiments.optimizers.evaluations"): [400, 600, 800],
        ("style-speedup", "style.timing.evaluations"): [500, 900],
        ("style-speedup", "style.timing.notebook"): [15, 25],
        ("style-speedup", "style.network.width"): [16],
        ("style-loss-function-time", "style.timing.losses.repeats"): [4, 6],
        ("style-versions-differ", "style.training.schedule.batches"): [22_000, 40_000],
        ("style-video-consistency", "style.video.film.frames"): [80, 121],
        ("style-video", "style.video.batch"): [1],
        ("style-speedup", "device"): ["cpu"],
        ("style-4k", "style.contents.city.size"): [
            *([1800, 4032], [2000, 3000], [3000, 4600], None),
        ],
        ("style-versions-differ", "style.backbones.vgg.weights"): ["embedded"],
        ("style-versions-differ", "style.photographs.source"): ["embedded"],
    },
    "audio": {
        ("audio-gpt-helps", "audio.finetuning.seeds"): [[0, 1]],
        ("audio-ensemble", "audio.stages.pretraining.epochs"): [12, 18],
        ("audio-ensemble", "audio.stages.finetuning.epochs"): [4, 6],
        ("audio-larger-text", "audio.audio_models.passt_n.segment_seconds"): [8],
        ("audio-larger-text", "audio.audio_models.passt_s.segment_seconds"): [8],
        ("audio-ensemble", "audio.audio_models.passt_s15.segment_seconds"): [12, 20],
        ("audio-ensemble", "audio.corpora.clean.exclude"): ["challenge", "none"],
        ("audio-ensemble", "audio.corpora.clean.precision"): [
            *("auto", "float32", "tf32", "fp16", "bf16"),
        ],
        ("audio-ensemble", "audio.sources"): [
            {name: {"source": "synthesised"} for name in MEANS},
        ],
        ("audio-ensemble", "audio.sources.wavcaps.source"): ["none"],
    },
}
"""Values of a key, by the claim and the key."""
