"""Tables and curves of the published runs of offline RL, from what docs/results holds of them.

`python docs/published.py` draws the curves; docs/figures.py puts the tables on their pages.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))

from triptych.report.palette import STYLE  # noqa: E402
from triptych.report.statistics import mean_interval, ratio_interval  # noqa: E402
from triptych.rl.report.figures import EXTREMES, draw_line, score_panels  # noqa: E402
from triptych.rl.report.labels import METHOD_LABELS, METHOD_LOOKS, TASK_LABELS  # noqa: E402
from triptych.rl.tasks.task import NORMALISED  # noqa: E402

RUN, EXPERT_RUN, LONG_RUN, BCQ_RUN = (
    ROOT / "docs/results" / name
    for name in ("pruning-95", "pruning-halfcheetah", "bc-long", "bcq-long")
)
"""BC on three tasks; on data of a better HalfCheetah; for longer; BCQ for longer."""
RUN_KEYS = ["task", "algorithm", "observations", "method", "sparsity_percent"]
COMPARED = (("dense", 0), ("snip", 95), ("grasp", 95))
"""Methods of the long runs, and their sparsity in percent."""


def last_scores(run: Path) -> dict[tuple[str, str, str, str, float], list[float]]:
    """Each seed's mean over the episodes of its last evaluation, seeds in order, by RUN_KEYS."""
    rows = pd.concat(map(pd.read_csv, sorted(run.glob("rl/*/**/scores.csv"))))
    last = rows[rows["update"] == rows.groupby("task")["update"].transform("max")]
    seeds = last.groupby([*RUN_KEYS, "seed"])["score_normalised"].mean()
    return {key: means.tolist() for key, means in seeds.groupby(RUN_KEYS)}


def pruning() -> str:
    """Scores of BC after 10,000 updates with normalised and raw observations.

    A column for each task, and one for HalfCheetah's better data.
    """
    scores, better = last_scores(RUN), last_scores(EXPERT_RUN)
    policies = [_data(RUN, task) for task in TASK_LABELS] + [_data(EXPERT_RUN, "halfcheetah")]
    lines = [
        _head("observations, method", [*TASK_LABELS.values(), "HalfCheetah, better data"]),
        _line("the data's policy", [f"{score:.1f}" for score in policies]),
    ]
    for kind in ("normalised", "raw"):
        found = {key[3:] for key in scores if key[2] == kind}
        for method, level in sorted(found, key=lambda key: (_order(key[0]), key[1])):
            places = [(scores, task) for task in TASK_LABELS] + [(better, "halfcheetah")]
            seeds = [of.get((task, "BC", kind, method, level)) for of, task in places]
            cells = [mean_interval(each).text(1) if each else "" for each in seeds]
            lines.append(_line(f"{kind}, {_named(method, level)}", cells))
    return "\n".join(lines)


def longer() -> str:
    """Scores of BC after 50,000 updates, and what raw observations leave of the dense score."""
    scores = last_scores(LONG_RUN)
    lines = [_head("observations, method", TASK_LABELS.values())]
    for kind in ("normalised", "raw"):
        dense = [scores[task, "BC", kind, "dense", 0] for task in TASK_LABELS]
        for method, level in COMPARED:
            seeds = [scores[task, "BC", kind, method, level] for task in TASK_LABELS]
            cells = [mean_interval(each).text(1) for each in seeds]
            lines.append(_line(f"{kind}, {_named(method, level)}", cells))
            if kind == "raw" and level:
                ratios = [ratio_interval(*pair).text() for pair in zip(seeds, dense, strict=True)]
                lines.append(_line("of the raw dense score", ratios))
    return "\n".join(lines)


def bcq() -> str:
    """Scores of BCQ after 100,000 updates, and of its decoder alone, which acts as BC."""
    scores = last_scores(BCQ_RUN)
    tasks = [task for task in TASK_LABELS if (task, "BCQ", "normalised", "dense", 0) in scores]
    lines = [_head("networks, method", [TASK_LABELS[task] for task in tasks])]
    for algorithm, said in (("BCQ", "BCQ"), ("BC", "its decoder alone")):
        for method, level in COMPARED:
            seeds = [scores[task, algorithm, "normalised", method, level] for task in tasks]
            cells = [mean_interval(each).text(1) for each in seeds]
            lines.append(_line(f"{said}, {_named(method, level)}", cells))
    return "\n".join(lines)


def _data(run: Path, task: str) -> float:
    """Normalised score of the policy whose data a run learned from."""
    return float(pd.read_csv(run / f"rl/{task}/dataset.csv")["score_normalised_mean"].item())


def _order(method: str) -> int:
    return list(METHOD_LABELS).index(method)


def _named(method: str, level: float) -> str:
    return METHOD_LABELS[method] + (f", {level:g}%" if level else "")


def _line(name: str, cells: Iterable[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _head(name: str, columns: Iterable[str]) -> str:
    named = list(columns)
    return _line(name, named) + "\n" + _line("---", ["---:"] * len(named))


def draw_curves(run: Path, algorithm: str) -> None:
    """Score against updates of a long run; raw observations are solid where there are both."""
    curves = pd.read_csv(run / "curves.csv").assign(algorithm=algorithm, unit=NORMALISED, data="")
    keys = ["task", "data", "algorithm", "unit", "observations", "method", "update"]
    scores = curves.groupby(keys)["score_normalised_mean"]
    found = scores.agg(value="mean", minimum="min", maximum="max").reset_index()
    kinds = sorted(set(curves["observations"]))

    def draw(axes: Axes, cells: pd.DataFrame, _algorithm: str) -> None:
        for method, _level in COMPARED:
            for kind in kinds:
                line = cells[(cells["method"] == method) & (cells["observations"] == kind)]
                look, front = METHOD_LOOKS[method], kind == kinds[-1]
                named = look.label + (f", {kind}" if len(kinds) > 1 else "")
                dash = "solid" if front else "dotted"
                how = {"color": look.colour, "linestyle": dash, "label": named}
                draw_line(axes, line["update"], line, EXTREMES if front else None, **how)
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.xaxis.set_major_formatter(lambda update, _: f"{update:,.0f}")

    figure = score_panels(found, draw, "updates", legend_columns=3)
    with matplotlib.rc_context(STYLE):
        figure.savefig(run / "curves.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw_curves(LONG_RUN, "BC")
    draw_curves(BCQ_RUN, "BCQ")
