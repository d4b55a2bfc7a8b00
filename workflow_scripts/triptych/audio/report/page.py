"""The audio study's part of the page, and its headline numbers."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from triptych.audio.report.rows import AudioStudy
from triptych.audio.report.tables import table2_tables
from triptych.audio.report.tables_leaks import leaks_tables
from triptych.audio.report.tables_others import beyond_table, ensembles_tables, table1_table
from triptych.report.page import PageFigure, Section
from triptych.report.scoreboard import Headline

TITLES = {
    "audio_figure2": "Figure 2. Validation loss during fine-tuning.",
    "audio_beyond": "Beyond the paper: every system beside chance.",
}

RESULTS = (
    "Recordings and captions are projected into one space; a caption is a query, and clips are "
    "ranked by their cosine with it. mAP@10 rewards a high place of the one right clip, R@k counts "
    "how often it is among the first k. **Baselines stand in the same table**: chance, an "
    "untrained model, and a bag of words that compares the caption with the clips' keywords. "
    "An ensemble is the mean of its members' similarity matrices; the report's members were "
    "chosen on the test split, so beside them stands one chosen on the validation split."
)
SEARCH = (
    "**[Search page](search.html)**: queries of the evaluation split with the ten best clips, the "
    "true one marked, a spectrogram and a player each."
)
SUBMISSIONS = (
    "The four files of the challenge's format, from models retrained on all development splits, "
    "lie in `results/submissions`."
)
PRESETS = (
    "**Two presets stand side by side**: `{evaluated}` and `{replicated}`, which is trained as the "
    "paper was, by its text and its code. The last row is their mean difference; the table "
    "below it has each system's."
)
ENSEMBLES = (
    "The report says that any model more or fewer makes its ensemble worse on the test split. Here "
    "every subset of the listed members is scored, and the members with what else was trained."
)
SYNTHESISED = (
    "**All sounds of this run are synthesised, and its captions are written by rule.** Numbers on "
    "these scenes show that the method works from end to end, and how its parts compare on this "
    "task; they say nothing about Clotho and aren't comparable with published ones. Fewer clips "
    "are ranked than in Clotho, so chance is higher too. **A bag of words can beat every model "
    "here**: it reads the clips' keywords, which stem from the same description as the captions, "
    "while the models must hear what they were shown in a minute of training."
)
CAPTIONS = (
    "Each caption of the training split gets five new ones, which may take up its recording's "
    "keywords. In fine-tuning a caption is swapped for one of them with the probability of the "
    "report. Answers that break the rules of the prompt are asked for once more or left out."
)
TEMPLATE = (
    "**The new captions of this run were written by a template**, and no language model was "
    "asked. Gains from them are no evidence for or against GPT's."
)
FINETUNING = (
    "The main pair is fine-tuned from one pretrained model with each kind of captions, in runs "
    "that share their data order by seed. Weights are picked by validation mAP@10, so an "
    "overfitted last epoch isn't what Table 2 shows."
)
LEAKS = (
    "WavCaps and Clotho were drawn from the same sites, and Clotho's splits share recordings. "
    "`strict` leaves out of training every clip that a published leak list names and every "
    "recording of a split that models are judged by; `none` leaves them in, as the report did. "
    "Only ids are compared. The main pair, pretrained on both corpora, shows what the leaks are "
    "worth."
)
BEYOND = (
    "One right clip a query is the challenge's rule of 2023; where labels of all right clips are "
    "there, mAP@10 and mAP@16 count them too."
)
SCENES = (
    "Some synthesised evaluation scenes combine sounds as no training scene does (unseen). They "
    "are other scenes than the rest, so each part is to be read beside chance."
)
BEST, ENSEMBLE, FINETUNED, PRETRAINED = 38.56, 41.42, 38.00, 36.27
"""Of Table 2."""
PAIR = ["audio_model", "text_model"]


def audio_sections(
    *,
    figures: Mapping[str, PageFigure],
    table1: pd.DataFrame,
    table2: pd.DataFrame,
    ensembles: pd.DataFrame,
    leaks: pd.DataFrame,
    beyond: pd.DataFrame,
    study: AudioStudy,
    submitted: bool = True,
) -> list[Section]:
    """The study's sections. figures: by name; table1, table2, ensembles, leaks, beyond: the long
    tables of results/tables; submitted: whether the challenge's files were made.
    """
    synthesised = "synthesised" in study.sources.values()
    results = [RESULTS]
    results.append(f"{SEARCH} {SUBMISSIONS}" if submitted else SEARCH)
    if study.replicated:
        results.append(PRESETS.format(replicated=study.replicated, evaluated=study.evaluated))
    if synthesised:
        results.insert(0, SYNTHESISED)
    scenes = beyond["measure"].isin(["seen", "unseen"]).any()
    return [
        Section(
            "audio-results",
            "Retrieval",
            "\n\n".join(results),
            tables=table2_tables(table2),
            opened=("audio_table2",),
        ),
        Section(
            "audio-ensembles",
            "Other ensembles",
            ENSEMBLES,
            tables=ensembles_tables(ensembles),
            opened=(),
        ),
        Section(
            "audio-captions",
            "New captions",
            f"{CAPTIONS}\n\n{TEMPLATE}" if study.backend == "template" else CAPTIONS,
            tables=[table1_table(table1)],
            opened=(),
        ),
        Section(
            "audio-finetuning",
            "Fine-tuning",
            FINETUNING,
            [figures["audio_figure2"]],
            opened=(),
        ),
        Section("audio-leaks", "Leaks", LEAKS, tables=leaks_tables(leaks), opened=()),
        Section(
            "audio-beyond",
            "Beyond the paper",
            f"{BEYOND} {SCENES}" if scenes else BEYOND,
            [figures["audio_beyond"]],
            [beyond_table(beyond)],
            opened=("audio_beyond",),
        ),
    ]


def headlines(table2: pd.DataFrame) -> list[Headline]:
    """mAP@10 of the best model and of the ensemble, and what fine-tuning and new captions gain for
    the pair with both kinds of captions, in points. table2: the long table.
    """
    rows = table2[(table2["block"] == "run") & (table2["metric"] == "map_at_10")]
    single, ensemble = _of(rows, "finetuned_gpt"), _of(rows, "ensemble_published")
    main = rows[rows["kind"] == "finetuned_human"][PAIR].drop_duplicates()
    of_main = rows.merge(main, on=PAIR)
    gpt, human, pretrained = (
        _of(of_main, kind)["value"].mean()
        for kind in ("finetuned_gpt", "finetuned_human", "pretrained")
    )
    best = single.sort_values("value").tail(1)
    return [
        _points("audio-best-single", BEST, best["value"].mean(), " mAP@10", _ends(best)),
        _points("audio-ensemble", ENSEMBLE, ensemble["value"].mean(), " mAP@10", _ends(ensemble)),
        _points("audio-finetune-helps", FINETUNED - PRETRAINED, human - pretrained, " points"),
        _points("audio-gpt-helps", BEST - FINETUNED, gpt - human, " points"),
    ]


def _of(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    return rows[rows["kind"] == kind]


def _ends(row: pd.DataFrame) -> str:
    if row.empty:
        return ""
    low, high = (float(np.mean(row[end])) for end in ("low", "high"))
    return f"[{low:.2f}, {high:.2f}]"


def _points(claim: str, published: float, ours: float, unit: str, interval: str = "") -> Headline:
    return Headline(
        text="",
        where="",
        published=published,
        ours=ours,
        unit=unit,
        digits=2,
        interval=interval,
        claim=claim,
        points=True,
    )
