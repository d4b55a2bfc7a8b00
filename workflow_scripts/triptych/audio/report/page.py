"""The audio study's part of the page, and its headline numbers."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from triptych.audio.report.rows import AudioStudy
from triptych.audio.report.tables import table2_tables
from triptych.audio.report.tables_leaks import leaks_tables
from triptych.audio.report.tables_others import table1_table
from triptych.report.page import PageFigure, Part, Section, sections
from triptych.report.summary import Bars, Summary, interval_bars
from triptych.report.tables import number, signed, with_interval

PARTS = {
    "audio-results": Part(
        "Retrieval",
        "Recordings and captions are projected into one space; a caption is a query, and clips are "
        "ranked by their cosine with it. mAP@10 rewards a high place of the one right clip, R@k "
        "counts how often it is among the first k. **Baselines stand in the same table**: chance, "
        "an untrained model, and a bag of words that compares the caption with the clips' "
        "keywords. An ensemble is the mean of its members' similarity matrices; the report's "
        "members were chosen on the test split, so beside them stands one chosen on the validation "
        "split.\n\n**[Search page](search.html)**: queries of the evaluation split with the ten "
        "best clips, the true one marked, a spectrogram and a player each.",
        ("audio.pairs", "audio.stages", "audio.evaluated", "audio.ensemble"),
        tables={"table2": table2_tables},
        opened=("audio_table2",),
    ),
    "audio-captions": Part(
        "New captions",
        "Each caption of the training split gets five new ones, which may take up its recording's "
        "keywords. In fine-tuning a caption is swapped for one of them with the probability of the "
        "report. Answers that break the rules of the prompt are asked for once more or left out.",
        ("audio.captions",),
        tables={"table1": table1_table},
    ),
    "audio-finetuning": Part(
        "Fine-tuning",
        "The main pair is fine-tuned from one pretrained model with each kind of captions, in runs "
        "that share their data order by seed. Weights are picked by validation mAP@10, so an "
        "overfitted last epoch isn't what Table 2 shows. While a run trains, its curves are in "
        "`results/audio/models/*/*/training`.",
        ("audio.finetuning", "audio.stages.finetuning", "audio.main"),
        {
            "audio_figure2": "Figure 2. Validation loss during fine-tuning.",
            "audio_training": "How every pair was trained.",
        },
    ),
    "audio-leaks": Part(
        "Leaks",
        "WavCaps and Clotho were drawn from the same sites, and Clotho's splits share recordings. "
        "`strict` leaves out of training every clip that a published leak list names and every "
        "recording of a split that models are judged by; `none` leaves them in, as the report did. "
        "Only ids are compared. The main pair, pretrained on both corpora, shows what the leaks "
        "are worth.",
        ("audio.corpora", "audio.evaluated", "audio.leaky"),
        tables={"leaks": leaks_tables},
    ),
}
SUBMISSIONS = (
    "The four files of the challenge's format, from models retrained on all development splits, "
    "lie in `results/submissions`."
)
PRESETS = (
    "**Two presets stand side by side**: `{evaluated}` and `{replicated}`, which is trained as the "
    "paper was, by its text and its code. The last row is their mean difference."
)
SYNTHESISED = (
    "**All sounds of this run are synthesised, and its captions are written by rule.** Numbers on "
    "these scenes show that the method works from end to end, and how its parts compare on this "
    "task; they say nothing about Clotho and aren't comparable with published ones. Fewer clips "
    "are ranked than in Clotho, so chance is higher too. **The bag of words is strong here**: it "
    "hears nothing, but reads the clips' keywords, which stem from the same description as the "
    "captions and share words with most of them. Some evaluation scenes combine sounds as no "
    "training scene does (unseen); they are other scenes than the rest, so their column is to be "
    "read beside chance."
)
TEMPLATE = (
    "**The new captions of this run were written by a template**, and no language model was "
    "asked. Gains from them are no evidence for or against GPT's."
)
SYSTEMS = {
    "chance": "Chance",
    "untrained": "Untrained",
    "pretrained": "Pretrained",
    "finetuned_human": "Fine-tuned",
    "finetuned_gpt": "With new captions",
    "best": "Best single model",
    "ensemble_published": "Ensemble",
    "keywords": "Bag of words on keywords",
}
"""Kinds of systems on the first screen; of models, the main pair's."""
ENDS = ["value", "low", "high"]
BARS = (
    "mAP@10 in percent (100: the right recording always comes first) with 95% intervals over "
    "recordings: {data}. The bag of words hears nothing; it counts the words that the sentence "
    "shares with a recording's keywords."
)
NOTHING_LEARNT = (
    "**No model of this run is better than chance**, so it says nothing about fine-tuning, new "
    "captions or ensembles."
)
LIMITS = "Intervals are over recordings, not over trainings."
SCENES_LIMITS = (
    "Not shown is how well the method does on real sound: these recordings are computed, sixteen "
    "kinds of sounds and pairs of them, with captions by rule, and encoders are small. A bag of "
    "words is strong here because captions and keywords come from one description; with Clotho's "
    "own keywords it reaches 10% mAP@10."
)
TEMPLATE_LIMITS = "New captions are a template's, so what they gain says nothing about GPT's."


def audio_sections(
    figures: Mapping[str, PageFigure],
    frames: Mapping[str, pd.DataFrame],
    study: AudioStudy,
    *,
    submitted: bool = True,
) -> list[Section]:
    """The study's sections. figures: by name; frames: the long tables of results/tables, by the
    names of `Workflow.page`; submitted: whether the challenge's files were made.
    """
    parts = dict(PARTS)
    if study.synthesised:
        results = PARTS["audio-results"]
        parts["audio-results"] = replace(results, text=f"{SYNTHESISED}\n\n{results.text}")
    notes = [SUBMISSIONS] if submitted else []
    if study.replicated:
        notes.append(PRESETS.format(evaluated=study.evaluated, replicated=study.replicated))
    return sections(
        parts,
        figures,
        frames,
        notes={
            "audio-results": notes,
            "audio-captions": [TEMPLATE] if study.backend == "template" else [],
        },
    )


def glance(table2: pd.DataFrame) -> Summary:
    """The first screen: mAP@10 of the main pair, the ensemble and the baselines, from the long
    Table 2."""
    run = table2[table2["block"] == "run"]
    pair = ["audio_model", "text_model"]
    main = run[run["kind"] == "finetuned_human"].iloc[0][pair]
    shown = run[(run[pair] == main).all(axis=1) | (run["system"] != "model")]
    precision, recall = (
        shown[shown["metric"] == metric]
        .groupby("kind")[[*ENDS, "published"]]
        .mean()
        .reindex([*SYSTEMS])
        for metric in ("map_at_10", "r_at_10")
    )
    tuned = run[run["kind"].str.startswith("finetuned") & (run["metric"] == "map_at_10")]
    best = tuned.groupby([*pair, "kind"])[ENDS].mean().nlargest(1, "value").iloc[0]
    precision.loc["best", ENDS] = best
    value, printed = precision["value"], precision["published"]["ensemble_published"]
    paper = "" if pd.isna(printed) else f" (paper: {printed:.1f})"
    template = (run["gpt"] == "template").any()
    last = signed(value["finetuned_gpt"] - value["finetuned_human"], 1), "points by new captions"
    if template:  # what a template's captions gain is no finding
        gain = value["ensemble_published"] - best["value"]
        last = signed(gain, 1), "points by the ensemble over the best single model"
    numbers = [
        (f"{number(value['ensemble_published'], 1)}%", f"mAP@10 of the ensemble{paper}"),
        (signed(value["finetuned_human"] - value["pretrained"], 1), "points by fine-tuning"),
        last,
    ]
    learnt = max(best["low"], precision["low"]["ensemble_published"]) > value["chance"]
    bars = precision[ENDS].assign(
        label=list(SYSTEMS.values()),
        strong=~precision.index.isin(["chance", "untrained", "keywords"]),
    )
    recalls, scores = _cells(recall, 0), _cells(precision, 1)
    sentence = (
        f"Of {run['clips'].max():.0f} recordings the right one is among the ensemble's first ten "
        f"for {recalls['ensemble_published']}% of the sentences (chance: {recalls['chance']}%). "
    )
    compared = (
        f"Its mAP@10 is {scores['ensemble_published']}, the best single model's "
        f"{scores['best']}, that of a bag of words {scores['keywords']}."
    )
    limits = [SCENES_LIMITS] if run["data"].iloc[0] != "Clotho" else []
    if template:
        limits.append(TEMPLATE_LIMITS)
    return Summary(
        sentence=sentence + (compared if learnt else NOTHING_LEARNT),
        limits=" ".join([*limits, LIMITS]),
        numbers=numbers if learnt else numbers[:1],
        bars=Bars(
            BARS.format(data=run["data"].iloc[0]),
            interval_bars(bars.dropna(subset="value"), 1),
            whole=100,
        ),
    )


def _cells(rows: pd.DataFrame, digits: int) -> dict[str, str]:
    """Values with their intervals as text, by the rows' index."""
    return {
        str(kind): with_interval(row["value"], row["low"], row["high"], digits)
        for kind, row in rows.iterrows()
    }
