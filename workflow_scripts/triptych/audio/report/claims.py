"""The audio report's claims on models, each fixed before the run that it judges; `CLAIMS` has all.

Systems are compared on the same queries, so that each difference is paired by query and has an
interval over clips, each with all its captions.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps

import pandas as pd

from triptych.audio.report import claims_data
from triptych.audio.report.claims_data import DATASETS, PRINTED, is_written
from triptych.audio.report.claims_needs import (
    BEST,
    ENSEMBLE,
    PAPER_CONTRASTS,
    Planned,
    Tables,
    beside_others,
    best_pair,
    contrasts,
    has_both_captions,
    has_ensemble,
    has_pretrained,
    of_best,
    of_contrasts,
    of_main,
    of_members,
    of_models,
    of_pairs,
    of_subsets,
    ranked_pairs,
)
from triptych.audio.report.rows import CAPTION_LABELS, METRICS, mean_over_clips
from triptych.report.claims import Claim, Finding, Need, all_of, claim
from triptych.report.statistics import Interval

MEMBERS = len(ENSEMBLE)
SUBSETS = 2**MEMBERS - 1
TRAININGS = {
    "finetuned_gpt": "new captions",
    "finetuned_human": "human captions",
    "pretrained": "pretrained only",
}
LATTER = (
    "the 95% interval of the mean of the four differences in mAP@10 lies above 0, and none of the "
    "four intervals lies below 0. Each model is trained once and intervals are over recordings: "
    "the verdict is of these trainings, and says of the family of encoders only what one training "
    "of each can."
)
OVER = (
    "the 95% interval (over clips) of the difference lies above 0 and does not end below the "
    "stated gain. The other's number is taken as printed, without an interval of its own."
)
RECALL_GAIN, BASELINE_GAIN, GAIN_2022 = (
    float(PRINTED[name].split()[0])
    for name in ("audio-recall-gain", "audio-baseline-gain", "audio-2022-gain")
)
"""Points by which the report says to be ahead. The abstract says 4.6 of the first; Table 2's
numbers differ by 4.67."""
MEI = ("r_at_1", "Mei et al. 2023 [9]")
BASELINE = ("map_at_10", "DCASE 2023 baseline [1]")
XU = ("map_at_10", "Xu et al. 2022 [3]")
"""Metric and row of others' numbers in resources/published/audio_table2.csv."""


def gain(first: pd.Series, second: pd.Series) -> Interval:
    """Mean difference of two systems' scores in percentage points, paired by query."""
    return mean_over_clips((first - second).dropna())


def points(interval: Interval) -> str:
    return f"{interval.estimate:+.2f} points"


def ends(interval: Interval) -> str:
    return interval.ends(sign="+")


def require_above(finding: Finding, interval: Interval, what: str) -> None:
    """Note where a difference is not above 0. what: the difference's name."""
    finding.require(
        interval.side(),
        f"the interval of {what} lies below 0",
        f"the interval of {what} holds 0",
    )


def on_models(
    name: str,
    *needs: Callable[[Planned], Iterable[Need]],
    written: bool = True,
    datasets: Sequence[str] = DATASETS,
) -> Callable[[Callable[[Tables], Finding]], Claim]:
    """A claim on trained models: also needs what each of these does, and its finding says which
    leaks were kept out of training (the report kept none out) and of what its intervals are.
    written, datasets: as `of_models` takes them."""

    def made(judge: Callable[[Tables], Finding]) -> Claim:
        @wraps(judge)
        def judged(tables: Tables) -> Finding:
            finding = judge(tables)
            finding.needs += tables.needs
            finding.add(f"leaks kept out of training: {tables.exclude}")
            if finding.interval:
                noise = "over recordings; how much another training would differ is not in it"
                finding.interval += f" ({noise})"
            return finding

        return claim(name, lambda plan: of_models(plan, needs, written, datasets))(judged)

    return made


@on_models("audio-best-single", of_pairs)
def best_single_model(tables: Tables) -> Finding:
    """Of the ten pairs of encoders in Table 2, fine-tuned with GPT captions, one run each, PaSST-N
    with roberta-large has the highest mAP@10 on the evaluation split. The interval of its lead over
    the next pair stands beside it: one that holds 0 says that the order of these two may be
    chance."""
    finding = Finding(heading="mAP@10, best first: ")
    every = sorted(tables.pairs, key=lambda pair: -tables.single(pair).mean())
    for pair in every:
        finding.add(f"{tables.label(pair)} {tables.single(pair).mean():.2f}")
    ranked = ranked_pairs(every, tables.study)
    if ranked and tables.study.pairs[ranked[0]].published not in BEST:
        ours = [pair for pair in ranked if tables.study.pairs[pair].published in BEST]
        leads = [gain(tables.single(ranked[0]), tables.single(pair)).side() for pair in ours]
        is_best = f"{tables.label(ranked[0])} is best"
        finding.require(0 if leads[:1] == [0] else -1, is_best, is_best)
    if len(ranked) > 1:
        best, second = ranked[:2]
        lead = gain(tables.single(best), tables.single(second))
        chance = ", which holds 0: their order may be chance" if lead.low <= 0 else ""
        leads_by = f"{tables.label(best)} leads {tables.label(second)} by {points(lead)}"
        finding.interval = f"{leads_by} {ends(lead)}{chance}"
    return finding


@on_models("audio-finetune-helps", of_main, has_pretrained, written=False)
def finetuning_helps(tables: Tables) -> Finding:
    """The main pair fine-tuned on Clotho with human captions minus the same pair pretrained only,
    mean over runs: the 95% interval (paired by query, over clips) of the difference in mAP@10 lies
    above 0."""
    return _main_pair_gains(tables, better="finetuned_human", worse="pretrained")


def _main_pair_gains(tables: Tables, better: str, worse: str) -> Finding:
    """The main pair after one kind of training minus after another (Section 3)."""
    label, shown = tables.label(tables.study.main), []
    first, second = (tables.runs(kind, tables.study.main) for kind in (better, worse))
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


@on_models(
    "audio-gpt-helps",
    lambda run: [is_written(run.study.backend)],
    of_main,
    has_both_captions,
)
def gpt_captions_help(tables: Tables) -> Finding:
    """The main pair fine-tuned with GPT captions minus with human captions, mean over all runs: the
    95% interval of the difference in mAP@10 lies above 0. And in each run, paired by seed, the
    validation loss after the last epoch is lower with GPT captions; the lowest losses are stated
    beside it."""
    finding = _main_pair_gains(tables, "finetuned_gpt", "finetuned_human")
    last, lowest = tables.losses("last"), tables.losses("min")
    for name, losses in (("after the last epoch", last), ("at its lowest", lowest)):
        means = [f"{text} {losses[kind].mean():.4f}" for kind, text in CAPTION_LABELS.items()]
        finding.add(f"validation loss {name}, mean over runs: {', '.join(means)}")
    both = last.dropna()
    if higher := int((both["gpt"] >= both["human"]).sum()):
        finding.failures.append(
            f"the last validation loss is not lower in {higher} of {len(both)} runs"
        )
    return finding


@on_models("audio-larger-text", lambda run: of_contrasts(run, "larger"))
def larger_text_is_better(tables: Tables) -> Finding:
    """The large minus the base sentence encoder of the same kind, for BERT and RoBERTa within
    PaSST-N and PaSST-S, fine-tuned with GPT captions: {LATTER}"""
    return _contrasts_gain(tables, "larger")


@on_models("audio-no-overlap", lambda run: of_contrasts(run, "overlap"))
def no_overlap_is_better(tables: Tables) -> Finding:
    """PaSST-N minus PaSST-S with each of the four sentence encoders, fine-tuned with GPT captions:
    {LATTER}"""
    return _contrasts_gain(tables, "overlap")


def _contrasts_gain(tables: Tables, kind: str) -> Finding:
    """Differences of the report's comparisons of a kind (Section 3): above 0 in the mean, and
    nowhere clearly below. Where the report says that nothing is gained (Section 2.3, twins): not
    clearly above."""
    finding, is_gain = Finding(heading="mAP@10, "), bool(PAPER_CONTRASTS[kind])
    differences = {
        f"{tables.label(one)} minus {tables.label(other)}": tables.single(one)
        - tables.single(other)
        for one, other in contrasts(kind, tables.pairs, tables.study)
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


@on_models("audio-ensemble", of_members, has_ensemble)
def ensemble_beats_single_models(tables: Tables) -> Finding:
    """The mean of the similarity matrices of the {MEMBERS} published members minus the single
    model that is best on the same split: the 95% interval of the difference in mAP@10 lies above 0.
    Each member is trained once."""
    finding, table = Finding(heading="mAP@10: "), tables.measured["map_at_10"]
    models = tables.systems[tables.systems["kind"].isin(TRAININGS)]
    if models.empty:
        return finding
    systems = [*models.itertuples(index=False, name=None)]
    kind, audio, text, seed = max(systems, key=lambda system: table[system].mean())
    best = table[kind, audio, text, seed]
    finding.add(f"best single model {tables.label((audio, text))} {best.mean():.2f}")
    for name, chosen in (("published", "as listed"), ("selected", "by validation")):
        ensemble = tables.ensemble(name)
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


@on_models("audio-ensemble-members", of_members, of_subsets)
def no_other_ensemble_is_better(tables: Tables) -> Finding:
    """Of all {SUBSETS} non-empty subsets of the {MEMBERS} published members and of the
    members with each set of other pairs of the run added, fine-tuned with GPT captions, the
    published ensemble has the highest mAP@10 on the evaluation split. Beside it stands how many
    others are worse and better beyond chance, by intervals of their differences that hold all at
    once in 95% (the bootstrap's largest deviation over clips): the best of so many is expected to
    be ahead by chance alone."""
    table = tables.subsets
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


@on_models("audio-recall-gain", of_best, beside_others)
def recall_is_higher(tables: Tables) -> Finding:
    """PaSST-N with roberta-large, fine-tuned with GPT captions, one run, minus the published R@1 of
    Mei et al. 2023: {OVER}"""
    pair = best_pair(tables.pairs, tables.study)
    ours = tables.single(pair, MEI[0])
    whose = "the state of the art before it"
    return _gain_over(tables, ours, tables.label(pair), MEI, whose, RECALL_GAIN)


@on_models("audio-baseline-gain", of_members, has_ensemble, beside_others)
def ensemble_beats_the_baseline(tables: Tables) -> Finding:
    """The ensemble of the {MEMBERS} published members minus the published mAP@10 of the
    challenge's baseline: {OVER}"""
    return _ensemble_gain(tables, BASELINE, "the challenge's baseline", BASELINE_GAIN)


@on_models("audio-2022-gain", of_members, has_ensemble, beside_others)
def ensemble_beats_2022(tables: Tables) -> Finding:
    """The ensemble of the {MEMBERS} published members minus the published mAP@10 of the best
    submission of 2022: {OVER}"""
    return _ensemble_gain(tables, XU, "the best submission of 2022", GAIN_2022)


def _ensemble_gain(tables: Tables, theirs: tuple[str, str], whose: str, stated: float) -> Finding:
    ours = tables.ensemble("published", theirs[0])
    return _gain_over(tables, ours, "the ensemble", theirs, whose, stated)


def _gain_over(
    tables: Tables,
    ours: pd.Series,
    name: str,
    theirs: tuple[str, str],
    whose: str,
    stated: float,
) -> Finding:
    """A system against a number of somebody else's (abstract, Section 3). theirs: metric and row.
    stated: points by which the report is ahead."""
    of, source = theirs
    printed = tables.published.set_index("source")[of].dropna()
    needs = [all_of("the number of others", printed.index, [source])]
    metric = f"{METRICS[of]} of {name}"
    if ours.empty or source not in printed:
        return Finding(f"{metric} not scored", needs=needs)
    if tables.study.synthesised:  # meets no number of other recordings
        return Finding(f"{metric} {ours.mean():.2f}, compared with nothing", needs=needs)
    number = float(printed[source])
    difference = mean_over_clips(ours - number)
    finding = Finding(
        f"{metric} {ours.mean():.2f}, of {whose} {number:.2f}: "
        f"{points(difference)}, stated {stated:+.1f}",
        f"{name} minus {whose} {ends(difference)}",
        needs=needs,
    )
    require_above(finding, difference, "the difference")
    if not difference.high >= stated:
        finding.failures.append(f"it ends below the stated {stated:+.1f} points")
    return finding


@on_models("audio-linear-projection", lambda run: of_contrasts(run, "twin"), datasets=["clotho"])
def linear_projections_do(tables: Tables) -> Finding:
    """A pair whose projections have a hidden layer (audio_models: projection_hidden) minus the same
    pair with linear ones, both fine-tuned with GPT captions from the first seed: the 95% interval
    of the difference in mAP@10 does not lie above 0. A wide interval says little, so it is shown.
    Each is trained once and the interval is over recordings: it holds no noise between trainings.
    What the report's initial experiments were trained on isn't said: Clotho alone is enough."""
    return _contrasts_gain(tables, "twin")


CLAIMS = (
    best_single_model,
    finetuning_helps,
    gpt_captions_help,
    larger_text_is_better,
    no_overlap_is_better,
    ensemble_beats_single_models,
    no_other_ensemble_is_better,
    recall_is_higher,
    ensemble_beats_the_baseline,
    ensemble_beats_2022,
    linear_projections_do,
    *claims_data.CLAIMS,
)
"""In the order of resources/published/audio_claims.csv."""
