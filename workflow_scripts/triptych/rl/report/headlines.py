"""The offline-RL paper's headline numbers, beside this run's."""

from itertools import product

import pandas as pd

from triptych.report.scoreboard import Headline
from triptych.report.tables import TIMES
from triptych.rl.report.labels import NETWORK_LABELS

ROWS = {
    "Dense Model": "dense",
    "SNIP (95% sparse)": "SNIP at 95%",
    "GraSP (95% sparse)": "GraSP at 95%",
}


KEEPS = {
    "rl-bc-95": ("BC", ("hopper", "walker2d", "halfcheetah")),
    "rl-bcq-95": ("BCQ", ("walker2d", "halfcheetah")),
}
"""Of each claim about scores: the algorithm, and the tasks on which it keeps them."""


def headlines(table1: pd.DataFrame, scores: pd.DataFrame) -> list[Headline]:
    """Megabytes of the actor and the VAE, how many times smaller pruning makes all networks, and
    the lowest part of the dense score that 95% pruning keeps.

    table1, scores: the long tables.
    """
    cells = {(cell["row"], cell["column"]): cell for _, cell in table1.iterrows()}
    found = []
    for (row, said), network in product(ROWS.items(), ("actor", "vae")):
        cell = cells[row, network]
        found.append(
            Headline(
                f"{NETWORK_LABELS[network]}, {said}: megabytes stored",
                "Table 1",
                cell["published"],
                cell["value"],
                " MB",
                digits=3,
                interval=f"mean of {cell['seeds']:.0f} seeds" if cell["seeds"] else "",
                unlike="" if cell["seeds"] else "No networks of the paper's widths were pruned.",
            )
        )
    sums = table1.groupby("row")["value"].sum(min_count=len(NETWORK_LABELS))
    ratio = sums["Dense Model"] / sums["SNIP (95% sparse)"]
    found.append(Headline("", "", 4, ratio, f"{TIMES} smaller", 2, claim="rl-memory-4x"))
    return found + [_lowest(claim, scores, *what) for claim, what in KEEPS.items()]


def _lowest(claim: str, scores: pd.DataFrame, algorithm: str, tasks: tuple[str, ...]) -> Headline:
    """The lowest ratio to dense of the tasks and both of the paper's methods, with its interval."""
    pruned = scores[
        (scores["algorithm"] == algorithm)
        & scores["task"].isin(tasks)
        & scores["method"].isin(["snip", "grasp"])
        & (scores["sparsity_percent"] == 95)
    ].sort_values("ratio_to_dense")
    if pruned["ratio_to_dense"].isna().all():
        return Headline("", "", 1, float("nan"), " of dense", 2, claim=claim)
    least = pruned.iloc[0]
    interval = f"[{least['ratio_low']:.2f}, {least['ratio_high']:.2f}], lowest of {len(pruned)}"
    return Headline("", "", 1, least["ratio_to_dense"], " of dense", 2, interval, claim=claim)
