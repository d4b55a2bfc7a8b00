"""Facts and scores of a run on which the claims of the audio study rest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from triptych.audio.data_sizes import judged_by
from triptych.audio.experiments import audio_runs
from triptych.audio.report.claims_data import (
    DATASETS,
    SYNTHESISED,
    counted,
    list_facts,
    planned_data,
    planned_lists,
    read_data,
)
from triptych.audio.report.rows import CLOTHO_EVALUATION, AudioStudy, kind_of, records
from triptych.audio.report.tables_leaks import VALUES

Pair = tuple[str, str]
"""An audio and a text model."""
Contrast = tuple[Pair, Pair]
"""Two pairs of models, the one that should be better first."""
System = tuple[str, Pair, str]
"""Kind, pair and seed of what was scored."""
PAPER_AUDIO, BASES, LARGES = (
    ("passt_n", "passt_s", "passt_s15"),
    ("bert_base", "roberta_base"),
    ("bert_large", "roberta_large"),
)
PAPER_PAIRS = (
    *((audio, text) for audio in PAPER_AUDIO[:2] for text in BASES),
    *((audio, text) for audio in PAPER_AUDIO for text in LARGES),
)
"""Pairs of Table 2 by their published weights, as `AudioStudy.published` names them."""
WANTED: Mapping[str, Sequence[Contrast]] = {
    "larger": [
        ((audio, large), (audio, base))
        for audio in PAPER_AUDIO[:2]
        for base, large in zip(BASES, LARGES, strict=True)
    ],
    "overlap": [((PAPER_AUDIO[0], text), (PAPER_AUDIO[1], text)) for text in (*BASES, *LARGES)],
    "twin": [],
}
"""The report's comparisons, likewise: a larger sentence encoder against a smaller one of its kind;
patches that don't overlap against those that do; a hidden layer in the projections against none, of
pairs that the report doesn't name."""
BEST = ("passt_n", "roberta_large")
PUBLISHED_CUTS = {"passt_n": (10.0, False), "passt_s": (10.0, True), "passt_s15": (15.0, True)}
"""Seconds of a segment, and whether its patches overlap."""
STAGES = {"pretrained": "pretraining", "finetuned": "finetuning"}
"""What config calls the stages of the report."""
RULES = ("audio_pretrain", "audio_finetune")
"""Which train in these stages."""


@dataclass(frozen=True)
class Run:
    """Scores that the claims compare.

    queries: ranks of the evaluated corpus' evaluation split, with their precision and recall
    (percent) and `kind`; history, subsets: of these files; published: Table 2; lists: numbers of
    the data sets' lists; exclude: the leak policy.
    """

    queries: pd.DataFrame
    history: pd.DataFrame
    subsets: pd.DataFrame
    published: pd.DataFrame
    lists: Mapping[str, Mapping[str, float]]
    exclude: str
    study: AudioStudy

    @cached_property
    def systems(self) -> dict[tuple[str, ...], pd.DataFrame]:
        """Rows by kind, audio and text model: looking for them again for each claim takes long."""
        groups = self.queries.groupby(["kind", "audio_model", "text_model"])
        return {tuple(map(str, key)): rows for key, rows in groups}

    @property
    def pairs(self) -> list[Pair]:
        """Every pair that was fine-tuned with new captions."""
        rows = self.queries.loc[self.queries["kind"] == "finetuned_gpt"]
        named = rows[["audio_model", "text_model"]].drop_duplicates().to_numpy().tolist()
        return [(str(audio), str(text)) for audio, text in named]

    def scores(self, kind: str, pair: Pair, *, seed: str = "", of: str = "map_at_10") -> pd.Series:
        """A measure of each query, indexed by (clip, query); mean over runs where no seed is given;
        empty where there is no such run."""
        rows = self.systems.get((kind, *pair), self.queries[:0])
        chosen = rows[rows["seed"] == seed] if seed else rows
        return chosen.groupby(["clip", "query"])[of].mean()

    def run_means(self, kind: str, pair: Pair) -> list[float]:
        """mAP@10 of each run, in the order of their seeds."""
        rows = self.systems.get((kind, *pair), self.queries[:0])
        return [float(mean) for mean in rows.groupby("seed")["map_at_10"].mean()]

    def single(self, pair: Pair, of: str = "map_at_10") -> pd.Series:
        """A pair's one run of Table 2: fine-tuned with new captions from the first seed."""
        return self.scores("finetuned_gpt", pair, seed=self.study.first_seed, of=of)

    def label(self, pair: Pair) -> str:
        """The pair as a reader knows it."""
        return self.study.pair_label(*pair)

    def losses(self, which: str) -> pd.DataFrame:
        """The lowest (`min`) or last validation loss of the main pair: a row a seed, a column a
        kind of captions."""
        rows, (audio, text) = self.history, self.study.main
        of_pair = (rows["audio_model"] == audio) & (rows["text_model"] == text)
        ours = rows[of_pair & (rows["stage"] == "finetuned")].sort_values("epoch")
        losses = ours.groupby(["seed", "captions"])["validation_loss"].agg(which)
        return losses.unstack("captions")


def read_run(
    frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
) -> tuple[Run, dict[str, Any]]:
    """The scores and the facts of a run, from the files and settings that
    `Workflow.claims` names."""
    study, trained = AudioStudy.read(**settings["study"]), settings["trained"]
    became = [settings.get("became", {}).get(rule, set()) for rule in RULES]
    trained = {**trained, "precisions": set().union(*became) or trained["precisions"]}
    queries = frames["queries"]
    corpus = queries["corpus"].isin([study.evaluated, ""])
    chosen = queries[(queries["split"] == "evaluation") & corpus].copy()
    for metric in ("map_at_10", "r_at_1"):
        chosen[metric] = 100 * VALUES[metric](chosen["rank"])
    keys = ["stage", "audio_model", "text_model", "captions", "seed", "system"]
    named = chosen[keys].drop_duplicates()
    kinds = {tuple(row): kind_of(dict(zip(keys, row, strict=True))) for row in named.to_numpy()}
    chosen["kind"] = [kinds[tuple(row)] for row in chosen[keys].to_numpy()]
    history, ensembles, subsets = (
        frames[name][frames[name]["corpus"] == study.evaluated]
        for name in ("history", "ensembles", "subsets")
    )
    lists = counted(*(frames[name] for name in ("clips", "captions", "asked", "unfiltered")))
    run = Run(
        queries=chosen,
        history=history,
        subsets=subsets,
        published=frames["published"],
        lists=lists,
        exclude=trained["exclude"],
        study=study,
    )
    systems = [(kinds[tuple(row)], (row[1], row[2]), row[4]) for row in named.to_numpy()]
    synthesised = study.sources.get("clotho") == SYNTHESISED
    members = ensembles.loc[ensembles["name"] == "published", "member"].astype(str)
    facts = {
        **read_data(frames, study.sources, trained),
        **list_facts(lists, study),
        **_system_facts(systems, study),
        **_ensemble_facts([_pair_of(member, run.pairs) for member in members], study),
        **_epochs(named[named["system"] == "model"], history),
        "loss runs": len(run.losses("last").reindex(columns=["human", "gpt"]).dropna()),
        **{f"{name} numbers": set(lists.get(name, ())) for name in DATASETS},
        "printed": {
            f"{metric} of {row['source']}"
            for row in frames["published"].to_dict("records")
            for metric in ("map_at_10", "r_at_1")
            if row[metric] == row[metric]
        },
        "smaller ensembles": int((subsets["removed"] > 0).sum()),
        "larger ensembles": int((subsets["added"] > 0).sum()),
    }
    for name, column in (("clips", "clip"), ("captions", "query")):
        counts = chosen.groupby(["kind", "audio_model", "text_model", "seed"])[column].nunique()
        most = int(counts.max()) if len(counts) else 1
        expected = (
            most if synthesised else CLOTHO_EVALUATION["clips" if name == "clips" else "queries"]
        )
        facts[f"unscored {name}"] = max(0, expected - (int(counts.min()) if len(counts) else 0))
    return run, facts


def planned_facts(workflow: Any) -> dict[str, Any]:
    """The facts of a run that has not begun. workflow: the Workflow of its config."""
    config, settings = workflow.config, workflow.claims[1]
    study = AudioStudy.read(**settings["study"])
    table = pd.DataFrame(audio_runs(config))
    runs = table[table["corpus"] == study.evaluated]
    systems = [
        (kind_of(row), (row["audio_model"], row["text_model"]), row["seed"])
        for row in records(runs.astype(str).assign(system="model"))
    ]
    named = [tuple(member) for member in config["ensemble"]["members"]]
    pairs = [
        pair for kind, pair, seed in systems if kind == "finetuned_gpt" and seed == study.first_seed
    ]
    members = [pair for pair in named if pair in pairs]
    others = len(set(pairs)) - len(set(members))
    judged = judged_by(config, study.evaluated).get("evaluation")
    synthesised = study.sources.get("clotho") == SYNTHESISED
    human, gpt = (
        {seed for kind, pair, seed in systems if (kind, pair) == (in_paper, study.main)}
        for in_paper in ("finetuned_human", "finetuned_gpt")
    )
    facts: dict[str, Any] = {
        **planned_data(config, study.sources, settings["trained"]),
        **list_facts(planned_lists(config), study),
        **_system_facts([*systems, ("ensemble_published", ("published", ""), "")], study),
        **_ensemble_facts(members, study),
        "loss runs": len(human & gpt),
        "smaller ensembles": 2 ** len(members) - 2,
        "larger ensembles": 2**others - 1,
    }
    for name, in_paper in zip(("clips", "captions"), CLOTHO_EVALUATION.values(), strict=True):
        scored = 0 if judged is None else judged.count if name == "clips" else judged.captions
        facts[f"unscored {name}"] = max(0, (max(scored, 1) if synthesised else in_paper) - scored)
    for stage, section in STAGES.items():
        trained = (runs["stage"] == stage).any()
        facts[f"{stage} epochs"] = config["stages"][section]["epochs"] if trained else 0
    return facts


def _epochs(models: pd.DataFrame, history: pd.DataFrame) -> dict[str, Any]:
    """The fewest epochs of any model that was scored, by stage."""
    keys = ["stage", "audio_model", "text_model", "captions", "seed"]
    done = history.groupby(keys)["epoch"].max().rename("epochs").reset_index()
    trained = models[keys].merge(done, on=keys, how="left").fillna({"epochs": 0})
    fewest = trained.groupby("stage")["epochs"].min()
    return {f"{stage} epochs": int(fewest.get(stage, 0)) for stage in STAGES}


def _system_facts(systems: Sequence[System], study: AudioStudy) -> dict[str, Any]:
    """Which pairs and comparisons were run, and which of their models aren't the report's."""
    pairs = list(dict.fromkeys(pair for kind, pair, _ in systems if kind == "finetuned_gpt"))
    published = {study.published(*pair) for pair in pairs}
    ten = published >= set(PAPER_PAIRS)
    ranked = [pair for pair in pairs if not ten or study.published(*pair) in PAPER_PAIRS]
    best = best_pair(pairs, study)
    facts: dict[str, Any] = {
        "pairs": {" ".join(pair) for pair in published},
        "ranked models": unlike(ranked, study),
        "main pair": {_weights(study, study.main)},
        "main models": unlike([study.main], study),
        "best pair": {_weights(study, best)},
        "best models": unlike([best], study),
        "best runs": systems.count(("finetuned_gpt", best, study.first_seed)),
        "ensemble scored": any(kind == "ensemble_published" for kind, _, _ in systems),
    }
    for kind in ("pretrained", "finetuned_human", "finetuned_gpt"):
        seeds = {seed for contrast, pair, seed in systems if (contrast, pair) == (kind, study.main)}
        facts[f"{kind} runs"] = len(seeds)
    for kind in WANTED:
        compared = contrasts(kind, pairs, study)
        facts[kind] = {
            contrast_name((study.published(*one), study.published(*other)))
            for one, other in compared
        }
        facts[f"{kind} models"] = unlike(sum(compared, ()), study)
    return facts | {"twins": len(contrasts("twin", pairs, study))}


def _ensemble_facts(members: Sequence[Pair | None], study: AudioStudy) -> dict[str, Any]:
    """Facts about the listed ensemble. members: None for one that isn't a pair of this run."""
    used = list(dict.fromkeys(pair for pair in members if pair))
    return {
        "members": {_weights(study, pair) for pair in used},
        "member count": len(members),
        "member models": unlike(used, study),
    }


def _pair_of(member: str, pairs: Iterable[Pair]) -> Pair | None:
    """The pair of a member's run label (pair/corpus/stage/...), where it is fine-tuned."""
    name, _, stage = member.split("/")[:3]
    return {"-".join(pair): pair for pair in pairs}.get(name) if stage == "finetuned" else None


def _weights(study: AudioStudy, pair: Pair) -> str:
    return " ".join(study.published(*pair)).strip() or "others"


def unlike(pairs: Iterable[Pair], study: AudioStudy) -> list[str]:
    """Encoders that do not start from the published weights, or cut recordings otherwise than those
    were trained."""
    every = list(pairs)
    audio = [study.audio[name] for name in dict.fromkeys(pair[0] for pair in every)]
    text = [study.text[name] for name in dict.fromkeys(pair[1] for pair in every)]
    return [
        *(f"{model.label} from scratch" for model in audio if model.weights == "none"),
        *(f"{model.label} from scratch" for model in text if model.source == "scratch"),
        *(
            f"{model.label}, which cuts recordings otherwise"
            for model in audio
            for cut in [(model.segment_seconds, model.overlap)]
            if PUBLISHED_CUTS.get(model.weights, cut) != cut
        ),
    ]


def best_pair(pairs: Iterable[Pair], study: AudioStudy) -> Pair:
    """The report's best pair by its published weights; the main one where it wasn't run."""
    return next((pair for pair in pairs if study.published(*pair) == BEST), study.main)


def contrasts(kind: str, pairs: Sequence[Pair], study: AudioStudy) -> list[Contrast]:
    """Two of the pairs that differ in one way (a key of WANTED), the one that should be better, or
    has a hidden layer, first. The report's in its order, where all of them are there; else all."""
    differing = [
        (one, other) for other in pairs for one in pairs if _differ(kind, one, other, study)
    ]
    known = {
        (study.published(*one), study.published(*other)): (one, other) for one, other in differing
    }
    in_report = WANTED[kind]
    if in_report and set(in_report) <= set(known):
        return [known[contrast] for contrast in in_report]
    return differing


def _differ(kind: str, one: Pair, other: Pair, study: AudioStudy) -> bool:
    audio, other_audio = study.audio[one[0]], study.audio[other[0]]
    text, other_text = study.text[one[1]], study.text[other[1]]
    if kind == "larger":  # sentence encoder of a kind, behind the same audio model
        same = one[0] == other[0] and text.kind == other_text.kind
        return same and 0 < other_text.weights < text.weights
    if kind == "overlap":  # of patches, in segments of one length
        same = one[1] == other[1] and audio.segment_seconds == other_audio.segment_seconds
        return same and audio.overlap is False and bool(other_audio.overlap)
    same = study.weights(*one) == study.weights(*other)
    return same and bool(audio.projection_hidden) and not other_audio.projection_hidden


def contrast_name(contrast: Contrast) -> str:
    """Both pairs by their weights."""
    return " against ".join(" ".join(pair) for pair in contrast)
