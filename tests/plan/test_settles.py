"""Before a run one knows which claims it will decide: what the plan says is what the judge does."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import synthetic
import synthetic_audio
import synthetic_style
import yaml
from paper_runs import PUBLISHED, Run, paper_run, verdicts

from triptych.audio.report.rows import read_rows
from triptych.core.config import check_config, merged
from triptych.core.cost import Work
from triptych.gpu.calibration import smaller
from triptych.plan import records
from triptych.plan.calibration import FOLDER, PART, cores, measured_core
from triptych.plan.scale import FILES, REHEARSAL, shipped
from triptych.plan.settles import _Judge, all_foreseen, decided, foreseen, phrase
from triptych.report.verdicts import (
    NOT,
    NOT_TESTABLE,
    ON_ITS_DATA,
    ON_OTHER_DATA,
    REPRODUCED,
    Verdict,
)
from triptych.style.optimisation.experiments import experiment_runs

ROOT = Path(__file__).parents[2]
SOURCES = yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text(encoding="utf-8"))
FIRST = {
    *("style-speedup", "style-4k", "style-alexnet-faster", "style-backbone-loss-trend"),
    *("style-loss-function-time", "style-lbfgs-lowest", "style-sgd-fails", "style-content-init"),
    *("style-video", "audio-best-single", "audio-finetune-helps", "audio-gpt-helps"),
    *("audio-larger-text", "audio-no-overlap", "audio-ensemble", "rl-bc-95", "rl-bcq-95"),
    *("rl-last-layer", "rl-memory-4x", "rl-sparse-inference"),
}
"""The claims that were judged first, by which the scales were laid out."""


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Verdict]]:
    """By scale, the verdicts that its config lets one foresee."""
    return {name: all_foreseen(shipped(name, ROOT), SOURCES) for name in FILES if name != REHEARSAL}


def decisions(claims: dict[str, Verdict]) -> dict[str, str]:
    return {name: decided(verdict) for name, verdict in claims.items()}


def demo_run() -> Run:
    """What the demo's files say: few evaluations of narrow networks, scenes, our experts' data."""
    experiments = synthetic_style.runs_and_histories(
        paper=False, evaluations=80, device=synthetic_style.CPU
    )
    of_video = {"painting": "waves", "variant": "shipped"}
    systems = synthetic_audio.runs()
    ensembles = synthetic_audio.ensembles(systems)
    scores = synthetic.both_ways(synthetic.scores())
    few = (scores["algorithm"] == "BCQ") & (scores["seed"] >= 2)
    listed = synthetic_audio.trained_on().items()
    trained = {name: frame[:: 1 + len(frame) // 5000] for name, frame in listed}
    return Run(
        {
            "style_runs": pd.concat([runs for runs, _ in experiments.values()]),
            "style_history": pd.concat([each for _, each in experiments.values()]),
            "style_quality": synthetic_style.quality(experiments),
            "style_timing": synthetic_style.timing_images(),
            "style_loss_timing": synthetic_style.timing_losses(),
            "style_stylised_runs": synthetic_style.stylised_runs("waves", "shipped"),
            "style_speed": synthetic_style.speed().assign(**of_video),
            "style_properties": synthetic_style.properties().assign(**of_video),
            "style_flicker": synthetic_style.flicker("waves", "shipped", 36).assign(**of_video),
            **trained,
            "audio_usage": synthetic_audio.usage(),
            "audio_queries": synthetic_audio.queries(systems, clips=100),
            "audio_history": synthetic_audio.history(systems),
            "audio_ensembles": ensembles,
            "audio_subsets": synthetic_audio.subsets(ensembles),
            "audio_published": read_rows(PUBLISHED),
            "scores": scores[~few],
            "trained_layers": synthetic.layers(actor=(200, 150), vae=(384, 384)),
            "layers": synthetic.layers(),
            "sizes": synthetic.sizes(),
            "latency": synthetic.latency(),
            "datasets": synthetic.datasets("collected"),
        },
        architectures={"alexnet": "narrow_alexnet", "vgg": "narrow_vgg", "held_out": "narrow_vgg"},
        audio=synthetic_audio.settings(),
        audio_trained={"exclude": "strict", "precisions": ["float32", "float32"]},
        photographs="embedded",
        rl_precision="float32",
    )


def test_what_the_plan_says_of_the_demo_is_what_the_judge_says_of_its_run(found):
    judged = verdicts(demo_run())
    assert decisions(judged) == decisions(found["demo"])
    assert {NOT, ON_ITS_DATA, ON_OTHER_DATA} == set(decisions(judged).values())


def test_what_the_plan_says_of_the_papers_config_is_what_the_judge_says_of_its_run(found):
    without_twin = found["paper"]["audio-linear-projection"]  # the run has such a pair
    assert phrase(without_twin).startswith("no pair was run with a non-linear projection")
    judged = decisions(verdicts(paper_run())) | {without_twin.id: NOT}
    assert judged == decisions(found["paper"])


@pytest.mark.parametrize(
    ("path", "value", "claim", "reason"),
    [
        ("rl.sweeps.bcq.seeds", [0, 1, 2], "rl-bcq-95", "3 seeds of 5"),
        ("rl.measure.widths", "half", "rl-memory-4x", "at the paper's widths"),
        ("rl.latency.repeats", 3, "rl-sparse-inference", "3 rounds of 5"),
        ("style.optimize.evaluations", 499, "style-content-init", "499 evaluations"),
        ("style.timing.notebook", 19, "style-speedup", "19 images of 20"),
        ("style.network.width", 16, "style-4k", "16 channels, not 32"),
        ("device", "cpu", "style-alexnet-faster", "about a GPU"),
        ("audio.finetuning.seeds", [0, 1], "audio-gpt-helps", "2 of 3 runs"),
        ("audio.captions.backend", "template", "audio-ensemble", "by a template"),
        ("audio.evaluated", "challenge", "audio-finetune-helps", "evaluation clips"),
    ],
)
def test_a_value_that_a_claim_cannot_do_with_leaves_it_open(path, value, claim, reason):
    overlay: Any = value
    for key in reversed(path.split(".")):
        overlay = {key: overlay}
    config = merged(shipped("paper", ROOT), {"scale": "custom", **overlay})
    if path == "audio.captions.backend":  # which scenes alone allow
        names = ("clotho", "audiocaps", "wavcaps")
        sources = {name: {"source": "synthesised"} for name in names}
        config = merged(config, {"audio": {"sources": sources}})
    verdict = foreseen(config, SOURCES, claim.split("-")[0])[claim]
    assert verdict.verdict == NOT_TESTABLE
    assert reason in "; ".join(verdict.wanting)


def test_the_scales_between_decide_what_they_were_laid_out_for(found):
    of_first = {
        scale: sum(decided(claims[name]) != NOT for name in FIRST)
        for scale, claims in found.items()
    }
    assert of_first == {"demo": 5, "overnight": 11, "evening": 16, "paper": 20}


def test_a_larger_scale_decides_what_a_smaller_one_does(found):
    scales = list(found.values())
    for small, larger in pairwise(scales[:-1]):  # the paper's has no twin of non-linear heads
        for claim, verdict in small.items():
            assert decided(verdict) == NOT or decided(larger[claim]) != NOT


def test_on_other_data_nothing_is_foreseen_as_reproduced(found):
    for claims in found.values():
        for verdict in claims.values():
            assert not (verdict.wanting and verdict.verdict == REPRODUCED)


def test_a_change_holds_what_the_claim_lacks_and_nothing_else():
    demo, overnight = shipped("demo", ROOT), shipped("overnight", ROOT)
    judge = _Judge(demo, overnight, SOURCES, "style")
    least = judge.least("style-lbfgs-lowest")
    assert least == ["style.backbones.vgg", "style.optimize.evaluations"]


def test_the_page_says_what_the_plan_says(found):
    page = (ROOT / "docs" / "scales.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^`|]+(?:\| [^`|]+){3})\|$", page, re.MULTILINE)
    told = {name: [each.strip() for each in cells.split("|")] for name, cells in rows}
    assert told == {
        claim: [decided(claims[claim]) for claims in found.values()] for claim in found["demo"]
    }
    rows = pd.read_csv(ROOT / "resources" / "scales.csv")
    assert list(rows[["config", "claim", "decided"]].itertuples(index=False, name=None)) == [
        (FILES[scale][-1], claim, decided(verdict))
        for scale, claims in found.items()
        for claim, verdict in claims.items()
        if decided(verdict) != NOT
    ]


def test_a_core_is_as_fast_as_its_steps_were_measured(tmp_path):
    assert "slow" in measured_core(tmp_path).name
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    step = {"task": "rl update", "precision": "float32", "status": "measured"}
    slow = measured_core(tmp_path).seconds(Work(1e9, 0, 1), "float32")
    row = step | {"seconds": slow / 4, "operations": 1e9, "traffic": 0, "kernels": 1}
    failed = {"step": "train style closure", "status": "failed"}
    records.write(folder / f"part{PART}.csv", [row, failed])
    core = measured_core(tmp_path)
    assert core.factors["rl update", "tf32"] == pytest.approx(0.25, rel=1e-4)
    two = cores(core, 2)
    assert two.seconds(Work(1e9), "bf16") == core.seconds(Work(1e9), "bf16") / 2


def test_a_calibration_has_one_small_image_of_the_configs_own_networks():
    config = shipped("overnight", ROOT)
    found = smaller(config)["style"]
    runs = experiment_runs(found["optimize"], found["experiments"], found["backbones"])
    assert runs[["architecture", "size"]].to_numpy().tolist() == [["vgg19", 256]]
    assert config["style"]["timing"]["sizes"]  # as it was


def test_without_a_connection_what_needs_imagenets_weights_stays_open(found):
    offline = yaml.safe_load((ROOT / "config" / "offline.yaml").read_text(encoding="utf-8"))
    there = merged(shipped("overnight", ROOT), offline)
    check_config(there, ROOT / "config" / "schema.yaml")
    lost = {
        claim
        for claim, verdict in foreseen(there, SOURCES, "style").items()
        if decided(verdict) != decided(found["overnight"][claim])
    }
    losses = ("loss-function-time", "backbone-loss-trend", "lbfgs-lowest", "sgd-fails")
    assert lost == {f"style-{name}" for name in (*losses, "content-init", "adam-content")}
