"""The style study as its rules see it: rows of experiments, networks and claims."""

from collections.abc import Iterable, Mapping
from typing import Any

from triptych.core.config import ConfigError
from triptych.style.optimise.choices import (
    METHOD_COLUMNS,
    experiment_runs,
    load,
    method_module,
)

PLAIN = "plain"
"""The variant of a network that this run trains; others are shipped."""
NEUTRAL_KEYS = ("style.training.schedule.log_every", "style.contact")
"""Patterns of the keys whose values change no number."""
EQUIVALENT_VALUES: dict[str, tuple[str, ...]] = {}
"""Values of a key that make the same numbers."""


class Workflow:
    """The section `style` of a config. Raises ConfigError for a name that config doesn't define.

    runs:    every optimised image of every experiment (`choices.COLUMNS`)
    main:    the painting of Figures 1 and 8, Table I and the video
    shown:   the variant of the network that a painting's results are shown of, by painting
    used_pictures: config's entries of the paintings and photographs that it uses, by name
    filmed:  (painting, variant) of each stylised video: of the main network, and of the first
             painting that is trained for
    shown_contents: the photographs that networks stylise
    """

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["style"]
        self.on_gpu = config["device"] == "cuda"
        self._files = {g: sources[g]["files"] for g in ("wikimedia", "backbones", "coco")}
        try:
            self.runs = experiment_runs(
                self.config["optimize"], self.config["experiments"], self.config["backbones"]
            )
        except ValueError as error:
            raise ConfigError(f"config: style.experiments: {error}") from error
        networks, stylised = self.config["networks"], self.config["stylised"]
        self.main = networks["main"]
        self._network_of: dict[str, str] = {}
        self.shown: dict[str, str] = {}
        for kind, names in (("shipped", networks["shipped"]), (PLAIN, networks["trained"])):
            for name in names:
                self._network_of |= dict.fromkeys(self.styles(name), name)
                self.shown |= dict.fromkeys(self.styles(name), kind)
        first = self.styles(networks["trained"][0])[0]
        filmed = [(self.main, self.shown.get(self.main)), (first, PLAIN)]
        self.filmed = list(dict.fromkeys(filmed))
        self.shown_contents = list(dict.fromkeys([*stylised["contents"], stylised["large"]]))
        paintings = [*self.names("painting"), *self.shown, self.config["timing"]["painting"]]
        contents = [*self.names("content"), *self.shown_contents]
        self.used_pictures: dict[str, dict[str, Any]] = {}
        for kind, names in (("paintings", paintings), ("contents", contents)):
            _known(names, self.config[kind], "style")
            self.used_pictures |= {name: self.config[kind][name] for name in names}
        _known([self.main], self.shown, "style.networks.main")
        self._check_shown_together()

    def rows(self, experiment: str) -> list[dict[str, Any]]:
        return [row for row in self.runs if row["experiment"] == experiment]

    def names(self, column: str, *experiments: str) -> list[str]:
        """Values of a column of these experiments, or of all: each once, in order."""
        rows = [row for row in self.runs if not experiments or row["experiment"] in experiments]
        return list(dict.fromkeys(row[column] for row in rows))

    def shown_with(self, experiment: str) -> list[str]:
        """The experiment, and those that its figures show as well (`shown_with`)."""
        others = self.config["experiments"].items()
        also = [name for name, settings in others if settings.get("shown_with") == experiment]
        return [experiment, *also]

    def methods(self, wildcards: Any) -> list[str]:
        """Modules of the methods that an experiment's rows name."""
        return [
            method_module(kind, name)
            for column, kind in METHOD_COLUMNS.items()
            for name in self.names(column, wildcards.experiment)
        ]

    @property
    def timed_methods(self) -> list[str]:
        """Modules of the methods that Table I and Figure 4 time."""
        losses = self.names("content_loss", "losses")
        return [
            method_module("presets", "authors"),
            method_module("optimizers", "lbfgs"),
            method_module("style_losses", "gram"),
            *(method_module("content_losses", name) for name in ["mse", *losses]),
        ]

    def normalises(self, experiment: str) -> bool:
        """Whether a backbone of the experiment is normalised on photographs."""
        return any(
            load("presets", row["preset"]).choices(row["architecture"])["normalised"]
            for row in self.rows(experiment)
        )

    @property
    def architectures(self) -> dict[str, str]:
        backbones = self.config["backbones"].items()
        return {role: backbone["architecture"] for role, backbone in backbones}

    def styles(self, network: str) -> list[str]:
        """The paintings that a network is of: its own, or those that `conditional` names."""
        conditional: dict[str, list[str]] = self.config["networks"]["conditional"]
        return conditional.get(network, [network])

    def network(self, painting: str, variant: str) -> str:
        """A painting's network: shipped with the repository, or trained and chosen by this run."""
        name = self._network_of[painting]
        if variant == "shipped":
            return f"resources/style/networks/{name}.safetensors"
        return f"results/style/networks/{name}/{variant}/network.safetensors"

    def backbone(self, role: str) -> str:
        """The weights of a backbone, by its role in config."""
        backbone = self.config["backbones"][role]
        weights: str = backbone["weights"]
        return {
            "embedded": f"resources/style/{backbone['architecture']}.safetensors",
            "imagenet": f"results/style/weights/{backbone['architecture']}.safetensors",
            "hed": f"results/style/weights/hed/{backbone['architecture']}.safetensors",
        }.get(weights, weights)

    @property
    def downloads(self) -> dict[str, dict[str, Any]]:
        """Entries of resources/sources.yaml that this run downloads, by name."""
        roles = {"loss", "validation", "alexnet", "vgg", *self.names("backbone")}
        backbones = [self.config["backbones"][role] for role in sorted(roles)]
        pictures = self.used_pictures.items()
        names = {
            "wikimedia": [name for name, entry in pictures if entry["source"] == "wikimedia"],
            "backbones": [b["architecture"] for b in backbones if b["weights"] == "imagenet"],
            "coco": ["train2017"] * (self.config["photographs"]["source"] == "coco"),
        }
        return {name: self._files[group][name] for group in names for name in names[group]}

    @property
    def unnamed(self) -> str:
        """Message where pictures are downloaded and nobody is named whom to write to, or ""."""
        pictures = [n for n, entry in self.used_pictures.items() if entry["source"] == "wikimedia"]
        if self.config["contact"] or not pictures:
            return ""
        return (
            f"style.contact is empty, and Wikimedia refuses {', '.join(sorted(pictures))} to "
            "programs that do not say whom to write to: set it to your e-mail address or web page, "
            "in a config file of yours or by --config 'style={contact: you@example.org}'"
        )

    def of_videos(self, name: str) -> list[str]:
        """The file `name` of every stylised video."""
        return [f"results/style/video/{p}/{v}/{name}" for p, v in self.filmed]

    @property
    def stylised_runs(self) -> list[str]:
        """Runs of each painting's network on the shown photographs."""
        return [f"results/style/stylised/{painting}/runs.csv" for painting in self.shown]

    @property
    def quality(self) -> list[str]:
        """Measures of every image of both versions."""
        return [
            *(f"results/style/quality/optimize/{name}.csv" for name in self.names("experiment")),
            *(f"results/style/quality/stylised/{painting}.csv" for painting in self.shown),
        ]

    @property
    def claims(self) -> dict[str, list[str]]:
        """Files that the claims are decided by."""
        experiments = self.config["experiments"]
        return {
            "runs": [f"results/style/optimize/{name}/runs.csv" for name in experiments],
            "history": [f"results/style/optimize/{name}/history.csv" for name in experiments],
            "timing": ["results/style/timing/images.csv"],
            "loss_timing": ["results/style/timing/losses.csv"],
            "quality": self.quality,
            "stylised_runs": self.stylised_runs,
            "speed": self.of_videos("speed.csv"),
            "properties": self.of_videos("properties.csv"),
            "flicker": self.of_videos("flicker.csv"),
        }

    @property
    def pictures(self) -> list[str]:
        """The photographs and paintings that results are of."""
        contents = dict.fromkeys([*self.names("content"), *self.shown_contents])
        paintings = dict.fromkeys([*self.names("painting"), *self.shown])
        return [
            *(f"results/style/contents/{name}.png" for name in contents),
            *(f"results/style/paintings/{name}.png" for name in paintings),
        ]

    def facts(self) -> dict[str, str]:
        """A summary of the run, for the head of the study's part of the page."""
        config, networks = self.config, self.config["networks"]
        optimize, schedule = config["optimize"], config["training"]["schedule"]
        backbones = {
            role: f"{backbone['architecture']} ({backbone['weights']})"
            for role, backbone in config["backbones"].items()
        }
        initial = networks["initial_weights"]
        begun = f", from {initial} (shipped)" if initial else ""
        shipped = [f"{name} ({', '.join(self.styles(name))})" for name in networks["shipped"]]
        return {
            "Version 1": f"{len(self.runs)} images, {optimize['evaluations']} evaluations at "
            f"{optimize['size']} pixels by default",
            "Backbones": f"{backbones['vgg']}, {backbones['alexnet']}",
            "Loss network of Version 2": backbones["loss"],
            "Trained in this run": f"{', '.join(networks['trained'])}: {schedule['batches']:,} "
            f"batches of {schedule['batch']} at {schedule['size']} pixels{begun}",
            "Shipped with the repository": ", ".join(shipped) or "none used",
            "Photographs": config["photographs"]["source"],
            "Judge of results": backbones["validation"],
        }

    def _check_shown_together(self) -> None:
        """Refuse `shown_with` an unknown experiment, and two runs of one name in a figure."""
        experiments = self.config["experiments"]
        for name, settings in experiments.items():
            key = f"style.experiments.{name}.shown_with"
            if "shown_with" in settings:
                _known([settings["shown_with"]], experiments, key)
        for name in experiments:
            together = self.shown_with(name)
            runs = [row["run"] for row in self.runs if row["experiment"] in together]
            twice = sorted({run for run in runs if runs.count(run) > 1})
            if twice:
                raise ConfigError(
                    f"config: style.experiments: {' and '.join(together)} are shown together and "
                    f"both have a run {twice[0]}; let another key vary, too"
                )


def _known(names: Iterable[str], catalogue: Iterable[str], key: str) -> None:
    """Refuse a name that its catalogue in config doesn't define."""
    unknown = sorted(set(names) - set(catalogue))
    if unknown:
        raise ConfigError(
            f"config: {key} names {', '.join(unknown)}; allowed are {', '.join(catalogue)}"
        )
