"""The offline-RL study as its rules see it: runs, files and settings, from config."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from triptych.core.config import ConfigError
from triptych.core.provenance import named_files
from triptych.rl.methods import ALGORITHMS, CONTROLS, CRITERIA, DENSE, OBSERVATIONS, networks_name
from triptych.rl.tasks import config as tables
from triptych.rl.tasks.sweep import DEFAULT, Run, Stack, keys_of, stacks_of

NEUTRAL_KEYS = ("rl.runs_per_job", "rl.training.checkpoint_every")
"""Patterns of the keys whose values change no number."""
EQUIVALENT_VALUES: dict[str, tuple[str, ...]] = {}
"""Values of a key that make the same numbers."""


class Workflow:
    """The section `rl` of a config as rules use it. Methods with `wildcards` are input functions.

    Raises ConfigError naming a key whose value contradicts others.
    """

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["rl"]
        downloads, entries = sources["d4rl"]["files"], self.config["tasks"]
        self.stacks = stacks_of(self.config)
        self._runs = [run for stack in self.stacks for run in stack.runs]
        tables.check(self.config, self._runs, downloads)
        self.tasks = list(entries)
        self.data = {task: tables.data_source(entry) for task, entry in entries.items()}
        self._d4rl = {
            task: tables.d4rl_file(task, entry)
            for task, entry in entries.items()
            if entry["source"] == "d4rl"
        }
        self.downloads = {name: downloads[name] for name in self._d4rl.values()}
        """Entries of resources/sources.yaml that this run downloads, by name."""
        self.d4rl_digests = [entry["sha256"] for entry in downloads.values()]
        """SHA-256 of each of D4RL's files."""
        self.timed = self._timed_run()
        trained = {run["method"] for run in self.shown()}
        self.criteria = [name for name in CRITERIA if name in trained]
        """Those that are trained, controls among them."""
        beyond = not set(self.criteria) <= {"snip", "grasp"}
        self.compared_criteria = [m for m in self.criteria if beyond and m not in CONTROLS]
        """The criteria of rl_criteria: none unless something beside the paper's is trained."""

    def _timed_run(self) -> Run:
        """The measured run whose speed is taken."""
        latency = self.config["latency"]
        if latency["task"] not in self.tasks:
            raise ConfigError(
                f"config: rl.latency.task is {latency['task']}, which is not in rl.tasks; "
                f"write rl: {{latency: {{task: {self.tasks[0]}}}}}"
            )
        runs = self.measured(
            task=latency["task"],
            method=latency["method"],
            sparsity_percent=latency["sparsity"],
            pruning=DEFAULT,
        )
        if not runs:
            raise ConfigError(
                f"config: rl.latency asks for {latency['method']} at {latency['sparsity']}% on "
                f"{latency['task']}; rl.mask_statistics makes no such mask"
            )
        return runs[0]

    # Jobs and their runs.

    def stack(self, task: str, name: str) -> Stack:
        """A job's stack. Raises ConfigError for one that the config doesn't make."""
        for stack in self.stacks:
            if (stack.task, stack.name) == (task, name):
                return stack
        known = ", ".join(sorted({stack.name for stack in self.stacks}))
        raise ConfigError(f"no runs of {task} make a stack {name!r}; stacks are {known}")

    def runs(self, wildcards: Any) -> list[Run]:
        """The identifying values of a stack's runs."""
        return [keys_of(run) for run in self.stack(wildcards.task, wildcards.stack).runs]

    def max_transitions(self, wildcards: Any) -> Any:
        """The number of transitions that a stack is trained on; None: all."""
        return self.stack(wildcards.task, wildcards.stack).runs[0]["max_transitions"]

    def algorithms(self, wildcards: Any) -> dict[str, dict[str, Any]]:
        """The algorithms of a stack, the trained one first, with their settings."""
        names = self.stack(wildcards.task, wildcards.stack).algorithms
        return {name: self.config.get(ALGORITHMS[name].section, {}) for name in names}

    def methods(self, wildcards: Any) -> list[str | Path]:
        """The modules of a stack's criteria, algorithms and environment (core/provenance.py)."""
        stack = self.stack(wildcards.task, wildcards.stack)
        criteria = dict.fromkeys(run["method"] for run in stack.runs if run["method"] != DENSE)
        return [
            *(f"triptych.rl.pruning.criteria.{name}" for name in criteria),
            *(f"triptych.rl.algorithms.{ALGORITHMS[name].file}" for name in stack.algorithms),
            *self.environment_code(wildcards),
        ]

    def environment_code(self, wildcards: Any) -> list[str | Path]:
        """The user's module that registers a task's environment, if it has one, and the files that
        its options name."""
        task = self.config["tasks"][wildcards.task]
        module, colon, _ = task.get("environment", "").partition(":")
        return [*([module] if colon else []), *named_files(task.get("options", {}))]

    def pruning(self, wildcards: Any) -> dict[str, dict[str, Any]]:
        """Settings of the prunings of a stack by name."""
        default = {key: value for key, value in self.config["pruning"].items() if key != "variants"}
        variants = self.config["pruning"]["variants"]
        stack = self.stack(wildcards.task, wildcards.stack)
        used = dict.fromkeys(run["pruning"] for run in stack.runs)
        return {name: {**default, **variants.get(name, {})} for name in used}

    # Files of runs.

    def select(self, trained: bool = True, small: bool = False, **values: Any) -> list[Run]:
        """The runs with these values; small: those on few data, else all others."""
        expected = {"trained": trained, **values}
        return [
            run
            for run in self._runs
            if expected.items() <= run.items() and (run["max_transitions"] is not None) == small
        ]

    def shown(self, methods: Iterable[str] | None = None) -> list[Run]:
        """Trained runs as figures show them: usual observations, default pruning, these methods
        (default: all) and dense."""
        runs = self.select(observations=self.config["observations"], pruning=DEFAULT)
        return [run for run in runs if methods is None or run["method"] in (DENSE, *methods)]

    def files(self, name: str, runs: Iterable[Run]) -> list[str]:
        """The file of this name of each stack that these runs are in."""
        stacks = dict.fromkeys((run["task"], run["networks"], run["stack"]) for run in runs)
        return [f"results/rl/{'/'.join(stack)}/{name}" for stack in stacks]

    @property
    def datasets(self) -> list[str]:
        """The table that describes each task's data."""
        return [f"results/rl/{task}/dataset.csv" for task in self.tasks]

    # What is shown.

    @property
    def sensing(self) -> dict[str, str]:
        """The algorithm and networks whose raw and normalised runs are compared, if any has both.

        BC comes before BCQ: only its decoder reads observations.
        """
        level = self.config["shown_sparsity"]
        for algorithm in ("BC", *ALGORITHMS):
            for name, sweep in self.config["sweeps"].items():
                runs = self.select(sweep=name, sparsity_percent=level)
                kinds = {run["observations"] for run in runs if run["method"] not in CONTROLS}
                if algorithm in sweep["algorithms"] and len(kinds) == len(OBSERVATIONS):
                    networks = networks_name(sweep["widths"], algorithm)
                    return {"algorithm": algorithm, "networks": networks}
        return {}

    @property
    def variants(self) -> dict[str, dict[str, Any]]:
        """Settings of the pruning variants that some trained run uses."""
        known = self.config["pruning"]["variants"].items()
        return {name: values for name, values in known if self.select(pruning=name)}

    @property
    def varied_runs(self) -> list[Run]:
        """The trained runs by variants of the pruning."""
        usual = self.select(observations=self.config["observations"])
        return [run for run in usual if run["pruning"] != DEFAULT]

    @property
    def table1_task(self) -> str:
        """Table 1 shows HalfCheetah or Walker2d: their network sizes match the published bytes."""
        known = [task for task in ("halfcheetah", "walker2d") if task in self.tasks]
        return (known or self.tasks)[0]

    def measured(self, **values: Any) -> list[Run]:
        """Runs with these values that are only pruned, on the usual observations."""
        return self.select(trained=False, observations=self.config["observations"], **values)

    @property
    def claims(self) -> dict[str, list[str]]:
        """Files by which the claims are decided; small and varied may be none."""
        runs, measured = self.select(pruning=DEFAULT), self.measured()
        return {
            "scores": self.files("scores.csv", runs),
            "layers": self.files("layers.csv", measured),
            "sizes": self.files("sizes.csv", measured),
            "latency": [f"results/rl/{self.timed['task']}/latency.csv"],
            "datasets": self.datasets,
            "small": self.files("scores.csv", self.select(small=True)),
            "varied": self.files("scores.csv", self.varied_runs),
        }

    def facts(self) -> dict[str, str]:
        """The scale and settings of the runs, for the head of the page."""
        config = self.config
        training, evaluation = config["training"], config["evaluation"]
        return {
            "Tasks": ", ".join(f"{task} ({source})" for task, source in self.data.items()),
            **{
                f"Trained runs ({' and '.join(sweep['algorithms'])})": self._sweep_facts(name)
                + f"; {_units(config['widths'][sweep['widths']])}"
                for name, sweep in config["sweeps"].items()
            },
            "Observations": f"{config['observations']} unless stated otherwise",
            "Updates": f"{training['updates']:,} of batches of {training['batch']}",
            "Hidden units when only pruned": _units(
                config["widths"][config["mask_statistics"]["widths"]]
            ),
            "Evaluation": f"{evaluation['final_episodes']} episodes of the last policy; "
            f"{evaluation['episodes']} for each point of the curves",
        }

    def _sweep_facts(self, name: str) -> str:
        runs = [run for run in self._runs if run["trained"] and run["sweep"] == name]
        levels = sorted({run["sparsity_percent"] for run in runs} - {0})
        return (
            f"{len(runs)}, at {', '.join(f'{level}%' for level in levels)} sparsity, "
            f"{len({run['seed'] for run in runs})} seeds"
        )

    # Tasks and their data.

    def task(self, wildcards: Any) -> dict[str, Any]:
        """The arguments of `task_from` for a task."""
        return tables.task_table(self.config["tasks"], wildcards.task)

    def collect(self, wildcards: Any) -> dict[str, Any]:
        """Length, noise and seed of the recording of a task's expert."""
        collect, task = self.config["collect"], self.config["tasks"][wildcards.task]
        return {**collect, "noise": task.get("noise", collect["noise"])}

    def tasks_from(self, *sources: str) -> str:
        """A pattern for the tasks whose data come from one of these sources."""
        tasks = self.config["tasks"].items()
        return "|".join(name for name, task in tasks if task["source"] in sources) or "none"

    def source(self, wildcards: Any) -> str:
        """The HDF5 file of a task whose data are downloaded or the user's own."""
        task = self.config["tasks"][wildcards.task]
        return task.get("path") or f"results/rl/{wildcards.task}/{task['source']}.hdf5"

    def download(self, wildcards: Any) -> dict[str, Any]:
        """D4RL's file of a task: its name, and its url, size, ... of resources/sources.yaml."""
        name = self._d4rl[wildcards.task]
        entry = self.downloads[name]
        return {**entry, "name": name, "mirrors": [entry["mirror"]]}


def _units(widths: Mapping[str, Any]) -> str:
    """The hidden units of a set of widths, in words."""
    actor, critic, vae = widths["actor"], widths["critic"], widths["vae"]
    return f"actor {actor[0]}-{actor[1]}, critic {critic[0]}-{critic[1]}, VAE {vae}-{vae}"
