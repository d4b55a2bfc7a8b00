"""Comparisons of Version 1's runs: their losses, and the structure that images keep."""

import numpy as np
import pandas as pd

from triptych.report.claims import Finding
from triptych.report.palette import label, spoken
from triptych.report.tables import TIMES
from triptych.style.report.claims_facts import OPTIMIZERS, PAIR, STARTS, Run
from triptych.style.report.labels import (
    ARCHITECTURE_LABELS,
    INITIALISATION_LABELS,
    OPTIMIZER_LOOKS,
    RATES_LABELS,
)
from triptych.style.report.runs import backbone_name, smoothed

ORDER_OF_MAGNITUDE = 10.0
RISE = 1.05
FAR_ABOVE = 100.0
FLUCTUATION = 2.0
NO_STRUCTURE = 0.5
LOST = 10.0
ALIKE_STRUCTURE = 0.1
ALIKE_COLOURS = 0.05
ONCE = "one run of each: no interval"


def backbones_share_a_trend(run: Run) -> Finding:
    """Smoothed losses with both backbones (Figure 2)."""
    finding, measured, ends = Finding(interval="one run of each backbone: no interval"), [], []
    for _, row in run.chosen("backbones").iterrows():
        name = backbone_name(str(row["architecture"]), str(row["weights"]))
        line = smoothed(run.line("backbones", str(row["run"])))
        if row["status"] != "finished":
            finding.failures.append(f"{name} {str(row['status']).replace('_', ' ')}")
        if line.empty:
            measured.append(f"{name}: no finite loss")
            continue
        rise = (line / line.cummin()).max()
        ends.append(line.iloc[-1])
        measured.append(f"{name}: ends at {line.iloc[-1]:.2g} of its first loss")
        if not rise <= RISE:
            finding.failures.append(f"{name} rises to {rise:.2g} times its lowest loss")
    if ends and max(ends) >= ORDER_OF_MAGNITUDE * min(ends):
        factor = max(ends) / min(ends)
        finding.failures.append(f"the final losses differ by a factor of {factor:.3g}")
    finding.measured = "; ".join(measured)
    return finding


def backbones_look_alike(run: Run) -> Finding:
    """Images by both backbones (Figure 3)."""
    return _alike(run, "backbones", "backbone")


def losses_look_alike(run: Run) -> Finding:
    """Images by the four content losses (Section V-C)."""
    return _alike(run, "losses", "content_loss")


def _alike(run: Run, experiment: str, column: str) -> Finding:
    """Structure kept and distance to the painting's colours of an experiment's images."""
    finding, measured = Finding(interval=ONCE), []
    for (content, painting), runs in run.chosen(experiment).groupby(PAIR, sort=False):
        for measure, name, most in (
            ("ssim_luma", "SSIM", ALIKE_STRUCTURE),
            ("colour_distance", "distance of colours", ALIKE_COLOURS),
        ):
            values = {
                str(row[column]): run.measure(experiment, str(row["run"]), measure)
                for _, row in runs.iterrows()
            }
            apart = max(values.values()) - min(values.values())
            texts = (f"{spoken(who)} {value:.2f}" for who, value in values.items())
            measured.append(f"{name}: {', '.join(texts)}")
            if not apart <= most:
                finding.failures.append(f"{content}, {painting}: {name} differs by {apart:.2f}")
    finding.measured = "; ".join(measured)
    return finding


def lbfgs_ends_lowest(run: Run) -> Finding:
    """Final losses of the optimizers (Figure 5)."""
    finding, measured = Finding(interval=ONCE), []
    for name, of_vgg in _by_vgg(run):
        losses = _final_losses(of_vgg)
        measured += [f"{name}, {text}" for text in _losses_text(losses)]
        authors = losses.get("authors", {})
        lowest = authors.get("lbfgs", -np.inf)
        for optimizer in OPTIMIZERS[1:]:
            loss = authors.get(optimizer, np.inf)
            if optimizer in authors and not lowest < loss:
                ends = f"{OPTIMIZER_LOOKS[optimizer].label}'s final loss ({_worded(loss)})"
                finding.failures.append(f"{name}: {ends} is not above L-BFGS's ({_worded(lowest)})")
    finding.measured = "; ".join(measured)
    return finding


def _by_vgg(run: Run) -> list[tuple[str, pd.DataFrame]]:
    """The runs of the optimizers by the name of the architecture."""
    grouped = run.chosen("optimizers").groupby("architecture", sort=False)
    return [(label(ARCHITECTURE_LABELS, str(name)), rows) for name, rows in grouped]


def _by_optimizer(of_vgg: pd.DataFrame) -> pd.DataFrame:
    """One backbone's runs at the authors' rates, by optimizer."""
    authors = of_vgg[of_vgg["rates"] == "authors"]
    return authors.drop_duplicates("optimizer").set_index("optimizer", drop=False)


def sgd_fails(run: Run) -> Finding:
    """Losses and images of SGD beside those of L-BFGS (Figures 5 and 6)."""
    finding, measured = Finding(interval=ONCE), []
    for name, of_vgg in _by_vgg(run):
        measured += [f"{name}, {text}" for text in _losses_text(_final_losses(of_vgg))]
        authors = _by_optimizer(of_vgg)
        if not {"lbfgs", "sgd"} <= set(authors.index):
            continue
        failures = []
        losses = _final_losses(authors)["authors"]
        sgd, lbfgs = authors.loc["sgd"], authors.loc["lbfgs"]
        if np.isinf(losses["lbfgs"]):
            failures.append("L-BFGS did not finish either")
        if not losses["sgd"] >= FAR_ABOVE * losses["lbfgs"]:
            factor = losses["sgd"] / losses["lbfgs"]
            failures.append(f"SGD ends at {factor:.3g} times the loss of L-BFGS")
        line = run.line("optimizers", str(sgd["run"]))
        rise = float((line / line.cummin()).max()) if len(line) else np.nan
        measured.append(f"{name}: SGD's loss rises to {rise:.3g} times its lowest")
        if not (rise >= FLUCTUATION or sgd["status"] != "finished"):
            failures.append(f"SGD's loss never rises above {rise:.3g} times its lowest")
        kept, other = (run.measure("optimizers", str(row["run"])) for row in (sgd, lbfgs))
        if not (np.isnan(kept) or np.isnan(other)):
            measured.append(f"{name}: SSIM: SGD {kept:.2f}, L-BFGS {other:.2f}")
            if sgd["status"] == "finished" and kept > NO_STRUCTURE * other:
                failures.append(
                    f"SGD's image keeps structure (SSIM {kept:.2f} against {other:.2f})"
                )
        finding.failures += [f"{name}: {text}" for text in failures]
    finding.measured = "; ".join(measured)
    return finding


def adam_keeps_content(run: Run) -> Finding:
    """Structure that Adam's image keeps beside L-BFGS's (Figure 6)."""
    finding, measured = Finding(interval=ONCE), []
    for name, of_vgg in _by_vgg(run):
        authors = _by_optimizer(of_vgg)
        if "lbfgs" in authors.index and authors.loc["lbfgs", "status"] != "finished":
            finding.unclear.append(f"{name}: L-BFGS stopped, and its image is its last good state")
        for measure, what in (("ssim_luma", "SSIM"), ("gram_distance", "style distance")):
            adam, lbfgs = (
                run.measure("optimizers", str(authors["run"].get(optimizer, "")), measure)
                for optimizer in ("adam", "lbfgs")
            )
            if np.isnan(adam) or np.isnan(lbfgs):
                continue
            measured.append(f"{name}: {what} Adam {adam:.2f}, L-BFGS {lbfgs:.2f}")
            if not adam > lbfgs:
                finding.failures.append(f"{name}: Adam's {what} is not above L-BFGS's")
    finding.measured = "; ".join(measured)
    return finding


def content_start_keeps_structure(run: Run) -> Finding:
    """Structure that images keep by where they start (Section IV-A 2)."""
    finding, measured = Finding(interval=ONCE), []
    named = {start: f"from {INITIALISATION_LABELS[start]}" for start in STARTS}
    for (content, _), rows in run.chosen("initialisations").groupby(PAIR, sort=False):
        runs = dict(zip(rows["initialisation"], rows["run"], strict=True))
        structure = {i: run.measure("initialisations", str(runs.get(i, ""))) for i in STARTS}
        texts = (f"{named[start]} {structure[start]:.2f}" for start in STARTS)
        measured.append(f"{content}: {', '.join(texts)}")
        finding.failures += [
            f"on {content} a start {named[other]} keeps as much"
            for other in STARTS[1:]
            if structure["content"] <= structure[other]
        ]
    finding.measured = "SSIM to the content: " + "; ".join(measured)
    return finding


def alexnet_fails_when_scaled(run: Run) -> Finding:
    """Whether runs end far above their lowest loss: AlexNet at 1024 pixels alone (Section V-B)."""
    finding, measured = Finding(interval=ONCE), []
    chosen = run.chosen("sizes")
    for role, size, loses in (
        ("alexnet", 1024, True),
        ("alexnet", 512, False),
        ("vgg", 1024, False),
    ):
        rows = chosen[(chosen["backbone"] == role) & (chosen["size"] == size)]
        for _, row in rows.head(1).iterrows():
            architecture = backbone_name(str(row["architecture"]), str(row["weights"]))
            name, status = f"{architecture} at {size} pixels", str(row["status"])
            line = run.line("sizes", str(row["run"]))
            over = float(line.iloc[-1] / line.min()) if len(line) else np.nan
            ends = f"ends at {over:.3g}{TIMES} its lowest"
            measured.append(f"{name}: {status.replace('_', ' ')}, {ends}")
            lost = status != "finished" or over >= LOST
            if lost != loses:
                finding.failures.append(f"{name} {'loses' if lost else 'keeps'} what it had")
    finding.measured = "; ".join(measured)
    return finding


def _final_losses(chosen: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Final total loss by rates and optimizer; infinite for a run that did not finish."""
    losses: dict[str, dict[str, float]] = {}
    for _, row in chosen.iterrows():
        loss = float(row["total_loss_final"]) if row["status"] == "finished" else np.inf
        losses.setdefault(str(row["rates"]), {}).setdefault(str(row["optimizer"]), loss)
    return losses


def _worded(loss: float) -> str:
    return "stopped" if np.isinf(loss) else f"{loss:.3g}"


def _losses_text(losses: dict[str, dict[str, float]]) -> list[str]:
    return [
        f"final total loss at {label(RATES_LABELS, rates)}: "
        + ", ".join(f"{OPTIMIZER_LOOKS[o].label} {_worded(loss)}" for o, loss in of_rates.items())
        for rates, of_rates in losses.items()
    ]
