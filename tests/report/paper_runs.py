"""A run of all three studies as at the papers' scale, in which every claim is reproduced."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import synthetic
import synthetic_audio
import synthetic_style

from triptych.audio.report.claims import BEST, AudioScores
from triptych.audio.report.claims_data import AudioData
from triptych.audio.report.claims_statistics import Statistics
from triptych.audio.report.claims_verdicts import audio_verdicts
from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.report.verdicts import Verdict
from triptych.rl import study as rl
from triptych.style import study as style

PUBLISHED = Path(__file__).parents[2] / "resources" / "published" / "audio_table2.csv"


@dataclass
class Run:
    """What the rule report_claims reads: frames by the name of its input, and its params."""

    frames: dict[str, pd.DataFrame]
    architectures: dict[str, str] = field(
        default_factory=lambda: {"alexnet": "alexnet", "vgg": "vgg19", "held_out": "alexnet"}
    )
    audio: dict[str, Any] = field(
        default_factory=lambda: synthetic_audio.with_twin(synthetic_audio.settings(paper=True))
    )
    audio_trained: dict[str, Any] = field(
        default_factory=lambda: {
            **{"exclude": "strict", "precisions": ["bf16", "bf16"]},
            "audiocaps_captions": "first",
        }
    )
    photographs: str = "coco"
    rl_precision: str = "tf32"

    def changed(self, **frames: pd.DataFrame) -> "Run":
        """The same run with other frames."""
        return replace(self, frames={**self.frames, **frames})


def style_frames() -> dict[str, pd.DataFrame]:
    """A GPU, ImageNet's weights, the paper's evaluations."""
    gpu = synthetic_style.GPU
    experiments = synthetic_style.runs_and_histories(paper=True, evaluations=700, device=gpu)
    timing = synthetic_style.timing_images(
        sizes=(256, 512, 1024), images=20, evaluations=700, device=gpu
    )
    timing.loc[timing["backbone"] == "network", "seconds"] *= 0.1
    slower = {"l1": 0.2, "smooth_l1": 0.2}
    of_video = {"painting": "waves", "variant": "plain"}
    return {
        "style_runs": pd.concat([runs for runs, _ in experiments.values()], ignore_index=True),
        "style_history": pd.concat([each for _, each in experiments.values()], ignore_index=True),
        "style_quality": synthetic_style.quality(experiments),
        "style_timing": timing,
        "style_loss_timing": synthetic_style.timing_losses(shift=slower, device=gpu),
        "style_stylised_runs": synthetic_style.stylised_runs(
            "waves", "trained", size=(4032, 2480), width=32, device=gpu
        ).assign(batches=29_571),
        "style_speed": synthetic_style.speed(device=gpu).assign(**of_video),
        "style_properties": synthetic_style.properties().assign(**of_video),
        "style_flicker": synthetic_style.flicker("waves", "temporal", 240).assign(**of_video),
    }


def audio_frames() -> dict[str, pd.DataFrame]:
    """Clotho's clips, the ten pairs of Table 2 and a twin of the best, the report's epochs."""
    runs = synthetic_audio.runs(paper=True, twin=True)
    ensembles = synthetic_audio.ensembles(runs)

    def strength(row: pd.Series) -> float:
        if row["system"] == "ensemble":
            return 0.75
        best = row["captions"] == "gpt" and tuple(row[["audio_model", "text_model"]]) == BEST
        return synthetic_audio.strength(row) + (0.08 if best else 0.0)

    epochs = {"pretrained": 15, "finetuned": 5}
    return {
        **synthetic_audio.trained_on(one_caption=True),
        "audio_queries": audio_queries(strength),
        "audio_history": synthetic_audio.history(runs, epochs=epochs),
        "audio_ensembles": ensembles,
        "audio_subsets": synthetic_audio.subsets(ensembles),
        "audio_published": read_rows(PUBLISHED),
    }


def audio_queries(strength: Callable[[pd.Series], float]) -> pd.DataFrame:
    """Ranks of Clotho's evaluation split by every system, by how strong each is."""
    runs = synthetic_audio.runs(paper=True, twin=True)
    queries = synthetic_audio.queries(runs, clips=1045, captions=5, strengths=strength)
    return queries[queries["split"] == "evaluation"]


def rl_frames() -> dict[str, pd.DataFrame]:
    """D4RL's data, the paper's widths, five seeds."""
    layers = synthetic.layers()
    return {
        "scores": synthetic.both_ways(synthetic.scores(updates=100_000)),
        "trained_layers": layers,
        "layers": layers,
        "sizes": synthetic.sizes(),
        "latency": synthetic.latency(),
        "datasets": synthetic.datasets("d4rl"),
    }


def paper_run() -> Run:
    """Every claim of all three studies is reproduced."""
    return Run({**style_frames(), **audio_frames(), **rl_frames()})


def verdicts(run: Run, *, prefix: str = "") -> dict[str, Verdict]:
    """All verdicts by claim, or those of the study whose claims begin with `prefix`."""
    studies = {"style": _style, "audio": _audio, "rl": _rl}
    found = [
        verdict
        for name, decide in studies.items()
        if prefix in ("", name)
        for verdict in decide(run)
    ]
    return {verdict.id: verdict for verdict in found}


def _style(run: Run) -> list[Verdict]:
    frames = {
        name.removeprefix("style_"): frame
        for name, frame in run.frames.items()
        if name.startswith("style_")
    }
    settings = {"architectures": run.architectures, "timed": "waves"}
    settings["photographs"] = run.photographs
    return style.verdicts_on(frames, settings)


def _audio(run: Run) -> list[Verdict]:
    of = run.frames
    return audio_verdicts(
        AudioScores.read(
            of["audio_queries"],
            of["audio_history"],
            of["audio_ensembles"],
            of["audio_subsets"],
            of["audio_published"],
            _statistics(run),
            AudioStudy.read(**run.audio),
            _audio_data(run),
        )
    )


_READ: dict[tuple[int, ...], tuple[Run, AudioData]] = {}
_COUNTED: dict[tuple[int, ...], tuple[Run, Statistics]] = {}


def _statistics(run: Run) -> Statistics:
    """Counted once for the same frames, likewise."""
    frames = {each: run.frames[f"audio_{each}"] for each in ("clips", "captions", "asked")}
    frames["unfiltered"] = run.frames["audio_unfiltered"]
    key = tuple(map(id, frames.values()))
    if key not in _COUNTED:
        _COUNTED[key] = (run, Statistics.read(**frames, sources={}, backend=""))
    about = {name: run.audio[name] for name in ("sources", "backend")}
    return replace(_COUNTED[key][1], **about)


def _audio_data(run: Run) -> AudioData:
    """Read once for the same frames, which are half a million rows; the run keeps their ids."""
    names = ("counts", "manifest", "captions", "variations", "usage")
    frames = {name: run.frames[f"audio_{name}"] for name in names}
    key = tuple(map(id, frames.values()))
    if key not in _READ:
        _READ[key] = (run, AudioData.read(**frames, **run.audio_trained))
    return replace(
        _READ[key][1],
        exclude=run.audio_trained["exclude"],
        precisions=run.audio_trained["precisions"],
    )


def _rl(run: Run) -> list[Verdict]:
    settings = {
        **{"last_evaluations": 2, "precision": run.rl_precision, "observations": "normalised"},
        "networks": {"BC": "paper", "BCQ": "paper"},
    }
    return rl.verdicts_on(run.frames, settings)


def _as_long(history: pd.DataFrame, run: str, other: str) -> pd.DataFrame:
    """The history of `run` replaced by that of `other`."""
    replaced = history[history["run"] == other].assign(run=run)
    return pd.concat([history[history["run"] != run], replaced], ignore_index=True)


def contrary_run() -> Run:
    """Of the same size and on the same data, and no claim holds."""
    run = paper_run()
    changed = [name for name in run.frames if not name.startswith("audio")]
    of = {name: run.frames[name].copy() for name in changed}
    timing, history, runs = of["style_timing"], of["style_history"], of["style_runs"]
    timing.loc[timing["backbone"] == "network", "seconds"] *= 1000
    timing.loc[timing["backbone"] == "alexnet", "seconds"] /= 4
    history.loc[(history["run"] == "alexnet") & (history["evaluation"] > 500), "total"] *= 30
    runs.loc[runs["run"] == "adam-authors", "total_loss_final"] = 1e-9
    of["style_quality"][["ssim_luma", "gram_distance", "edge_correlation"]] = 0.6
    runs.loc[runs["run"] == "alexnet-1024", "status"] = "finished"
    history = of["style_history"] = _as_long(history, "alexnet-1024", "alexnet-512")
    of["style_flicker"]["ratio"] *= 2
    of["style_stylised_runs"]["seconds"] = 10.0
    device = {"device": synthetic_style.GPU, "painting": "waves", "variant": "plain"}
    even = synthetic_style.speed(batches={1: 20.0, 8: 20.0})
    scores, sizes, latency = of["scores"], of["sizes"], of["latency"]
    raw, at_95 = scores["observations"] == "raw", scores["sparsity_percent"] == 95
    scores.loc[at_95 & ~raw, "score_normalised"] *= 0.5
    scores.loc[at_95 & raw, "score_normalised"] *= 2
    scores.loc[scores["method"].isin(["shuffled", "shuffled_grasp"]), "score_normalised"] *= 2
    sizes.loc[sizes["format"] == "coo", "bytes"] *= 2
    latency.loc[latency["kernel"].isin(["torch CSR", "numba CSC"]), "microseconds_median"] *= 10
    worse, longer = run.frames["audio_subsets"], run.frames["audio_captions"]
    swapped = of["layers"].replace({"method": {"snip": "grasp", "grasp": "snip"}})
    return run.changed(
        **of
        | {
            "style_loss_timing": synthetic_style.timing_losses(device=synthetic_style.GPU),
            "style_speed": even.assign(**device),
            "audio_queries": audio_queries(lambda row: 0.9 - synthetic_audio.strength(row)),
            "audio_subsets": worse.assign(
                **{name: -worse[name] for name in ("difference", "difference_low")},
                difference_high=-worse["difference_low"],
            ),
            "audio_captions": longer.assign(caption=longer["caption"] + "more"),
            "layers": swapped,
        }
    )
