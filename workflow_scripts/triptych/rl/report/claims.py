"""The offline-RL paper's claims and four of ours, each fixed before the run that it judges."""

from dataclasses import replace
from functools import partial

from triptych.report.claims import ENOUGH_DATA, AllOf, AtLeast, Claim, IsTrue, Need, OneOf
from triptych.rl.report.claims_facts import (
    FEW,
    GROUPS,
    MILLION,
    OF_SCORES,
    PAIRS,
    PAPER_SEEDS,
    SMALL_ALGORITHMS,
    SPARSITIES,
    SPARSITY,
    TASKS,
    UPDATES,
)
from triptych.rl.report.claims_masks import (
    AGREEMENT,
    FASTER_TRAINING,
    FIVE_TIMES,
    FOUR_TIMES,
    last_layer_keeps_most,
    memory_shrinks_four_times,
    patterns_are_alike,
    sparse_kernels_are_faster,
)
from triptych.rl.report.claims_scores import (
    KEEPS,
    LEARNED,
    LEARNING_TASKS,
    STEADY,
    criteria_beat_their_shuffles,
    keeps_score,
    keeps_score_at_every_sparsity,
    normalising_makes_it_work,
    other_prunings_do_not_help,
    sparsity_helps,
)

DENSE_KERNELS = ("numpy dense", "torch dense")
_DATA = (
    AllOf("tasks", "data of all three tasks", TASKS),
    OneOf("data", "D4RL's expert data", ("d4rl",), substitute="other experts' data"),
)
_TRANSITIONS = AtLeast("transitions", "D4RL's million transitions", ENOUGH_DATA * MILLION)
_WIDE = IsTrue("measured widths", "networks of the paper's widths")
_PAIRS = [f"{task} {method}" for task, method in PAIRS]


def _scores(name: str, *more: Need) -> tuple[Need, ...]:
    """Needs of every claim on the scores of an algorithm."""
    return (
        *_DATA,
        AtLeast(f"{name} episodes", "10 episodes behind each run's score", 10),
        AtLeast(f"{name} seeds", f"{PAPER_SEEDS} seeds of every task and method", PAPER_SEEDS),
        *more,
        replace(_TRANSITIONS, substitute="fewer transitions"),
        OneOf("precision", "float32 or TF32", ("float32", "tf32"), substitute="lower precision"),
        IsTrue(f"{name} widths", "networks of the paper's widths", substitute="narrower networks"),
        AtLeast(f"{name} updates", "100,000 updates", 100_000, substitute="fewer updates"),
    )


_JUDGED = (
    f"Only tasks are judged on which the dense policies reach {LEARNED:.0%} of the data's policy, "
    f"within {STEADY} points of each other; {LEARNING_TASKS} of them at least."
)
_EVERY_DEPTH = [
    *(f"actor l{n}" for n in (1, 2, 3)),
    *(f"critic l{n}" for n in (1, 2, 3, 4, 5, 6)),
    *(f"vae d{n}" for n in (1, 2, 3)),
]
"""Layers among which the last one must keep most."""
_MASKS = (
    *_DATA,
    _TRANSITIONS,
    _WIDE,
    AtLeast("mask seeds", f"masks of {PAPER_SEEDS} seeds", PAPER_SEEDS),
    AllOf("mask layers", f"all layers of {', '.join(GROUPS)}", _EVERY_DEPTH),
)

CLAIMS = (
    Claim(
        "rl-bc-95",
        "BC keeps its score where the lower end of the 95% interval (seeds paired) of the ratio to "
        f"dense is at least {KEEPS}; required on all three tasks with both methods. {_JUDGED}",
        _scores("BC"),
        partial(keeps_score, algorithm="BC"),
    ),
    Claim(
        "rl-bcq-95",
        "On HalfCheetah and Walker2d the lower end of the 95% interval of the ratio to dense is at "
        f"least {KEEPS} with both methods; on Hopper, with both, the ratio is below {KEEPS} and "
        f"the upper end of its interval below 1. {_JUDGED}",
        _scores("BCQ"),
        partial(keeps_score, algorithm="BCQ", losing="hopper"),
    ),
    Claim(
        "rl-consistent",
        f"At every sparsity ({', '.join(map(str, SPARSITIES))}%) the lower end of the 95% interval "
        f"of the ratio to dense is at least {KEEPS} with both methods: BC on all three tasks, BCQ "
        f"on all but Hopper. {_JUDGED}",
        (
            *_scores("BC"),
            *_scores("BCQ"),
            AllOf(
                "levels",
                f"{PAPER_SEEDS} seeds of every task and method at every sparsity",
                [f"{name} {level}" for name in OF_SCORES for level in SPARSITIES],
            ),
        ),
        keeps_score_at_every_sparsity,
    ),
    Claim(
        "rl-other-prunings",
        f"At {SPARSITY}% sparsity no other batch and number of iterations of pruning scores more "
        "than the default: the 95% interval of the difference (seeds paired; mean over the tasks) "
        "does not lie above 0. A wide interval says little, so it is shown.",
        _scores(
            "BC",
            AllOf(
                "other prunings",
                "BC by other batches and iterations (config/beyond.yaml)",
                ("batch", "iterations"),
            ),
        ),
        other_prunings_do_not_help,
    ),
    Claim(
        "rl-last-layer",
        f"In the masks of actor, critic and decoder at {SPARSITY}% sparsity, on every task, the "
        "last layer keeps a larger mean share of its weights than any other layer with both "
        "methods, and the 95% interval of GraSP minus SNIP (seeds paired) of that share lies above "
        "0. Twin critics count together.",
        _MASKS,
        last_layer_keeps_most,
    ),
    Claim(
        "rl-similar-pattern",
        f"In the masks of actor, critic and decoder at {SPARSITY}% sparsity, on every task, the "
        "same one of every two layers keeps the larger share of its weights with both methods: the "
        "95% intervals (over seeds) of the difference of shares lie on one side of 0. Twin critics "
        "count together.",
        _MASKS,
        patterns_are_alike,
    ),
    Claim(
        "rl-memory-4x",
        f"For actor, critic and VAE: dense bytes over sparsely indexed bytes at {SPARSITY}% lie in "
        f"{FOUR_TIMES[0]} to {FOUR_TIMES[1]} with both methods, and sparsely indexed dense bytes "
        f"over dense bytes in {FIVE_TIMES[0]} to {FIVE_TIMES[1]}. Bytes follow from how many "
        "weights are kept, so any data will do.",
        (
            _WIDE,
            AtLeast("size seeds", f"files of {PAPER_SEEDS} seeds of every task", PAPER_SEEDS),
        ),
        memory_shrinks_four_times,
    ),
    Claim(
        "rl-sparse-inference",
        f"At {SPARSITY}% sparsity and batch 1 the fastest sparse kernel of the actor has a lower "
        f"median latency than the fastest dense kernel, with outputs equal to {AGREEMENT:g}. Time "
        "follows from how many weights are kept and from where they lie: the verdict is that of "
        "the mask of `rl.latency` (policy.c passes over strips of 16 zeros, so that the same mask "
        "shuffled took it 1.7 times as long).",
        (
            _WIDE,
            IsTrue("actor timed", f"the actor timed at batch 1 and {SPARSITY}% sparsity"),
            AllOf("kernels", "NumPy's and PyTorch's dense kernels", DENSE_KERNELS),
            AtLeast("rounds", "5 rounds of timing", 5),
        ),
        partial(sparse_kernels_are_faster, training=False),
    ),
    Claim(
        "rl-ours-sensors",
        "Ours, fixed after trials of two seeds and before the run of five: with BC at "
        f"{SPARSITY}% sparsity, on all three tasks and with both methods, normalised observations "
        "gain more score than they gain the dense network: the 95% interval of the difference of "
        "the gains (seeds paired) lies above 0.",
        _scores("BC", AllOf("both ways", "BC on raw and on normalised observations", _PAIRS)),
        normalising_makes_it_work,
    ),
    Claim(
        "rl-ours-shuffled",
        f"Ours, fixed before the run: with BC at {SPARSITY}% sparsity, SNIP and GraSP each score "
        "more than their own mask shuffled within its layers: the probability of improvement over "
        "the three tasks has an interval above 0.5, and the difference of scores (seeds paired) "
        "one above 0 on at least two of them.",
        _scores("BC", AllOf("shuffled", "BC with shuffled masks of both methods", _PAIRS)),
        criteria_beat_their_shuffles,
    ),
    Claim(
        "rl-ours-small-data",
        f"Ours, fixed before any run: of TD3+BC and of IQL on {FEW:,} transitions of a task or "
        f"fewer, SNIP at {SPARSITY}% scores more than dense: the 95% interval of the difference "
        "(seeds paired; mean over tasks and numbers of transitions) lies above 0 for both.",
        (
            _DATA[0],
            AllOf(
                "small data",
                "TD3+BC and IQL on few transitions (config/small-data.yaml)",
                [f"{name} {task}" for name in SMALL_ALGORITHMS for task in TASKS],
            ),
            _DATA[1],
        ),
        sparsity_helps,
    ),
    Claim(
        "rl-ours-sparse-training",
        f"Ours, fixed before the run: at {SPARSITY}% sparsity, a network that is trained with its "
        f"kept weights alone takes at least {FASTER_TRAINING:g} times as many updates a "
        "second as its dense twin (medians; one thread of a processor, float32, the references' "
        f"batches of 100), with BC and with BCQ, and its losses are equal to {AGREEMENT:g}. The "
        "verdict is that of the mask of `rl.latency`.",
        (
            _WIDE,
            AllOf("updates timed", f"updates timed at {SPARSITY}% sparsity", UPDATES),
            AtLeast("rounds", "5 rounds of timing", 5),
        ),
        partial(sparse_kernels_are_faster, training=True),
    ),
)
