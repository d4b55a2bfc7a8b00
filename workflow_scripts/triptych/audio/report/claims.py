"""The claims of the audio-retrieval report, each fixed before the run that it judges."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from triptych.audio.data_sizes import COUNTED
from triptych.audio.report.claims_data import DATASETS, LISTED, NEW_CAPTIONS, PAPER_MODEL
from triptych.audio.report.claims_facts import BEST, PAPER_PAIRS, WANTED, Run, contrast_name
from triptych.audio.report.claims_scores import (
    Gain,
    Stated,
    best_single_model,
    contrasts_gain,
    ensemble_beats_single_models,
    gain_over_published,
    gpt_captions_help,
    main_pair_gains,
    no_other_ensemble_is_better,
    statistics_hold,
    with_leaks,
)
from triptych.audio.report.rows import DATASET_LABELS, PAPER_MEMBERS
from triptych.report.claims import (
    ENOUGH_DATA,
    AllOf,
    AtLeast,
    AtMost,
    Claim,
    Finding,
    IsTrue,
    Need,
    OneOf,
)

PAPER_RUNS = 3
PAPER_EPOCHS = {"pretrained": 15, "finetuned": 5}
ENSEMBLE = [pair for pair in PAPER_PAIRS if pair not in PAPER_PAIRS[2:4]]
"""The published members: all pairs but those of PaSST-S with a base encoder."""

_NEEDS = (
    OneOf("policy", "all leaks as in the report or none (strict)", ("none", "strict")),
    AtMost("leaked", "no leak in training where leaks are kept out", 0),
    OneOf("precision", "a stated precision", ("float32", "tf32", "fp16", "bf16")),
    AtMost("unscored clips", "every system scored on the whole evaluation split", 0),
    AtMost("unscored queries", "every system scored by all its captions", 0),
    *(AtLeast(f"{stage} epochs", f"models that were {stage}", 1) for stage in PAPER_EPOCHS),
)
_LANGUAGE_MODEL = IsTrue("written", "new captions by a language model, not by a template")
_WRITTEN = (
    replace(_LANGUAGE_MODEL, substitute="captions by a template"),
    AtLeast(
        "new captions",
        "nine tenths of the new captions",
        ENOUGH_DATA * NEW_CAPTIONS,
        substitute="fewer new captions",
    ),
    OneOf(
        "writer",
        f"new captions by {PAPER_MODEL}",
        (PAPER_MODEL,),
        substitute="captions by another model",
    ),
)


def _data(datasets: Sequence[str] = DATASETS) -> tuple[Need, ...]:
    """That the recordings are the report's."""
    needs, sounds, fewer = [], "other recordings", "fewer recordings"
    for name in datasets:
        title, share = DATASET_LABELS[name], f"nine tenths of {DATASET_LABELS[name]}"
        published = OneOf(f"{name} source", f"{title} as published", ("published",))
        needs += [
            replace(published, substitute=sounds),
            AtLeast(f"{name} recordings", share, ENOUGH_DATA, substitute=fewer),
            AtLeast(f"{name} captions", f"{share}'s captions", ENOUGH_DATA, substitute=fewer),
        ]
    for stage, epochs in PAPER_EPOCHS.items():
        what = f"{epochs} epochs for models {stage}"
        needs.append(AtLeast(f"{stage} epochs", what, epochs, substitute="fewer epochs"))
    return tuple(needs)


def _published(fact: str) -> Need:
    what = "encoders with their published weights and cuts"
    return AtMost(f"{fact} models", what, 0, substitute="other encoders")


def _names(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [" ".join(pair) for pair in pairs]


def _claim(name: str, rule: str, judge: Callable[[Run], Finding], *needs: Need) -> Claim:
    """A claim on systems that new captions helped to train."""
    return Claim(name, rule, (*_NEEDS, *needs, *_WRITTEN, *_data()), with_leaks(judge))


_MAIN = (
    OneOf(
        "main pair",
        "PaSST-N with roberta-large as main pair",
        _names([BEST]),
        substitute="other encoders",
    ),
    _published("main"),
    AtLeast(
        "finetuned_human runs",
        f"{PAPER_RUNS} runs with human captions",
        PAPER_RUNS,
        substitute="fewer runs",
    ),
)
_ENSEMBLE = (
    AtLeast(
        "member count", f"an ensemble of {PAPER_MEMBERS}", PAPER_MEMBERS, substitute="other members"
    ),
    AllOf("members", "the report's members", _names(ENSEMBLE), substitute="other members"),
    _published("member"),
)


def _contrasts(kind: str) -> tuple[Need, ...]:
    names = [contrast_name(contrast) for contrast in WANTED[kind]]
    return (
        _published(kind),
        IsTrue(kind, "two models of the run that differ so"),
        AllOf(kind, "the report's four comparisons", names, substitute="other comparisons"),
    )


_LATTER = (
    "the 95% interval of the mean of the four differences in mAP@10 lies above 0, and none of the "
    "four intervals lies below 0. Each model is trained once and intervals are over recordings: "
    "the verdict is of these trainings, and says of the family of encoders only what one training "
    "of each can."
)
_OVER = (
    "the 95% interval (over clips) of the difference lies above 0 and does not end below the "
    "stated gain. The other's number is taken as printed, without an interval of its own."
)
# The abstract says 4.6 of the first; Table 2's numbers differ by 4.67.
_MEI = Gain("r_at_1", "Mei et al. 2023 [9]", "the state of the art before it", 4.5, single=True)
_BASELINE = Gain("map_at_10", "DCASE 2023 baseline [1]", "the challenge's baseline", 19.2)
_XU = Gain("map_at_10", "Xu et al. 2022 [3]", "the best submission of 2022", 11.5)


def _gain(name: str, stated: Gain) -> Claim:
    if stated.single:
        rule = (
            "PaSST-N with roberta-large, fine-tuned with GPT captions, one run, minus the "
            f"published R@1 of Mei et al. 2023: {_OVER}"
        )
        ours: tuple[Need, ...] = (
            _published("best"),
            OneOf("best pair", "PaSST-N with roberta-large", _names([BEST])),
            AtLeast("best runs", "PaSST-N with roberta-large fine-tuned on new captions", 1),
        )
    else:
        rule = (
            f"The ensemble of the {PAPER_MEMBERS} published members minus the published mAP@10 of "
            f"{stated.whose}: {_OVER}"
        )
        ours = (*_ENSEMBLE, IsTrue("ensemble scored", "the ensemble scored query by query"))
    theirs = (
        OneOf(
            "clotho source",
            "Clotho's evaluation split, as the number is",
            ("published", "left out"),
        ),
        AllOf("printed", "the number of others", (f"{stated.metric} of {stated.source}",)),
    )
    return _claim(name, rule, partial(gain_over_published, stated=stated), *ours, *theirs)


def _count(key: str, what: str, count: int) -> Stated:
    return Stated(key, what, count * (1 - COUNTED), count * (1 + COUNTED), f"{count:,}")


def _mean_words(mean: float) -> Stated:
    return Stated("mean words", "words a caption", mean - 0.05, mean + 0.05, f"{mean}")


def _each(count: int) -> list[Stated]:
    return [
        Stated(f"{which} captions", f"{which} captions of a recording", count, count, str(count))
        for which in ("fewest", "most")
    ]


STATED: dict[str, list[Stated]] = {
    "clotho": [
        _count("development", "recordings of the training split", 3840),
        _count("validation", "of the validation split", 1045),
        _count("evaluation", "of the test split", 1045),
        _count("challenge", "of the leaderboard split", 1000),
        _count("asked", "captions of the leaderboard split", 1000),
        *_each(5),
        Stated("shortest", "seconds of the shortest recording", 9.95, 30.05, "10 to 30"),
        Stated("longest", "seconds of the longest", 9.95, 30.05, "10 to 30"),
        Stated("fewest words", "words of the shortest caption", 8, 20, "8 to 20"),
        Stated("most words", "words of the longest", 8, 20, "8 to 20"),
        _count("new captions", "new captions", 96_000),
    ],
    "audiocaps": [_count("all", "recordings", 51_308), *_each(1), _mean_words(9.8)],
    "wavcaps": [_count("all", "recordings", 403_050), *_each(1), _mean_words(7.8)],
}


def _statistics(dataset: str, sections: str, more: str) -> Claim:
    """The claim that a data set's lists hold what the report states."""
    title, stated = DATASET_LABELS[dataset], STATED[dataset]
    needs = [
        OneOf(f"{dataset} list", f"{title} as published", ("published",)),
        AtLeast(f"{dataset} listed", f"nine tenths of {title}", ENOUGH_DATA * LISTED[dataset]),
        AllOf(f"{dataset} numbers", "each number", [statement.key for statement in stated]),
    ]
    if dataset == "clotho":
        new = ENOUGH_DATA * NEW_CAPTIONS
        needs += [
            AtLeast("listed captions", "nine tenths of the new captions", new),
            _LANGUAGE_MODEL,
        ]
    return Claim(
        f"audio-data-{dataset}",
        f"Every number that Section {sections} states agrees with what the lists hold, before "
        f"anything was left out: counts within {COUNTED:.1%}, means as printed, and a range holds "
        "both the smallest and the largest. A word is a run of letters and digits, hyphens and "
        f"apostrophes inside it.{more}",
        needs,
        partial(statistics_hold, dataset=dataset, stated=stated),
    )


_NEW_CAPTIONS = (
    AtLeast("finetuned_gpt runs", f"{PAPER_RUNS} runs with new captions", PAPER_RUNS),
    AtLeast("loss runs", f"{PAPER_RUNS} runs with losses of both kinds", PAPER_RUNS),
)

CLAIMS = (
    _claim(
        "audio-best-single",
        "Of the ten pairs of encoders in Table 2, fine-tuned with GPT captions, one run each, "
        "PaSST-N with roberta-large has the highest mAP@10 on the evaluation split. The interval "
        "of its lead over the next pair stands beside it: one that holds 0 says that the order of "
        "these two may be chance.",
        best_single_model,
        AllOf("pairs", "the ten pairs of Table 2", _names(PAPER_PAIRS)),
        _published("ranked"),
    ),
    Claim(
        "audio-finetune-helps",
        "The main pair fine-tuned on Clotho with human captions minus the same pair pretrained "
        "only, mean over runs: the 95% interval (paired by query, over clips) of the difference in "
        "mAP@10 lies above 0.",
        (*_NEEDS, *_MAIN, AtLeast("pretrained runs", "the pair pretrained only", 1), *_data()),
        with_leaks(partial(main_pair_gains, better="finetuned_human", worse="pretrained")),
    ),
    _claim(
        "audio-gpt-helps",
        "The main pair fine-tuned with GPT captions minus with human captions, mean over all runs: "
        "the 95% interval of the difference in mAP@10 lies above 0. And in each run, paired by "
        "seed, the validation loss after the last epoch is lower with GPT captions; the lowest "
        "losses are stated beside it.",
        gpt_captions_help,
        _LANGUAGE_MODEL,
        *_MAIN,
        *_NEW_CAPTIONS,
    ),
    _claim(
        "audio-larger-text",
        "The large minus the base sentence encoder of the same kind, for BERT and RoBERTa within "
        f"PaSST-N and PaSST-S, fine-tuned with GPT captions: {_LATTER}",
        partial(contrasts_gain, kind="larger"),
        *_contrasts("larger"),
    ),
    _claim(
        "audio-no-overlap",
        "PaSST-N minus PaSST-S with each of the four sentence encoders, fine-tuned with GPT "
        f"captions: {_LATTER}",
        partial(contrasts_gain, kind="overlap"),
        *_contrasts("overlap"),
    ),
    _claim(
        "audio-ensemble",
        f"The mean of the similarity matrices of the {PAPER_MEMBERS} published members minus the "
        "single model that is best on the same split: the 95% interval of the difference in mAP@10 "
        "lies above 0. Each member is trained once.",
        ensemble_beats_single_models,
        *_ENSEMBLE,
        IsTrue("ensemble scored", "the ensemble scored query by query"),
    ),
    _claim(
        "audio-ensemble-members",
        f"Of all {2**PAPER_MEMBERS - 1} non-empty subsets of the {PAPER_MEMBERS} published members "
        "and of the members with each set of other pairs of the run added, fine-tuned with GPT "
        "captions, the published ensemble has the highest mAP@10 on the evaluation split. Beside "
        "it stands how many others are worse and better beyond chance, by intervals of their "
        "differences that hold all at once in 95% (the bootstrap's largest deviation over clips): "
        "the best of so many is expected to be ahead by chance alone.",
        no_other_ensemble_is_better,
        *_ENSEMBLE,
        AtLeast(
            "smaller ensembles",
            "all ensembles of fewer members",
            2**PAPER_MEMBERS - 2,
            substitute="other members",
        ),
        AtLeast("larger ensembles", "an ensemble of more members", 1),
    ),
    _gain("audio-recall-gain", _MEI),
    _gain("audio-baseline-gain", _BASELINE),
    _gain("audio-2022-gain", _XU),
    Claim(
        "audio-linear-projection",
        "A pair whose projections have a hidden layer (audio_models: projection_hidden) minus the "
        "same pair with linear ones, both fine-tuned with GPT captions from the first seed: the "
        "95% interval of the difference in mAP@10 does not lie above 0. A wide interval says "
        "little, so it is shown. Each is trained once and the interval is over recordings: it "
        "holds no noise between trainings. What the report's initial experiments were trained on "
        "isn't said: Clotho alone is enough.",
        (
            *_NEEDS,
            AtLeast("twins", "such a pair beside its twin (config/projection.yaml has one)", 1),
            _published("twin"),
            *_WRITTEN,
            *_data(["clotho"]),
        ),
        with_leaks(partial(contrasts_gain, kind="twin")),
    ),
    _statistics("clotho", "2.4.1 and 2.4.4", " Lengths are those that Clotho's metadata give."),
    _statistics(
        "audiocaps", "2.4.2", " Its ten seconds aren't looked at: the lists don't give lengths."
    ),
    _statistics("wavcaps", "2.4.3", ""),
)
