"""Claims that set the report's models against numbers of others, other ensembles, another head."""

import pandas as pd

from triptych.audio.report.claims import (
    BEST,
    GAINS,
    PAPER_ENSEMBLE,
    AudioScores,
    Gain,
    gain,
    points,
)
from triptych.audio.report.rows import METRICS, PAPER_MEMBERS
from triptych.audio.report.tables_leaks import mean_over_clips
from triptych.report.verdicts import Verdict, decide

PUBLISHED_ENSEMBLE = "published"


def ensemble_obstacles(run: AudioScores) -> list[str]:
    """Why the ensemble that was scored isn't the report's."""
    members = run.ensembles[run.ensembles["name"] == PUBLISHED_ENSEMBLE]
    used = {
        pair for pair in run.pairs() if any(_is_of(m, pair) for m in members["member"].astype(str))
    }
    found = run.model_obstacles(sorted(used))
    if len(members) != PAPER_MEMBERS:
        found.append(f"the ensemble has {len(members)} members, the report's {PAPER_MEMBERS}")
    elif {run.published(pair) for pair in used} != set(PAPER_ENSEMBLE):
        found.append("the ensemble's members are not the report's")
    return found


def _is_of(member: str, pair: tuple[str, str]) -> bool:
    """Whether a member's run label (pair/corpus/stage/...) is of this pair, fine-tuned."""
    name, _, stage = member.split("/")[:3]
    return name == "-".join(pair) and stage == "finetuned"


def gain_over_published(run: AudioScores, claim: str) -> Verdict:
    """One of GAINS (abstract, Section 3): see CRITERIA."""
    stated = GAINS[claim]
    obstacles = run.data_obstacles + run.captions_obstacles() + run.other_split()
    if stated.single:
        pair = next((each for each in run.pairs() if run.published(each) == BEST), run.study.main)
        ours, name = run.single(pair, stated.metric), run.label(pair)
        other = run.model_obstacles([pair])
        if not other and run.published(pair) != BEST:
            other.append(f"the pair is {name}, not PaSST-N with roberta-large")
        obstacles += other
    else:
        kind = f"ensemble_{PUBLISHED_ENSEMBLE}"
        ours = run.precision(kind, (PUBLISHED_ENSEMBLE, ""), of=stated.metric)
        name = "the ensemble"
        obstacles += ensemble_obstacles(run)
    theirs = run.printed(stated.source, stated.metric)
    metric = METRICS[stated.metric]
    measured, interval, failures = f"{metric} of {name} not scored", "", []
    if ours.empty:
        obstacles.append(f"{name} was not scored with new captions")
    elif run.other_split():  # no number of other recordings meets a published one
        measured = f"{metric} of {name} {ours.mean():.2f}, compared with nothing"
    elif pd.isna(theirs):
        obstacles.append(f"Table 2 as published has no {metric} of {stated.whose}")
    else:
        difference = mean_over_clips(ours - theirs)
        measured = (
            f"{metric} of {name} {ours.mean():.2f}, of {stated.whose} {theirs:.2f}: "
            f"{points(difference)}, stated {stated.points:+.1f}"
        )
        interval = f"{name} minus {stated.whose} {difference.ends(sign='+')}"
        failures = _short_of(stated, difference.low, difference.high)
    return decide(
        claim,
        obstacles=obstacles,
        failures=failures,
        measured=measured,
        interval=interval,
        other_data=run.other_data() + run.data.other_captions(),
    )


def _short_of(stated: Gain, low: float, high: float) -> list[str]:
    found = []
    if not low > 0:
        found.append("the interval of the difference does not lie above 0")
    if not high >= stated.points:
        found.append(f"it ends below the stated {stated.points:+.1f} points")
    return found


def no_other_ensemble_is_better(run: AudioScores) -> Verdict:
    """audio-ensemble-members (Section 3): see CRITERIA."""
    table = run.subsets
    obstacles = run.data_obstacles + run.captions_obstacles() + ensemble_obstacles(run)
    changed = (table["removed"] > 0) | (table["added"] > 0)
    own, others = table[~changed], table[changed]
    fewer = int((others["removed"] > 0).sum())
    wanted = 2**PAPER_MEMBERS - 2
    if fewer != wanted:
        obstacles.append(f"{fewer} of {wanted} ensembles of fewer members were scored")
    if not (others["added"] > 0).any():
        obstacles.append("no ensemble of more members was scored")
    if own.empty or others.empty:
        obstacles = obstacles or ["no other ensemble was scored"]
        return decide(
            "audio-ensemble-members",
            obstacles=obstacles,
            failures=[],
            measured="no other ensemble was scored",
            interval="",
        )
    better = int((others["difference"] > 0).sum())
    best = others.iloc[int(others["difference"].argmax())]
    surely = {
        word: int(chosen.sum())
        for word, chosen in (
            ("worse", others["difference_high"] < 0),
            ("better", others["difference_low"] > 0),
        )
    }
    failures = [] if not better else [f"{better} of {len(others)} other ensembles are better"]
    low, high = 100 * best["difference_low"], 100 * best["difference_high"]
    return decide(
        "audio-ensemble-members",
        obstacles=obstacles,
        failures=failures,
        measured=(
            f"mAP@10 {100 * own['map_at_10'].iloc[0]:.2f}, in place {own['place'].iloc[0]} of "
            f"{len(table)}; beyond chance {surely['worse']} of {len(others)} others are worse and "
            f"{surely['better']} better (simultaneous 95% intervals)"
        ),
        interval=(
            f"best other ({named_set(best)}) minus this one "
            f"{100 * best['difference']:+.2f} points [{low:+.2f}, {high:+.2f}], simultaneous"
        ),
        other_data=run.other_data() + run.data.other_captions(),
    )


def named_set(row: pd.Series) -> str:
    """How a set of models differs from the published ensemble, in words."""
    if row["added"]:
        return f"{int(row['added'])} more"
    return f"{int(row['removed'])} fewer" if row["removed"] else "as listed"


def nonlinear_projection_does_not_help(run: AudioScores) -> Verdict:
    """audio-linear-projection (Section 2.3): see CRITERIA."""
    twins = [
        (one, other)
        for one in run.pairs()
        for other in run.pairs()
        if run.hidden(one) and not run.hidden(other) and run.weights(one) == run.weights(other)
    ]
    obstacles = run.data_obstacles + run.captions_obstacles()
    obstacles += run.model_obstacles([pair for both in twins for pair in both])
    if not twins:
        obstacles.append(
            "no pair was run with a non-linear projection beside the same with a linear one "
            "(config/projection.yaml has such a pair)"
        )
    failures, measured, intervals = [], [], []
    for one, other in twins:
        difference = gain(run.single(one), run.single(other))
        name = f"{run.label(one)} minus {run.label(other)}"
        measured.append(f"{name}: {points(difference)}")
        intervals.append(f"{name} {difference.ends(sign='+')}")
        if difference.low > 0:
            failures.append(f"{name} lies above 0")
    return decide(
        "audio-linear-projection",
        obstacles=obstacles,
        failures=failures,
        measured="mAP@10, " + ("; ".join(measured) or "no two models of this run differ so"),
        interval=", ".join(intervals),
        other_data=run.other_data(["clotho"]) + run.data.other_captions(),
    )
