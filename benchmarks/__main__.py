"""`python -m benchmarks [rl style audio]` in the repository's folder: results/bench/<study>.csv.

`make docs` draws the tables of docs/performance.md from copies of them in docs/results/bench.

Each study's speed and memory against plain code, on the device that is there, by the settings in
config.yaml beside this file. `make bench` runs all three.
"""

import argparse
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import yaml

from benchmarks.audio.bench import bench as bench_audio
from benchmarks.rl.bench import bench as bench_rl
from benchmarks.style.bench import bench as bench_style
from triptych.core.device import choose_device, choose_precision
from triptych.core.files import write_csv
from triptych.core.job import log_to_stderr

CONFIG = Path(__file__).with_name("config.yaml")


def measured(study: str, settings: dict[str, Any], threads: int) -> pd.DataFrame:
    """The table of one study; its bench.py describes the columns."""
    device = choose_device("auto")
    if study == "audio":
        return bench_audio(settings, device.type, threads)
    if study == "style":
        return bench_style(**settings, threads=threads)
    torch.set_num_threads(threads)
    own = dict(settings[device.type])
    if choose_precision("auto", device, "unscaled") == "float32":  # bf16 would take minutes
        own["precisions"] = [each for each in own["precisions"] if each != "bf16"]
    common = {key: settings[key] for key in ("task", "seconds", "rounds")}
    return bench_rl(**common, **own, device=device)


def main() -> None:
    """Measure the studies that the command line names, or all, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="rl, style, audio; or all")
    parser.add_argument("--config", type=Path, default=CONFIG, help="other settings")
    parser.add_argument("--output", type=Path, default=Path("results/bench"))
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    settings = yaml.safe_load(options.config.read_text(encoding="utf-8"))
    if unknown := set(options.studies) - settings.keys():
        parser.error(f"no bench of {', '.join(unknown)}; there are {', '.join(settings)}")
    log_to_stderr()
    for study in options.studies or settings:
        table = measured(study, settings[study], options.threads)
        table["date"] = datetime.now(UTC).date().isoformat()
        print(table.to_string(index=False))
        write_csv(table, options.output / f"{study}.csv")


if __name__ == "__main__":
    main()
