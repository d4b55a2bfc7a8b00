"""Comparisons of the audio report's systems on the same queries, so that each difference is
paired by query and has an interval over clips, each with all its captions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from triptych.audio.report.claims_facts import (
    BEST,
    SYSTEM,
    WANTED,
    Run,
    best_pair,
    contrasts,
    ranked_pairs,
)
from triptych.audio.report.differences import mean_over_clips
from triptych.audio.report.figures import CAPTION_LABELS
from triptych.audio.report.rows import DATASET_LABELS, METRICS
from triptych.report.claims import Finding
from triptych.report.statistics import Interval

ENSEMBLES = {"published": "as listed", "selected": "by validation"}
"""How the members of each ensemble were chosen."""


@dataclass(frozen=True)
class Gain:
    """The report's lead over somebody else's system.

    metric: of METRICS; source: of the other's row in resources/published/audio_table2.csv; single:
    whether the report's is its best single model, else the ensemble; points: as its text says.
    """

    metric: str
    source: str
    whose: str
    points: float
    single: bool = False


@dataclass(frozen=True)
class Stated:
    """A number that the report states of a data set: its key among `Run.lists`, its name, the range
    that agrees with it, and how it is printed."""

    key: str
    what: str
    low: float
    high: float
    printed: str


def gain(first: pd.Series, second: pd.Series) -> Interval:
    """Mean difference of two systems' scores in percentage points, paired by query."""
    return mean_over_clips((first - second).dropna())


def points(interval: Interval) -> str:
    """A difference as a person writes it."""
    return f"{interval.estimate:+.2f} points"


def require_above(finding: Finding, interval: Interval, what: str) -> None:
    """Note where a difference is not above 0. what: the difference's name."""
    finding.require(
        interval.side(),
        f"the interval of {what} lies below 0",
        f"the interval of {what} holds 0",
    )


def with_leaks(judge: Callable[[Run], Finding]) -> Callable[[Run], Finding]:
    """A judge whose finding also says which leaks were kept out of training (the report kept none
    out), and of what its intervals are."""

    def judged(run: Run) -> Finding:
        finding = judge(run)
        finding.measured += f"; leaks kept out of training: {run.exclude}"
        if finding.interval:
            noise = "over recordings; how much another training would differ is not in it"
            finding.interval += f" ({noise})"
        return finding

    return judged


def best_single_model(run: Run) -> Finding:
    """All pairs by mAP@10 (Table 2); where the report's ten are there, others decide nothing."""
    every = sorted(run.pairs, key=lambda pair: -run.single(pair).mean())
    shown = "; ".join(f"{run.label(pair)} {run.single(pair).mean():.2f}" for pair in every)
    finding = Finding(f"mAP@10, best first: {shown}")
    ranked = ranked_pairs(every, run.study)
    if not ranked:
        return finding
    best = run.label(ranked[0])
    leads = [gain(run.single(ranked[0]), run.single(pair)) for pair in ranked]
    if run.study.published(*ranked[0]) != BEST:
        of_best = [
            lead.side()
            for pair, lead in zip(ranked, leads, strict=True)
            if run.study.published(*pair) == BEST
        ]
        finding.require(0 if 0 in of_best[:1] else -1, f"{best} is best", f"{best} is best")
    if len(ranked) > 1:
        chance = ", which holds 0: their order may be chance" if leads[1].low <= 0 else ""
        ends = leads[1].ends(sign="+")
        finding.interval = (
            f"{best} leads {run.label(ranked[1])} by {points(leads[1])} {ends}{chance}"
        )
    return finding


TRAININGS = {
    "finetuned_gpt": "new captions",
    "finetuned_human": "human captions",
    "pretrained": "pretrained only",
}


def main_pair_gains(run: Run, better: str, worse: str) -> Finding:
    """The main pair after one kind of training minus after another (Section 3)."""
    main = run.study.main
    first, second = run.scores(better, main), run.scores(worse, main)
    if first.empty or second.empty:
        return Finding(f"{run.label(main)}, mAP@10 not scored")
    difference = gain(first, second)
    shown = []
    for kind, scores in ((better, first), (worse, second)):
        means = run.systems[(kind, *main)].groupby("seed")["map_at_10"].mean()
        runs = f" (runs {', '.join(f'{mean:.2f}' for mean in means)})" if len(means) > 1 else ""
        shown.append(f"{TRAININGS[kind]} {scores.mean():.2f}{runs}")
    finding = Finding(
        f"{run.label(main)}, mAP@10: {', '.join(shown)}, difference {points(difference)}",
        _ends({f"{TRAININGS[better]} minus {TRAININGS[worse]}": difference}),
    )
    require_above(finding, difference, "the difference in mAP@10")
    return finding


def gpt_captions_help(run: Run) -> Finding:
    """New captions against human ones, by mAP@10 and validation loss (Section 3, Figure 2)."""
    finding = main_pair_gains(run, "finetuned_gpt", "finetuned_human")
    last, lowest = run.losses("last"), run.losses("min")
    for name, losses in (("after the last epoch", last), ("at its lowest", lowest)):
        means = [f"{text} {losses[kind].mean():.4f}" for kind, text in CAPTION_LABELS.items()]
        finding.measured += f"; validation loss {name}, mean over runs: {', '.join(means)}"
    both = last.dropna()
    if higher := int((both["gpt"] >= both["human"]).sum()):
        finding.failures.append(
            f"the last validation loss is not lower in {higher} of {len(both)} runs"
        )
    return finding


def contrasts_gain(run: Run, kind: str) -> Finding:
    """Differences of the report's comparisons of a kind (Section 3): above 0 in the mean, and
    nowhere clearly below. Where the report says that nothing is gained (Section 2.3, twins): not
    clearly above."""
    finding, is_gain = Finding(), bool(WANTED[kind])
    differences = {
        f"{run.label(one)} minus {run.label(other)}": run.single(one) - run.single(other)
        for one, other in contrasts(kind, run.pairs, run.study)
    }
    intervals = {name: mean_over_clips(values.dropna()) for name, values in differences.items()}
    for name, interval in intervals.items():
        if interval.side() == (-1 if is_gain else 1):
            finding.failures.append(f"{name} lies {'below' if is_gain else 'above'} 0")
    measured = [f"{name}: {points(interval)}" for name, interval in intervals.items()]
    if intervals and is_gain:
        mean = mean_over_clips(pd.DataFrame(differences).dropna().mean(axis=1))
        measured.insert(0, f"mean of {len(differences)}: {points(mean)}")
        intervals = {"mean": mean, **intervals}
        require_above(finding, mean, "the mean difference")
    shown = "; ".join(measured) or "no two models of this run differ so"
    finding.measured = f"mAP@10, {shown}"
    finding.interval = _ends(intervals)
    return finding


def _ends(intervals: Mapping[str, Interval]) -> str:
    """Intervals of differences by their names as text."""
    return ", ".join(f"{name} {interval.ends(sign='+')}" for name, interval in intervals.items())


def ensemble_beats_single_models(run: Run) -> Finding:
    """The ensembles against the single model that is best on the same split (Table 2)."""
    models = run.queries[run.queries["kind"].isin(TRAININGS)]
    if models.empty:
        return Finding("mAP@10: ")
    means = models.groupby(SYSTEM, as_index=False)["map_at_10"].mean()
    kind, audio, text, seed = means.loc[means["map_at_10"].idxmax(), SYSTEM].astype(str)
    best = run.scores(kind, (audio, text), seed=seed)
    finding = Finding(f"mAP@10: best single model {run.label((audio, text))} {best.mean():.2f}")
    intervals = {}
    for name, chosen in ENSEMBLES.items():
        ensemble = run.ensemble(name)
        if ensemble.empty:
            continue
        difference = gain(ensemble, best)
        finding.measured += (
            f"; ensemble of members {chosen} {ensemble.mean():.2f} ({points(difference)})"
        )
        intervals[f"members {chosen} minus best single model"] = difference
        if name == "published":
            require_above(finding, difference, "the difference in mAP@10 to the best single model")
    finding.interval = _ends(intervals)
    return finding


def no_other_ensemble_is_better(run: Run) -> Finding:
    """The ensemble among those with fewer and with more members (Section 3)."""
    table = run.subsets
    changed = (table["removed"] > 0) | (table["added"] > 0)
    listed, others = table[~changed], table[changed]
    if listed.empty or others.empty:
        none = "no other ensemble was scored"
        return Finding(none, obstacles=[none])
    better = int((others["difference"] > 0).sum())
    worse = int((others["difference_high"] < 0).sum())
    ahead = int((others["difference_low"] > 0).sum())
    best = others.iloc[int(others["difference"].argmax())]
    low, high = 100 * best["difference_low"], 100 * best["difference_high"]
    named = f"{int(best['added'])} more" if best["added"] else f"{int(best['removed'])} fewer"
    finding = Finding(
        f"mAP@10 {100 * listed['map_at_10'].iloc[0]:.2f}, in place {listed['place'].iloc[0]} of "
        f"{len(table)}; beyond chance {worse} of {len(others)} others are worse and {ahead} better "
        "(simultaneous 95% intervals)",
        f"best other ({named}) minus this one {100 * best['difference']:+.2f} points "
        f"[{low:+.2f}, {high:+.2f}], simultaneous",
    )
    are_better = f"{better} of {len(others)} other ensembles are better"
    finding.require(-1 if ahead else 0 if better else 1, are_better, are_better)
    return finding


def gain_over_published(run: Run, stated: Gain) -> Finding:
    """The report's system against a number of somebody else's (abstract, Section 3)."""
    pair = best_pair(run.pairs, run.study)
    ours, name = run.ensemble("published", stated.metric), "the ensemble"
    if stated.single:
        ours, name = run.single(pair, stated.metric), run.label(pair)
    printed = run.published.set_index("source")[stated.metric].dropna()
    metric = f"{METRICS[stated.metric]} of {name}"
    if ours.empty or stated.source not in printed:
        return Finding(f"{metric} not scored")
    if run.study.synthesised:  # meets no number of other recordings
        return Finding(f"{metric} {ours.mean():.2f}, compared with nothing")
    theirs = float(printed[stated.source])
    difference = mean_over_clips(ours - theirs)
    finding = Finding(
        f"{metric} {ours.mean():.2f}, of {stated.whose} {theirs:.2f}: "
        f"{points(difference)}, stated {stated.points:+.1f}",
        _ends({f"{name} minus {stated.whose}": difference}),
    )
    require_above(finding, difference, "the difference")
    if not difference.high >= stated.points:
        finding.failures.append(f"it ends below the stated {stated.points:+.1f} points")
    return finding


def statistics_hold(run: Run, dataset: str, stated: Sequence[Stated]) -> Finding:
    """Numbers of a data set's lists against those that the report states (Section 2.4)."""
    numbers = run.lists.get(dataset, {})
    agrees = {}
    for statement in stated:
        if statement.key in numbers:
            value = numbers[statement.key]
            shown = f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"
            text = f"{statement.what} {shown}, stated {statement.printed}"
            agrees[text] = statement.low <= value <= statement.high
    measured = "; ".join(agrees) or f"no list of {DATASET_LABELS[dataset]}"
    return Finding(measured, failures=[text for text, agree in agrees.items() if not agree])
