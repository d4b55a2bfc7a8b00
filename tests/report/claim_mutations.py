"""Runs like the papers' in all but one thing, and what a claim must say of that thing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import synthetic
import synthetic_style
from paper_runs import Run

from triptych.report.verdicts import NOT_REPRODUCED, NOT_TESTABLE, SEEN

SCORES = ("rl-bc-95", "rl-bcq-95")
OURS = ("rl-ours-sensors", "rl-ours-shuffled")
OF_SCORES = (*SCORES, *OURS)
LOSSES = ("style-backbone-loss-trend", "style-loss-function-time")
OPTIMIZERS = ("style-lbfgs-lowest", "style-sgd-fails", "style-adam-content")
BY_LOSS = (*LOSSES, *OPTIMIZERS, "style-content-init", "style-versions-differ")
SCALED = ("style-alexnet-1024",)
BY_NETWORK = ("style-versions-differ", "style-video-consistency")
MAIN_PAIR = ("audio-finetune-helps", "audio-gpt-helps")
CONTRASTS = ("audio-larger-text", "audio-no-overlap")
ENSEMBLES = ("audio-ensemble", "audio-ensemble-members")
OF_ENSEMBLE = ("audio-baseline-gain", "audio-2022-gain")
GAINS = ("audio-recall-gain", *OF_ENSEMBLE)
LINEAR = ("audio-linear-projection",)
COMPARED = ("audio-best-single", "audio-gpt-helps", *CONTRASTS, *ENSEMBLES)
BY_GPT = (*COMPARED, *GAINS)
AUDIO = ("audio-finetune-helps", *BY_GPT)
ON_CLOTHO = (*AUDIO, *LINEAR)
SEEN_ON_SCENES = ("audio-finetune-helps", *COMPARED, *LINEAR)
DATA = ("audio-data-clotho", "audio-data-audiocaps", "audio-data-wavcaps")

_OF_AUDIO = {"audio_queries", "audio_history", "audio_counts", "audio_manifest", "audio_captions"}
_OF_AUDIO |= {"audio", "audio_trained"}
_OF_GPT = _OF_AUDIO | {"audio_variations", "audio_usage"}
INPUTS: dict[str, set[str]] = {
    "style-speedup": {"style_timing", "style_stylised_runs", "architectures"},
    "style-4k": {"style_stylised_runs"},
    "style-alexnet-faster": {"style_timing", "architectures"},
    "style-backbone-loss-trend": {"style_runs", "style_history"},
    "style-loss-function-time": {"style_loss_timing", "style_runs", "style_history"},
    "style-lbfgs-lowest": {"style_runs"},
    "style-sgd-fails": {"style_runs", "style_history", "style_quality"},
    "style-content-init": {"style_runs", "style_quality"},
    "style-video": {"style_speed", "style_properties"},
    "style-versions-differ": {
        *("style_runs", "style_stylised_runs", "style_quality", "architectures", "photographs")
    },
    "style-adam-content": {"style_runs", "style_quality"},
    "style-alexnet-1024": {"style_runs", "style_history"},
    "style-video-consistency": {"style_flicker", "style_stylised_runs", "photographs"},
    "audio-finetune-helps": _OF_AUDIO,
    **dict.fromkeys((*BY_GPT, *LINEAR), _OF_GPT),
    "audio-ensemble": _OF_GPT | {"audio_ensembles"},
    "audio-ensemble-members": _OF_GPT | {"audio_ensembles", "audio_subsets"},
    "audio-recall-gain": _OF_GPT | {"audio_published"},
    **dict.fromkeys(OF_ENSEMBLE, _OF_GPT | {"audio_ensembles", "audio_published"}),
    **{each: {"audio", "audio_clips", "audio_captions"} for each in DATA},
    "audio-data-clotho": {
        *("audio", "audio_clips", "audio_captions", "audio_asked", "audio_unfiltered")
    },
    **{each: {"scores", "trained_layers", "datasets", "rl_precision"} for each in OF_SCORES},
    "rl-last-layer": {"layers", "datasets"},
    "rl-memory-4x": {"sizes", "layers"},
    "rl-sparse-inference": {"latency", "layers"},
}
"""What each claim rests on."""


@dataclass(frozen=True)
class Mutation:
    """One input changed; the claims that must then be decided no more, and the reason's words."""

    name: str
    input: str
    claims: tuple[str, ...]
    reason: str
    change: Callable[[Any], Any]
    verdict: str = NOT_TESTABLE

    def of(self, run: Run) -> Run:
        """The run with this change."""
        if self.input in run.frames:
            return run.changed(**{self.input: self.change(run.frames[self.input].copy())})
        return replace(run, **{self.input: self.change(getattr(run, self.input))})


def kept(which: Callable[[pd.DataFrame], pd.Series]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Only the rows that `which` names."""
    return lambda frame: frame[which(frame)]


def said(**values: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Every row with these values."""
    return lambda frame: frame.assign(**values)


def said_where(
    which: Callable[[pd.DataFrame], pd.Series], **values: object
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Rows that `which` names with these values."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        for column, value in values.items():
            frame.loc[which(frame), column] = value
        return frame

    return change


def with_model(kind: str, name: str, **values: object) -> Callable[[dict[str, Any]], dict]:
    """One model of the audio study configured otherwise."""
    return lambda study: {
        **study,
        kind: {**study[kind], name: {**study[kind][name], **values}},
    }


def with_source(dataset: str, source: str) -> Callable[[dict[str, Any]], dict]:
    """One data set of the audio study from elsewhere."""
    return lambda study: {**study, "sources": {**study["sources"], dataset: source}}


def _no_run(experiment: str, column: str, value: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return kept(lambda f: ~((f["experiment"] == experiment) & (f[column] == value)))


def _without(frame: pd.DataFrame, **values: str) -> pd.Series:
    gone = pd.Series(True, index=frame.index)
    for column, value in values.items():
        gone &= frame[column] == value
    return ~gone


_M = Mutation
_TIMES = ("style-speedup", "style-alexnet-faster")
NARROW = synthetic.layers(actor=(64, 64), vae=(192, 192))

STYLE = [
    _M("few images", "style_timing", _TIMES, "3 images of 20", kept(lambda f: f["image"] < 3)),
    _M(
        *("diverged", "style_timing", _TIMES, "was not timed"),
        said_where(lambda f: (f["backbone"] == "alexnet") & (f["size"] == 512), evaluations_done=9),
    ),
    _M(
        *("our settings alone", "style_timing", _TIMES, "not timed"),
        kept(lambda f: f["settings"] != "notebook"),
    ),
    _M("no 512", "style_timing", _TIMES, "was not timed", kept(lambda f: f["size"] != 512)),
    _M("a CPU", "style_timing", _TIMES, "about a GPU", said(device=synthetic_style.CPU)),
    _M("bf16", "style_timing", _TIMES, "precision was bf16", said(precision="bf16")),
    _M(
        *("few evaluations", "style_timing", ("style-speedup",), "50 evaluations of 700"),
        said_where(lambda f: f["version"] == 1, evaluations=50, evaluations_done=50),
    ),
    _M(
        *("unequal evaluations", "style_timing", ("style-alexnet-faster",), "equal evaluations"),
        said_where(lambda f: f["backbone"] == "alexnet", evaluations=300, evaluations_done=300),
    ),
    _M(
        *("swapped backbones", "architectures", _TIMES, "the backbone is AlexNet, not VGG-19"),
        lambda roles: {**roles, "vgg": roles["alexnet"], "alexnet": roles["vgg"]},
    ),
    _M(
        *("a narrow judge", "architectures", BY_NETWORK[:1], "judge of style is narrow AlexNet"),
        lambda roles: {**roles, "held_out": "narrow_alexnet"},
    ),
    _M(
        *("a short training", "style_stylised_runs", BY_NETWORK, "9,000 batches of 29,571"),
        said(batches=9000),
    ),
    _M(
        *("a narrow network", "style_stylised_runs", ("style-speedup", "style-4k", *BY_NETWORK)),
        *("16 channels, not 32", said(width=16)),
    ),
    _M("no network", "style_stylised_runs", ("style-speedup",), "not recorded", lambda f: f[:0]),
    _M("small", "style_stylised_runs", ("style-4k",), "no image of 4032", said(width_px=640)),
    _M(
        "a CPU",
        "style_stylised_runs",
        ("style-4k",),
        "about a GPU",
        said(device=synthetic_style.CPU),
    ),
    _M("fp16", "style_stylised_runs", ("style-4k",), "was fp16", said(precision="fp16")),
    _M(
        "own weights",
        "style_runs",
        (*BY_LOSS, *SCALED),
        "ImageNet weights",
        said(weights="embedded"),
    ),
    _M("narrow", "style_runs", (*BY_LOSS, *SCALED), "narrow VGG", said(architecture="narrow_vgg")),
    _M(
        "few evaluations",
        "style_runs",
        (*BY_LOSS, *SCALED),
        "100 evaluations",
        said(evaluations=100),
    ),
    _M("tuned", "style_runs", SCALED, "rates are not", said(rates="tuned")),
    _M(
        *("no 1024", "style_runs", SCALED, "not run at 1024 pixels"),
        _no_run("sizes", "run", "alexnet-1024"),
    ),
    _M("bf16", "style_runs", (*BY_LOSS, *SCALED), "precision was bf16", said(precision="bf16")),
    _M("small", "style_runs", LOSSES[:1], "images were 256 pixels", said(size=256)),
    _M(
        *("one backbone", "style_runs", LOSSES[:1], "not both backbones"),
        _no_run("backbones", "backbone", "alexnet"),
    ),
    _M(
        *("one loss less", "style_runs", LOSSES[1:], "MSE has no loss"),
        _no_run("losses", "content_loss", "mse"),
    ),
    _M(
        *("one optimizer less", "style_runs", OPTIMIZERS, "Adam was not run"),
        _no_run("optimizers", "run", "adam-authors"),
    ),
    _M(
        *("tuned rates called the authors'", "style_runs", OPTIMIZERS, "SGD was not run"),
        said_where(lambda f: f["run"] == "sgd-authors", rates="tuned"),
    ),
    _M(
        *("unequal evaluations", "style_runs", OPTIMIZERS, "equal evaluations"),
        said_where(lambda f: f["run"] == "lbfgs-authors", evaluations=1400),
    ),
    _M(
        *("one start less", "style_runs", ("style-content-init",), "not run or not measured"),
        _no_run("initialisations", "run", "noise"),
    ),
    _M(
        *("cut", "style_history", (*LOSSES, "style-sgd-fails", *SCALED), "600 of 700 evaluations"),
        kept(lambda f: f["evaluation"] <= 600),
    ),
    _M(
        *("not of optimizers", "style_quality", OPTIMIZERS[1:], "not measured"),
        kept(lambda f: f["experiment"] != "optimizers"),
    ),
    _M(
        *("not of starts", "style_quality", ("style-content-init",), "not measured"),
        kept(lambda f: f["experiment"] != "initialisations"),
    ),
    _M(
        *("few repeats", "style_loss_timing", LOSSES[1:], "3 repeats of 5"),
        kept(lambda f: f["repeat"] < 3),
    ),
    _M(
        *("one loss less", "style_loss_timing", LOSSES[1:], "MSE was not timed"),
        kept(lambda f: f["content_loss"] != "mse"),
    ),
    _M(
        *("repeats cut short", "style_loss_timing", LOSSES[1:], "4 repeats of 5"),
        kept(lambda f: (f["repeat"] < 4) | (f["content_loss"] == "mse")),
    ),
    _M(
        "few pairs", "style_quality", BY_NETWORK[:1], "2 pairs", kept(lambda f: f.content != "lake")
    ),
    _M("few", "style_flicker", BY_NETWORK[1:], "99 frames of 100", kept(lambda f: f.frame <= 99)),
    _M("one batch", "style_speed", ("style-video",), "larger batch", kept(lambda f: f.batch == 1)),
    _M("once", "style_speed", ("style-video",), "one repeat", kept(lambda f: f["repeat"] == 0)),
    _M(
        "unread",
        "style_properties",
        ("style-video",),
        "read back",
        kept(lambda f: f.file != "video"),
    ),
    _M("none", "style_properties", ("style-video",), "no video was written", lambda f: f[:0]),
    _M(
        *("of one's own", "photographs", BY_NETWORK, "other data than COCO"),
        *(lambda _: "folder", SEEN),
    ),
]

AUDIO_MUTATIONS = [
    _M(
        *("few clips", "audio_queries", ON_CLOTHO, "900 of 1,045 evaluation clips"),
        kept(lambda f: f["clip"] < "clotho/evaluation/scene 0900"),
    ),
    _M(
        *("one caption a clip", "audio_queries", ON_CLOTHO, "1,045 of 5,225 evaluation queries"),
        kept(lambda f: f["query"] % 5 == 0),
    ),
    _M(
        *("one system cut", "audio_queries", ON_CLOTHO, "1,000 of 5,225 evaluation queries"),
        kept(lambda f: (f["stage"] != "pretrained") | (f["query"] < 1000)),
    ),
    _M("another split", "audio_queries", ON_CLOTHO, "0 of 1,045", said(split="validation")),
    _M("another corpus", "audio_queries", ON_CLOTHO, "0 epochs of", said(corpus="leaky")),
    _M(
        *("pairs", "audio_queries", BY_GPT[:1], "8 of the 10 pairs"),
        kept(lambda f: f["audio_model"] != "passt_s15"),
    ),
    _M(
        *("no base encoder", "audio_queries", CONTRASTS, r"of the 4 comparisons"),
        kept(lambda f: f["text_model"] != "bert_base"),
    ),
    _M(
        *("one run", "audio_queries", MAIN_PAIR, "1 of 3 runs"),
        kept(lambda f: ~f["seed"].isin(["1", "2"])),
    ),
    _M(
        *("no ensemble", "audio_queries", ("audio-ensemble",), "not scored query by query"),
        kept(lambda f: f["system"] != "ensemble"),
    ),
    _M("cut", "audio_history", ON_CLOTHO, "4 epochs of", kept(lambda f: f["epoch"] < 5), SEEN),
    _M(
        *("of one model", "audio_history", ON_CLOTHO, "0 epochs of pretraining"),
        kept(lambda f: _without(f, stage="pretrained", text_model="bert_base")),
    ),
    _M(
        *("two runs", "audio_history", ("audio-gpt-helps",), "2 of 3 runs"),
        kept(lambda f: f["seed"] != "2"),
    ),
    _M(
        *("parts: [SoundBible]", "audio_counts", AUDIO, "recordings of WavCaps FreeSound"),
        *(kept(lambda f: (f["dataset"] != "wavcaps") | (f["split"] == "SoundBible")), SEEN),
    ),
    _M(
        *("AudioCaps of today", "audio_counts", AUDIO, "40,000 of the 51,308 published"),
        *(said_where(lambda f: f["split"] == "train", train=38_530), SEEN),
    ),
    _M(
        *("half of Clotho", "audio_counts", ON_CLOTHO, "1,900 of the 3,839 published"),
        *(said_where(lambda f: f["split"] == "development", train=1900), SEEN),
    ),
    _M("leaks", "audio_counts", ON_CLOTHO, "judged by were trained on", said(leaked=1)),
    _M(
        *("half", "audio_manifest", (*BY_GPT, *LINEAR), "published captions of (Clotho|WavCaps)"),
        lambda f: f[::2],
    ),
    _M(
        *("half", "audio_manifest", MAIN_PAIR[:1], "published captions of (Clotho|WavCaps)"),
        *(lambda f: f[::2], SEEN),
    ),
    _M(
        *("none of AudioCaps", "audio_captions", AUDIO, "0 of the 51,308 published captions"),
        *(kept(lambda f: ~f["clip"].str.startswith("audiocaps")), SEEN),
    ),
    _M(
        *("none of Clotho", "audio_captions", LINEAR, "captions of Clotho"),
        *(kept(lambda f: ~f["clip"].str.startswith("clotho")), SEEN),
    ),
    _M(
        *("none of Clotho", "audio_captions", DATA[:1], "left out"),
        kept(lambda f: ~f["clip"].str.startswith("clotho")),
    ),
    *(
        _M(
            *(f"none of {name}", "audio_captions", (claim,), "was left out"),
            kept(lambda f, name=name: ~f["clip"].str.startswith(name)),
        )
        for name, claim in zip(("audiocaps", "wavcaps"), DATA[1:], strict=True)
    ),
    _M("half", "audio_clips", DATA, "published recordings were there", lambda f: f[::2]),
    _M(
        *("seven words", "audio_captions", DATA, "words"),
        *(said(caption="a dog barks at two of them"), NOT_REPRODUCED),
    ),
    _M(
        *("half", "audio_asked", DATA[:1], "captions of the leaderboard split 500, stated 1,000"),
        *(lambda f: f[::2], NOT_REPRODUCED),
    ),
    _M("few", "audio_unfiltered", DATA[:1], "95,975 published new captions", lambda f: f[::3]),
    *(
        _M(f"no {name}", "audio", (claim,), "left out", with_source(name, "none"))
        for name, claim in zip(("clotho", "audiocaps", "wavcaps"), DATA, strict=True)
    ),
    _M(
        *("other leaks", "audio_trained", ON_CLOTHO, "leak policy was dcase"),
        lambda trained: {**trained, "exclude": "dcase"},
    ),
    _M(
        *("a device's precision", "audio_trained", ON_CLOTHO, "precision was auto"),
        lambda trained: {**trained, "precisions": ["bf16", "auto"]},
    ),
    _M(
        *("none of WavCaps", "audio", AUDIO, "WavCaps was left out"),
        *(with_source("wavcaps", "none"), SEEN),
    ),
    _M(
        *("scenes for Clotho", "audio", SEEN_ON_SCENES, "in place of Clotho"),
        *(with_source("clotho", "synthesised"), SEEN),
    ),
    _M(
        *("scenes for Clotho", "audio", GAINS, "Clotho's evaluation split, which was not scored"),
        with_source("clotho", "synthesised"),
    ),
    _M(
        *("no twin", "audio", LINEAR, "no pair was run with a non-linear projection"),
        with_model("audio_models", "passt_n_mlp", projection_hidden=0),
    ),
    _M(
        *("no numbers of others", "audio_published", GAINS, "as published has no"),
        kept(lambda f: f["source"] == "this report"),
    ),
    _M(
        *("some subsets", "audio_subsets", ENSEMBLES[1:], "of 254 ensembles of fewer members"),
        kept(lambda f: f["models"] > 2),
    ),
    _M(
        *("none larger", "audio_subsets", ENSEMBLES[1:], "no ensemble of more members"),
        kept(lambda f: f["added"] == 0),
    ),
    _M("none", "audio_subsets", ENSEMBLES[1:], "0 of 254", lambda f: f[:0]),
    _M(
        *(
            "scratch",
            "audio",
            ON_CLOTHO,
            "from scratch, not published weights: PaSST-N|of the 4 comparisons|no pair was run",
        ),
        with_model("audio_models", "passt_n", weights="none"),
    ),
    _M(
        *(
            "a text model from scratch",
            "audio",
            ON_CLOTHO,
            "from scratch, not published weights|of the 4 comparisons",
        ),
        with_model("text_models", "roberta_large", source="scratch"),
    ),
    _M(
        *("overlap in PaSST-N", "audio", AUDIO, "cuts recordings otherwise|of the 4 comparisons"),
        with_model("audio_models", "passt_n", overlap=True),
    ),
    _M(
        *("swapped weights", "audio", MAIN_PAIR, "cuts recordings otherwise"),
        with_model("audio_models", "passt_n", weights="passt_s"),
    ),
    _M(
        *("another main pair", "audio", MAIN_PAIR, "the main pair is PaSST-S"),
        lambda study: {**study, "main": ["passt_s", "roberta_large"]},
    ),
    _M(
        *("few", "audio_variations", (*BY_GPT, *LINEAR), "95,975 published new captions"),
        lambda f: f[::3],
    ),
    _M(
        *("a template", "audio_usage", (*BY_GPT, *LINEAR), "by a template"),
        said(backend="template"),
    ),
    _M(
        *("another model", "audio_usage", (*BY_GPT, *LINEAR), "written by llama"),
        *(said(backend="openai", model="llama"), SEEN),
    ),
    _M(
        *(
            "five members",
            "audio_ensembles",
            (*ENSEMBLES, *OF_ENSEMBLE),
            "5 members, the report's 8",
        ),
        kept(lambda f: (f["name"] != "published") | (f["added_step"] <= 5)),
    ),
    _M(
        *(
            "another member",
            "audio_ensembles",
            (*ENSEMBLES, *OF_ENSEMBLE),
            "members are not the report's",
        ),
        said_where(
            lambda f: (f["name"] == "published") & (f["added_step"] == 1),
            member="passt_s-bert_base/clean/finetuned/gpt-seed0",
        ),
    ),
]

RL = [
    _M("three seeds", "scores", OF_SCORES, "3 seeds of 5", kept(lambda f: f["seed"] < 3)),
    _M("no Hopper", "scores", OF_SCORES, "0 seeds of 5", kept(lambda f: f.task != "hopper")),
    _M(
        *("no raw", "scores", OURS[:1], "not trained on raw"),
        kept(lambda f: f["observations"] != "raw"),
    ),
    _M(
        *("no shuffled masks", "scores", OURS[1:], "was not run on every task"),
        kept(lambda f: f["method"] != "shuffled"),
    ),
    _M("no GraSP", "scores", SCORES, "GraSP was not run", kept(lambda f: f["method"] != "grasp")),
    _M(
        *("90% for 95%", "scores", SCORES, "was not run"),
        said_where(lambda f: f["sparsity_percent"] == 95, sparsity_percent=99),
    ),
    _M(
        *("short", "scores", OF_SCORES, "50,000 updates"),
        *(lambda f: f.assign(update=f["update"] // 2), SEEN),
    ),
    _M("four episodes", "scores", OF_SCORES, "8 episodes of 10", kept(lambda f: f["episode"] < 4)),
    _M("narrow", "trained_layers", OF_SCORES, "not as wide", lambda f: NARROW, SEEN),
    _M("bf16", "rl_precision", OF_SCORES, "precision was bf16", lambda precision: "bf16", SEEN),
    _M("auto", "rl_precision", OF_SCORES, "precision was auto", lambda precision: "auto", SEEN),
    _M(
        *("a tenth", "datasets", OF_SCORES, "published transitions of Walker2d"),
        *(said_where(lambda f: f["task"] == "walker2d", transitions=99_900), SEEN),
    ),
    _M(
        *("a tenth", "datasets", ("rl-last-layer",), "published transitions of Walker2d"),
        said_where(lambda f: f["task"] == "walker2d", transitions=99_900),
    ),
    _M(
        *("a task less", "datasets", (*OF_SCORES, "rl-last-layer"), "no data of Hopper"),
        kept(lambda f: f["task"] != "hopper"),
    ),
    _M(
        *("our experts", "datasets", (*OF_SCORES, "rl-last-layer"), "not D4RL's.*Hopper collected"),
        *(said_where(lambda f: f["task"] == "hopper", source="collected"), SEEN),
    ),
    _M(
        *("another quality", "datasets", (*OF_SCORES, "rl-last-layer"), "Hopper d4rl medium"),
        *(said_where(lambda f: f["task"] == "hopper", source="d4rl medium"), SEEN),
    ),
    _M(
        *("narrow", "layers", ("rl-last-layer", "rl-memory-4x", "rl-sparse-inference")),
        *("paper's widths", lambda f: NARROW),
    ),
    _M(
        *("none", "layers", ("rl-last-layer", "rl-memory-4x", "rl-sparse-inference")),
        *("paper's widths", lambda f: f[:0]),
    ),
    _M("three seeds", "layers", ("rl-last-layer",), "3 seeds of 5", kept(lambda f: f["seed"] < 3)),
    _M(
        "a task less",
        "layers",
        ("rl-last-layer",),
        "0 seeds of 5",
        kept(lambda f: f.task != "hopper"),
    ),
    _M(
        *("no first layer", "layers", ("rl-last-layer",), "layer l1 of the actor"),
        kept(lambda f: _without(f, layer="l1", network="actor")),
    ),
    _M("three seeds", "sizes", ("rl-memory-4x",), "3 seeds of 5", kept(lambda f: f["seed"] < 3)),
    _M("a task less", "sizes", ("rl-memory-4x",), "0 seeds", kept(lambda f: f["task"] != "hopper")),
    _M("no VAE", "sizes", ("rl-memory-4x",), "not stored", kept(lambda f: f["network"] != "vae")),
    _M("no index", "sizes", ("rl-memory-4x",), "not stored", kept(lambda f: f["format"] != "coo")),
    _M(
        *("no NumPy", "latency", ("rl-sparse-inference",), "numpy dense was not timed"),
        kept(lambda f: f["kernel"] != "numpy dense"),
    ),
    _M("two rounds", "latency", ("rl-sparse-inference",), "2 rounds of 5", said(repeats=2)),
    _M(
        *("90% for 95%", "latency", ("rl-sparse-inference",), "was not timed at batch 1"),
        said(sparsity_percent=90),
    ),
]

MUTATIONS = [*STYLE, *AUDIO_MUTATIONS, *RL]
