"""What a run that has not begun will hold for the judge of the claims, as far as its config says.

The judge reads it before a run as it reads a run's own files after it, so that what a claim needs
is written down once. Ranks and losses are made up, and everything published can still be had. They
say whether a claim will be decided, never how.
"""

from collections.abc import Mapping
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd

from triptych.audio.data_sizes import Clips, clips_of, judged_by, trained_on
from triptych.audio.experiments import KEYS as RUN_KEYS
from triptych.audio.experiments import audio_runs
from triptych.audio.report.claims import GAINS, AudioScores
from triptych.audio.report.claims_data import DATASETS, AudioData, expected_captions
from triptych.audio.report.claims_published import PUBLISHED_ENSEMBLE
from triptych.audio.report.claims_statistics import STATED, Statistics
from triptych.audio.report.claims_verdicts import audio_verdicts
from triptych.audio.report.rows import METRICS, AudioStudy
from triptych.audio.workflow import Workflow
from triptych.report.verdicts import Verdict

NOTHING = Clips(0, 0.0, 0)
PLACES = 3
"""Ranks that queries take in turn."""


def foreseen(workflow: Workflow, on_gpu: bool) -> list[Verdict]:
    """The judge's verdicts on a run that has not begun: whether each claim will be decided, never
    how. workflow: of its config."""
    return audio_verdicts(promised_scores(workflow.config, **workflow.claims[1]))


def promised_scores(
    config: Mapping[str, Any], study: Mapping[str, Any], trained: Mapping[str, Any]
) -> AudioScores:
    """What the claims read. config: the section `audio`; study, trained: `Workflow.claims`'
    settings."""
    runs = audio_runs(config)
    own = runs[(runs["corpus"] == config["evaluated"]) & (runs["stage"] != "distilled")]
    ensembles = _ensembles(config, own)
    stages = config["stages"]
    epochs = {"pretrained": stages["pretraining"], "finetuned": stages["finetuning"]}
    history = own[list(RUN_KEYS)].astype(str)
    history = history.assign(
        epoch=[epochs[stage]["epochs"] for stage in own["stage"]], validation_loss=1.0
    )
    return AudioScores.read(
        _queries(config, history),
        history,
        ensembles,
        _subsets(ensembles, own),
        pd.DataFrame(
            [{"source": each.source, **dict.fromkeys(METRICS, 1.0)} for each in GAINS.values()]
        ),
        _statistics(config),
        AudioStudy.read(**study),
        _data(config, **trained),
    )


def _queries(config: Mapping[str, Any], models: pd.DataFrame) -> pd.DataFrame:
    """Ranks of the evaluation split by every model and ensemble."""
    judged = judged_by(config, config["evaluated"]).get("evaluation", NOTHING)
    keys = list(RUN_KEYS)
    named = pd.DataFrame({"audio_model": [PUBLISHED_ENSEMBLE, "selected"], "system": "ensemble"})
    named = named.reindex(columns=[*keys, "system"], fill_value="")
    named = named.assign(corpus=config["evaluated"])
    systems = pd.concat([models[keys].assign(system="model"), named], ignore_index=True)
    number = np.arange(judged.captions)
    asked = pd.DataFrame({"query": number, "clip": number % max(judged.count, 1)})
    asked["rank"] = 1 + number % PLACES
    return systems.merge(asked.assign(split="evaluation"), how="cross")


def _ensembles(config: Mapping[str, Any], own: pd.DataFrame) -> pd.DataFrame:
    """The members' runs: fine-tuned with new captions from the first seed."""
    pairs = ["-".join(member) for member in config["ensemble"]["members"]]
    first = own["seed"] == config["finetuning"]["seeds"][0]
    members = own[own["pair"].isin(pairs) & (own["captions"] == "gpt") & first]
    return pd.DataFrame(
        {"name": PUBLISHED_ENSEMBLE, "member": members["run"], "corpus": config["evaluated"]}
    )


def _subsets(ensembles: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Every set of the members, and all of them with every set of other pairs."""
    members = set(ensembles["member"])
    others = set(own.loc[own["captions"] == "gpt"].drop_duplicates("pair")["run"]) - members
    less = [len(members) - n for n in range(1, len(members) + 1) for _ in combinations(members, n)]
    more = chain.from_iterable(
        [n] * len(list(combinations(others, n))) for n in range(1, len(others) + 1)
    )
    sets = [*((removed, 0) for removed in less), *((0, added) for added in more)]
    frame = pd.DataFrame(sets, columns=["removed", "added"]).assign(place=1, map_at_10=0.4)
    worth = dict.fromkeys(("difference", "difference_low", "difference_high"), 0.0)
    corpus = ensembles["corpus"].iloc[0] if len(ensembles) else ""
    return frame.assign(corpus=corpus, **worth)


def _data(
    config: Mapping[str, Any],
    *,
    exclude: str,
    precisions: list[str],
    audiocaps_captions: str = "all",
) -> AudioData:
    """What is trained on: all that is published of what the config asks for."""
    parts = trained_on(config, config["evaluated"], DATASETS)
    captions = dict.fromkeys(DATASETS, 0)
    for dataset, clips in parts:
        captions[dataset] += clips.captions
    there: dict[tuple[str, str], int] = {}
    for dataset in DATASETS:
        for split, clips in clips_of(config, dataset).items():
            there[dataset, split] = clips.count
            there[dataset, ""] = there.get((dataset, ""), 0) + clips.count
    return AudioData(
        clips=there,
        captions=captions,
        expected=expected_captions(audiocaps_captions),
        new_captions=config["captions"]["variations"] * captions["clotho"],
        leaked=0,
        exclude=exclude,
        backend=config["captions"]["backend"],
        model=config["captions"]["model"],
        precisions=frozenset(precisions),
    )


def _statistics(config: Mapping[str, Any]) -> Statistics:
    """The report's own numbers of each data set that is there."""
    values = {}
    for dataset, stated in STATED.values():
        if parts := clips_of(config, dataset):
            labelled = sum(c.count for split, c in parts.items() if split != "retrieval_audio")
            new = config["captions"]["variations"] * parts.get("development", NOTHING).captions
            values[dataset] = {each.key: each.low for each in stated}
            values[dataset] |= {"labelled": float(labelled), "new captions": float(new)}
    sources = {name: each["source"] for name, each in config["sources"].items()}
    return Statistics(values, sources, config["captions"]["backend"])
