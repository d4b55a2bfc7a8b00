"""A step of `make gpu` in a process of its own: `python -m` this module, NAME SECONDS CONFIG.

Prints each row as a line of JSON as soon as it is measured, so that what comes later can't spoil
it. NAME is a step's of session.py, SECONDS those of a training, CONFIG the whole config as JSON.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from triptych.core.device import choose_device
from triptych.core.trial import measure

Config = Mapping[str, Any]
Rows = Iterator[dict[str, Any]]

RL_SECONDS, ROUNDS = 2.0, 3
"""Of a bench, at most: a config's own may take longer than there is time."""


AUDIO_TASKS = {"forward": ("front_end", "forward"), "training": ("step", "embedding")}


def gpu_tests() -> Rows:
    """The tests marked gpu. Raises SystemExit with pytest's status where one fails."""
    files = [
        str(file)
        for file in sorted(Path("tests").rglob("test_*.py"))
        if "mark.gpu" in file.read_text(encoding="utf-8")
    ]
    command = [sys.executable, "-m", "pytest", "-v", "--tb=short", "-m", "gpu", *files]
    failed: dict[str, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        for line in tests.stdout:
            print(line, end="", file=sys.stderr)
            outcome = re.match(r"(\S+::.+?) (PASSED|SKIPPED|FAILED|ERROR)\b", line)
            reason = re.match(r"(?:FAILED|ERROR) (\S+::.+?)(?: - (.*))?$", line)
            if outcome and outcome[2] in ("PASSED", "SKIPPED"):
                yield {"study": "tests", "task": outcome[1], "status": outcome[2].lower()}
            elif outcome:
                failed[outcome[1]] = ""
            elif reason:
                failed[reason[1]] = reason[2] or ""
    for name, why in failed.items():
        yield {"study": "tests", "task": name, "status": "failed", "note": why}
    if tests.returncode:
        print(f"pytest ended with {tests.returncode}", file=sys.stderr)
        raise SystemExit(tests.returncode)


def rl_bench(config: Config) -> Rows:
    """Updates a second, stacked and one network at a time."""
    from triptych.rl.bench import PLAIN, bench

    settings = config["rl"]["bench"]
    table = bench(
        settings["task"],
        settings["stacks"],
        settings["precisions"],
        min(settings["seconds"], RL_SECONDS),
        min(settings["rounds"], ROUNDS),
        choose_device(config["device"]),
    )
    for row in table.to_dict("records"):
        yield {
            "study": "rl",
            "task": "updates of a network",
            "side": "plain" if row["compared"] == PLAIN else "ours",
            "size": f"{row['networks']} at once",
            "precision": row["precision"],
            "seconds": 1 / row["updates_per_second"],
            "per_second": row["updates_per_second"],
            "ratio": row["ratio"],
        }


def style_bench(config: Config, task: str) -> Rows:
    """One task of the style study's bench; "paper" is what the paper printed seconds for."""
    from triptych.style.measures import bench

    settings = config["style"]["bench"]
    width, precisions, threads = settings["width"], settings["precisions"], _threads()
    if task == "paper":
        rows = bench.beside_paper(width, precisions, threads)
    elif task == "large":
        rows = bench.large_photograph(width, threads)
    else:
        sides, rounds = [bench.PLAIN, *precisions], min(settings["rounds"], ROUNDS)
        rows = [
            row
            for size in settings["sizes"][task]
            for row in bench.compare(task, size, width, sides, rounds, threads)
        ]
    for row in rows:
        plain = row["side"] == bench.PLAIN
        yield {
            "study": "style",
            "task": row["compared"],
            "side": "plain" if plain else "ours",
            "size": f"{row['size']} px",
            "precision": "float32" if plain else row["side"],
            "seconds": row["seconds"],
            "ratio": row["ratio"],
            "peak_bytes": round(1e6 * row["peak_megabytes"]) if "peak_megabytes" in row else "",
        }


def audio_bench(config: Config, half: str) -> Rows:
    """Half of the audio study's bench, "forward" or "training"; its loader needs no GPU."""
    from triptych.audio.measures import bench

    settings = config["audio"]["bench"]
    wanted = AUDIO_TASKS[half]
    tasks = [task for task in bench.tasks_of(settings) if task[0] in wanted]
    rounds, device = min(settings["rounds"], ROUNDS), choose_device(config["device"])
    for row in bench.compared(tasks, settings["precisions"], rounds, device, _threads()):
        common = {"study": "audio", "task": f"{row['what']} {row['model']}".strip()}
        common |= {"size": row["size"]}
        if row["precision"] == "float32":
            seconds = row["seconds_plain"]
            yield common | {"side": "plain", "precision": "float32", "seconds": seconds, "ratio": 1}
        yield common | {
            "side": "ours",
            "precision": row["precision"],
            "seconds": row["seconds_ours"],
            "ratio": row["ratio"],
        }


def trials(config: Config, study: str, name: str, seconds: float) -> Rows:
    """The trials of that name of a study, each for so many seconds."""
    device = choose_device(config["device"])
    for trial in study_trials(config, study)[name](config[study], device):
        yield {"study": study} | measure(trial, seconds, device)


def study_trials(config: Config, study: str) -> dict[str, Any]:
    """What makes a study's trials, by name."""
    if study == "rl":
        from triptych.rl.trials import TRIALS as rl

        return rl
    if study == "style":
        from triptych.style.measures.trials import TRIALS as style

        return style
    from triptych.audio.measures.trials import trials as audio

    return audio(config["audio"])


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def rows_of(name: str, seconds: float, config: Config) -> Rows:
    """What the step of that name measures."""
    kind, *words = name.split()
    if kind == "tests":
        return gpu_tests()
    if kind == "train":
        return trials(config, words[0], words[1], seconds)
    if words == ["rl"]:
        return rl_bench(config)
    return {"style": style_bench, "audio": audio_bench}[words[0]](config, words[1])


def main(name: str, seconds: str, config: str) -> None:
    """Print the rows of a step."""
    for row in rows_of(name, float(seconds), json.loads(config)):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
