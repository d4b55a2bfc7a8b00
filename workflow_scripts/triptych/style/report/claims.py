"""The style-transfer paper's claims on Version 1's losses and images; `CLAIMS` has all.

What depends on a backbone (loss trends, optimizers, initialisations) is a statement about the
paper's: VGG-19 and AlexNet trained on ImageNet. Another backbone has other losses, so its runs
decide nothing; the direction that they show is reported with the substitute weights. What
depends on seconds needs the paper's architectures and a GPU, but not its weights. Statements on
videos hold for any network on any device. All but that needs float32 or TF32.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from triptych.report.claims import Finding, Need, all_of, claim, one_of
from triptych.report.palette import label
from triptych.report.tables import TIMES
from triptych.style.report import claims_speed as speed
from triptych.style.report.claims_needs import (
    ALEXNET,
    CONTENT_LOSSES,
    PAIR,
    SIZE,
    VGG19,
    Tables,
    in_every,
    is_whole,
    measured,
    of_experiment,
)
from triptych.style.report.labels import (
    ARCHITECTURE_LABELS,
    CONTENT_LOSS_LOOKS,
    INITIALISATION_LABELS,
    OPTIMIZER_LOOKS,
    RATES_LABELS,
)
from triptych.style.report.paper import PAPER, PAPER_ARCHITECTURES, PAPER_EVALUATIONS
from triptych.style.report.runs import Row, backbone_name

OPTIMIZERS = tuple(PAPER["experiments"]["optimizers"]["vary"]["optimizer"])
STARTS = tuple(PAPER["experiments"]["initialisations"]["vary"]["initialisation"])
VGGS = (VGG19, PAPER["backbones"][PAPER["experiments"]["optimizers"]["backbone"]]["architecture"])
ORDER_OF_MAGNITUDE = 10.0
RISE = 0.05
FAR_ABOVE = 100.0
FLUCTUATION = 2.0
NO_STRUCTURE = 0.5
LOST = 10.0
ALIKE_STRUCTURE = 0.1
ALIKE_COLOURS = 0.05
LARGER = speed.SIZES[-1]
SCALED = {("alexnet", LARGER): True, ("alexnet", SIZE): False, ("vgg", LARGER): False}
"""Whether an image of a backbone and size loses what it had."""
LOOKED_AT = {
    "backbones": ("backbone", [*PAPER_ARCHITECTURES], [VGG19, ALEXNET]),
    "losses": ("content_loss", CONTENT_LOSSES, [VGG19]),
}
"""By experiment: the column that varies, the values that are needed of it, and the backbones."""
AUTHORS, LBFGS, ADAM, SGD = "authors", *OPTIMIZERS
ONCE = "one run of each: no interval"
ALIKE = (
    f"Between the images SSIM of luminance to the content differs by at most {ALIKE_STRUCTURE:g}, "
    "and the distance of their colours to the painting's (sliced Wasserstein, of 1) by at most "
    f"{ALIKE_COLOURS:g}."
)


def _trend(run: Any) -> Iterator[Need]:
    rows = run.rows("backbones")
    yield from of_experiment(rows, [VGG19, ALEXNET])
    sizes = {int(row["size"]) for row in rows}
    yield one_of(f"images of {SIZE} pixels", sizes, [SIZE], "other sizes")
    yield all_of("runs with both backbones", [row["backbone"] for row in rows], PAPER_ARCHITECTURES)
    yield is_whole(rows)


@claim("style-backbone-loss-trend", needs=_trend)
def backbones_share_a_trend(tables: Tables) -> Finding:
    """The total loss with each backbone, smoothed by a running median over a tenth of the
    evaluations, never rises more than {RISE:.0%} above its lowest so far, and both final losses
    relative to their first differ by less than a factor of {ORDER_OF_MAGNITUDE:g}."""
    chosen = tables.chosen("backbones")
    finding = Finding(interval="one run of each backbone: no interval", needs=[*_trend(tables)])
    for row in chosen.to_dict("records"):
        name = backbone_name(row)
        finding.expect(row["status"] == "finished", f"{name} {row['status'].replace('_', ' ')}")
        if np.isnan(row["end"]):
            finding.add(f"{name}: no finite loss")
            continue
        finding.add(f"{name}: ends at {row['smooth_end']:.2g} of its first loss")
        rise = row["smooth_rise"]
        finding.expect(rise <= 1 + RISE, f"{name} rises to {rise:.2g} times its lowest loss")
    factor = chosen["smooth_end"].max() / chosen["smooth_end"].min()
    apart = f"the final losses differ by a factor of {factor:.3g}"
    finding.expect(not factor >= ORDER_OF_MAGNITUDE, apart)
    return finding


def _images(run: Any, experiment: str) -> Iterator[Need]:
    """Needs of the claims that an experiment's images look alike."""
    rows = run.rows(experiment)
    column, wanted, backbones = LOOKED_AT[experiment]
    which = "both images" if experiment == "backbones" else "the images of the four losses"
    yield from of_experiment(rows, backbones)
    yield all_of(f"{which} measured", [row[column] for row in measured(rows)], wanted)


@claim("style-backbones-alike", needs=lambda plan: _images(plan, "backbones"))
def backbones_look_alike(tables: Tables) -> Finding:
    """{ALIKE} The paper has no number; both are ours."""
    return _alike(tables, "backbones", backbone_name)


@claim("style-losses-alike", needs=lambda plan: _images(plan, "losses"))
def losses_look_alike(tables: Tables) -> Finding:
    """{ALIKE} The paper has no number; both are ours."""
    return _alike(tables, "losses", lambda row: CONTENT_LOSS_LOOKS[row["content_loss"]].label)


def _alike(tables: Tables, experiment: str, name_of: Callable[[Row], str]) -> Finding:
    """Structure kept and distance to the painting's colours of an experiment's images."""
    finding = Finding(interval=ONCE, needs=[*_images(tables, experiment)])
    for (content, painting), rows in tables.chosen(experiment).groupby(PAIR, sort=False):
        for measure, name, most in (
            ("ssim_luma", "SSIM", ALIKE_STRUCTURE),
            ("colour_distance", "distance of colours", ALIKE_COLOURS),
        ):
            texts = (f"{name_of(row)} {row[measure]:.2f}" for row in rows.to_dict("records"))
            finding.add(f"{name}: {', '.join(texts)}")
            apart = np.ptp(rows[measure])
            finding.expect(apart <= most, f"{content}, {painting}: {name} differs by {apart:.3f}")
    return finding


def _optimizers(run: Any, *others: str, whole: bool = False) -> Iterator[Need]:
    """Needs of each claim on optimizers. others: those with images; whole: their losses, too."""
    rows, keys = run.rows("optimizers"), ["architecture"]
    chosen = [row for row in rows if row["rates"] == AUTHORS]
    names = in_every(chosen, "optimizer", keys, rows)
    yield from of_experiment(rows, VGGS)
    yield all_of("every optimizer at the authors' rates", names, OPTIMIZERS)
    equal = len({row["evaluations"] for row in rows}) == 1
    yield Need("equal evaluations of all optimizers", equal)
    if whole:
        yield is_whole(rows)
    if others:
        images = in_every(measured(chosen), "optimizer", keys, rows)
        yield all_of("both images measured", images, others)


@claim("style-lbfgs-lowest", needs=_optimizers)
def lbfgs_ends_lowest(tables: Tables) -> Finding:
    """At the authors' learning rates, on each VGG that was run, the final total loss of L-BFGS is
    below those of Adam and SGD (a run that diverged counts as above). The tuned rates are stated
    beside it and do not decide."""
    finding = Finding(interval=ONCE, needs=[*_optimizers(tables)])
    for name, rows, authors in _by_vgg(tables):
        _add_final_losses(finding, name, rows)
        lowest = authors.get(LBFGS, {}).get("final", -np.inf)
        for other in (ADAM, SGD):
            final = authors.get(other, {}).get("final", np.inf)
            finding.expect(
                lowest < final,
                f"{name}: {OPTIMIZER_LOOKS[other].label}'s final loss ({_worded(final)}) is not "
                f"above L-BFGS's ({_worded(lowest)})",
            )
    return finding


@claim("style-sgd-fails", needs=lambda plan: _optimizers(plan, LBFGS, SGD, whole=True))
def sgd_fails(tables: Tables) -> Finding:
    """At the authors' learning rate, on each VGG that was run, SGD ends at least {FAR_ABOVE:g}
    times as high as L-BFGS or diverges, its loss rises at least once to {FLUCTUATION:g} times its
    lowest so far, and its image keeps at most half of the structure (SSIM of luminance to the
    content) that L-BFGS's keeps (a run that diverged has no image but its last good state, and
    counts as without one). Tuned rates do not decide."""
    finding = Finding(interval=ONCE, needs=[*_optimizers(tables, LBFGS, SGD, whole=True)])
    for name, rows, authors in _by_vgg(tables):
        _add_final_losses(finding, name, rows)
        if not {LBFGS, SGD} <= authors.keys():
            continue
        sgd, lbfgs = authors[SGD], authors[LBFGS]
        stopped, rise = sgd["status"] != "finished", sgd["rise"]
        factor = np.divide(sgd["final"], lbfgs["final"])
        kept, other = sgd["ssim_luma"], lbfgs["ssim_luma"]
        finding.add(f"{name}: SGD's loss rises to {rise:.3g} times its lowest")
        if not np.isnan(kept + other):
            finding.add(f"{name}: SSIM: SGD {kept:.2f}, L-BFGS {other:.2f}")
        for holds, failure in (
            (np.isfinite(lbfgs["final"]), "L-BFGS did not finish either"),
            (
                sgd["final"] >= FAR_ABOVE * lbfgs["final"],
                f"SGD ends at {factor:.3g} times the loss of L-BFGS",
            ),
            (
                rise >= FLUCTUATION or stopped,
                f"SGD's loss never rises above {rise:.3g} times its lowest",
            ),
            (
                not kept > NO_STRUCTURE * other or stopped,
                f"SGD's image keeps structure (SSIM {kept:.2f} against {other:.2f})",
            ),
        ):
            finding.expect(holds, f"{name}: {failure}")
    return finding


@claim("style-adam-content", needs=lambda plan: _optimizers(plan, LBFGS, ADAM))
def adam_keeps_content(tables: Tables) -> Finding:
    """At the authors' learning rates, on each VGG that was run, Adam's image keeps more of the
    content (SSIM of luminance) and is farther from the style (Gram distance) than L-BFGS's. Where
    L-BFGS stopped early nothing is decided."""
    finding = Finding(interval=ONCE, needs=[*_optimizers(tables, LBFGS, ADAM)])
    for name, _, authors in _by_vgg(tables):
        adam, lbfgs = authors.get(ADAM, {}), authors.get(LBFGS, {})
        if lbfgs.get("status", "finished") != "finished":
            finding.unclear.append(f"{name}: L-BFGS stopped, and its image is its last good state")
        for measure, what in (("ssim_luma", "SSIM"), ("gram_distance", "style distance")):
            ours, other = (row.get(measure, np.nan) for row in (adam, lbfgs))
            if not np.isnan(ours + other):
                finding.add(f"{name}: {what} Adam {ours:.2f}, L-BFGS {other:.2f}")
                finding.expect(ours > other, f"{name}: Adam's {what} is not above L-BFGS's")
    return finding


def _by_vgg(tables: Tables) -> Iterator[tuple[str, pd.DataFrame, dict[str, dict[Any, Any]]]]:
    """The name of each architecture, its runs of the optimizers, and those at the authors' rates by
    optimizer."""
    for name, rows in tables.chosen("optimizers").groupby("architecture", sort=False):
        authors = rows[rows["rates"] == AUTHORS].drop_duplicates("optimizer").to_dict("records")
        yield (
            label(ARCHITECTURE_LABELS, str(name)),
            rows,
            {run["optimizer"]: run for run in authors},
        )


def _add_final_losses(finding: Finding, name: str, rows: pd.DataFrame) -> None:
    """Add the final losses of an architecture's runs, by rates and optimizer."""
    once = rows.drop_duplicates(["rates", "optimizer"])
    for rates, of_rates in once.groupby("rates", sort=False):
        losses = ", ".join(
            f"{OPTIMIZER_LOOKS[optimizer].label} {_worded(loss)}"
            for optimizer, loss in zip(of_rates["optimizer"], of_rates["final"], strict=True)
        )
        finding.add(f"{name}, final total loss at {label(RATES_LABELS, str(rates))}: {losses}")


def _worded(loss: float) -> str:
    return "stopped" if np.isinf(loss) else f"{loss:.3g}"


def _starts(run: Any) -> Iterator[Need]:
    rows = run.rows("initialisations")
    starts = in_every(measured(rows), "initialisation", PAIR, rows)
    yield from of_experiment(rows, [VGG19, ALEXNET])
    yield all_of("an image from each start, run and measured", starts, STARTS)


@claim("style-content-init", needs=_starts)
def content_start_keeps_structure(tables: Tables) -> Finding:
    """On every content image, SSIM of luminance to the content is higher when starting from the
    content image than from noise and from the style image. How much structure a result keeps hangs
    on the losses, and so on the backbone's weights."""
    finding = Finding(interval=ONCE, heading="SSIM to the content: ", needs=[*_starts(tables)])
    named = {start: f"from {INITIALISATION_LABELS[start]}" for start in STARTS}
    for (content, _), rows in tables.chosen("initialisations").groupby(PAIR, sort=False):
        kept = dict(zip(rows["initialisation"], rows["ssim_luma"], strict=True))
        structure = {start: kept.get(start, np.nan) for start in STARTS}
        texts = (f"{named[start]} {value:.2f}" for start, value in structure.items())
        finding.add(f"{content}: {', '.join(texts)}")
        for other in STARTS[1:]:
            less = not structure["content"] <= structure[other]
            finding.expect(less, f"on {content} a start {named[other]} keeps as much")
    return finding


def _sizes(run: Any) -> Iterator[Need]:
    rows = run.rows("sizes")
    cases = [f"{row['backbone']} {row['size']}" for row in rows]
    yield from of_experiment(rows, [VGG19, ALEXNET], PAPER_EVALUATIONS)
    yield is_whole(rows)
    yield one_of("the authors' rates", {row["rates"] for row in rows}, [AUTHORS])
    what, wanted = "AlexNet at both sizes and VGG-19 at the larger", [*SCALED]
    yield all_of(what, cases, [f"{role} {size}" for role, size in wanted])


@claim("style-alexnet-1024", needs=_sizes)
def alexnet_fails_when_scaled(tables: Tables) -> Finding:
    """By the authors' settings AlexNet at {LARGER} pixels does not finish or ends at {LOST:g} times
    its lowest loss or more; AlexNet at {SIZE} and VGG-19 at {LARGER} pixels finish below that."""
    finding, runs = Finding(interval=ONCE, needs=[*_sizes(tables)]), tables.chosen("sizes")
    rows = runs.drop_duplicates(["backbone", "size"]).to_dict("records")
    by_case = {(row["backbone"], row["size"]): row for row in rows}
    for (role, size), loses in SCALED.items():
        if not (row := by_case.get((role, size))):
            continue
        name = f"{backbone_name(row)} at {size} pixels"
        ends = f"ends at {row['over_lowest']:.3g}{TIMES} its lowest"
        finding.add(f"{name}: {row['status'].replace('_', ' ')}, {ends}")
        lost = row["status"] != "finished" or row["over_lowest"] >= LOST
        finding.expect(lost == loses, f"{name} {'loses' if lost else 'keeps'} what it had")
    return finding


CLAIMS = (
    speed.network_is_faster,
    speed.large_images_take_seconds,
    speed.alexnet_is_faster,
    backbones_share_a_trend,
    speed.loss_functions_differ_in_time,
    backbones_look_alike,
    losses_look_alike,
    lbfgs_ends_lowest,
    sgd_fails,
    content_start_keeps_structure,
    speed.videos_are_batched_and_kept,
    speed.versions_differ,
    adam_keeps_content,
    alexnet_fails_when_scaled,
    speed.videos_stay_consistent,
)
"""In the order of resources/published/style_claims.csv."""
