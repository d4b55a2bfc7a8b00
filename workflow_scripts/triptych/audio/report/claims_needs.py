"""Tables of the audio study's claims, and what the claims on models need."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from triptych.audio.data_sizes import Clips, judged_by
from triptych.audio.report.claims_data import (
    DATASETS,
    PAPER,
    Data,
    Lists,
    counted,
    has_new_captions,
    has_no_leaks,
    has_recordings,
    is_written,
    planned_data,
    read_data,
    source_of,
)
from triptych.audio.report.rows import (
    CAPTION_LABELS,
    CLOTHO_EVALUATION,
    SYSTEM,
    AudioStudy,
    Pair,
    evaluation_rows,
    measured,
    of_pair,
    with_kind,
)
from triptych.report.claims import Need, all_of, at_least, no, one_of

NO_OVERLAP, OVERLAP, LONG = PAPER["audio_models"]
BASES, LARGES = ("bert_base", "roberta_base"), ("bert_large", "roberta_large")
PAPER_PAIRS = [" ".join(pair) for pair in PAPER["pairs"]]
"""Pairs of Table 2 by their published weights, as `PairModel.published` names them."""
ENSEMBLE = [" ".join(pair) for pair in PAPER["ensemble"]["members"]]
BEST = [" ".join(PAPER["main"])]
PAPER_CONTRASTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "larger": [
        (f"{audio} {large}", f"{audio} {base}")
        for audio in (NO_OVERLAP, OVERLAP)
        for base, large in zip(BASES, LARGES, strict=True)
    ],
    "overlap": [(f"{NO_OVERLAP} {text}", f"{OVERLAP} {text}") for text in (*BASES, *LARGES)],
    "twin": [],
}
"""The report's comparisons, likewise, what should be better first: a larger sentence encoder
against a smaller one of its kind; patches that don't overlap against those that do; a hidden layer
in the projections against none, of pairs that the report doesn't name."""
PATCH = 16
"""Pixels of PaSST's patches, which overlap where the stride is shorter."""
PUBLISHED_CUTS = {
    name: (float(model["segment_seconds"]), model["stride"][0] < PATCH)
    for name, model in PAPER["audio_models"].items()
}
"""Seconds of a segment, and whether its patches overlap."""
STAGES = {"pretrained": "pretraining", "finetuned": "finetuning"}
"""What config calls the stages of the report."""
PAPER_EPOCHS = {kind: PAPER["stages"][stage]["epochs"] for kind, stage in STAGES.items()}
PAPER_RUNS = len(PAPER["finetuning"]["seeds"])
SCORED = "the ensemble scored query by query"
RULES = ("audio_pretrain", "audio_finetune")
"""Which train in these stages."""


@dataclass(frozen=True)
class Tables:
    """Scores that the claims compare.

    measured: of the evaluated corpus' evaluation split, by metric, in percent: a row a query, named
    by (clip, query), a column a system of SYSTEM; history, subsets: of these files; published:
    Table 2; lists: numbers of the data sets' lists; exclude: the leak policy; data: what models
    were trained on; needs: what a run knows of each claim on trained models.
    """

    measured: Mapping[str, pd.DataFrame]
    history: pd.DataFrame
    subsets: pd.DataFrame
    published: pd.DataFrame
    lists: Lists
    exclude: str
    study: AudioStudy
    data: Data
    needs: Sequence[Need]

    @property
    def systems(self) -> pd.DataFrame:
        """The systems that were scored: columns SYSTEM."""
        return self.measured["map_at_10"].columns.to_frame(index=False)

    @property
    def pairs(self) -> list[Pair]:
        """Every pair that was fine-tuned with new captions."""
        return pairs_of(self.systems.to_numpy().tolist())

    def runs(self, kind: str, pair: Pair, of: str = "map_at_10") -> pd.DataFrame:
        """A measure of each query: a column a run, by its seed; none where there is no such run."""
        keys = SYSTEM[:3]
        chosen = (self.systems[keys] == [kind, *pair]).all(axis=1)
        return self.measured[of].loc[:, chosen.to_numpy()].droplevel([*keys], axis=1)

    def single(self, pair: Pair, of: str = "map_at_10") -> pd.Series:
        """A pair's one run of Table 2: fine-tuned with new captions from the first seed."""
        return self.runs("finetuned_gpt", pair, of)[self.study.first_seed]

    def ensemble(self, name: str, of: str = "map_at_10") -> pd.Series:
        """An ensemble's measure of each query; empty where it was not scored."""
        return self.runs(f"ensemble_{name}", (name, ""), of).mean(axis=1).dropna()

    def label(self, pair: Pair) -> str:
        """The pair as a reader knows it."""
        return self.study.pairs[pair].label

    def losses(self, which: str) -> pd.DataFrame:
        """The lowest (`min`) or last validation losses of the main pair: rows seeds, columns human
        and gpt."""
        ours = of_pair(self.history, self.study.main, "finetuned").sort_values("epoch")
        losses = ours.groupby(["seed", "captions"])["validation_loss"].agg(which)
        return losses.unstack("captions").reindex(columns=["human", "gpt"])


def tables_of(
    frames: Mapping[str, pd.DataFrame], plan: Any, became: Mapping[str, Collection[str]]
) -> Tables:
    """The scores of a run, from the files that `Workflow.claims` names. plan: the Workflow of its
    config. became: precisions that its jobs chose, by rule."""
    study = AudioStudy.read(**plan.study)
    queries = evaluation_rows(frames["queries"], [study.evaluated, ""])
    history, subsets = (
        frames[name][frames[name]["corpus"] == study.evaluated] for name in ("history", "subsets")
    )
    precisions = {name for rule in RULES for name in became.get(rule, ())}
    data = read_data(frames, plan, precisions)
    scored = queries.groupby(SYSTEM)[["clip", "query"]].nunique()
    scored = scored.rename(columns={"clip": "clips", "query": "queries"})
    return Tables(
        measured={metric: 100 * shares for metric, shares in measured(queries).items()},
        history=history,
        subsets=subsets,
        published=frames["published"],
        lists=counted(*(frames[name] for name in ("clips", "captions", "asked", "unfiltered"))),
        exclude=plan.trained["exclude"],
        study=study,
        data=data,
        needs=[
            *has_no_leaks(plan, data),
            *_is_scored(study, scored),
            Need(SCORED, "ensemble_published" in set(queries["kind"])),
            is_written(data.backend),
            *has_new_captions(study, data),
            *has_recordings(plan, study, data),
        ],
    )


# What claims need of a config.


@dataclass(frozen=True)
class Planned:
    """What a config trains on its evaluated corpus. systems: SYSTEM of each model; members: of the
    ensemble."""

    study: AudioStudy
    systems: Sequence[tuple[str, ...]]
    members: Sequence[Pair]

    @property
    def pairs(self) -> list[Pair]:
        """Every pair that is fine-tuned with new captions."""
        return pairs_of(self.systems)

    def seeds(self, kind: str, pair: Pair) -> set[str]:
        """Seeds of a pair's runs of a kind."""
        return {seed for *system, seed in self.systems if system == [kind, *pair]}


@cache
def planned(plan: Any) -> Planned:
    """The models of a Workflow's evaluated corpus."""
    study = AudioStudy.read(**plan.study)
    runs = pd.DataFrame(plan.runs).astype(str).assign(system="model")
    systems = with_kind(runs[runs["corpus"] == study.evaluated])[SYSTEM]
    members = [(audio, text) for audio, text in plan.config["ensemble"]["members"]]
    return Planned(study, [*systems.itertuples(index=False, name=None)], members)


def of_models(
    plan: Any,
    needs: Iterable[Callable[[Planned], Iterable[Need]]],
    written: bool = True,
    datasets: Sequence[str] = DATASETS,
) -> Iterator[Need]:
    """Needs of each claim on trained models. plan: a Workflow; needs: of one claim; written:
    whether new captions helped to train; datasets: which are trained on."""
    run, data, config = planned(plan), planned_data(plan), plan.config
    judged = judged_by(config, run.study.evaluated).get("evaluation", Clips(0, 0))
    scored = pd.DataFrame({"clips": [judged.count], "queries": [judged.captions]})
    trained = {kind.partition("_")[0] for kind, *_ in run.systems}
    epochs = {
        kind: config["stages"][stage]["epochs"] if kind in trained else 0
        for kind, stage in STAGES.items()
    }
    yield from has_no_leaks(plan, data)
    yield from _is_scored(run.study, scored)
    for kind in STAGES:
        yield at_least(f"models that were {kind}", epochs[kind], 1)
    for own in needs:
        yield from own(run)
    if written:
        yield from has_new_captions(run.study, data)
    yield from has_recordings(plan, run.study, data, datasets)
    for kind, enough in PAPER_EPOCHS.items():
        yield at_least(f"{enough} epochs for models {kind}", epochs[kind], enough, "fewer epochs")


def _is_scored(study: AudioStudy, scored: pd.DataFrame) -> Iterator[Need]:
    """Need all clips and queries. scored: numbers of each system."""
    expected = scored.max().clip(lower=1) if study.synthesised else pd.Series(CLOTHO_EVALUATION)
    missing = (expected - scored.min()).clip(lower=0).astype(int)
    by = {"clips": "on the whole evaluation split", "queries": "by all its captions"}
    for name, how in by.items():
        yield Need(f"every system scored {how}", not missing[name], f"{missing[name]:,} here")


def has_ensemble(run: Planned) -> Iterator[Need]:
    yield Need(SCORED, True)


def of_main(run: Planned) -> Iterator[Need]:
    """Need the report's main pair, fine-tuned with human captions."""
    main, what = run.study.main, "PaSST-N with roberta-large as main pair"
    runs = len(run.seeds("finetuned_human", main))
    yield one_of(what, [_weights(run.study, main)], BEST, "other encoders")
    yield are_published(run.study, [main])
    yield at_least(f"{PAPER_RUNS} runs with human captions", runs, PAPER_RUNS, "fewer runs")


def has_pretrained(run: Planned) -> Iterator[Need]:
    runs = len(run.seeds("pretrained", run.study.main))
    yield at_least("the pair pretrained only", runs, 1)


def has_both_captions(run: Planned) -> Iterator[Need]:
    """Need runs of the main pair with captions of both kinds."""
    human, new = (run.seeds(f"finetuned_{kind}", run.study.main) for kind in CAPTION_LABELS)
    yield at_least(f"{PAPER_RUNS} runs with new captions", len(new), PAPER_RUNS)
    yield at_least(f"{PAPER_RUNS} runs with losses of both kinds", len(human & new), PAPER_RUNS)


def of_pairs(run: Planned) -> Iterator[Need]:
    """Need all pairs of Table 2."""
    found = {run.study.pairs[pair].published for pair in run.pairs}
    yield all_of("the ten pairs of Table 2", found, PAPER_PAIRS)
    yield are_published(run.study, ranked_pairs(run.pairs, run.study))


def of_best(run: Planned) -> Iterator[Need]:
    """Need the report's best pair."""
    best, title = best_pair(run.pairs, run.study), "PaSST-N with roberta-large"
    runs = int(run.study.first_seed in run.seeds("finetuned_gpt", best))
    yield are_published(run.study, [best])
    yield one_of(title, [_weights(run.study, best)], BEST)
    yield at_least(f"{title} fine-tuned on new captions", runs, 1)


def of_members(run: Planned) -> Iterator[Need]:
    """Need the members of the report's ensemble."""
    found, other = {_weights(run.study, pair) for pair in run.members}, "other members"
    count = len(ENSEMBLE)
    yield at_least(f"an ensemble of {count}", len(run.members), count, other)
    yield all_of("the report's members", found, ENSEMBLE, other)
    yield are_published(run.study, run.members)


def of_subsets(run: Planned) -> Iterator[Need]:
    """Need ensembles of fewer and of more members."""
    others = set(run.pairs) - set(run.members)
    smaller, larger = 2 ** len(run.members) - 2, 2 ** len(others) - 1
    what = "all ensembles of fewer members"
    yield at_least(what, smaller, 2 ** len(ENSEMBLE) - 2, "other members")
    yield at_least("an ensemble of more members", larger, 1)


def beside_others(run: Planned) -> Iterator[Need]:
    """Need a number of others, which resources/published has, and the split that it is of."""
    what = "Clotho's evaluation split, as the number is"
    yield one_of(what, [source_of(run.study, "clotho")], ("published", "left out"))
    yield Need("the number of others", True)


def of_contrasts(run: Planned, kind: str) -> Iterator[Need]:
    """Need the report's comparisons of a kind."""
    compared, pairs = contrasts(kind, run.pairs, run.study), run.study.pairs
    published = are_published(run.study, [pair for contrast in compared for pair in contrast])
    if kind == "twin":
        what = "such a pair beside its twin (config/projection.yaml has one)"
        yield from (at_least(what, len(compared), 1), published)
        return
    names = {f"{pairs[one].published} against {pairs[two].published}" for one, two in compared}
    wanted = [" against ".join(contrast) for contrast in PAPER_CONTRASTS[kind]]
    yield published
    yield Need("two models of the run that differ so", bool(compared), "none here")
    yield all_of("the report's four comparisons", names, wanted, "other comparisons")


def pairs_of(systems: Iterable[Sequence[str]]) -> list[Pair]:
    """The pairs among systems (SYSTEM) that were fine-tuned with new captions."""
    tuned = [(audio, text) for kind, audio, text, _ in systems if kind == "finetuned_gpt"]
    return list(dict.fromkeys(tuned))


def _weights(study: AudioStudy, pair: Pair) -> str:
    return study.pairs[pair].published or "others"


def are_published(study: AudioStudy, pairs: Sequence[Pair]) -> Need:
    """Need encoders that start from the published weights, and cut recordings as those were
    trained."""
    others = set()
    for pair in (study.pairs[name] for name in pairs):
        labels = zip((pair.audio, pair.text), pair.weights, strict=True)
        others |= {f"{label} from scratch" for label, weights in labels if not weights}
        cut = (pair.segment_seconds, pair.overlap)
        if PUBLISHED_CUTS.get(pair.weights[0], cut) != cut:
            others.add(f"{pair.audio}, which cuts recordings otherwise")
    return no("encoders with their published weights and cuts", others, "other encoders")


def best_pair(pairs: Iterable[Pair], study: AudioStudy) -> Pair:
    """The report's best pair by its published weights; the main one where it wasn't run."""
    return next((pair for pair in pairs if study.pairs[pair].published in BEST), study.main)


def ranked_pairs(pairs: Iterable[Pair], study: AudioStudy) -> list[Pair]:
    """The report's ten pairs where all of them are among these, else all."""
    paper = [pair for pair in pairs if study.pairs[pair].published in PAPER_PAIRS]
    ten = {study.pairs[pair].published for pair in paper} == set(PAPER_PAIRS)
    return paper if ten else list(pairs)


def contrasts(kind: str, pairs: Sequence[Pair], study: AudioStudy) -> list[tuple[Pair, Pair]]:
    """Two of the pairs that differ in one way (a key of PAPER_CONTRASTS), the one that should be
    better, or has a hidden layer, first. The report's in its order, where all of them are there;
    else all."""
    differing = [(one, two) for two in pairs for one in pairs if _differ(kind, one, two, study)]
    known = {tuple(study.pairs[pair].published for pair in both): both for both in differing}
    complete = PAPER_CONTRASTS[kind] and set(PAPER_CONTRASTS[kind]) <= set(known)
    return [known[contrast] for contrast in PAPER_CONTRASTS[kind]] if complete else differing


def _differ(kind: str, one: Pair, other: Pair, study: AudioStudy) -> bool:
    first, second = study.pairs[one], study.pairs[other]
    if kind == "larger":  # sentence encoder of a kind, behind the same audio model
        same = one[0] == other[0] and first.text_kind == second.text_kind
        return same and 0 < second.text_parameters < first.text_parameters
    if kind == "overlap":  # of patches, in segments of one length
        same = one[1] == other[1] and first.segment_seconds == second.segment_seconds
        return same and first.overlap is False and second.overlap is True
    return (
        first.weights == second.weights and first.projection_hidden > second.projection_hidden == 0
    )
