"""Facts and scores of a run on which the claims of the audio study rest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from triptych.audio.data_sizes import Clips, judged_by
from triptych.audio.experiments import audio_runs
from triptych.audio.report.claims_data import (
    DATASETS,
    counted,
    list_facts,
    planned_data,
    planned_lists,
    read_data,
)
from triptych.audio.report.differences import measured
from triptych.audio.report.rows import (
    CLOTHO_EVALUATION,
    SYSTEM,
    AudioStudy,
    Pair,
    evaluation_rows,
    of_pair,
    pair_of,
    with_kind,
)

Contrast = tuple[Pair, Pair]
"""Two pairs of models, the one that should be better first."""
NO_OVERLAP, OVERLAP, LONG = "passt_n", "passt_s", "passt_s15"
BASES, LARGES = ("bert_base", "roberta_base"), ("bert_large", "roberta_large")
PAPER_PAIRS = (
    *((audio, text) for audio in (NO_OVERLAP, OVERLAP) for text in BASES),
    *((audio, text) for audio in (NO_OVERLAP, OVERLAP, LONG) for text in LARGES),
)
"""Pairs of Table 2 by their published weights, as `PairModel.published` names them."""
WANTED: Mapping[str, Sequence[Contrast]] = {
    "larger": [
        ((audio, large), (audio, base))
        for audio in (NO_OVERLAP, OVERLAP)
        for base, large in zip(BASES, LARGES, strict=True)
    ],
    "overlap": [((NO_OVERLAP, text), (OVERLAP, text)) for text in (*BASES, *LARGES)],
    "twin": [],
}
"""The report's comparisons, likewise: a larger sentence encoder against a smaller one of its kind;
patches that don't overlap against those that do; a hidden layer in the projections against none, of
pairs that the report doesn't name."""
BEST = (NO_OVERLAP, "roberta_large")
PUBLISHED_CUTS = {NO_OVERLAP: (10.0, False), OVERLAP: (10.0, True), LONG: (15.0, True)}
"""Seconds of a segment, and whether its patches overlap."""
STAGES = {"pretrained": "pretraining", "finetuned": "finetuning"}
"""What config calls the stages of the report."""
RULES = ("audio_pretrain", "audio_finetune")
"""Which train in these stages."""


@dataclass(frozen=True)
class Run:
    """Scores that the claims compare.

    measured: of the evaluated corpus' evaluation split, by metric, in percent: a row a query, named
    by (clip, query), a column a system of SYSTEM; history, subsets: of these files; published:
    Table 2; lists: numbers of the data sets' lists; exclude: the leak policy.
    """

    measured: Mapping[str, pd.DataFrame]
    history: pd.DataFrame
    subsets: pd.DataFrame
    published: pd.DataFrame
    lists: Mapping[str, Mapping[str, float]]
    exclude: str
    study: AudioStudy

    @property
    def systems(self) -> pd.DataFrame:
        """The systems that were scored: columns SYSTEM."""
        return self.measured["map_at_10"].columns.to_frame(index=False)

    @property
    def pairs(self) -> list[Pair]:
        """Every pair that was fine-tuned with new captions."""
        return pairs_of(self.systems)

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


def read_run(
    frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> tuple[Run, dict[str, Any]]:
    """The scores and the facts of a run, from the files and settings that
    `Workflow.claims` names."""
    study, trained = AudioStudy.read(**settings["study"]), settings["trained"]
    became = [settings.get("became", {}).get(rule, set()) for rule in RULES]
    trained = {**trained, "precisions": set().union(*became) or trained["precisions"]}
    queries = evaluation_rows(frames["queries"], [study.evaluated, ""])
    history, ensembles, subsets = (
        frames[name][frames[name]["corpus"] == study.evaluated]
        for name in ("history", "ensembles", "subsets")
    )
    run = Run(
        measured={metric: 100 * shares for metric, shares in measured(queries).items()},
        history=history,
        subsets=subsets,
        published=frames["published"],
        lists=counted(*(frames[name] for name in ("clips", "captions", "asked", "unfiltered"))),
        exclude=trained["exclude"],
        study=study,
    )
    members = ensembles.loc[ensembles["name"] == "published", "member"]
    scored = queries.groupby(SYSTEM)[["clip", "query"]].nunique()
    last = history.groupby(["stage", *SYSTEM[1:], "captions"])["epoch"].max()
    facts = {
        **read_data(frames, study, trained),
        **list_facts(run.lists, study),
        **_facts(
            study,
            run.systems,
            [pair_of(member) for member in members],
            scored=scored.rename(columns={"clip": "clips", "query": "queries"}),
            epochs={str(stage): int(n) for stage, n in last.groupby("stage").min().items()},
            removed=int((subsets["removed"] > 0).sum()),
            added=int((subsets["added"] > 0).sum()),
        ),
        **{f"{name} numbers": set(run.lists.get(name, ())) for name in DATASETS},
        "printed": {
            f"{metric} of {source}"
            for metric in run.measured
            for source in run.published.dropna(subset=metric)["source"]
        },
    }
    return run, facts


def planned_facts(workflow: Any) -> dict[str, Any]:
    """The facts of a run that has not begun. workflow: the Workflow of its config."""
    config, settings = workflow.config, workflow.claims[1]
    study = AudioStudy.read(**settings["study"])
    runs = pd.DataFrame(audio_runs(config)).astype(str).assign(system="model")
    runs = with_kind(runs[runs["corpus"] == study.evaluated])
    members = [tuple(member) for member in config["ensemble"]["members"]]
    judged = judged_by(config, study.evaluated).get("evaluation", Clips(0, 0))
    facts = _facts(
        study,
        runs,
        members,
        scored=pd.DataFrame({"clips": [judged.count], "queries": [judged.captions]}),
        epochs={stage: config["stages"][STAGES[stage]]["epochs"] for stage in set(runs["stage"])},
        removed=2 ** len(members) - 2,
        added=2 ** len(set(pairs_of(runs)) - set(members)) - 1,
    )
    data = planned_data(config, study, settings["trained"])
    lists = list_facts(planned_lists(config), study)
    return data | lists | facts | {"ensemble scored": True}


def _facts(
    study: AudioStudy,
    systems: pd.DataFrame,
    members: Sequence[Pair],
    *,
    scored: pd.DataFrame,
    epochs: Mapping[str, int],
    removed: int,
    added: int,
) -> dict[str, Any]:
    """Facts on which systems were run and scored, how long they were trained, and which models
    aren't the report's.

    systems: with the columns SYSTEM; members: of the listed ensemble; scored: numbers of clips and
    queries of each system; epochs: the fewest by stage; removed, added: numbers of ensembles of
    fewer and of more members.
    """
    pairs = pairs_of(systems)
    best = best_pair(pairs, study)
    seeds = {key: set(rows["seed"]) for key, rows in systems.groupby(SYSTEM[:3])}
    of_main = {
        kind: seeds.get((kind, *study.main), set())
        for kind in ("pretrained", "finetuned_human", "finetuned_gpt")
    }
    expected = scored.max().clip(lower=1) if study.synthesised else pd.Series(CLOTHO_EVALUATION)
    unscored = (expected - scored.min()).clip(lower=0)
    compared = {kind: contrasts(kind, pairs, study) for kind in WANTED}
    of_claims = {
        "ranked": ranked_pairs(pairs, study),
        "main": [study.main],
        "best": [best],
        "member": members,
        **{
            kind: [pair for contrast in of_kind for pair in contrast]
            for kind, of_kind in compared.items()
        },
    }
    facts: dict[str, Any] = {
        "pairs": {" ".join(study.pairs[pair].published) for pair in pairs},
        "main pair": {_weights(study, study.main)},
        "best pair": {_weights(study, best)},
        "best runs": int(study.first_seed in seeds.get(("finetuned_gpt", *best), ())),
        "members": {_weights(study, pair) for pair in members},
        "member count": len(members),
        "ensemble scored": "ensemble_published" in set(systems["kind"]),
        "smaller ensembles": removed,
        "larger ensembles": added,
        "loss runs": len(of_main["finetuned_human"] & of_main["finetuned_gpt"]),
        "twins": len(compared["twin"]),
        **{f"{kind} runs": len(of_kind) for kind, of_kind in of_main.items()},
        **{f"{stage} epochs": epochs.get(stage, 0) for stage in STAGES},
        **{f"unscored {name}": int(count) for name, count in unscored.items()},
        **{f"{name} models": unlike(models, study) for name, models in of_claims.items()},
    }
    for kind, of_kind in compared.items():
        facts[kind] = {
            contrast_name((study.pairs[one].published, study.pairs[other].published))
            for one, other in of_kind
        }
    return facts


def pairs_of(systems: pd.DataFrame) -> list[Pair]:
    """The pairs that were fine-tuned with new captions. systems: with the columns SYSTEM."""
    tuned = systems[systems["kind"] == "finetuned_gpt"]
    return list(dict.fromkeys(zip(tuned["audio_model"], tuned["text_model"], strict=True)))


def _weights(study: AudioStudy, pair: Pair) -> str:
    return " ".join(study.pairs[pair].published).strip() or "others"


def unlike(pairs: Sequence[Pair], study: AudioStudy) -> list[str]:
    """Encoders that do not start from the published weights, or cut recordings otherwise than those
    were trained."""
    others = set()
    for pair in (study.pairs[name] for name in pairs):
        labels = zip((pair.audio, pair.text), pair.weights, strict=True)
        others |= {f"{label} from scratch" for label, weights in labels if not weights}
        cut = (pair.segment_seconds, pair.overlap)
        if PUBLISHED_CUTS.get(pair.weights[0], cut) != cut:
            others.add(f"{pair.audio}, which cuts recordings otherwise")
    return sorted(others)


def best_pair(pairs: Iterable[Pair], study: AudioStudy) -> Pair:
    """The report's best pair by its published weights; the main one where it wasn't run."""
    return next((pair for pair in pairs if study.pairs[pair].published == BEST), study.main)


def ranked_pairs(pairs: Iterable[Pair], study: AudioStudy) -> list[Pair]:
    """The report's ten pairs where all of them are among these, else all."""
    paper = [pair for pair in pairs if study.pairs[pair].published in PAPER_PAIRS]
    ten = {study.pairs[pair].published for pair in paper} == set(PAPER_PAIRS)
    return paper if ten else list(pairs)


def contrasts(kind: str, pairs: Sequence[Pair], study: AudioStudy) -> list[Contrast]:
    """Two of the pairs that differ in one way (a key of WANTED), the one that should be better, or
    has a hidden layer, first. The report's in its order, where all of them are there; else all."""
    differing = [
        (one, other) for other in pairs for one in pairs if _differ(kind, one, other, study)
    ]
    known = {
        (study.pairs[one].published, study.pairs[other].published): (one, other)
        for one, other in differing
    }
    complete = WANTED[kind] and set(WANTED[kind]) <= set(known)
    return [known[contrast] for contrast in WANTED[kind]] if complete else differing


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


def contrast_name(contrast: Contrast) -> str:
    """Both pairs by their weights."""
    return " against ".join(" ".join(pair) for pair in contrast)
