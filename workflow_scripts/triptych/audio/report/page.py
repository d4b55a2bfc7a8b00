"""The audio study's part of the page, and its headline numbers."""

from collections.abc import Mapping

import pandas as pd

from triptych.audio.report.rows import AudioStudy
from triptych.audio.report.tables import table2_tables
from triptych.audio.report.tables_leaks import leaks_tables
from triptych.audio.report.tables_others import table1_table
from triptych.report.glance import Bars, Glance, interval_bars
from triptych.report.page import PageFigure, Section
from triptych.report.tables import DASH, MINUS, number

TITLES = {
    "audio_figure2": "Figure 2. Validation loss during fine-tuning.",
    "audio_training": "How the main pair was pretrained.",
    "audio_beyond": "Beyond the paper: every system beside chance.",
}

KEYS = {
    "audio-results": ("audio.pairs", "audio.stages", "audio.evaluated", "audio.ensemble"),
    "audio-captions": ("audio.captions",),
    "audio-finetuning": ("audio.finetuning", "audio.stages.finetuning", "audio.main"),
    "audio-leaks": ("audio.corpora", "audio.evaluated", "audio.leaky"),
    "audio-beyond": ("audio.pairs", "audio.stages", "audio.ensemble"),
}
"""Keys of the config that shape each section."""

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
    "overfitted last epoch isn't what Table 2 shows. While a run trains, its curves are in "
    "`results/audio/models/*/*/training`."
)
LEAKS = (
    "WavCaps and Clotho were drawn from the same sites, and Clotho's splits share recordings. "
    "`strict` leaves out of training every clip that a published leak list names and every "
    "recording of a split that models are judged by; `none` leaves them in, as the report did. "
    "Only ids are compared. The main pair, pretrained on both corpora, shows what the leaks are "
    "worth."
)
SCENES = (
    "Some synthesised evaluation scenes combine sounds as no training scene does (unseen). They "
    "are other scenes than the rest, so each part is to be read beside chance."
)
SYSTEMS = {
    "chance": "Chance",
    "untrained": "Untrained",
    "pretrained": "Pretrained",
    "finetuned_human": "Fine-tuned",
    "finetuned_gpt": "With new captions",
    "ensemble_published": "Ensemble",
    "keywords": "Bag of words",
}
"""Kinds of systems on the first screen; of models, the main pair's."""
PAIR = ["audio_model", "text_model"]


def audio_sections(
    *,
    figures: Mapping[str, PageFigure],
    table1: pd.DataFrame,
    table2: pd.DataFrame,
    leaks: pd.DataFrame,
    beyond: pd.DataFrame,
    study: AudioStudy,
    submitted: bool = True,
) -> list[Section]:
    """The study's sections. figures: by name; table1, table2, leaks, beyond: the long tables
    of results/tables; submitted: whether the challenge's files were made.
    """

    def shown(*names: str) -> list[PageFigure]:
        return [figures[name] for name in names if name in figures]

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
            shown("audio_figure2", "audio_training"),
            opened=(),
        ),
        Section("audio-leaks", "Leaks", LEAKS, tables=leaks_tables(leaks), opened=()),
        Section(
            "audio-beyond",
            "Beyond the paper",
            SCENES if scenes else "Every model and baseline, scored on the evaluation split.",
            shown("audio_beyond"),
            opened=(),
        ),
    ]


def glance(table2: pd.DataFrame) -> Glance:
    """The first screen: mAP@10 of the main pair, the ensemble and the baselines, from the long
    Table 2."""
    run = table2[table2["block"] == "run"]
    main = run[run["kind"] == "finetuned_human"][PAIR].drop_duplicates()
    models = run[PAIR].apply(tuple, axis=1).isin([*main.itertuples(index=False, name=None)])
    shown = run[models | (run["system"] != "model") | (run["kind"] == "untrained")]
    means = shown.groupby(["metric", "kind"])[["value", "low", "high", "published"]].mean()
    precision = means.xs("map_at_10").reindex([*SYSTEMS])
    recall = means.xs("r_at_10")["value"].reindex([*SYSTEMS])
    value = precision["value"]
    printed = precision["published"]["ensemble_published"]
    paper = "" if pd.isna(printed) else f" (paper: {printed:.1f})"
    bars = precision.loc[value.notna(), ["value", "low", "high"]].assign(
        label=[name for kind, name in SYSTEMS.items() if value.notna()[kind]],
        strong=lambda rows: ~rows.index.isin(["chance", "untrained", "keywords"]),
    )
    data = ", ".join(sorted(set(run["data"])))
    return Glance(
        sentence=f"Searching {run['clips'].max():.0f} recordings by a sentence, the ensemble has "
        f"the right one among its first ten {number(recall['ensemble_published'], 0)} times in "
        f"100; chance {number(recall['chance'], 0)} times.",
        numbers=[
            (f"{number(value['ensemble_published'], 1)}%", f"mAP@10 of the ensemble{paper}"),
            (_gain(value["finetuned_human"] - value["pretrained"]), "points by fine-tuning"),
            (_gain(value["finetuned_gpt"] - value["finetuned_human"]), "points by new captions"),
        ],
        bars=Bars(
            f"mAP@10 in percent with 95% intervals over recordings: {data}.",
            interval_bars(bars, 1),
        ),
    )


def _gain(points: float) -> str:
    return DASH if pd.isna(points) else f"{points:+.1f}".replace("-", MINUS)
