"""What the rules of the offline-RL study ask of its config: runs, settings, what is shown."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from triptych.core.config import ConfigError
from triptych.report.files import products
from triptych.rl.algorithms.registry import ALGORITHMS, networks_name
from triptych.rl.pruning.methods import CRITERIA, OBSERVATIONS
from triptych.rl.tasks import config as tables
from triptych.rl.tasks.config import with_quality
from triptych.rl.tasks.sweep import DEFAULT, Run, algorithms_of, keys_of, runs_of, small_data_sweeps

CHANGES_NOTHING = ("rl.runs_per_job", "rl.training.checkpoint_every")
"""Patterns of the keys whose values change no number."""
COUNT_AS_ONE: dict[str, tuple[str, ...]] = {}
"""Values of a key that make the same numbers."""
PAPER_FIGURES = {"rl_figure1": "snip", "rl_figure2": "grasp"}
STACK = ("task", "networks", "stack")
"""What names a job."""


class Workflow:
    """The section `rl` of a config as rules use it. Functions of wildcards are Snakemake's to call.

    Raises ConfigError naming a key whose value the others don't allow.
    """

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["rl"]
        self._downloads = sources["d4rl"]["files"]
        self._runs = runs_of(self.config)
        tables.check(self.config, self._runs, self._downloads)
        self.tasks = list(self.config["tasks"])
        self.units = tables.units_of(self.config["tasks"])
        entries = self.config["tasks"].items()
        self.data = {name: tables.data_source(entry) for name, entry in entries}
        self.timed = self._timed_run()
        self.figures = (
            *self.score_figures,
            *self.level_figures,
            *("rl_figure3", "rl_figure3_counts", "rl_figure4", "rl_curves"),
            *(["rl_sensors"] if self.sensing else []),
            *(["rl_small_data"] if small_data_sweeps(self.config) else []),
        )
        self.picture = self.figures[0]
        made = ("rl_table1", "rl_scores", "rl_comparisons", "rl_inputs", "rl_inference")
        variants = ["rl_variants"] if self.variants else []
        self.products = products(self.figures, (*made, *variants))

    def _timed_run(self) -> Run:
        """The one measured run whose speed is taken."""
        wanted = self.config["latency"]
        asked = {"method": wanted["method"], "sparsity_percent": wanted["sparsity"]}
        asked |= {"observations": self.config["observations"], "pruning": DEFAULT}
        for run in self.measured(wanted["task"]):
            if asked.items() <= run.items():
                return run
        raise ConfigError(
            f"config: rl.latency asks for {wanted['method']} at {wanted['sparsity']}% on "
            f"{wanted['task']}; rl.tasks and rl.mask_statistics make no such mask"
        )

    # Jobs and their runs.

    def stacks(self, trained: bool, small: bool = False) -> dict[str, list[str]]:
        """The values of `expand`'s wildcards for all jobs that train, or for those that measure.

        small: those of `rl.small_data` instead.
        """
        names = dict.fromkeys(
            tuple(run[key] for key in STACK)
            for run in self._runs
            if run["trained"] == trained and bool(run["first"]) == small
        )
        return {key: [name[i] for name in names] for i, key in enumerate(STACK)}

    def runs(self, wildcards: Any) -> list[Run]:
        """The rows of one stack. Raises ConfigError for a stack that the config doesn't make."""
        wanted = {key: wildcards[key] for key in STACK}
        of_stack = [keys_of(run) for run in self._runs if wanted.items() <= run.items()]
        if not of_stack:
            known = ", ".join(sorted({run["stack"] for run in self._runs}))
            raise ConfigError(
                f"no runs of {wildcards['task']} with networks {wildcards['networks']} make a "
                f"stack {wildcards['stack']!r}: with this config stacks are {known}"
            )
        return of_stack

    def first(self, wildcards: Any) -> int:
        """The number of transitions that a stack is trained on; 0: all."""
        return next(run["first"] for run in self._runs if run["stack"] == wildcards.stack)

    def measured(self, task: str) -> list[Run]:
        """A task's rows that are only pruned and measured."""
        return [keys_of(run) for run in self._runs if run["task"] == task and not run["trained"]]

    def algorithms(self, wildcards: Any) -> dict[str, dict[str, Any]]:
        """What a stack is trained for, with the settings of each."""
        return algorithms_of(self.config, wildcards.stack)

    def pruning(self, task: str, runs: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """How the masks of these runs are made, by name, and the transitions that they take."""
        default = dict(self.config["pruning"])
        variants, shots = default.pop("variants"), {}
        for name in dict.fromkeys([DEFAULT, *(run["pruning"] for run in runs)]):
            own = {**default, **variants.get(name, {})}
            data = f"{task}-{own.pop('quality')}" if "quality" in own else task
            shots[name] = {**own, "transitions": f"results/rl/{data}/transitions.safetensors"}
        return shots

    def pruned_on(self, task: str, runs: Iterable[Mapping[str, Any]]) -> list[str]:
        """The transitions by which the masks of these runs are made."""
        shots = self.pruning(task, runs).values()
        return list(dict.fromkeys(shot["transitions"] for shot in shots))

    # What is shown.

    def _trained(self, **values: Any) -> list[Run]:
        """The trained runs that have these values, those of `rl.small_data` apart."""
        wanted = {"trained": True, "first": 0, **values}
        return [run for run in self._runs if wanted.items() <= run.items()]

    @property
    def sensing(self) -> dict[str, str]:
        """The algorithm and networks whose raw and normalised runs are compared, if any has both.

        BC's before BCQ's: there nothing but the decoder senses.
        """
        both: dict[str, str] = {}
        for name, sweep in self.config["sweeps"].items():
            runs = self._trained(sweep=name, sparsity_percent=self.config["shown_sparsity"])
            kinds = {run["observations"] for run in runs if run["method"] in CRITERIA}
            if len(kinds) == len(OBSERVATIONS):
                both |= {each: networks_name(sweep["widths"], each) for each in sweep["algorithms"]}
        for algorithm in ("BC", *ALGORITHMS):
            if algorithm in both:
                return {"algorithm": algorithm, "networks": both[algorithm]}
        return {}

    @property
    def score_figures(self) -> dict[str, list[str]]:
        """Figures of score against sparsity, and the methods of each: the paper's, then others."""
        trained = self._trained(observations=self.config["observations"])
        methods = [name for name in CRITERIA if name in {run["method"] for run in trained}]
        others = [name for name in methods if name not in PAPER_FIGURES.values()]
        paper = {figure: [name] for figure, name in PAPER_FIGURES.items() if name in methods}
        return {**paper, "rl_criteria": others} if others else paper

    @property
    def level_figures(self) -> dict[str, str]:
        """The paper's figures of scores as learning curves, and the method of each."""
        own = PAPER_FIGURES.items()
        return {f"{name}_curves": method for name, method in own if name in self.score_figures}

    @property
    def variants(self) -> dict[str, dict[str, Any]]:
        """What those variants of the pruning say whose masks are trained."""
        known = self.config["pruning"]["variants"].items()
        return {name: values for name, values in known if self._trained(pruning=name)}

    @property
    def table1_task(self) -> str:
        """Table 1 fits HalfCheetah's and Walker2d's sizes, the same (docs/differences.md)."""
        known = [task for task in ("halfcheetah", "walker2d") if task in self.tasks]
        return (known or self.tasks)[0]

    def _files(self, name: str, trained: bool, small: bool = False) -> list[str]:
        stacks = zip(*self.stacks(trained, small).values(), strict=True)
        return [f"results/rl/{t}/{n}/{s}/{name}" for t, n, s in stacks]

    @property
    def claims(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """What the claims are decided by: files, and settings."""
        files = {
            "scores": self._files("scores.csv", trained=True),
            "trained_layers": self._files("layers.csv", trained=True),
            "layers": self._files("layers.csv", trained=False),
            "sizes": self._files("sizes.csv", trained=False),
            "latency": [f"results/rl/{self.timed['task']}/latency.csv"],
            "datasets": [f"results/rl/{task}/dataset.csv" for task in self.tasks],
        }
        if small_data_sweeps(self.config):
            files["small"] = self._files("scores.csv", trained=True, small=True)
        settings = {
            "precision": self.config["training"]["precision"],
            "observations": self.config["observations"],
            "networks": {
                algorithm: networks_name(sweep["widths"], algorithm)
                for sweep in self.config["sweeps"].values()
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
            "layers": self._files("layers.csv", True) + self._files("layers.csv", False),
            "datasets": [f"results/rl/{task}/dataset.csv" for task in self.tasks],
        }
        return files, {
            "latency_task": self.timed["task"],
            "observations": self.config["observations"],
            "variants": self.variants,
            "units": self.units,
        }

    def facts(self) -> dict[str, str]:
        """What was run, for the head of the page."""
        config = self.config
        training, evaluation = config["training"], config["evaluation"]
        return {
            "Tasks": ", ".join(f"{task} ({source})" for task, source in self.data.items()),
            **{
                f"Trained runs ({' and '.join(sweep['algorithms'])})": self._sweep_facts(name)
                + f"; {_units(config['widths'][sweep['widths']])}"
                for name, sweep in config["sweeps"].items()
            },
            "Observations": f"{config['observations']} where nothing else is said",
            "Updates": f"{training['updates']:,} of batches of {training['batch']}",
            "Hidden units when only pruned": _units(
                config["widths"][config["mask_statistics"]["widths"]]
            ),
            "Evaluation": f"{evaluation['final_episodes']} episodes of the last policy; "
            f"{evaluation['episodes']} for each point of the curves",
        }

    def _sweep_facts(self, name: str) -> str:
        runs = self._trained(sweep=name)
        levels = sorted({run["sparsity_percent"] for run in runs} - {0})
        return (
            f"{len(runs)}, at {', '.join(f'{level}%' for level in levels)} sparsity, "
            f"{len({run['seed'] for run in runs})} seeds"
        )

    # Tasks and their data.

    def task(self, name: str) -> dict[str, Any]:
        """What a task is, for `task_from`."""
        return tables.task_table(self.config["tasks"], name)

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

    def data_source(self, wildcards: Any) -> str:
        """Where data come from, with the quality that the wildcards name."""
        entry = with_quality(self.config["tasks"][wildcards.task], wildcards.quality)
        return tables.data_source(entry)

    def d4rl_file(self, wildcards: Any) -> str:
        """What resources/sources.yaml calls D4RL's file of a task."""
        entry = with_quality(self.config["tasks"][wildcards.task], wildcards.quality)
        return tables.d4rl_file(wildcards.task, entry)

    def download(self, key: str) -> Callable[[Any], Any]:
        """Input function: a task's value of `key` in resources/sources.yaml, or None."""
        return lambda wildcards: self._downloads[self.d4rl_file(wildcards)].get(key)


def _units(widths: Mapping[str, Any]) -> str:
    """The hidden units of a set of widths, in words."""
    actor, critic, vae = widths["actor"], widths["critic"], widths["vae"]
    return f"actor {actor[0]}-{actor[1]}, critic {critic[0]}-{critic[1]}, VAE {vae}-{vae}"
