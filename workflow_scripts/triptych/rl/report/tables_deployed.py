"""The table of deployed policies: bytes, time to act, and what int8 costs."""

import pandas as pd

from triptych.report.palette import label
from triptych.report.tables import DASH, MINUS, Table, number, with_cells
from triptych.rl.methods import METHODS
from triptych.rl.report.labels import TASK_LABELS
from triptych.rl.report.tables import DIGITS
from triptych.rl.tasks import ACTION_ERROR, NORMALISED

POLICY = ["task", "observations", "method", "sparsity_percent", "seed"]
FILES = {"torch.save": "dense arrays", "ONNX": "ONNX", "packed": "packed"}
ORDER = {"torch": 0, "onnxruntime": 1, "policy.py": 2, "policy.c": 3}
NO_COMPILER = "no C compiler"


def deployed_long(deployed: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Median microseconds of each file and reader, and the score lost by its values.

    score_lost: the policy's score with float32 weights minus that with the file's, in the same
    episodes; of an error, which rounding adds to, the other way round.
    """
    frame = deployed.rename(columns={"microseconds_median": "value"})
    exact = frame[frame["values"] == "fp32"].groupby(POLICY)["score_normalised"].first()
    frame = frame.merge(exact.rename("score_exact").reset_index(), on=POLICY)
    gained = frame["score_normalised"] - frame["score_exact"]
    frame["score_lost"] = gained.where(frame["score_unit"] == ACTION_ERROR, -gained)
    frame["reader_order"] = frame["reader"].map(ORDER)
    frame = frame.sort_values(["sparsity_percent", "values", "reader_order"], kind="stable")
    frame = frame.drop(columns=["score_exact", "reader_order"])
    return with_cells(frame, unit="microseconds", scale=scale)


def deployed_table(long: pd.DataFrame) -> Table:
    """Lay out a task's exported policies: a row a file and reader."""
    first = long.iloc[0]
    unit = str(first["score_unit"])
    digits, score = DIGITS.get(unit, 2), "Score" if unit == NORMALISED else unit.capitalize()
    rows = tuple(
        (
            _policy(cells),
            FILES[cells["file"]],
            cells["values"],
            cells["reader"],
            f"{int(cells['bytes']):,}",
            NO_COMPILER if pd.isna(cells["value"]) else number(cells["value"], 1),
            number(cells["score_normalised"], digits),
            _lost(cells, digits),
        )
        for _, cells in long.iterrows()
    )
    headers = ("Policy", "File", "Values", "Read by", "Bytes", "\N{MICRO SIGN}s an act")
    scored = (score, "Lost")
    candidates = int(first["candidates"])
    choosing = f", {candidates} candidates" if candidates > 1 else ""
    return Table(
        name="rl_deployed",
        title="What is deployed.",
        caption=(
            f"{first['algorithm']}{choosing} on {label(TASK_LABELS, first['task'])}, "
            f"{first['networks']} widths, trained in this run and exported as by triptych policy "
            "export. Median time of one act on one thread, without drawing its latents; actions "
            f"differ from float64 by at most {long['maximum_difference'].max():.0e}. A score is "
            f"the mean {unit} of {int(first['episodes'])} episodes; what int8 loses is from the "
            "same episodes with float32 weights, and below 0 where rounding helped by chance."
        ),
        columns=tuple(("", header) for header in (*headers, *scored)),
        rows=rows,
        keys=4,
    )


def _policy(cells: pd.Series) -> str:
    name = METHODS[cells["method"]].label
    return f"{name}, {cells['sparsity_percent']:g}%" if cells["sparsity_percent"] else name


def _lost(cells: pd.Series, digits: int) -> str:
    if cells["values"] == "fp32":
        return DASH
    return number(cells["score_lost"], digits).replace("-", MINUS)
