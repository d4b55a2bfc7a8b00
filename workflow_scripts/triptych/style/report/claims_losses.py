"""Comparisons of Version 1's runs: their losses, and the structure that images keep."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from triptych.report.claims import Finding
from triptych.report.palette import label
from triptych.report.tables import TIMES
from triptych.style.report.claims_facts import OPTIMIZERS, PAIR, STARTS, Run
from triptych.style.report.labels import (
    ARCHITECTURE_LABELS,
    CONTENT_LOSS_LOOKS,
    INITIALISATION_LABELS,
    OPTIMIZER_LOOKS,
    RATES_LABELS,
)
from triptych.style.report.runs import Row, backbone_name

ORDER_OF_MAGNITUDE = 10.0
RISE = 1.05
FAR_ABOVE = 100.0
FLUCTUATION = 2.0
NO_STRUCTURE = 0.5
LOST = 10.0
ALIKE_STRUCTURE = 0.1
ALIKE_COLOURS = 0.05
SCALED = {("alexnet", 1024): True, ("alexnet", 512): False, ("vgg", 1024): False}
"""Whether an image of a backbone and size loses what it had."""
ONCE = "one run of each: no interval"


def backbones_share_a_trend(run: Run) -> Finding:
    """Smoothed losses with both backbones (Figure 2)."""
    finding = Finding(interval="one run of each backbone: no interval")
    chosen = run.chosen("backbones")
    for row in chosen.to_dict("records"):
        name = backbone_name(row)
        if row["status"] != "finished":
            finding.failures.append(f"{name} {row['status'].replace('_', ' ')}")
        if np.isnan(row["end"]):
            finding.add(f"{name}: no finite loss")
            continue
        finding.add(f"{name}: ends at {row['smooth_end']:.2g} of its first loss")
        if not row["smooth_rise"] <= RISE:
            finding.failures.append(
                f"{name} rises to {row['smooth_rise']:.2g} times its lowest loss"
            )
    factor = chosen["smooth_end"].max() / chosen["smooth_end"].min()
    if factor >= ORDER_OF_MAGNITUDE:
        finding.failures.append(f"the final losses differ by a factor of {factor:.3g}")
    return finding


def backbones_look_alike(run: Run) -> Finding:
    """Images by both backbones (Figure 3)."""
    return _alike(run, "backbones", backbone_name)


def losses_look_alike(run: Run) -> Finding:
    """Images by the four content losses (Section V-C)."""
    return _alike(run, "losses", lambda row: CONTENT_LOSS_LOOKS[row["content_loss"]].label)


def _alike(run: Run, experiment: str, name_of: Callable[[Row], str]) -> Finding:
    """Structure kept and distance to the painting's colours of an experiment's images."""
    finding = Finding(interval=ONCE)
    for (content, painting), rows in run.chosen(experiment).groupby(PAIR, sort=False):
        for measure, name, most in (
            ("ssim_luma", "SSIM", ALIKE_STRUCTURE),
            ("colour_distance", "distance of colours", ALIKE_COLOURS),
        ):
            texts = (f"{name_of(row)} {row[measure]:.2f}" for row in rows.to_dict("records"))
            finding.add(f"{name}: {', '.join(texts)}")
            apart = np.ptp(rows[measure])
            if not apart <= most:
                finding.failures.append(f"{content}, {painting}: {name} differs by {apart:.3f}")
    return finding


def lbfgs_ends_lowest(run: Run) -> Finding:
    """Final losses of the optimizers (Figure 5)."""
    finding = Finding(interval=ONCE)
    for name, rows in _by_vgg(run):
        _add_final_losses(finding, name, rows)
        authors = _at_authors_rates(rows)
        if "lbfgs" not in authors:
            continue
        lowest = authors["lbfgs"]["final"]
        for row in (authors[other] for other in OPTIMIZERS[1:] if other in authors):
            if not lowest < row["final"]:
                ends = f"{OPTIMIZER_LOOKS[row['optimizer']].label}'s final loss"
                finding.failures.append(
                    f"{name}: {ends} ({_worded(row['final'])}) is not above L-BFGS's "
                    f"({_worded(lowest)})"
                )
    return finding


def sgd_fails(run: Run) -> Finding:
    """Losses and images of SGD beside those of L-BFGS (Figures 5 and 6)."""
    finding = Finding(interval=ONCE)
    for name, rows in _by_vgg(run):
        _add_final_losses(finding, name, rows)
        authors = _at_authors_rates(rows)
        if not {"lbfgs", "sgd"} <= authors.keys():
            continue
        sgd, lbfgs = authors["sgd"], authors["lbfgs"]
        stopped, rise = sgd["status"] != "finished", sgd["rise"]
        failures = []
        if np.isinf(lbfgs["final"]):
            failures.append("L-BFGS did not finish either")
        if not sgd["final"] >= FAR_ABOVE * lbfgs["final"]:
            factor = sgd["final"] / lbfgs["final"]
            failures.append(f"SGD ends at {factor:.3g} times the loss of L-BFGS")
        finding.add(f"{name}: SGD's loss rises to {rise:.3g} times its lowest")
        if not (rise >= FLUCTUATION or stopped):
            failures.append(f"SGD's loss never rises above {rise:.3g} times its lowest")
        kept, other = sgd["ssim_luma"], lbfgs["ssim_luma"]
        if not np.isnan(kept + other):
            finding.add(f"{name}: SSIM: SGD {kept:.2f}, L-BFGS {other:.2f}")
            if kept > NO_STRUCTURE * other and not stopped:
                failures.append(
                    f"SGD's image keeps structure (SSIM {kept:.2f} against {other:.2f})"
                )
        finding.failures += [f"{name}: {text}" for text in failures]
    return finding


def adam_keeps_content(run: Run) -> Finding:
    """Structure that Adam's image keeps beside L-BFGS's (Figure 6)."""
    finding = Finding(interval=ONCE)
    for name, rows in _by_vgg(run):
        authors = _at_authors_rates(rows)
        adam, lbfgs = authors.get("adam", {}), authors.get("lbfgs", {})
        if lbfgs.get("status", "finished") != "finished":
            finding.unclear.append(f"{name}: L-BFGS stopped, and its image is its last good state")
        for measure, what in (("ssim_luma", "SSIM"), ("gram_distance", "style distance")):
            ours, other = (row.get(measure, np.nan) for row in (adam, lbfgs))
            if not np.isnan(ours + other):
                finding.add(f"{name}: {what} Adam {ours:.2f}, L-BFGS {other:.2f}")
                if not ours > other:
                    finding.failures.append(f"{name}: Adam's {what} is not above L-BFGS's")
    return finding


def _by_vgg(run: Run) -> list[tuple[str, pd.DataFrame]]:
    """The runs of the optimizers by the name of the architecture."""
    grouped = run.chosen("optimizers").groupby("architecture", sort=False)
    return [(label(ARCHITECTURE_LABELS, str(name)), rows) for name, rows in grouped]


def _at_authors_rates(rows: pd.DataFrame) -> dict[str, dict[Any, Any]]:
    """The runs at the authors' rates by optimizer."""
    authors = rows[rows["rates"] == "authors"].drop_duplicates("optimizer")
    return {row["optimizer"]: row for row in authors.to_dict("records")}


def _add_final_losses(finding: Finding, name: str, rows: pd.DataFrame) -> None:
    """Add the final losses of an architecture's runs, by rates and optimizer."""
    for rates, of_rates in rows.drop_duplicates(["rates", "optimizer"]).groupby(
        "rates", sort=False
    ):
        losses = ", ".join(
            f"{OPTIMIZER_LOOKS[optimizer].label} {_worded(loss)}"
            for optimizer, loss in zip(of_rates["optimizer"], of_rates["final"], strict=True)
        )
        finding.add(f"{name}, final total loss at {label(RATES_LABELS, str(rates))}: {losses}")


def _worded(loss: float) -> str:
    return "stopped" if np.isinf(loss) else f"{loss:.3g}"


def content_start_keeps_structure(run: Run) -> Finding:
    """Structure that images keep by where they start (Section IV-A 2)."""
    finding = Finding(interval=ONCE, heading="SSIM to the content: ")
    named = {start: f"from {INITIALISATION_LABELS[start]}" for start in STARTS}
    for (content, _), rows in run.chosen("initialisations").groupby(PAIR, sort=False):
        measured = dict(zip(rows["initialisation"], rows["ssim_luma"], strict=True))
        structure = {start: measured.get(start, np.nan) for start in STARTS}
        texts = (f"{named[start]} {value:.2f}" for start, value in structure.items())
        finding.add(f"{content}: {', '.join(texts)}")
        finding.failures += [
            f"on {content} a start {named[other]} keeps as much"
            for other in STARTS[1:]
            if structure["content"] <= structure[other]
        ]
    return finding


def alexnet_fails_when_scaled(run: Run) -> Finding:
    """Whether runs end far above their lowest loss: AlexNet at 1024 pixels alone (Section V-B)."""
    finding = Finding(interval=ONCE)
    runs = run.chosen("sizes").drop_duplicates(["backbone", "size"]).to_dict("records")
    by_case = {(row["backbone"], row["size"]): row for row in runs}
    for (role, size), loses in SCALED.items():
        if not (row := by_case.get((role, size))):
            continue
        name = f"{backbone_name(row)} at {size} pixels"
        ends = f"ends at {row['over_lowest']:.3g}{TIMES} its lowest"
        finding.add(f"{name}: {row['status'].replace('_', ' ')}, {ends}")
        lost = row["status"] != "finished" or row["over_lowest"] >= LOST
        if lost != loses:
            finding.failures.append(f"{name} {'loses' if lost else 'keeps'} what it had")
    return finding
