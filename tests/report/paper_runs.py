"""A run of all three studies as at the papers' scale, in which every claim is reproduced."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import synthetic
import synthetic_audio
import synthetic_style

from triptych import studies
from triptych.audio.report import claims_needs
from triptych.audio.report.rows import read_rows
from triptych.audio.workflow import Workflow
from triptych.core.config import completed, merged, read_yaml
from triptych.report.claims import Verdict, judge
from triptych.rl.report import claims_masks
from triptych.rl.report.claims import SPARSITIES
from triptych.studies import NAMES, workflows
from triptych.style.report import claims_needs as style_needs

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "resources" / "published" / "audio_table2.csv"
SOURCES = read_yaml(ROOT / "resources" / "sources.yaml")
TABLES_OF = {
    "style": style_needs.tables_of,
    "audio": claims_needs.tables_of,
    "rl": claims_masks.tables_of,
}
PRUNINGS = ("iterated", "large_batch")
BEST = ("passt_n", "roberta_large")
Change = Callable[[pd.DataFrame], pd.DataFrame]
"""How a test changes one of the files."""


@dataclass
class Run:
    """What the rules of claims have: frames by the name of its input, the config, and
    precisions by rule."""

    frames: dict[str, pd.DataFrame]
    config: dict[str, Any]
    became: dict[str, set[str]] = field(default_factory=dict)

    def changed(self, name: str, change: Callable[[Any], Any]) -> "Run":
        """This run with another frame."""
        return replace(self, frames={**self.frames, name: change(self.frames[name].copy())})

    def configured(self, path: str, value: Any) -> "Run":
        """This run with another value of the config, `rl.training.precision`."""
        for key in reversed(path.split(".")):
            value = {key: value}
        return replace(self, config=merged(self.config, value))

    def plan(self, study: str) -> Any:
        """A study's Workflow."""
        return workflows()[study].Workflow(self.config, SOURCES)

    def tables(self, study: str) -> Any:
        """What a study's claims compare."""
        frames = {
            name.removeprefix(f"{study}_"): frame
            for name, frame in self.frames.items()
            if name.startswith(f"{study}_")
        }
        return TABLES_OF[study](frames, self.plan(study), self.became)

    def verdicts(self, study: str, *ids: str) -> dict[str, Verdict]:
        """A study's verdicts by claim: on these claims, or on all."""
        chosen = [claim for claim in claims(study) if not ids or claim.id in ids]
        return {v.id: v for v in judge(chosen, self.plan(study), self.tables(study))}


def claims(study: str) -> Any:
    """The claims of a study."""
    return studies.claims()[study]


READ = ("counts", "manifest", "captions", "variations", "usage")
"""Files of which `read_data` makes something."""


def memoised(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of frames that computes once for the same ones."""
    known: dict[Any, Any] = {}

    def key_of(value: Any) -> Any:
        if isinstance(value, dict):
            return tuple(id(value[name]) for name in READ)
        if isinstance(value, Workflow):
            return repr((value.study["sources"], value.trained))
        return id(value) if isinstance(value, pd.DataFrame) else repr(value)

    def read(*given: Any) -> Any:
        key = tuple(map(key_of, given))
        if key not in known:
            known[key] = (function(*given), given)  # whose ids stay taken
        return known[key][0]

    return read


@contextmanager
def reading_once() -> Iterator[None]:
    """Within, audio frames that didn't change are read once: ranks, and half a million captions."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("evaluation_rows", "measured", "counted", "read_data"):
            patch.setattr(claims_needs, name, memoised(getattr(claims_needs, name)))
        yield


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
        "rl_layers": layers,
        "rl_sizes": synthetic.sizes(),
        "rl_latency": synthetic.latency(),
        "rl_datasets": synthetic.datasets("d4rl"),
    }


def paper_config() -> dict[str, Any]:
    """The papers' values, and what config/ has that decides the other claims."""
    overlay: dict[str, Any] = {}
    for name in ("paper", "beyond"):
        overlay = merged(overlay, read_yaml(ROOT / f"config/{name}.yaml"))
    small = read_yaml(ROOT / "config/small-data.yaml")["rl"]["sweeps"]
    models = read_yaml(ROOT / "config/projection.yaml")["audio"]["audio_models"]
    pairs = [
        *read_yaml(ROOT / "config/paper/audio.yaml")["audio"]["pairs"],
        [*synthetic_audio.TWIN],
    ]
    clean = {"splits": ["development"], "exclude": "strict", "audiocaps_captions": "first"}
    others = {
        "scale": "custom",
        "device": "cuda",
        "rl": {
            "observations": "normalised",
            "sweeps": {
                "bcq": {"runs": {"normalised": {"observations": "raw"}}},
                **{name: small[name] for name in ("td3_bc", "iql")},
            },
            "latency": {"task": "halfcheetah"},
        },
        "style": {"video": {"source": "path", "path": "film.mp4"}, "networks": {"main": "waves"}},
        "audio": {
            "corpora": {"clean": clean},
            **{"evaluated": "clean", "leaky": "leaky", "replicated": None, "submitted": None},
            **{"audio_models": models, "pairs": pairs},
        },
    }
    waves = {"paintings": {"waves": {"source": "wikimedia"}}, "networks": {"trained": ["waves"]}}
    others["style"] = merged(others["style"], waves)
    return completed(merged(overlay, others), ROOT)


def paper_run(*studies: str) -> Run:
    """Every claim of these studies, or of all three, is reproduced."""
    made = {"style": style_frames, "audio": audio_frames, "rl": rl_frames}
    frames = [made[name]() for name in studies or NAMES]
    return Run({k: v for each in frames for k, v in each.items()}, paper_config())
