"""The verdicts on the audio report's claims; the criteria stand in `claims_audio.CRITERIA`."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from triptych.audio.report.claims import (
    BEST,
    GAINS,
    PAPER_AUDIO,
    PAPER_PAIRS,
    PAPER_RUNS,
    AudioScores,
    gain,
    points,
)
from triptych.audio.report.claims_published import (
    ensemble_obstacles,
    gain_over_published,
    no_other_ensemble_is_better,
    nonlinear_projection_does_not_help,
)
from triptych.audio.report.claims_statistics import STATED, statistics_hold
from triptych.audio.report.labels import CAPTION_LABELS
from triptych.audio.report.tables_leaks import mean_over_clips
from triptych.report.palette import label
from triptych.report.verdicts import Verdict, decide


def best_single_model(run: AudioScores) -> Verdict:
    """audio-best-single (Table 2): see CRITERIA."""
    every = sorted(run.pairs(), key=lambda pair: -run.single(pair).mean())
    missing = set(PAPER_PAIRS) - {run.published(pair) for pair in every}
    # Where the report's ten are there, other pairs are shown and decide nothing.
    ranked = [pair for pair in every if missing or run.published(pair) in PAPER_PAIRS]
    obstacles = run.data_obstacles + run.captions_obstacles() + run.model_obstacles(ranked)
    if missing:
        there = len(PAPER_PAIRS) - len(missing)
        obstacles.append(f"{there} of the {len(PAPER_PAIRS)} pairs of Table 2 were run")
    failures, interval = [], ""
    if ranked and run.published(ranked[0]) != BEST:
        failures.append(f"{run.label(ranked[0])} is best")
    if len(ranked) > 1:
        lead = gain(run.single(ranked[0]), run.single(ranked[1]))
        chance = ", which holds 0: their order may be chance" if lead.low <= 0 else ""
        interval = (
            f"{run.label(ranked[0])} leads {run.label(ranked[1])} by {points(lead)} "
            f"{lead.ends(sign='+')}{chance}"
        )
    return decide(
        "audio-best-single",
        obstacles=obstacles,
        failures=failures,
        measured="mAP@10, best first: "
        + "; ".join(f"{run.label(pair)} {run.single(pair).mean():.2f}" for pair in every),
        interval=interval,
        other_data=run.other_data() + run.data.other_captions(),
    )


def finetuning_helps(run: AudioScores) -> Verdict:
    """audio-finetune-helps (Section 3): see CRITERIA."""
    obstacles = run.data_obstacles + _main_pair_obstacles(run, ["human"])
    return _main_pair_gain(
        run, "audio-finetune-helps", "finetuned_human", "pretrained", obstacles, [], []
    )


def gpt_captions_help(run: AudioScores) -> Verdict:
    """audio-gpt-helps (Section 3, Figure 2): see CRITERIA."""
    obstacles = run.data_obstacles + run.captions_obstacles()
    obstacles += _main_pair_obstacles(run, ["human", "gpt"])
    lowest, final = _losses(run, "min"), _losses(run, "last")
    failures, measured = [], []
    for name, losses in (("after the last epoch", final), ("at its lowest", lowest)):
        parts = (
            f"{name_of} {losses[captions].mean():.4f}"
            for captions, name_of in CAPTION_LABELS.items()
            if captions in losses
        )
        measured.append(f"validation loss {name}, mean over runs: {', '.join(parts)}")
    both = final.dropna() if {"human", "gpt"} <= set(final) else final.iloc[:0]
    if len(both) < PAPER_RUNS:
        obstacles.append(f"{len(both)} of {PAPER_RUNS} runs were made with both kinds of captions")
    else:
        higher = both[~(both["gpt"] < both["human"])]
        if len(higher):
            failures.append(
                f"the last validation loss is not lower in {len(higher)} of {len(both)} runs"
            )
    return _main_pair_gain(
        run,
        "audio-gpt-helps",
        "finetuned_gpt",
        "finetuned_human",
        obstacles,
        failures,
        measured,
    )


def _losses(run: AudioScores, which: str) -> pd.DataFrame:
    """The lowest (`min`) or last validation loss of the main pair: a row a seed, a column a kind
    of captions."""
    rows = run.history
    audio, text = run.study.main
    chosen = (rows["stage"] == "finetuned") & (rows["audio_model"] == audio)
    ours = rows[chosen & (rows["text_model"] == text)].sort_values("epoch")
    losses = ours.groupby(["seed", "captions"])["validation_loss"].agg(which)
    return losses.unstack("captions")


def _main_pair_obstacles(run: AudioScores, captions: Sequence[str]) -> list[str]:
    """Why the main pair is not the report's, or was run too seldom with some kind of captions."""
    main = run.study.main
    found = run.model_obstacles([main])
    if not found and run.published(main) != BEST:
        found.append(f"the main pair is {run.label(main)}, not PaSST-N with roberta-large")
    for kind in captions:
        runs = len(run.run_means(f"finetuned_{kind}", main))
        if runs < PAPER_RUNS:
            name = label(CAPTION_LABELS, kind)
            found.append(f"{runs} of {PAPER_RUNS} runs were made with {name}")
    return found


def _main_pair_gain(
    run: AudioScores,
    claim: str,
    better: str,
    worse: str,
    obstacles: list[str],
    failures: list[str],
    measured: list[str],
) -> Verdict:
    main = run.study.main
    first, second = run.precision(better, main), run.precision(worse, main)
    names = {"finetuned_gpt": "new captions", "finetuned_human": "human captions"}
    kinds = [names.get(kind, "pretrained only") for kind in (better, worse)]
    interval, values = "", "mAP@10 not scored"
    if first.empty or second.empty:
        obstacles = [*obstacles, f"the main pair was not scored with {kinds[0]} and {kinds[1]}"]
    else:
        difference = gain(first, second)
        each = (
            f"{name} {precision.mean():.2f}{_runs(run.run_means(kind, main))}"
            for name, precision, kind in zip(kinds, (first, second), (better, worse), strict=True)
        )
        values = f"mAP@10: {', '.join(each)}, difference {points(difference)}"
        interval = f"{kinds[0]} minus {kinds[1]} {difference.ends(sign='+')}"
        if not difference.low > 0:
            interval_word = "lies below 0" if difference.high < 0 else "holds 0"
            failures = [f"the interval of the difference in mAP@10 {interval_word}", *failures]
    return decide(
        claim,
        obstacles=obstacles,
        failures=failures,
        measured="; ".join([f"{run.label(main)}, {values}", *measured]),
        interval=interval,
        other_data=run.other_data()
        + (run.data.other_captions() if better == "finetuned_gpt" else []),
    )


def _runs(means: Sequence[float]) -> str:
    """What single runs gave, where there are several: the interval knows nothing of seeds."""
    return f" (runs {', '.join(f'{mean:.2f}' for mean in means)})" if len(means) > 1 else ""


def larger_sentence_encoders_help(run: AudioScores) -> Verdict:
    """audio-larger-text (Section 3): see CRITERIA."""
    pairs = run.pairs()
    contrasts = []
    for audio in dict.fromkeys(pair[0] for pair in pairs):
        texts = [pair[1] for pair in pairs if pair[0] == audio]
        for small in texts:
            for large in texts:
                one, other = run.study.text[small], run.study.text[large]
                if one.kind == other.kind and one.weights < other.weights:
                    contrasts.append(((audio, large), (audio, small)))
    wanted = [
        ((audio, f"{kind}_large"), (audio, f"{kind}_base"))
        for audio in PAPER_AUDIO[:2]
        for kind in ("bert", "roberta")
    ]
    return _contrasts(run, "audio-larger-text", contrasts, wanted)


def no_overlap_helps(run: AudioScores) -> Verdict:
    """audio-no-overlap (Section 3): see CRITERIA."""
    pairs = run.pairs()
    audio = run.study.audio
    contrasts = [
        (one, other)
        for one in pairs
        for other in pairs
        if one[1] == other[1]
        and audio[one[0]].overlap is False
        and audio[other[0]].overlap
        and audio[one[0]].segment_seconds == audio[other[0]].segment_seconds
    ]
    texts = ("bert_base", "roberta_base", "bert_large", "roberta_large")
    wanted = [((PAPER_AUDIO[0], text), (PAPER_AUDIO[1], text)) for text in texts]
    return _contrasts(run, "audio-no-overlap", contrasts, wanted)


Contrast = tuple[tuple[str, str], tuple[str, str]]
"""Two pairs of models, the one that should be better first."""


def _contrasts(
    run: AudioScores, claim: str, contrasts: Sequence[Contrast], wanted: Sequence[Contrast]
) -> Verdict:
    """Differences that should be above 0 in the mean; those of the paper decide where they are
    there, and all are shown. wanted: by their published weights."""
    by_weights = {
        (run.published(one), run.published(other)): (one, other) for one, other in contrasts
    }
    missing = [weights for weights in wanted if weights not in by_weights]
    used = [pair for weights in wanted if weights in by_weights for pair in by_weights[weights]]
    obstacles = run.data_obstacles + run.captions_obstacles()
    compared = [pair for both in contrasts for pair in both] if missing else used
    obstacles += run.model_obstacles(compared)
    if missing:
        there = len(wanted) - len(missing)
        obstacles.append(f"{there} of the {len(wanted)} comparisons of the report were run")
    decisive = list(contrasts) if missing else [by_weights[weights] for weights in wanted]
    failures, measured, intervals, differences = [], [], [], []
    for one, other in decisive:
        first, second = run.single(one), run.single(other)
        shared = first.index.intersection(second.index)
        differences.append(first[shared] - second[shared])
        difference = mean_over_clips(differences[-1])
        name = f"{run.label(one)} minus {run.label(other)}"
        measured.append(f"{name}: {points(difference)}")
        intervals.append(f"{name} {difference.ends(sign='+')}")
        if difference.high < 0:
            failures.append(f"{name} lies below 0")
    if differences:
        mean = mean_over_clips(pd.concat(differences, axis=1).dropna().mean(axis=1))
        measured.insert(0, f"mean of {len(differences)}: {points(mean)}")
        intervals.insert(0, f"mean {mean.ends(sign='+')}")
        if not mean.low > 0:
            failures.insert(0, "the interval of the mean difference does not lie above 0")
    return decide(
        claim,
        obstacles=obstacles,
        failures=failures,
        measured="mAP@10, " + ("; ".join(measured) or "no two models of this run differ so"),
        interval=", ".join(intervals),
        other_data=run.other_data() + run.data.other_captions(),
    )


def ensemble_beats_single_models(run: AudioScores) -> Verdict:
    """audio-ensemble (Table 2): see CRITERIA."""
    rows = run.queries[run.queries["system"] == "model"]
    trained = rows[rows["kind"].isin(["finetuned_gpt", "finetuned_human", "pretrained"])]
    keys = ["kind", "audio_model", "text_model", "seed"]
    means = trained.groupby(keys, as_index=False)["precision"].mean()
    obstacles = run.data_obstacles + run.captions_obstacles() + ensemble_obstacles(run)
    failures, measured, intervals = [], [], []
    best = pd.Series(dtype=float)
    if len(means):
        top = means.iloc[int(means["precision"].argmax())]
        kind, audio, text, seed = (str(top[key]) for key in keys)
        best = run.precision(kind, (audio, text), seed=seed)
        measured.append(f"best single model {run.label((audio, text))} {best.mean():.2f}")
    for name, chosen in (("published", "as listed"), ("selected", "by validation")):
        ensemble = run.precision(f"ensemble_{name}", (name, ""))
        if ensemble.empty or best.empty:
            if name == "published":
                obstacles.append("the ensemble was not scored query by query")
            continue
        difference = gain(ensemble, best)
        measured.append(
            f"ensemble of members {chosen} {ensemble.mean():.2f} ({points(difference)})"
        )
        intervals.append(f"members {chosen} minus best single model {difference.ends(sign='+')}")
        if name == "published" and not difference.low > 0:
            failures.append(
                "the interval of the difference in mAP@10 to the best single model does not lie "
                "above 0"
            )
    return decide(
        "audio-ensemble",
        obstacles=obstacles,
        failures=failures,
        measured="mAP@10: " + "; ".join(measured),
        interval=", ".join(intervals),
        other_data=run.other_data() + run.data.other_captions(),
    )


def audio_verdicts(run: AudioScores) -> list[Verdict]:
    """All claims of the study, in the order of resources/published/audio_claims.csv, each with what
    was done about leaks, in which this project may part from the report."""
    found = [
        best_single_model(run),
        finetuning_helps(run),
        gpt_captions_help(run),
        larger_sentence_encoders_help(run),
        no_overlap_helps(run),
        ensemble_beats_single_models(run),
        no_other_ensemble_is_better(run),
        *(gain_over_published(run, claim) for claim in GAINS),
        nonlinear_projection_does_not_help(run),
    ]
    leaks = f"leaks kept out of training: {run.data.exclude}"
    trained = [replace(verdict, measured=f"{verdict.measured}; {leaks}") for verdict in found]
    return trained + [statistics_hold(claim, run.statistics) for claim in STATED]
