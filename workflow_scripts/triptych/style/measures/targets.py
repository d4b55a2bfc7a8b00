"""How long Version 1 takes to a given loss, instead of to a given number of steps."""

from collections.abc import Iterable, Sequence

import pandas as pd


def target_times(
    histories: Iterable[pd.DataFrame], runs: Iterable[pd.DataFrame], parts: Sequence[float]
) -> pd.DataFrame:
    """Seconds and evaluations until the loss first falls to each part of its first value.

    histories, runs: history.csv and runs.csv of experiments. Columns as in
    results/style/timing/targets.csv; `reached` is False where a run ended above the target.
    """
    rows = []
    for history, table in zip(histories, runs, strict=True):
        for _, run in table.iterrows():
            of_run = history[history["run"] == run["run"]].sort_values("evaluation")
            relative = of_run["total"] / of_run["total"].iloc[0]
            for part in parts:
                below = of_run[relative <= part].head(1)
                rows.append(
                    {
                        "experiment": run["experiment"],
                        "run": run["run"],
                        "backbone": run["backbone"],
                        "optimizer": run["optimizer"],
                        "rates": run["rates"],
                        "relative_loss": part,
                        "seconds": None if below.empty else below["seconds"].item(),
                        "evaluations": None if below.empty else below["evaluation"].item(),
                        "reached": not below.empty,
                        "size": run["size"],
                        "device": run["device"],
                    }
                )
    return pd.DataFrame(rows)
