"""A run of all three studies as at the papers' scale, in which every claim is reproduced."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import synthetic
import synthetic_audio
import synthetic_style

from triptych.audio.report.rows import read_rows
from triptych.report.claims import Verdict, judge
from triptych.rl.report.claims_facts import SPARSITIES
from triptych.studies import NAMES

PUBLISHED = Path(__file__).parents[2] / "resources" / "published" / "audio_table2.csv"
PRUNINGS = {"iterated": {"iterations": 10}, "large": {"snip_batch": 1000, "grasp_batch": 2000}}
BEST = ("passt_n", "roberta_large")
Change = Callable[[pd.DataFrame], pd.DataFrame]
"""How a test changes one of the files."""


@dataclass
class Run:
    """What the rule report_claims reads: frames by the name of its input, and settings by study."""

    frames: dict[str, pd.DataFrame]
    settings: dict[str, dict[str, Any]]

    def changed(self, name: str, change: Callable[[Any], Any]) -> "Run":
        """This run with another frame, or another of a study's settings (`rl.precision`)."""
        if name in self.frames:
            return replace(self, frames={**self.frames, name: change(self.frames[name].copy())})
        study, key = name.split(".")
        own = self.settings[study]
        return replace(self, settings={**self.settings, study: {**own, key: change(own[key])}})

    def read(self, study: str) -> tuple[Any, dict[str, Any]]:
        """What a study's claims compare, and its facts."""
        frames = {
            name.removeprefix(f"{study}_"): frame
            for name, frame in self.frames.items()
            if name.startswith(f"{study}_")
        }
        read_run = import_module(f"triptych.{study}.report.claims_facts").read_run
        found: tuple[Any, dict[str, Any]] = read_run(frames, self.settings[study])
        return found

    def verdicts(self, study: str, *ids: str) -> dict[str, Verdict]:
        """A study's verdicts by claim: on these claims, or on all."""
        run, facts = self.read(study)
        chosen = [claim for claim in claims(study) if not ids or claim.id in ids]
        return {verdict.id: verdict for verdict in judge(chosen, facts, run)}

    def unmet(self, study: str) -> set[str]:
        """Facts that some claim of a study needs otherwise."""
        _, facts = self.read(study)
        return {
            need.fact
            for claim in claims(study)
            for need in claim.needs
            if not need.met(facts[need.fact])
        }


def claims(study: str) -> Any:
    """The records of a study's claims."""
    return import_module(f"triptych.{study}.study").CLAIMS


def needed(study: str) -> set[str]:
    """Facts that a study's claims need."""
    return {need.fact for claim in claims(study) for need in claim.needs}


def _rows(frame: pd.DataFrame, which: dict[str, Any]) -> pd.Series:
    chosen = pd.Series(True, index=frame.index)
    for column, value in which.items():
        chosen &= frame[column].isin(value if isinstance(value, list) else [value])
    return chosen


def scaled(column: str, factor: float, **which: Any) -> Change:
    """A column times a factor, in the rows of these values."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(
            **{column: frame[column].where(~_rows(frame, which), frame[column] * factor)}
        )

    return change


def said(column: str, value: Any, **which: Any) -> Change:
    """Another value of a column, in the rows of these values."""
    return lambda frame: frame.assign(**{column: frame[column].mask(_rows(frame, which), value)})


def without(**which: Any) -> Change:
    """No rows of these values."""
    return lambda frame: frame[~_rows(frame, which)]


def below(column: str, value: float) -> Change:
    """Only rows with less in a column."""
    return lambda frame: frame[frame[column] < value]


def style_frames() -> dict[str, pd.DataFrame]:
    """A GPU, ImageNet's weights, the paper's evaluations."""
    gpu = synthetic_style.GPU
    experiments = synthetic_style.runs_and_histories()
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
        "style_flicker": synthetic_style.flicker("waves", "plain", 240, mean=1.5),
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
        **synthetic_audio.trained_on(),
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
    scores = synthetic.scores(updates=100_000, sparsities=SPARSITIES, evaluations=1)
    at_95 = scores[scores["method"].isin(["snip", "grasp"]) & (scores["sparsity_percent"] == 95)]
    return {
        "rl_scores": synthetic.both_ways(scores),
        "rl_varied": pd.concat(
            at_95.assign(pruning=name, score_normalised=at_95["score_normalised"] - 0.1)
            for name in PRUNINGS
        ),
        "rl_small": synthetic.few_scores(lambda seed: 10 + seed),
        "rl_trained_layers": layers,
        "rl_layers": layers,
        "rl_sizes": synthetic.sizes(),
        "rl_latency": synthetic.latency(),
        "rl_datasets": synthetic.datasets("d4rl"),
    }


def settings() -> dict[str, dict[str, Any]]:
    """What the rules give as params.settings."""
    return {
        "style": {
            "architectures": {"alexnet": "alexnet", "vgg": "vgg19", "validation": "alexnet"},
            **{"timed": "waves", "photographs": "coco", "film": "path"},
        },
        "audio": {
            "study": synthetic_audio.with_twin(synthetic_audio.settings(paper=True)),
            "trained": {
                **{"exclude": "strict", "precisions": ["bf16", "bf16"]},
                "audiocaps_captions": "first",
            },
        },
        "rl": {
            **{"precision": "tf32", "observations": "normalised", "variants": PRUNINGS},
            "networks": {"BC": "paper", "BCQ": "paper"},
        },
    }


def paper_run(*studies: str) -> Run:
    """Every claim of these studies, or of all three, is reproduced."""
    made = {"style": style_frames, "audio": audio_frames, "rl": rl_frames}
    frames = [made[name]() for name in studies or NAMES]
    return Run({k: v for each in frames for k, v in each.items()}, settings())
