"""The style-transfer paper's claims on seconds, networks and videos."""

import itertools
import math
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd

from triptych.core.provenance import SOURCE
from triptych.report.claims import Finding, Need, all_of, at_least, claim, no, one_of
from triptych.report.palette import label, spoken
from triptych.report.statistics import (
    Interval,
    crossed_interval,
    difference_interval,
    mean_interval,
    ratio_interval,
)
from triptych.report.tables import TIMES
from triptych.style.report.claims_needs import (
    CONTENT_LOSSES,
    PAIR,
    SIZE,
    VGG19,
    Tables,
    are_gpus,
    batches_of,
    device_of,
    has_coco,
    has_network,
    images_timed,
    is_precise,
    is_trained,
    is_whole,
    is_wide,
    network_found,
    of_experiment,
    of_timing,
    timed_with_both,
)
from triptych.style.report.labels import ARCHITECTURE_LABELS, CONTENT_LOSS_LOOKS
from triptych.style.report.paper import PAPER, PAPER_ARCHITECTURES, PAPER_EVALUATIONS

SPEEDUPS = pd.read_csv(SOURCE / "resources/published/style_table1_seconds.csv")["speedup_low"]
LOWEST_SPEEDUP = int(SPEEDUPS.min())
"""The smallest of Table I."""
SIZES = tuple(PAPER["timing"]["sizes"])
SHOWN_SIZES = ", ".join(map(str, SIZES))
FILM = "path"
QUICK, SLOW = ("huber", "mse"), ("l1", "smooth_l1")
HEIGHT, WIDTH = PAPER["contents"][PAPER["stylised"]["large"]]["size"]
FOUR_K = f"{WIDTH}{TIMES}{HEIGHT}"
FOUR_K_SECONDS = 3.0
ABOUT_FIVE = (4.0, 6.0)
SAME_TREND = 2.0
FLICKER = 2.0
FRAMES = 100
IMAGES = 20
REPEATS = 5
VIDEO_REPEATS = 2
PAIRS, FEWER_PAIRS = 4, 2
KEPT = ("frames_per_second", "frames", "width", "height")
SAME_RATE = 1e-3
"""Containers round a frame's duration to their time base."""
PHOTOGRAPH = (427, 640)
"""Height and width of most bundled photographs, where config doesn't say."""


def _speedup(plan: Any) -> Iterator[Need]:
    yield from of_timing(plan, plan.config["stylised"]["precision"])
    yield has_network(plan)
    yield at_least(
        f"{PAPER_EVALUATIONS} evaluations that were all run: seconds scaled to more are no "
        "measurement",
        plan.config["timing"]["evaluations"],
        PAPER_EVALUATIONS,
    )
    yield _has_images(images_timed(plan, SIZES))


def _has_images(images: int) -> Need:
    return at_least(f"{IMAGES} images timed at each size", images, IMAGES)


@claim("style-speedup", needs=_speedup)
def network_is_faster(tables: Tables) -> Finding:
    """At {SHOWN_SIZES} pixels, against both backbones, Version 2 is at least {LOWEST_SPEEDUP} times
    as fast, the smallest ratio of Table I: the lower end of the 95% interval (images paired) of the
    ratio of seconds."""
    timing = tables.timing
    first, networks = timing[timing["version"] == 1], tables.stylised_runs
    fewest = int(first["evaluations"].min()) if len(first) else 0
    finding = Finding(heading=f"Version 1 at {fewest} evaluations over Version 2: ")
    cases = itertools.product(sorted({*SIZES, *map(int, timing["size"])}), PAPER_ARCHITECTURES)
    timed = {case: timed_with_both(timing, case[1], "network", case[0]) for case in cases}
    finding.needs += [
        are_gpus(timing["device"]),
        is_precise(timing["precision"]),
        is_wide(networks.loc[networks["painting"] == tables.main, "width"]),
        _has_images(
            min(len(timed[size, role][0]) for role in PAPER_ARCHITECTURES for size in SIZES)
        ),
    ]
    for (size, role), seconds in timed.items():
        if not len(seconds[0]):
            continue
        ratio = ratio_interval(*seconds)
        name = f"{label(ARCHITECTURE_LABELS, tables.architectures[role])} at {size}"
        text = f"{name}: {ratio.estimate:.3g}{TIMES}"
        finding.add(text, f"{name} {ratio.ends()}")
        if size in SIZES:
            finding.require(ratio.side(LOWEST_SPEEDUP), text, text)
    return finding


def _four_k(plan: Any) -> Iterator[Need]:
    entries = [plan.config["contents"][name] for name in plan.shown_contents]
    yield _has_pixels(max(math.prod(entry.get("size") or PHOTOGRAPH) for entry in entries))
    yield are_gpus(device_of(plan))
    yield has_network(plan)
    yield is_precise([plan.config["stylised"]["precision"]])


def _has_pixels(pixels: int) -> Need:
    return at_least(f"an image of {FOUR_K} pixels", pixels, HEIGHT * WIDTH)


@claim("style-4k", needs=_four_k)
def large_images_take_seconds(tables: Tables) -> Finding:
    """Every image of at least {FOUR_K} pixels that was stylised took at most {FOUR_K_SECONDS:g}
    s."""
    runs = tables.stylised_runs
    pixels = runs["height"] * runs["width_px"]
    largest, large = runs[pixels == pixels.max()], runs[pixels >= min(HEIGHT * WIDTH, pixels.max())]
    finding = Finding(interval="one measurement of each: no interval")
    most = int(pixels.max()) if len(pixels) else 0
    finding.needs += [_has_pixels(most), are_gpus(largest["device"]), *network_found(largest)]
    for row in large.to_dict("records"):
        name, seconds = spoken(row["painting"]), f"{row['seconds']:.2f} s"
        size = f"{row['width_px']:.0f}{TIMES}{row['height']:.0f}"
        finding.add(f"{size} by {name} in {seconds} on {row['device']}")
        finding.expect(row["seconds"] <= FOUR_K_SECONDS, f"{seconds} for {name}")
    return finding


def _alexnet(plan: Any) -> Iterator[Need]:
    yield from of_timing(plan)
    yield _are_compared(images_timed(plan, [SIZE]))
    yield Need("equal evaluations with both", True)  # `style.timing` has one number


def _are_compared(images: int) -> Need:
    return at_least(f"{IMAGES} images timed with both", images, IMAGES)


@claim("style-alexnet-faster", needs=_alexnet)
def alexnet_is_faster(tables: Tables) -> Finding:
    """At {SIZE} pixels, seconds with VGG-19 over seconds with AlexNet lie between {ABOUT_FIVE[0]:g}
    and {ABOUT_FIVE[1]:g}. The ratio hangs on the device; weights do not matter."""
    first = tables.timing[tables.timing["version"] == 1]
    finding = Finding(heading="VGG over AlexNet at ")
    sizes = sorted({SIZE, *map(int, first["size"])})
    timed = {size: timed_with_both(first, "vgg", "alexnet", size) for size in sizes}
    finding.needs += [are_gpus(tables.timing["device"]), _are_compared(len(timed[SIZE][0]))]
    for size, seconds in timed.items():
        if not len(seconds[0]):
            continue
        ratio = ratio_interval(*seconds)
        finding.add(f"{size} pixels: {ratio.estimate:.2f}{TIMES}", f"{size} pixels {ratio.ends()}")
        about_five = ABOUT_FIVE[0] <= ratio.estimate <= ABOUT_FIVE[1]
        times = f"AlexNet is {ratio.estimate:.2f} times as fast"
        finding.expect(size != SIZE or about_five, times)
    return finding


def _loss_time(plan: Any) -> Iterator[Need]:
    *of_runs, whole = _losses_run(plan)
    names = plan.names("content_loss", "losses")
    repeats = plan.config["timing"]["losses"]["repeats"]
    yield from of_runs
    yield all_of("seconds of each of the four losses", names, CONTENT_LOSSES)
    yield at_least(f"{REPEATS} repeats of the seconds", repeats, REPEATS)
    yield whole


def _losses_run(run: Any) -> Iterator[Need]:
    rows = run.rows("losses")
    kinds = [row["content_loss"] for row in rows if not np.isnan(row.get("end", 0))]
    yield from of_experiment(rows, [VGG19])
    yield all_of("a run with each of the four losses", kinds, CONTENT_LOSSES)
    yield is_whole(rows)


@claim("style-loss-function-time", needs=_loss_time)
def loss_functions_differ_in_time(tables: Tables) -> Finding:
    """Each of Huber and MSE takes less time than each of L1 and smooth L1: the 95% interval of the
    paired difference in mean seconds lies below 0. And the final relative losses of all four lie
    within a factor of {SAME_TREND:g}."""
    timing, lines = tables.loss_timing, tables.chosen("losses").dropna(subset="end")
    wide = timing.pivot_table(index="repeat", columns="content_loss", values="seconds")
    finding = Finding(needs=[*_losses_run(tables)])
    names = {loss: CONTENT_LOSS_LOOKS[loss].label for loss in CONTENT_LOSSES}
    seconds = ", ".join(f"{names[i]} {wide[i].mean():.3g}" for i in CONTENT_LOSSES if i in wide)
    finding.add(f"Seconds for {timing['evaluations'].iloc[0]:.0f} evaluations: {seconds}")
    for pair in itertools.product(QUICK, SLOW):
        if not set(pair) <= set(wide):
            continue
        both = wide[[*pair]].dropna()
        gap = difference_interval(*(both[loss].to_numpy() for loss in pair))
        name = " minus ".join(names[loss] for loss in pair)
        finding.add("", f"{name} {gap.ends(4)} s")
        finding.require(-gap.side(), f"{name}: takes longer", f"{name}: no clear difference")
    ends = dict(zip(lines["content_loss"], lines["end"], strict=True))
    trend = ", ".join(f"{CONTENT_LOSS_LOOKS[loss].label} {end:.2g}" for loss, end in ends.items())
    finding.add(f"final relative loss: {trend}")
    factor = lines["end"].max() / lines["end"].min()
    apart = f"the final relative losses differ by a factor of {factor:.2g}"
    finding.expect(not factor > SAME_TREND, apart)
    return finding


def _video(plan: Any) -> list[Need]:
    video, paintings = plan.config["video"], {painting for painting, _ in plan.filmed}
    several = int(video["batch"] > 1)
    repeats = several * len(paintings) * video["speed"]["repeats"]
    return _is_filmed(several, repeats, len(paintings), [])


def _is_filmed(several: int, repeats: int, videos: int, unread: Collection[object]) -> list[Need]:
    return [
        at_least("speed at batch 1 and at a larger batch", several, 1),
        at_least("two repeats of the speed", repeats, VIDEO_REPEATS),
        at_least("a video", videos, 1),
        no("every video read back", unread),
    ]


@claim("style-video", needs=_video)
def videos_are_batched_and_kept(tables: Tables) -> Finding:
    """The frames per second of the fastest batch of several frames exceed those of one frame at a
    time: the lower end of the 95% interval of the ratio (repeats paired) is above 1. And the
    written video has the source's frames per second, frames, width and height. Any network on any
    device can test this."""
    finding, repeats = Finding(), 0
    wide = tables.speed.pivot_table(
        index=["painting", "variant", "repeat"], columns="batch", values="frames_per_second"
    )
    means = wide.mean()
    several = means[means.index > 1] if 1 in means else means[:0]
    if len(several):
        best = int(several.index[int(several.argmax())])
        both = wide[[1, best]].dropna()
        ratio, repeats = ratio_interval(both[best].to_numpy(), both[1].to_numpy()), len(both)
        device = str(tables.speed["device"].iloc[0])
        shown = ", ".join(f"batch {batch} {rate:.3g}" for batch, rate in means.items())
        finding.add(
            f"frames a second: {shown} on {device}", f"batch {best} over batch 1 {ratio.ends(3)}"
        )
        most = f"than single frames on {device} ({ratio.estimate:.2f}{TIMES} at best)"
        finding.require(
            ratio.side(1),
            f"batches are not faster {most}",
            f"batches are not clearly faster {most}",
        )
    videos = dict(iter(tables.properties.groupby(["painting", "variant"], sort=False)))
    unread = [name for name, rows in videos.items() if not {"source", "video"} <= set(rows["file"])]
    finding.needs += _is_filmed(len(several), repeats, len(videos), unread)
    for key, rows in videos.items():
        if key in unread:
            continue
        by_file = rows.set_index("file").to_dict("index")
        name = f"{spoken(str(key[0]))} ({key[1]})"
        source, video = by_file["source"], by_file["video"]
        finding.add(
            f"{name}: {video['frames_per_second']:.6g} frames a second, {video['frames']:.0f} "
            f"frames, {video['width']:.0f}{TIMES}{video['height']:.0f}"
        )
        for kept in KEPT:
            differs = f"{kept.replace('_', ' ')} {video[kept]:g}, the source's {source[kept]:g}"
            same = abs(source[kept] - video[kept]) <= SAME_RATE * abs(source[kept])
            finding.expect(same, f"{name}: {differs}")
    return finding


def _versions(plan: Any) -> Iterator[Need]:
    narrow = plan.architectures["validation"].startswith("narrow")
    rows = plan.rows("paintings")
    made = [r for r in rows if r["painting"] in plan.shown and r["content"] in plan.shown_contents]
    yield from of_experiment(rows, [VGG19])
    yield has_network(plan)
    yield is_trained(batches_of(plan, plan.shown))
    judge = "a judge of style that isn't narrow"
    yield Need(judge, not narrow, substitute="a narrow judge of style")
    yield from _has_pairs(len(made))
    yield has_coco(plan)


def _has_pairs(pairs: int) -> Iterator[Need]:
    for least, substitute in ((FEWER_PAIRS, ""), (PAIRS, "fewer pairs")):
        yield at_least(f"{least} pairs of content and style", pairs, least, substitute)


@claim("style-versions-differ", needs=_versions)
def versions_differ(tables: Tables) -> Finding:
    """Over pairs of content and style, Version 1's images are nearer to the style and Version 2's
    keep more outlines: the 95% interval of the paired difference of Gram distances on a backbone
    that neither was made with lies below 0, and that of the correlations of edge maps with the
    content's above 0. Pairs that share a content or a painting are alike, which the interval allows
    for."""
    first = tables.chosen("paintings").dropna(subset="gram_distance")
    both = first.merge(tables.quality, on=PAIR, suffixes=("_1", "_2"))
    finding = Finding(heading=f"Over {len(both)} pairs, ")
    finding.needs += of_experiment(tables.rows("paintings"), [VGG19])
    finding.needs += [*network_found(tables.stylised_runs)[:2], *_has_pairs(len(both))]
    if both.empty:
        return finding
    for measure, name, better, other, claimed in (
        ("gram_distance", "style distance, Version 1 minus 2", 1, 2, -1),
        ("edge_correlation", "edges kept, Version 2 minus 1", 2, 1, 1),
    ):
        gap = _over_pairs(both.assign(gap=both[f"{measure}_{better}"] - both[f"{measure}_{other}"]))
        text = f"{name} is {gap.estimate:.2g}"
        finding.add(f"{name}: {gap.estimate:.2g}", f"{name} {gap.ends(3)}")
        finding.require(claimed * gap.side(), text, f"{name}: the interval holds 0")
    return finding


def _over_pairs(table: pd.DataFrame) -> Interval:
    """The mean `gap` over every content with every painting, or over those pairs that exist."""
    crossed = table.pivot_table("gap", index=PAIR[0], columns=PAIR[1]).to_numpy()
    return mean_interval(table["gap"]) if np.isnan(crossed).any() else crossed_interval(crossed)


def _consistency(plan: Any) -> Iterator[Need]:
    video, filmed = plan.config["video"], [painting for painting, _ in plan.filmed]
    film = "a film of real frames (style.video.source: path)"
    yield one_of(film, [video["source"]], [FILM], "a generated film")
    yield has_network(plan)
    yield is_trained(batches_of(plan, filmed))
    yield is_precise([plan.config["stylised"]["precision"]], "lower precision")
    yield _has_frames(video["film"]["frames"] - 1)  # a pair of frames each
    yield has_coco(plan)


def _has_frames(frames: int) -> Need:
    return at_least(f"{FRAMES} frames of every video", frames, FRAMES, "fewer frames")


@claim("style-video-consistency", needs=_consistency)
def videos_stay_consistent(tables: Tables) -> Finding:
    """Along the source's optical flow, frames of the network trained without a temporal term change
    at most {FLICKER:g} times as much as the source's own: the upper end of the 95% interval of the
    mean ratio of warped errors over frames, which are not independent. The paper has no number; the
    {FLICKER:g} is ours."""
    finding = Finding(heading="Warped error of stylised frames: ")
    ratios = tables.flicker.groupby("painting", sort=False)["ratio"]
    networks = tables.stylised_runs[tables.stylised_runs["painting"].isin(ratios.groups)]
    finding.needs += [*network_found(networks), _has_frames(ratios.count().min())]
    for painting, of_frames in ratios:
        if not (of_frames := of_frames.dropna()).size:
            continue
        name, mean = spoken(str(painting)), mean_interval(of_frames)
        finding.add(f"{name}: {mean.estimate:.2f}{TIMES} the source's", f"{name} {mean.ends()}")
        more = f"{name} flickers {mean.estimate:.2f}{TIMES} as much as its source"
        finding.require(-mean.side(FLICKER), more, more)
    return finding
