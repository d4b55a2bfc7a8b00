"""Tables and claims of pictures and sounds, recomputed from raw rows by scipy and pandas."""

import pandas as pd
from recomputing import check, each_table, ends, ratio_ends, rows, same_numbers

LOSSES = ("l1", "smooth_l1", "huber", "mse")


@each_table(
    *(f"tables/style_figure{number}" for number in (2, 4, 5)), raw="style/optimize/*/runs.csv"
)
def test_losses_are_relative_to_the_first_and_end_as_their_runs_do(table):
    ended = rows(table.parents[1], "style/optimize/*/runs.csv").set_index(["experiment", "run"])
    long = pd.read_csv(table)
    for key, of_run in long[long["evaluation"].notna()].groupby(["experiment", "run"]):
        total = of_run[of_run["term"] == "total"].set_index("evaluation")["loss"]
        for _, row in of_run.iterrows():
            check(row, {"value": row["loss"] / total.iloc[0]})
        if ended.loc[key, "status"] == "finished":
            check(ended.loc[key], {"evaluations_done": total.index[-1]})
            check(ended.loc[key], {"total_loss_final": total.iloc[-1]}, rel=1e-6)
            check(ended.loc[key], {"relative_loss_final": total.iloc[-1] / total.iloc[0]}, rel=1e-6)


@each_table(
    *("tables/style_figure3", "tables/style_figure6", "tables/style_initialisations"),
    raw="style/optimize/*/runs.csv",
)
def test_measures_of_optimised_pictures(table):
    run, keys, compared = table.parents[1], ["experiment", "run"], 0
    raw = rows(run, "style/optimize/*/runs.csv").set_index(keys)
    if any(run.glob("style/quality/optimize/*.csv")):
        quality = rows(run, "style/quality/optimize/*.csv").drop(columns=["content", "painting"])
        raw = raw.join(quality.set_index(keys))
    for _, row in pd.read_csv(table).iterrows():
        if row["measure"] in raw:
            expected = raw.loc[(row["experiment"], row["run"]), row["measure"]]
            compared += check(row, {"value": expected})
    assert compared


@each_table("tables/style_figure4", raw="style/optimize/*/runs.csv")
def test_seconds_of_content_losses_beside_those_of_mse(table):
    long = pd.read_csv(table)
    seconds = seconds_of_losses(table.parents[1])
    for _, row in long[long["statistic"] == "difference_percent"].iterrows():
        one, mse = seconds[row["content_loss"]], seconds["mse"]
        found = (one.mean() / mse.mean(), *ratio_ends(one.to_numpy(), mse.to_numpy()))
        expected = (100 * (ratio - 1) for ratio in found)
        check(row, dict(zip(("value", "low", "high"), expected, strict=True)))


def seconds_of_losses(run):
    """Seconds of each repeat, a column a content loss."""
    long = pd.read_csv(run / "tables/style_figure4.csv")
    repeats = long[long["statistic"] == "seconds"]
    return repeats.pivot(index="repeat", columns="content_loss", values="value")[[*LOSSES]]


@each_table("claims", raw="style/optimize/*/runs.csv")
def test_numbers_that_claims_on_optimised_pictures_print(table):
    claims, run = pd.read_csv(table).set_index("id"), table.parent
    ended = rows(run, "style/optimize/*/runs.csv").set_index("experiment")
    seconds, final = seconds_of_losses(run), "relative_loss_final"
    finals = ended.loc["losses"].set_index("content_loss")[final][[*LOSSES]]
    times = claims.loc["style-loss-function-time"]
    same_numbers(times["measured"].split(": ", 1)[1], [*seconds.mean(), *finals])
    pairs = [(a, b) for a in ("huber", "mse") for b in ("l1", "smooth_l1")]
    bounds = [end for a, b in pairs for end in ends(seconds[a] - seconds[b])]
    same_numbers(times["interval"], bounds)
    long = pd.read_csv(run / "tables/style_figure2.csv").query("term == 'total'")
    smooth = []
    for name in ended.loc["backbones", "run"]:
        line = long.loc[long["run"] == name, "value"]
        window = max(len(line) // 10 | 1, 3)  # of a running median
        smooth.append(line.tail(window // 2 + 1).median())
    same_numbers(claims.at["style-backbone-loss-trend", "measured"], smooth)
    rates = ended.loc["optimizers"].set_index(["rates", "optimizer"])
    totals = [rates.loc[(r, o)] for r in ("authors", "tuned") for o in ("lbfgs", "adam", "sgd")]
    same_numbers(
        claims.at["style-lbfgs-lowest", "measured"],
        [total["total_loss_final"] for total in totals if total["status"] == "finished"],
    )


@each_table("tables/style_scores", raw="style/quality/**/*.csv")
def test_quality_of_pictures(table):
    frame = rows(table.parents[1], "style/quality/*/*.csv")
    own = {1: frame[frame["version"] == 1], 2: frame[frame["version"] == 2]}
    for _, row in pd.read_csv(table).iterrows():
        chosen = own[row["version"]]
        if row["version"] == 1:
            chosen = chosen[chosen["experiment"] == row["experiment"]]
            by = "painting" if row["experiment"] == "paintings" else "run"
            chosen = chosen[chosen[by] == row["result"]]
        values = chosen[chosen["painting"] == row["painting"]][row["measure"]].dropna()
        low, high = ends(values)
        check(row, {"value": values.mean(), "low": low, "high": high, "images": len(values)})


@each_table("tables/style_table1", raw="style/timing/images.csv")
def test_seconds_an_image(table):
    raw = rows(table.parents[1], "style/timing/images.csv")
    raw = raw[raw["evaluations_done"] == raw["evaluations"]]
    images = raw.groupby(["size", "backbone", "image"])["seconds"].mean()
    long = pd.read_csv(table)
    for _, row in long[(long["unit"] == "seconds") & long["value"].notna()].iterrows():
        own = images[(row["size"], row["column"])]
        done = raw[(raw["size"] == row["size"]) & (raw["backbone"] == row["column"])].iloc[0]
        factor = row["evaluations"] / done["evaluations"] if row["column"] != "network" else 1
        check(row, {"value": factor * own.mean(), "minimum": factor * own.min()})


@each_table("tables/audio_table2", raw="audio/queries.csv")
def test_precision_and_recall_of_audio(table):
    keys = ["stage", "audio_model", "text_model", "corpus", "captions", "seed", "system"]
    raw = rows(table.parents[1], "audio/queries.csv").query("split == 'evaluation'")
    ranks = {key: of_key["rank"] for key, of_key in raw.astype(str).groupby(keys)}
    long, compared = pd.read_csv(table).query("block == 'run'"), 0
    for _, row in long.iterrows():
        place = ranks.get(tuple(row[keys].astype(str)))
        if place is not None and not row["metric"].startswith("unseen"):
            at = int(row["metric"].rsplit("_", 1)[1])
            rank = place.astype(float)
            gain = 1 / rank if "map" in row["metric"] else 1.0
            compared += check(row, {"value": 100 * (gain * (rank <= at)).mean()})
    assert compared
