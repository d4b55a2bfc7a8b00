"""The main pair, the ensemble and the baselines.

mAP@10 in percent (100: the right recording always comes first) with 95% intervals over recordings:
{{ "synthesised sound scenes" if audio.sources.clotho.source == "synthesised" else "Clotho" }}. The
bag of words hears nothing; it counts the words that the sentence shares with a recording's
keywords.
"""

import pandas as pd

from triptych.core.job import job
from triptych.report.summary import Bars, Summary, interval_bars, write_summary
from triptych.report.tables import number, signed, with_interval

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
"""Kinds of systems; of models, the main pair's."""
PAIR = ["audio_model", "text_model"]
ENDS = ["value", "low", "high"]
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


def scores(run: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean of a metric by kind of system (SYSTEMS), of models the main pair's. run: the rows of
    Table 2 that are this run's."""
    main = run[run["kind"] == "finetuned_human"].iloc[0][PAIR]
    shown = run[(run[PAIR] == main).all(axis=1) | (run["system"] != "model")]
    of_kinds = shown[shown["metric"] == metric].groupby("kind")[[*ENDS, "published"]]
    return of_kinds.mean().reindex([*SYSTEMS])


def summary(table2: pd.DataFrame, caption: str) -> Summary:
    """mAP@10 of the main pair, the ensemble and the baselines. table2: the long Table 2."""
    run = table2[table2["block"] == "run"]
    precision, recall = (scores(run, metric) for metric in ("map_at_10", "r_at_10"))
    tuned = run[run["kind"].str.startswith("finetuned") & (run["metric"] == "map_at_10")]
    best = tuned.groupby([*PAIR, "kind"])[ENDS].mean().nlargest(1, "value").iloc[0]
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
    recalls, means = _cells(recall, 0), _cells(precision, 1)
    sentence = (
        f"Of {run['clips'].max():.0f} recordings the right one is among the ensemble's first ten "
        f"for {recalls['ensemble_published']}% of the sentences (chance: {recalls['chance']}%). "
    )
    compared = (
        f"Its mAP@10 is {means['ensemble_published']}, the best single model's "
        f"{means['best']}, that of a bag of words {means['keywords']}."
    )
    limits = [SCENES_LIMITS] if run["data"].iloc[0] != "Clotho" else []
    limits += [TEMPLATE_LIMITS] if template else []
    return Summary(
        sentence=sentence + (compared if learnt else NOTHING_LEARNT),
        limits=" ".join([*limits, LIMITS]),
        numbers=numbers if learnt else numbers[:1],
        bars=Bars(caption, interval_bars(bars.dropna(subset="value"), 1), whole=100),
    )


def _cells(rows: pd.DataFrame, digits: int) -> dict[str, str]:
    """Values with their intervals as text, by the rows' index."""
    return {
        str(kind): with_interval(row["value"], row["low"], row["high"], digits)
        for kind, row in rows.iterrows()
    }


if __name__ == "__main__":
    with job(snakemake):
        table2 = pd.read_csv(snakemake.input.table2)
        write_summary(summary(table2, snakemake.params.caption), snakemake.output[0])
