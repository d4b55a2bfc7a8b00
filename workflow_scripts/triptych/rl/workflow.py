"""What the rules of the offline-RL study ask: its rows, where each file lies, what a job needs."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from triptych.core.config import ConfigError
from triptych.present.files import products
from triptych.rl.methods import CONTROLS, CRITERIA
from triptych.rl.sweep import run_records, runs_of

CHANGES_NOTHING = (
    # Speed, and what a run leaves behind for resuming.
    *("rl.sweep.stack", "rl.training.checkpoint_every"),
    # Made once, by a target of their own, and shipped; the bench.
    *("rl.experts.*", "rl.bench.*"),
)
"""Patterns of the keys whose values change no number."""
COUNT_AS_ONE: dict[str, tuple[str, ...]] = {}
"""Values of a key that make the same numbers."""
SHOWN_PERCENT = 95
PAPER_FIGURES = {"rl_figure1": "snip", "rl_figure2": "grasp"}
STACK = ["task", "networks", "stack"]


class Workflow:
    """The section `rl` of a config as rules use it. Functions of wildcards are Snakemake's to call.

    Raises ConfigError naming a key whose value the others don't allow.
    """

    TABLES = ("rl_table1", "rl_scores", "rl_inference")

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["rl"]
        self._downloads = sources["d4rl"]["files"]
        self._check()
        self._runs = runs_of(self.config)
        self.figures = (
            *self.score_figures,
            *("rl_figure3", "rl_figure4", "rl_curves", "rl_inference"),
        )
        self.tasks = list(self.config["tasks"])
        self.products = products(self.figures, self.TABLES)
        self.datasets = [f"results/rl/{task}/dataset.csv" for task in self.tasks]
        self._timed = self._timed_run()

    def _check(self) -> None:
        config = self.config
        for grid in ("sweep", "measure"):
            if config[grid]["widths"] not in config["widths"]:
                raise ConfigError(
                    f"config: rl.{grid}.widths is {config[grid]['widths']!r}; "
                    f"allowed is a name from rl.widths: {', '.join(config['widths'])}"
                )
        updates, every = config["training"]["updates"], config["evaluation"]["every"]
        evaluations = -(-updates // every)
        if config["evaluation"]["last"] > evaluations:
            raise ConfigError(
                f"config: rl.evaluation.last is {config['evaluation']['last']}; allowed is at most "
                f"{evaluations}, the evaluations that {updates} updates with one every {every} make"
            )

        if SHOWN_PERCENT not in config["measure"]["sparsities"]:
            raise ConfigError(
                f"config: rl.measure.sparsities lacks {SHOWN_PERCENT}, at which Figure 3 and "
                "Table 1 show the masks"
            )
        self._check_methods("sweep.methods", CRITERIA)
        self._check_methods("sweep.controls.methods", CONTROLS)
        self._check_methods("measure.methods", CRITERIA)

    def _check_methods(self, key: str, known: Iterable[str]) -> None:
        given = self.config
        for part in key.split("."):
            given = given[part]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ConfigError(
                f"config: rl.{key} names {', '.join(unknown)}; allowed are {', '.join(known)}"
            )

    def _timed_run(self) -> pd.DataFrame:
        """The one measured run whose speed is taken."""
        wanted, runs = self.config["latency"], self._runs
        found = runs[
            (runs["task"] == wanted["task"])
            & ~runs["trained"]
            & (runs["method"] == wanted["method"])
            & (runs["sparsity_percent"] == wanted["sparsity"])
        ].head(1)
        if found.empty:
            raise ConfigError(
                f"config: rl.latency asks for {wanted['method']} at {wanted['sparsity']}% "
                f"on {wanted['task']}; rl.tasks and rl.measure make no such mask"
            )
        return found

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
    def timed(self) -> dict[str, Any]:
        """The row whose speed is taken."""
        return run_records(self._timed)[0]

    @property
    def timed_stack(self) -> list[dict[str, Any]]:
        """All rows of the stack that holds its mask."""
        return self._runs_of(*self._timed[STACK].iloc[0])

    @property
    def score_figures(self) -> dict[str, list[str]]:
        """Figures of score against sparsity, and the methods of each: the paper's, then others."""
        methods = self.config["sweep"]["methods"]
        others = [name for name in methods if name not in PAPER_FIGURES.values()]
        paper = {figure: [name] for figure, name in PAPER_FIGURES.items() if name in methods}
        return {**paper, "rl_criteria": others} if others else paper

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
    def latency(self) -> str:
        """The times of that row."""
        return f"results/rl/{self.config['latency']['task']}/latency.csv"

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
        }
        return files, settings

    @property
    def page(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """What its part of the page shows beside its figures: files, and settings."""
        files = {
            "table1": ["results/tables/rl_table1.csv"],
            "scores": ["results/tables/rl_scores.csv"],
            "latency": ["results/tables/rl_inference.csv"],
            "layers": self.files("layers.csv"),
            "datasets": self.datasets,
        }
        return files, {"latency_task": self.config["latency"]["task"]}

    def tasks_from(self, *sources: str) -> str:
        """A pattern for the tasks whose data come from one of these sources."""
        tasks = self.config["tasks"].items()
        return "|".join(name for name, task in tasks if task["source"] in sources) or "none"

    def source(self, wildcards: Any) -> str:
        """The HDF5 file of a task whose data are downloaded or the user's own."""
        task = self.config["tasks"][wildcards.task]
        return task.get("path") or f"results/rl/{wildcards.task}/d4rl.hdf5"

    def download(self, key: str) -> Callable[[Any], Any]:
        """Input function: a task's value of `key` in resources/sources.yaml."""
        return lambda wildcards: self._downloads[f"{wildcards.task}_expert-v2"][key]

    def facts(self) -> dict[str, str]:
        """What was run, for the head of the page."""
        config = self.config
        trained, measured = config["sweep"], config["measure"]

        def units(name: str) -> str:
            table = config["widths"][name]
            actor, critic = ("-".join(map(str, table[each])) for each in ("actor", "critic"))
            return f"actor {actor}, critic {critic}, VAE {table['vae']}-{table['vae']}"

        return {
            "Tasks": ", ".join(
                f"{task} ({each['source']})" for task, each in config["tasks"].items()
            ),
            "Trained runs": f"{int(self._runs['trained'].sum())}, each scored as "
            + " and ".join(trained["algorithms"]),
            "Sparsities": ", ".join(f"{level}%" for level in trained["sparsities"]),
            "Seeds": ", ".join(map(str, trained["seeds"])),
            "Updates": f"{config['training']['updates']:,} of batches of "
            f"{config['training']['batch']}",
            "Hidden units when trained": units(trained["widths"]),
            "Hidden units when only pruned": units(measured["widths"]),
            "Evaluation": f"{config['evaluation']['episodes']} episodes, mean of the last "
            f"{config['evaluation']['last']} evaluations",
        }
