"""Tables of speed, from what `make bench` wrote (docs/results/bench).

docs/figures.py puts them on their pages.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

BENCH = Path(__file__).resolve().parent / "results/bench"
STYLE_TASKS = {
    "forward": "a photograph",
    "conditional": "a photograph in 4 styles",
    "closure": "Version 1, one evaluation",
    "step": "a training step, 4 images",
}
AUDIO_MODELS = {"passt_n": "PaSST-N", "passt_s": "PaSST-S", "passt_s15": "PaSST-S15"}
AUDIO_TASKS = {"forward": "a segment", "step": "a training step", "embedding": "a test split"}
SIDES = ["plain", "best plain", "ours, float32", "ours, bf16"]


def bench_rl_gpu() -> str:
    """As `bench_rl`, on a GPU."""
    return bench_rl("rl_gpu.csv")


def bench_rl(file: str = "rl.csv") -> str:
    """Updates a second of stacked networks: a row a stack and precision."""
    plain, *stacks = [
        row
        for row in _rows(BENCH / file)
        if row["compared"] != "pruned" and row.get("algorithm", "BCQ") == "BCQ"
    ]
    return _table(
        ["", "updates a second", "times the plain loop's"],
        [["one network at a time, float32", plain["updates_per_second"], "1"]]
        + [
            [
                f"{row['networks']} stacked, {row['precision']}",
                row["updates_per_second"],
                _ratio(row, "ratio"),
            ]
            for row in stacks
        ],
        [plain],
    )


def bench_rl_pruned() -> str:
    """Updates a second of networks pruned to 95% beside their dense twins, limited to AVX2."""
    rows = _rows(BENCH / "rl_avx2.csv")
    case = ("algorithm", "networks", "precision")
    dense = {
        tuple(row[name] for name in case): row["updates_per_second"]
        for row in rows
        if row["compared"] == "stacked"
    }
    lines = [
        [
            f"{row['algorithm']}, {row['networks']} stacked",
            dense[tuple(row[name] for name in case)],
            row["updates_per_second"],
            _ratio(row, "ratio"),
        ]
        for row in rows
        if row["compared"] == "pruned"
    ]
    return _table(["", "dense", "95% pruned", "times the dense twin's"], lines, rows)


def bench_style() -> str:
    """Seconds of each task at each size, plain code beside ours."""
    rows = _rows(BENCH / "style.csv")
    lines = []
    for task, said in STYLE_TASKS.items():
        of_task = [row for row in rows if row["compared"] == task]
        for size in dict.fromkeys(row["size"] for row in of_task):
            sides = {row["side"]: row for row in of_task if row["size"] == size}
            seconds = {name: float(row["seconds"]) for name, row in sides.items() if row["seconds"]}
            best = min(s for name, s in seconds.items() if name not in ("float32", "bf16"))
            known = (seconds["plain"], best, seconds["float32"], seconds.get("bf16"))
            shown = ["-" if each is None else f"{each:.3g}" for each in known]
            ours = "bf16" if "bf16" in seconds else "float32"
            lines.append([f"{said}, {size} px", *shown, _ratio(sides[ours], "ahead")])
    return _table(["", *SIDES, "ratio"], lines, rows)


def command_seconds() -> float:
    """Seconds of a whole `triptych stylize` of 512 pixels."""
    rows = [row for row in _rows(BENCH / "style.csv") if row["compared"] == "command"]
    return next(float(row["seconds"]) for row in rows if row["side"] == "triptych")


def bench_command() -> str:
    """Seconds of whole processes that paint a photograph: a row a command."""
    rows = [row for row in _rows(BENCH / "style.csv") if row["compared"] == "command"]
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    took = {(row["side"], row["size"]): f"{float(row['seconds']):.2f}" for row in rows}
    names = dict.fromkeys(row["side"] for row in rows)
    lines = [[name, *(took[name, size] for size in sizes)] for name in names]
    return _table(["", *(f"{size} px" for size in sizes)], lines, rows)


def bench_audio() -> str:
    """Seconds of each task of the audio encoders, plain code beside ours."""
    rows = _rows(BENCH / "audio.csv")
    lines = []
    for task in dict.fromkeys((row["what"], row["model"], row["size"]) for row in rows):
        what, model, size = task
        sides = {
            row["precision"]: row
            for row in rows
            if (row["what"], row["model"], row["size"]) == task
        }
        took = {name: float(row["seconds_ours"]) for name, row in sides.items()}
        ours, plain = (took.pop("float32"), took.pop("bf16")), sides["float32"]["seconds_plain"]
        shown = [float(plain), min([float(plain), *took.values()]), *ours]
        said = f"{AUDIO_MODELS[model]}, {AUDIO_TASKS[what]} ({size.replace(' ', ', ')})"
        ratio = sides["bf16"]["ahead"] or sides["bf16"]["ratio"]
        lines.append([said, *(f"{each:.3g}" for each in shown), f"{float(ratio):.2f}"])
    return _table(["", *SIDES, "ratio"], lines, rows)


def _ratio(row: Mapping[str, str], name: str) -> str:
    median, low, high = (float(row[name + end]) for end in ("", "_minimum", "_maximum"))
    return f"{median:.2f} ({low:.2f} to {high:.2f})"


def _table(heads: list[str], lines: list[list[str]], measured: list[dict[str, str]]) -> str:
    """Markdown, and below it the machine, threads and day of the first row."""
    parts = [heads, ["---", *["---:"] * (len(heads) - 1)], *lines]
    first = measured[0]
    said = f"{first['device']}, {first['threads']} threads, {first['date']}."
    return "\n".join([*(f"| {' | '.join(part)} |" for part in parts), "", said])


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))
