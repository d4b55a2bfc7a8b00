"""Tables and figures of the offline-RL study, from its tidy files; each waits for its own runs."""

SHOWN = {
    "sparsity": RL.config["shown_sparsity"],
    "observations": RL.config["observations"],
}
SCORES = {"scores": RL.files("scores.csv", RL.shown()), "datasets": RL.datasets}
SNIP = {**SCORES, "scores": RL.files("scores.csv", RL.shown(["snip"]))}
GRASP = {**SCORES, "scores": RL.files("scores.csv", RL.shown(["grasp"]))}
LAYERS = RL.files("layers.csv", RL.measured())
MEGABYTES = shipped("resources/published/rl_table1_megabytes.csv")
VARIED = RL.varied_runs + RL.shown({run["method"] for run in RL.varied_runs})

if "snip" in RL.criteria:
    figure("rl_figure1", **SNIP, params=SHOWN)
    figure("rl_figure1_curves", **SNIP, params=SHOWN)
if "grasp" in RL.criteria:
    figure("rl_figure2", **GRASP, params=SHOWN)
    figure("rl_figure2_curves", **GRASP, params=SHOWN)
if RL.compared_criteria:
    figure("rl_criteria", **SCORES, params={**SHOWN, "criteria": RL.compared_criteria})
figure("rl_curves", **SCORES, params=SHOWN)
table("rl_scores", **SCORES, params=SHOWN)
table("rl_comparisons", **SCORES, params=SHOWN)

table(
    "rl_inputs",
    inputs=RL.files("inputs.csv", RL.select(pruning="default")),
    datasets=RL.datasets,
    params=SHOWN,
)
if RL.sensing:
    figure(
        "rl_sensors",
        scores=RL.files("scores.csv", RL.select(pruning="default")),
        inputs="results/tables/rl_inputs.csv",
        datasets=RL.datasets,
        params={"sparsity": SHOWN["sparsity"], "sensing": RL.sensing},
    )

if RL.variants:
    table(
        "rl_variants",
        scores=RL.files("scores.csv", VARIED),
        datasets=RL.datasets,
        params={**SHOWN, "variants": RL.variants},
    )
if RL.select(small=True):
    figure(
        "rl_small_data",
        scores=RL.files("scores.csv", RL.select(small=True)),
        datasets=RL.datasets,
    )

figure("rl_figure3", layers=LAYERS, params=SHOWN)
figure("rl_figure3_counts", layers=LAYERS, params=SHOWN)

table(
    "rl_table1",
    sizes=RL.files("sizes.csv", RL.measured(task=RL.table1_task)),
    published=MEGABYTES,
    params={**SHOWN, "task": RL.table1_task},
    priority=45,  # the first table that a run shows
)
figure(
    "rl_figure4",
    sizes=RL.files("sizes.csv", RL.measured()),
    published=MEGABYTES,
    params={**SHOWN, "task": RL.table1_task},
)
table("rl_inference", latency=f"results/rl/{RL.timed['task']}/latency.csv")

table(
    "rl_datasets",
    datasets=RL.datasets,
    scores="results/tables/rl_scores.csv",  # the units of own tasks
)
summary(
    "rl_summary",
    table1="results/tables/rl_table1.csv",
    scores="results/tables/rl_scores.csv",
    datasets=RL.datasets,
    sensors=["results/tables/rl_sensors.csv"] if RL.sensing else [],
    params={**SHOWN, "updates": RL.config["training"]["updates"]},
)
