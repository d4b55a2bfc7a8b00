"""Comparisons of the audio report's systems on the same queries, so that each difference is
paired by query and has an interval over clips, each with all its captions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from triptych.audio.report.claims_facts import (
    BEST,
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


def ends(interval: Interval) -> str:
    """The interval of a difference as a person writes it."""
    return interval.ends(sign="+")


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
        finding.add(f"leaks kept out of training: {run.exclude}")
        if finding.interval:
            noise = "over recordings; how much another training would differ is not in it"
            finding.interval += f" ({noise})"
        return finding

    return judged


def best_single_model(run: Run) -> Finding:
    """All pairs by mAP@10 (Table 2); where the report's ten are there, others decide nothing."""
    finding = Finding(heading="mAP@10, best first: ")
    every = sorted(run.pairs, key=lambda pair: -run.single(pair).mean())
    for pair in every:
        finding.add(f"{run.label(pair)} {run.single(pair).mean():.2f}")
    ranked = ranked_pairs(every, run.study)
    if ranked and run.study.pairs[ranked[0]].published != BEST:
        ours = [pair for pair in ranked if run.study.pairs[pair].published == BEST]
        leads = [gain(run.single(ranked[0]), run.single(pair)).side() for pair in ours]
        is_best = f"{run.label(ranked[0])} is best"
        finding.require(0 if leads[:1] == [0] else -1, is_best, is_best)
    if len(ranked) > 1:
        best, second = ranked[:2]
        lead = gain(run.single(best), run.single(second))
        chance = ", which holds 0: their order may be chance" if lead.low <= 0 else ""
        leads_by = f"{run.label(best)} leads {run.label(second)} by {points(lead)}"
        finding.interval = f"{leads_by} {ends(lead)}{chance}"
    return finding


TRAININGS = {
    "finetuned_gpt": "new captions",
    "finetuned_human": "human captions",
    "pretrained": "pretrained only",
}


def main_pair_gains(run: Run, better: str, worse: str) -> Finding:
    """The main pair after one kind of training minus after another (Section 3)."""
    label, shown = run.label(run.study.main), []
    first, second = (run.runs(kind, run.study.main) for kind in (better, worse))
    if first.empty or second.empty:
        return Finding(f"{label}, mAP@10 not scored")
    for kind, runs in ((better, first), (worse, second)):
        means = ", ".join(f"{mean:.2f}" for mean in runs.mean())
        means = f" (runs {means})" if len(runs.columns) > 1 else ""
        shown.append(f"{TRAININGS[kind]} {runs.mean(axis=1).mean():.2f}{means}")
    difference = gain(first.mean(axis=1), second.mean(axis=1))
    finding = Finding(
        f"{label}, mAP@10: {', '.join(shown)}, difference {points(difference)}",
        f"{TRAININGS[better]} minus {TRAININGS[worse]} {ends(difference)}",
    )
    require_above(finding, difference, "the difference in mAP@10")
    return finding


def gpt_captions_help(run: Run) -> Finding:
    """New captions against human ones, by mAP@10 and validation loss (Section 3, Figure 2)."""
    finding = main_pair_gains(run, "finetuned_gpt", "finetuned_human")
    last, lowest = run.losses("last"), run.losses("min")
    for name, losses in (("after the last epoch", last), ("at its lowest", lowest)):
        means = [f"{text} {losses[kind].mean():.4f}" for kind, text in CAPTION_LABELS.items()]
        finding.add(f"validation loss {name}, mean over runs: {', '.join(means)}")
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
    finding, is_gain = Finding(heading="mAP@10, "), bool(WANTED[kind])
    differences = {
        f"{run.label(one)} minus {run.label(other)}": run.single(one) - run.single(other)
        for one, other in contrasts(kind, run.pairs, run.study)
    }
    if not differences:
        finding.add("no two models of this run differ so")
    elif is_gain:
        mean = mean_over_clips(pd.DataFrame(differences).dropna().mean(axis=1))
        finding.add(f"mean of {len(differences)}: {points(mean)}", f"mean {ends(mean)}")
        require_above(finding, mean, "the mean difference")
    for name, difference in differences.items():
        interval = mean_over_clips(difference.dropna())
        finding.add(f"{name}: {points(interval)}", f"{name} {ends(interval)}")
        if interval.side() == (-1 if is_gain else 1):
            finding.failures.append(f"{name} lies {'below' if is_gain else 'above'} 0")
    return finding


def ensemble_beats_single_models(run: Run) -> Finding:
    """The ensembles against the single model that is best on the same split (Table 2)."""
    finding, table = Finding(heading="mAP@10: "), run.measured["map_at_10"]
    models = run.systems[run.systems["kind"].isin(TRAININGS)]
    if models.empty:
        return finding
    systems = [*models.itertuples(index=False, name=None)]
    kind, audio, text, seed = max(systems, key=lambda system: table[system].mean())
    best = table[kind, audio, text, seed]
    finding.add(f"best single model {run.label((audio, text))} {best.mean():.2f}")
    for name, chosen in (("published", "as listed"), ("selected", "by validation")):
        ensemble = run.ensemble(name)
        if ensemble.empty:
            continue
        difference = gain(ensemble, best)
        finding.add(
            f"ensemble of members {chosen} {ensemble.mean():.2f} ({points(difference)})",
            f"members {chosen} minus best single model {ends(difference)}",
        )
        if name == "published":
            require_above(finding, difference, "the difference in mAP@10 to the best single model")
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
        f"{name} minus {stated.whose} {ends(difference)}",
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
