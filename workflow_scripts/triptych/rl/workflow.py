"""What the rules of the offline-RL study ask: its rows, where each file lies, what a job needs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from triptych.core.config import ConfigError
from triptych.report.files import products
from triptych.rl.algorithms.registry import ALGORITHMS, Widths, networks_name
from triptych.rl.config_checks import SHOWN_PERCENT, check
from triptych.rl.config_tasks import d4rl_file, data_source, task_table, units_of, with_quality
from triptych.rl.methods import CRITERIA, OBSERVATIONS
from triptych.rl.sweep import (
    DEFAULT,
    STACK,
    algorithms_of,
    named_tasks,
    run_records,
    runs_of,
    sweeps,
)

CHANGES_NOTHING = (
    # Speed, and what a run leaves behind for resuming.
    *("rl.stack", "rl.training.checkpoint_every"),
)
"""Patterns of the keys whose values change no number."""
COUNT_AS_ONE: dict[str, tuple[str, ...]] = {}
"""Values of a key that make the same numbers."""
PAPER_FIGURES = {"rl_figure1": "snip", "rl_figure2": "grasp"}


class Workflow:
    """The section `rl` of a config as rules use it. Functions of wildcards are Snakemake's to call.

    Raises ConfigError naming a key whose value the others don't allow.
    """

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = {**config["rl"], "tasks": named_tasks(config["rl"])}
        self._downloads = sources["d4rl"]["files"]
        self._runs = runs_of(self.config)
        check(self.config, self._runs, self._downloads)
        self.tasks = list(self.config["tasks"])
        self.profiled = len(self.units) < len(self.tasks)
        """Whether any task's scores can be set against each other's."""
        self.figures = (
            *self.score_figures,
            *self.level_figures,
            *("rl_figure3", "rl_figure3_counts", "rl_figure4", "rl_curves", "rl_inference"),
            *(["rl_profiles"] if self.profiled else []),
            *(["rl_sensors"] if self.sensing else []),
        )
        tables = (
            *("rl_table1", "rl_scores", "rl_comparisons", "rl_inputs"),
            *("rl_inference", "rl_deployed"),
            *(["rl_variants"] if self.variants else []),
        )
        self.picture = self.figures[0]
        self.products = products(self.figures, tables)
        self.datasets = [f"results/rl/{task}/dataset.csv" for task in self.tasks]
        self._timed, self._deployed = self._timed_run(), self._deployed_runs()

    def _timed_run(self) -> pd.DataFrame:
        """The one measured run whose speed is taken."""
        wanted = self.config["latency"]
        found = self._plain(trained=False, method=wanted["method"])
        found = found[found["sparsity_percent"] == wanted["sparsity"]].head(1)
        if found.empty:
            raise ConfigError(
                f"config: rl.latency asks for {wanted['method']} at {wanted['sparsity']}% "
                f"on {wanted['task']}; rl.tasks and rl.measure make no such mask"
            )
        return found

    def _deployed_runs(self) -> pd.DataFrame:
        """The two trained runs that are exported and timed: a dense one, and it pruned.

        At the sparsity of which the speed is taken, or the highest that is trained below it.
        """
        wanted = self.config["latency"]
        pruned = self._plain(trained=True, method=wanted["method"])
        pruned = pruned[pruned["sparsity_percent"] <= wanted["sparsity"]]
        if pruned.empty:
            raise ConfigError(
                f"config: rl.latency asks for {wanted['method']} at {wanted['sparsity']}% on "
                f"{wanted['task']}; no sweep of rl.sweeps trains one that is deployed, at this "
                f"sparsity or less with observations {self.config['observations']}"
            )
        one = pruned[pruned["sparsity_percent"] == pruned["sparsity_percent"].max()].head(1)
        dense = self._plain(trained=True, method="dense")
        return pd.concat([dense.merge(one[["sweep", "seed"]]), one])

    def _plain(self, trained: bool, method: str) -> pd.DataFrame:
        """A method's runs on the timed task with nothing out of the ordinary."""
        runs, task = self._runs, self.config["latency"]["task"]
        chosen = (runs["task"] == task) & (runs["trained"] == trained) & (runs["method"] == method)
        usual = runs["observations"] == self.config["observations"]
        return runs[chosen & usual & (runs["pruning"] == DEFAULT)]

    # Rows.

    def runs(self, wildcards: Any) -> list[dict[str, Any]]:
        """The rows of one stack. Raises ConfigError for a stack that the config doesn't make."""
        return self._runs_of(wildcards.task, wildcards.networks, wildcards.stack)

    def _runs_of(self, task: str, networks: str, stack: str) -> list[dict[str, Any]]:
        of_stack = (self._runs[STACK] == [task, networks, stack]).all(axis=1)
        if not of_stack.any():
            known = ", ".join(sorted(set(self._runs["stack"])))
            raise ConfigError(
                f"no runs of {task} with networks {networks} make a stack {stack!r}: with this "
                f"config (rl.sweep, rl.measure) stacks are {known}"
            )
        return run_records(self._runs[of_stack])

    @property
    def measured(self) -> list[list[dict[str, Any]]]:
        """The rows that are only pruned and measured, a list for each task."""
        runs = self._runs[~self._runs["trained"]]
        return [run_records(runs[runs["task"] == task]) for task in self.tasks]

    @property
    def measured_with(self) -> list[dict[str, dict[str, Any]]]:
        """How their masks are made, as `pruning` says it, for each task."""
        return [self.pruning(*each) for each in zip(self.tasks, self.measured, strict=True)]

    @property
    def measured_on(self) -> list[str]:
        """The transitions that they take."""
        return list(
            dict.fromkeys(
                shot["transitions"] for shots in self.measured_with for shot in shots.values()
            )
        )

    @property
    def timed(self) -> dict[str, Any]:
        """The row whose speed is taken."""
        return run_records(self._timed)[0]

    @property
    def timed_stack(self) -> list[dict[str, Any]]:
        """All rows of the stack that holds its mask."""
        return self._runs_of(*self._timed[STACK].iloc[0])

    @property
    def deployed(self) -> list[dict[str, Any]]:
        """The rows that are exported and timed: dense, and pruned."""
        return run_records(self._deployed)

    @property
    def deployed_networks(self) -> str:
        """The name of their widths."""
        return str(self._deployed["networks"].iloc[0])

    @property
    def sensing(self) -> dict[str, str]:
        """The algorithm and networks whose raw and normalised runs are compared, if any has both.

        BC's before BCQ's: there nothing but the decoder senses.
        """
        runs = self._runs[self._runs["trained"] & (self._runs["sparsity_percent"] == SHOWN_PERCENT)]
        kinds = runs[runs["method"].isin(CRITERIA)].groupby("sweep")["observations"].nunique()
        both = {
            algorithm: {
                "algorithm": algorithm,
                "networks": networks_name(sweep["widths"], algorithm),
            }
            for name, sweep in sweeps(self.config).items()
            if kinds.get(name, 0) == len(OBSERVATIONS)
            for algorithm in sweep["algorithms"]
        }
        return next((both[name] for name in ("BC", *ALGORITHMS) if name in both), {})

    @property
    def score_figures(self) -> dict[str, list[str]]:
        """Figures of score against sparsity, and the methods of each: the paper's, then others."""
        runs = self._runs[self._runs["trained"]]
        runs = runs[runs["observations"] == self.config["observations"]]
        methods = [name for name in CRITERIA if (runs["method"] == name).any()]
        others = [name for name in methods if name not in PAPER_FIGURES.values()]
        paper = {figure: [name] for figure, name in PAPER_FIGURES.items() if name in methods}
        return {**paper, "rl_criteria": others} if others else paper

    def algorithms(self, wildcards: Any) -> dict[str, dict[str, Any]]:
        """What a stack is trained for, with the settings of each."""
        return algorithms_of(self.config, wildcards.stack)

    @property
    def level_figures(self) -> dict[str, str]:
        """The paper's figures of scores as learning curves, and the method of each."""
        own = PAPER_FIGURES.items()
        return {f"{name}_curves": method for name, method in own if name in self.score_figures}

    @property
    def variants(self) -> dict[str, dict[str, Any]]:
        """What those variants of the pruning say whose masks are trained."""
        trained = self._runs[self._runs["trained"]]["pruning"]
        known = self.config["pruning"]["variants"].items()
        return {name: table for name, table in known if (trained == name).any()}

    def pruning(self, task: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """How the masks of these runs are made, by name, and the transitions that they take."""
        default = dict(self.config["pruning"])
        variants, shots = default.pop("variants"), {}
        for name in dict.fromkeys([DEFAULT, *(run["pruning"] for run in runs)]):
            own = {**default, **variants.get(name, {})}
            data = f"{task}-{own.pop('quality')}" if "quality" in own else task
            shots[name] = {**own, "transitions": f"results/rl/{data}/transitions.safetensors"}
        return shots

    def pruned_on(self, wildcards: Any) -> list[str]:
        """The transitions by which a stack's masks are made."""
        shots = self.pruning(wildcards.task, self.runs(wildcards))
        return list(dict.fromkeys(shot["transitions"] for shot in shots.values()))

    def widths(self, wildcards: Any) -> dict[str, Any]:
        """The sizes of a stack's networks."""
        found: dict[str, Any] = self.config["widths"][wildcards.networks]
        return found

    # Files.

    def files(self, name: str, trained: bool | None = None) -> list[str]:
        """The file `name` of every stack, or only of those trained, or only measured."""
        runs = self._runs
        if trained is not None:
            runs = runs[runs["trained"] == trained]
        stacks = runs[STACK].drop_duplicates()
        return [f"results/rl/{t}/{n}/{s}/{name}" for t, n, s in stacks.itertuples(index=False)]

    @property
    def timed_masks(self) -> str:
        """The masks among which the timed row's is."""
        task, networks, stack = self._timed[STACK].iloc[0]
        return f"results/rl/{task}/{networks}/{stack}/masks.safetensors"

    @property
    def deployed_policies(self) -> list[str]:
        """The file of each row of `deployed`."""
        stacks = self._deployed[STACK].itertuples(index=False)
        return [f"results/rl/{t}/{n}/{s}/policies.safetensors" for t, n, s in stacks]

    @property
    def latency(self) -> str:
        """The times of that row."""
        return f"results/rl/{self.config['latency']['task']}/latency.csv"

    @property
    def deployed_table(self) -> str:
        """What the exported files take, and score."""
        return f"results/rl/{self.config['latency']['task']}/deployed.csv"

    @property
    def table1_task(self) -> str:
        """Table 1 fits HalfCheetah's and Walker2d's sizes, the same (docs/differences.md)."""
        known = [task for task in ("halfcheetah", "walker2d") if task in self.tasks]
        return (known or self.tasks)[0]

    @property
    def claims(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """What the claims are decided by: files, and settings."""
        files = {
            "scores": self.files("scores.csv", trained=True),
            "trained_layers": self.files("layers.csv", trained=True),
            "layers": self.files("layers.csv", trained=False),
            "sizes": self.files("sizes.csv", trained=False),
            "latency": [self.latency],
            "datasets": self.datasets,
        }
        settings = {
            "last_evaluations": self.config["evaluation"]["last"],
            "precision": self.config["training"]["precision"],
            "observations": self.config["observations"],
            "networks": {
                algorithm: networks_name(sweep["widths"], algorithm)
                for sweep in sweeps(self.config).values()
                for algorithm in sweep["algorithms"]
            },
        }
        return files, settings

    @property
    def page(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """What its part of the page shows beside its figures: files, and settings."""
        files = {
            "table1": ["results/tables/rl_table1.csv"],
            "scores": ["results/tables/rl_scores.csv"],
            "comparisons": ["results/tables/rl_comparisons.csv"],
            "inputs": ["results/tables/rl_inputs.csv"],
            **({"varied": ["results/tables/rl_variants.csv"]} if self.variants else {}),
            "latency": ["results/tables/rl_inference.csv"],
            "deployed": ["results/tables/rl_deployed.csv"],
            "layers": self.files("layers.csv"),
            "datasets": self.datasets,
        }
        return files, {
            "latency_task": self.config["latency"]["task"],
            "observations": self.config["observations"],
            "variants": self.variants,
            "units": self.units,
        }

    def task(self, wildcards: Any) -> dict[str, Any]:
        """What a task is, for `task_from`."""
        return task_table(self.config["tasks"], wildcards.task)

    @property
    def tables(self) -> list[dict[str, Any]]:
        """What each task is."""
        return [task_table(self.config["tasks"], name) for name in self.tasks]

    @property
    def units(self) -> dict[str, str]:
        """What the scores of those tasks are that have no references."""
        return units_of(self.config["tasks"])

    @property
    def data(self) -> dict[str, str]:
        """Where each task's data come from."""
        return {name: data_source(table) for name, table in self.config["tasks"].items()}

    def tasks_from(self, *sources: str) -> str:
        """A pattern for the tasks whose data come from one of these sources."""
        tasks = self.config["tasks"].items()
        return "|".join(name for name, task in tasks if task["source"] in sources) or "none"

    def source(self, wildcards: Any) -> str:
        """The HDF5 file of a task whose data are downloaded or the user's own."""
        task = self.config["tasks"][wildcards.task]
        return task.get("path") or (
            f"results/rl/{wildcards.task}{wildcards.quality}/{task['source']}.hdf5"
        )

    def _table(self, wildcards: Any) -> dict[str, Any]:
        return with_quality(self.config["tasks"][wildcards.task], wildcards.quality)

    def data_source(self, wildcards: Any) -> str:
        """Where data come from, with the quality that the wildcards name."""
        return data_source(self._table(wildcards))

    def d4rl_file(self, wildcards: Any) -> str:
        """What resources/sources.yaml calls D4RL's file of a task."""
        return d4rl_file(wildcards.task, self._table(wildcards))

    def download(self, key: str) -> Callable[[Any], Any]:
        """Input function: a task's value of `key` in resources/sources.yaml, or None."""
        return lambda wildcards: self._downloads[self.d4rl_file(wildcards)].get(key)

    def facts(self) -> dict[str, str]:
        """What was run, for the head of the page."""
        config = self.config

        def units(name: str, algorithm: str = "BCQ") -> str:
            widths = Widths.from_table(config["widths"][name])
            networks = {each.network: each.width for each in ALGORITHMS[algorithm].chains}
            return ", ".join(
                f"{'VAE' if network == 'vae' else network} {one}-{two}"
                for network, (one, two) in ((n, widths.hidden(w)) for n, w in networks.items())
            )

        return {
            "Tasks": ", ".join(f"{task} ({source})" for task, source in self.data.items()),
            **{
                f"Trained runs ({' and '.join(sweep['algorithms'])})": self._sweep_facts(name)
                + f"; {units(sweep['widths'], sweep['algorithms'][0])}"
                for name, sweep in sweeps(config).items()
            },
            "Observations": f"{config['observations']} where nothing else is said",
            "Updates": f"{config['training']['updates']:,} of batches of "
            f"{config['training']['batch']}",
            "Hidden units when only pruned": units(config["measure"]["widths"]),
            "Evaluation": f"{config['evaluation']['episodes']} episodes, mean of the last "
            f"{config['evaluation']['last']} evaluations",
        }

    def _sweep_facts(self, name: str) -> str:
        runs = self._runs[self._runs["sweep"] == name]
        levels = sorted(set(runs["sparsity_percent"]) - {0})
        return (
            f"{len(runs)}, at {', '.join(f'{level}%' for level in levels)} sparsity, "
            f"{runs['seed'].nunique()} seeds"
        )
