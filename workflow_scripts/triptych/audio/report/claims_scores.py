"""Comparisons of the audio report's systems on the same queries, so that each difference is
paired by query and has an interval over clips, each with all its captions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from triptych.audio.report.claims_facts import (
    BEST,
    PAPER_PAIRS,
    WANTED,
    Run,
    best_pair,
    contrasts,
)
from triptych.audio.report.labels import CAPTION_LABELS, DATASET_LABELS
from triptych.audio.report.rows import METRICS
from triptych.audio.report.tables_leaks import mean_over_clips
from triptych.report.claims import Finding
from triptych.report.palette import label
from triptych.report.statistics import Interval

ENSEMBLE = "published"


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
    shared = first.index.intersection(second.index)
    return mean_over_clips(first[shared] - second[shared])


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


NO_TRAINING_NOISE = "over recordings; how much another training would differ is not in it"


def with_leaks(judge: Callable[[Run], Finding]) -> Callable[[Run], Finding]:
    """A judge whose finding also says which leaks were kept out of training (the report kept none
    out), and of what its intervals are."""

    def judged(run: Run) -> Finding:
        verdict = judge(run)
        measured = f"{verdict.measured}; leaks kept out of training: {run.exclude}"
        interval = verdict.interval and f"{verdict.interval} ({NO_TRAINING_NOISE})"
        return replace(verdict, measured=measured, interval=interval)

    return judged


def best_single_model(run: Run) -> Finding:
    """All pairs by mAP@10 (Table 2); where the report's ten are there, others decide nothing."""
    every = sorted(run.pairs, key=lambda pair: -run.single(pair).mean())
    paper = [pair for pair in every if run.study.published(*pair) in PAPER_PAIRS]
    ten = {run.study.published(*pair) for pair in paper} == set(PAPER_PAIRS)
    ranked = paper if ten else every
    shown = "; ".join(f"{run.label(pair)} {run.single(pair).mean():.2f}" for pair in every)
    finding = Finding(f"mAP@10, best first: {shown}")
    if ranked and run.study.published(*ranked[0]) != BEST:
        ours = [pair for pair in ranked if run.study.published(*pair) == BEST]
        leads = [gain(run.single(ranked[0]), run.single(pair)).side() for pair in ours]
        is_best = f"{run.label(ranked[0])} is best"
        finding.require(0 if leads[:1] == [0] else -1, is_best, is_best)
    if len(ranked) > 1:
        lead = gain(run.single(ranked[0]), run.single(ranked[1]))
        chance = ", which holds 0: their order may be chance" if lead.low <= 0 else ""
        finding.interval = (
            f"{run.label(ranked[0])} leads {run.label(ranked[1])} by {points(lead)} "
            f"{lead.ends(sign='+')}{chance}"
        )
    return finding


def main_pair_gains(run: Run, better: str, worse: str) -> Finding:
    """The main pair after one kind of training minus after another (Section 3)."""
    main, shown = run.study.main, []
    names = {"finetuned_gpt": "new captions", "finetuned_human": "human captions"}
    first, second = run.scores(better, main), run.scores(worse, main)
    if first.empty or second.empty:
        return Finding(f"{run.label(main)}, mAP@10 not scored")
    for scores, kind in ((first, better), (second, worse)):
        means = [f"{mean:.2f}" for mean in run.run_means(kind, main)]
        runs = f" (runs {', '.join(means)})" if len(means) > 1 else ""
        shown.append(f"{names.get(kind, 'pretrained only')} {scores.mean():.2f}{runs}")
    difference = gain(first, second)
    finding = Finding(
        f"{run.label(main)}, mAP@10: {', '.join(shown)}, difference {points(difference)}",
        " minus ".join(names.get(kind, "pretrained only") for kind in (better, worse))
        + f" {difference.ends(sign='+')}",
    )
    require_above(finding, difference, "the difference in mAP@10")
    return finding


def gpt_captions_help(run: Run) -> Finding:
    """New captions against human ones, by mAP@10 and validation loss (Section 3, Figure 2)."""
    finding = main_pair_gains(run, "finetuned_gpt", "finetuned_human")
    for name, which in (("after the last epoch", "last"), ("at its lowest", "min")):
        losses = run.losses(which)
        means = ", ".join(
            f"{text} {losses[captions].mean():.4f}"
            for captions, text in CAPTION_LABELS.items()
            if captions in losses
        )
        finding.measured += f"; validation loss {name}, mean over runs: {means}"
    both = run.losses("last").reindex(columns=["human", "gpt"]).dropna()
    if higher := int((~(both["gpt"] < both["human"])).sum()):
        finding.failures.append(
            f"the last validation loss is not lower in {higher} of {len(both)} runs"
        )
    return finding


def contrasts_gain(run: Run, kind: str) -> Finding:
    """Differences of the report's comparisons of a kind (Section 3): above 0 in the mean, and
    nowhere clearly below. Where the report says that nothing is gained (Section 2.3, twins): not
    clearly above."""
    finding, is_gain = Finding(), bool(WANTED[kind])
    measured, intervals, differences = [], [], []
    for one, other in contrasts(kind, run.pairs, run.study):
        first, second = run.single(one), run.single(other)
        shared = first.index.intersection(second.index)
        differences.append(first[shared] - second[shared])
        difference = mean_over_clips(differences[-1])
        name = f"{run.label(one)} minus {run.label(other)}"
        measured.append(f"{name}: {points(difference)}")
        intervals.append(f"{name} {difference.ends(sign='+')}")
        if difference.side() == (-1 if is_gain else 1):
            finding.failures.append(f"{name} lies {'below' if is_gain else 'above'} 0")
    if differences and is_gain:
        mean = mean_over_clips(pd.concat(differences, axis=1).dropna().mean(axis=1))
        measured.insert(0, f"mean of {len(differences)}: {points(mean)}")
        intervals.insert(0, f"mean {mean.ends(sign='+')}")
        require_above(finding, mean, "the mean difference")
    shown = "; ".join(measured) or "no two models of this run differ so"
    finding.measured, finding.interval = f"mAP@10, {shown}", ", ".join(intervals)
    return finding


def ensemble_beats_single_models(run: Run) -> Finding:
    """The ensembles against the single model that is best on the same split (Table 2)."""
    keys = ["kind", "audio_model", "text_model", "seed"]
    trained = run.queries[
        run.queries["kind"].isin(["finetuned_gpt", "finetuned_human", "pretrained"])
    ]
    means = trained.groupby(keys, as_index=False)["map_at_10"].mean()
    if means.empty:
        return Finding("mAP@10: ")
    kind, audio, text, seed = (str(means.loc[means["map_at_10"].idxmax(), key]) for key in keys)
    best = run.scores(kind, (audio, text), seed=seed)
    finding = Finding(f"mAP@10: best single model {run.label((audio, text))} {best.mean():.2f}")
    intervals = []
    for name, chosen in ((ENSEMBLE, "as listed"), ("selected", "by validation")):
        ensemble = run.scores(f"ensemble_{name}", (name, ""))
        if ensemble.empty:
            continue
        difference = gain(ensemble, best)
        finding.measured += (
            f"; ensemble of members {chosen} {ensemble.mean():.2f} ({points(difference)})"
        )
        intervals.append(f"members {chosen} minus best single model {difference.ends(sign='+')}")
        if name == ENSEMBLE:
            require_above(finding, difference, "the difference in mAP@10 to the best single model")
    finding.interval = ", ".join(intervals)
    return finding


def no_other_ensemble_is_better(run: Run) -> Finding:
    """The ensemble among those with fewer and with more members (Section 3)."""
    table = run.subsets
    changed = (table["removed"] > 0) | (table["added"] > 0)
    own, others = table[~changed], table[changed]
    if own.empty or others.empty:
        none = "no other ensemble was scored"
        return Finding(none, obstacles=[none])
    better = int((others["difference"] > 0).sum())
    worse = int((others["difference_high"] < 0).sum())
    ahead = int((others["difference_low"] > 0).sum())
    best = others.iloc[int(others["difference"].argmax())]
    low, high = 100 * best["difference_low"], 100 * best["difference_high"]
    named = f"{int(best['added'])} more" if best["added"] else f"{int(best['removed'])} fewer"
    finding = Finding(
        f"mAP@10 {100 * own['map_at_10'].iloc[0]:.2f}, in place {own['place'].iloc[0]} of "
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
    if stated.single:
        pair = best_pair(run.pairs, run.study)
        ours, name = run.single(pair, stated.metric), run.label(pair)
    else:
        ours = run.scores(f"ensemble_{ENSEMBLE}", (ENSEMBLE, ""), of=stated.metric)
        name = "the ensemble"
    rows = run.published
    theirs = rows.loc[rows["source"] == stated.source, stated.metric]
    metric = METRICS[stated.metric]
    if ours.empty or theirs.empty or pd.isna(theirs.iloc[0]):
        return Finding(f"{metric} of {name} not scored")
    if run.study.sources.get("clotho") == "synthesised":  # meets no number of other recordings
        return Finding(f"{metric} of {name} {ours.mean():.2f}, compared with nothing")
    difference = mean_over_clips(ours - theirs.iloc[0])
    finding = Finding(
        f"{metric} of {name} {ours.mean():.2f}, of {stated.whose} {theirs.iloc[0]:.2f}: "
        f"{points(difference)}, stated {stated.points:+.1f}",
        f"{name} minus {stated.whose} {difference.ends(sign='+')}",
    )
    require_above(finding, difference, "the difference")
    if not difference.high >= stated.points:
        finding.failures.append(f"it ends below the stated {stated.points:+.1f} points")
    return finding


def statistics_hold(run: Run, dataset: str, stated: Sequence[Stated]) -> Finding:
    """Numbers of a data set's lists against those that the report states (Section 2.4)."""
    failures, measured = [], []
    for statement in stated:
        value = run.lists.get(dataset, {}).get(statement.key)
        if value is None:
            continue
        shown = f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"
        text = f"{statement.what} {shown}, stated {statement.printed}"
        measured.append(text)
        if not statement.low <= value <= statement.high:
            failures.append(text)
    nothing = f"no list of {label(DATASET_LABELS, dataset)}"
    return Finding("; ".join(measured) or nothing, "", failures)
