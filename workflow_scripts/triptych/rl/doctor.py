"""What `triptych doctor` says about the recordings that a config names."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from triptych.rl.tasks.recording import DatasetError, check_layout


def findings(config: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """For each task whose data are a file: name, status, what was found, what to do."""
    for task, entry in config["rl"]["tasks"].items():
        if entry and entry.get("source") == "path":
            path = Path(entry["path"])
            try:
                found = f"{path} has D4RL's layout, {check_layout(path):,} steps"
                yield f"Data of {task}", "works", found, ""
            except DatasetError as error:
                found = f"{path}: {error.key}: {error.found}, expected {error.expected}"
                yield f"Data of {task}", "won't", found, error.advice
