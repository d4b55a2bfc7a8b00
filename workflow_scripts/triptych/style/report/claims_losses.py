"""The claims of the style-transfer paper that loss histories decide: see `claims`."""

import numpy as np
import pandas as pd

from triptych.report.palette import label
from triptych.report.verdicts import Verdict, decide
from triptych.style.report.claims import (
    FAR_ABOVE,
    FLUCTUATION,
    NO_STRUCTURE,
    OPTIMIZERS,
    ORDER_OF_MAGNITUDE,
    RISE,
    STARTS,
    cut_histories,
    few_evaluations,
    imprecise,
    optimizer_obstacles,
    other_size,
    paper_weights,
    quality_of,
    relative_total,
)
from triptych.style.report.labels import (
    ARCHITECTURE_LABELS,
    INITIALISATION_LABELS,
    OPTIMIZER_LABELS,
    RATES_LABELS,
)
from triptych.style.report.tables import PAPER_ARCHITECTURES
from triptych.style.report.tables_history import backbone_name, described, history_long, smoothed


def backbones_share_a_trend(runs: pd.DataFrame, history: pd.DataFrame) -> Verdict:
    """style-backbone-loss-trend (Figure 2): see CRITERIA. runs, history: of all experiments."""
    chosen = described(runs, "backbones")
    long = history_long(history, runs, experiment="backbones", scale="")
    obstacles = paper_weights(chosen, tuple(PAPER_ARCHITECTURES.values()))
    obstacles += other_size(chosen) + few_evaluations(chosen) + imprecise(chosen)
    obstacles += cut_histories(chosen, long)
    if set(chosen["backbone"]) != {"vgg", "alexnet"}:
        obstacles.append("not both backbones were run")
    failures, measured, ends = [], [], []
    for _, run in chosen.iterrows():
        name = backbone_name(str(run["architecture"]), str(run["weights"]))
        line = smoothed(relative_total(long, str(run["run"])))
        rise = (line / line.cummin()).max()
        ends.append(line.iloc[-1])
        measured.append(f"{name}: ends at {line.iloc[-1]:.2g} of its first loss")
        if run["status"] != "finished":
            failures.append(f"{name} {str(run['status']).replace('_', ' ')}")
        if not rise <= RISE:
            failures.append(f"{name} rises to {rise:.2g} times its lowest loss")
    if ends and max(ends) >= ORDER_OF_MAGNITUDE * min(ends):
        failures.append(f"the final losses differ by a factor of {max(ends) / min(ends):.3g}")
    return decide(
        "style-backbone-loss-trend",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval="one run of each backbone: no interval",
    )


def lbfgs_ends_lowest(runs: pd.DataFrame) -> Verdict:
    """style-lbfgs-lowest (Figure 5): see CRITERIA. runs: of all experiments."""
    chosen = described(runs, "optimizers")
    obstacles = optimizer_obstacles(chosen)
    failures, measured = [], []
    for architecture, of_vgg in chosen.groupby("architecture", sort=False):
        name = label(ARCHITECTURE_LABELS, str(architecture))
        losses = _final_losses(of_vgg)
        measured += [f"{name}, {text}" for text in _losses_text(losses)]
        at_authors = losses.get("authors", {})
        for optimizer in OPTIMIZERS[1:]:
            if {"lbfgs", optimizer} <= set(at_authors) and not (
                at_authors["lbfgs"] < at_authors[optimizer]
            ):
                failures.append(
                    f"{name}: {label(OPTIMIZER_LABELS, optimizer)} ends at "
                    f"{at_authors[optimizer]:.3g}, not above L-BFGS's {at_authors['lbfgs']:.3g}"
                )
    return decide(
        "style-lbfgs-lowest",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval="one run of each: no interval",
    )


def sgd_fails(runs: pd.DataFrame, history: pd.DataFrame, quality: pd.DataFrame) -> Verdict:
    """style-sgd-fails (Figures 5 and 6): see CRITERIA."""
    chosen = described(runs, "optimizers")
    long = history_long(history, runs, experiment="optimizers", scale="")
    obstacles = optimizer_obstacles(chosen) + cut_histories(chosen, long)
    failures: list[str] = []
    measured: list[str] = []
    for architecture, of_vgg in chosen.groupby("architecture", sort=False):
        name = label(ARCHITECTURE_LABELS, str(architecture))
        measured += [f"{name}, {text}" for text in _losses_text(_final_losses(of_vgg))]
        authors = of_vgg[of_vgg["rates"] == "authors"].drop_duplicates("optimizer")
        if {"lbfgs", "sgd"} <= set(authors["optimizer"]):
            found = _sgd_beside_lbfgs(authors, long, quality)
            for parts, texts in zip((obstacles, failures, measured), found, strict=True):
                parts += [f"{name}: {text}" for text in texts]
    return decide(
        "style-sgd-fails",
        obstacles=obstacles,
        failures=failures,
        measured="; ".join(measured),
        interval="one run of each: no interval",
    )


def _sgd_beside_lbfgs(
    authors: pd.DataFrame, long: pd.DataFrame, quality: pd.DataFrame
) -> tuple[list[str], list[str], list[str]]:
    """Obstacles, failures and what was measured, of one backbone's runs at the authors' rates."""
    obstacles: list[str] = []
    failures: list[str] = []
    measured: list[str] = []
    by_optimizer = authors.set_index("optimizer")
    losses = _final_losses(authors)["authors"]
    sgd, lbfgs = by_optimizer.loc["sgd"], by_optimizer.loc["lbfgs"]
    if np.isinf(losses["lbfgs"]):
        failures.append("L-BFGS did not finish either")
    if not losses["sgd"] >= FAR_ABOVE * losses["lbfgs"]:
        factor = losses["sgd"] / losses["lbfgs"]
        failures.append(f"SGD ends at {factor:.3g} times the loss of L-BFGS")
    line = relative_total(long, str(sgd["run"]))
    rise = float((line / line.cummin()).max()) if len(line) else np.nan
    measured.append(f"SGD's loss rises to {rise:.3g} times its lowest")
    if not (rise >= FLUCTUATION or sgd["status"] != "finished"):
        failures.append(f"SGD's loss never rises above {rise:.3g} times its lowest")
    structure = [quality_of(quality, "optimizers", str(r["run"])) for r in (sgd, lbfgs)]
    if any(np.isnan(value) for value in structure):
        obstacles.append("the structure of an image was not measured")
    else:
        measured.append(f"SSIM: SGD {structure[0]:.2f}, L-BFGS {structure[1]:.2f}")
        if sgd["status"] == "finished" and structure[0] > NO_STRUCTURE * structure[1]:
            failures.append(
                f"SGD's image keeps structure (SSIM {structure[0]:.2f} against {structure[1]:.2f})"
            )
    return obstacles, failures, measured


def content_start_keeps_structure(runs: pd.DataFrame, quality: pd.DataFrame) -> Verdict:
    """style-content-init (Section IV-A 2): see CRITERIA."""
    chosen = described(runs, "initialisations")
    obstacles = paper_weights(chosen, ("vgg19", "alexnet"))
    obstacles += few_evaluations(chosen) + imprecise(chosen)
    structure = {
        (str(run["content"]), str(run["painting"]), str(run["initialisation"])): quality_of(
            quality, "initialisations", str(run["run"])
        )
        for _, run in chosen.iterrows()
    }
    failures, measured = [], []
    for content, painting in dict.fromkeys(key[:2] for key in structure):
        kept = {i: structure.get((content, painting, i), np.nan) for i in STARTS}
        measured.append(
            f"{content}: "
            + ", ".join(f"from {label(INITIALISATION_LABELS, i)} {v:.2f}" for i, v in kept.items())
        )
        for other in STARTS[1:]:
            if np.isnan(kept["content"]) or np.isnan(kept[other]):
                obstacles.append(f"{content} was not run or not measured from every start")
            elif not kept["content"] > kept[other]:
                failures.append(
                    f"on {content} a start from {label(INITIALISATION_LABELS, other)} keeps as much"
                )
    return decide(
        "style-content-init",
        obstacles=list(dict.fromkeys(obstacles)),
        failures=failures,
        measured="SSIM to the content: " + "; ".join(measured),
        interval="one run of each: no interval",
    )


def _final_losses(chosen: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Final total loss by rates and optimizer; infinite for a run that did not finish."""
    losses: dict[str, dict[str, float]] = {}
    for _, run in chosen.iterrows():
        loss = float(run["total_loss_final"]) if run["status"] == "finished" else np.inf
        losses.setdefault(str(run["rates"]), {}).setdefault(str(run["optimizer"]), loss)
    return losses


def _losses_text(losses: dict[str, dict[str, float]]) -> list[str]:
    def worded(loss: float) -> str:
        return "stopped" if np.isinf(loss) else f"{loss:.3g}"

    return [
        f"final total loss at {label(RATES_LABELS, rates)}: "
        + ", ".join(f"{label(OPTIMIZER_LABELS, o)} {worded(loss)}" for o, loss in of_rates.items())
        for rates, of_rates in losses.items()
    ]
