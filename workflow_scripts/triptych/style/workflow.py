"""The style study as its rules ask for it: rows of experiments, networks, claims and page."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from triptych.core.config import ConfigError
from triptych.report.files import products
from triptych.style.optimise.experiments import experiment_runs

PLAIN = "plain"
"""The variant of a network that this run trains; others are shipped."""
CHANGES_NOTHING = ("style.training.schedule.log_every", "style.video.strip", "style.contact")
"""Patterns of the keys whose values change no number."""
COUNT_AS_ONE: dict[str, tuple[str, ...]] = {}
"""Values of a key that make the same numbers."""


class Workflow:
    """The section `style` of a config. Raises ConfigError for a name that config doesn't define.

    runs:    every optimised image of every experiment (`experiments.COLUMNS`)
    main:    the painting of Figures 1 and 8, Table I and the video
    shown:   the variant of the network that a painting's results are shown of, by painting
    filmed:  (painting, variant) of each stylised video: of the main network, and of the first
             painting that is trained for
    shown_contents: the photographs that networks stylise
    """

    picture = "style_styles"
    """The figure that stands for the study on the page's first screen."""
    figures = (
        *(f"style_figure{number}" for number in range(1, 9)),
        *("style_styles", "style_sizes", "style_presets", "style_initialisations"),
        *("style_training", "style_motion"),
    )
    TABLES = ("style_table1", "style_scores")
    products = products(figures, TABLES)

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["style"]
        self._sources = sources
        try:
            self.runs = experiment_runs(
                *(self.config[each] for each in ("optimize", "experiments", "backbones"))
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
        _known(paintings, self.config["paintings"], "style")
        contents = [*self.names("content"), *self.shown_contents]
        _known(contents, self.config["contents"], "style")
        _known([self.main], self.shown, "style.networks.main")

    def rows(self, experiment: str) -> list[dict[str, Any]]:
        """The rows of one experiment."""
        return [row for row in self.runs if row["experiment"] == experiment]

    def names(self, column: str, *experiments: str) -> list[str]:
        """What a column of these experiments, or of all, holds: each name once, in order."""
        rows = [row for row in self.runs if not experiments or row["experiment"] in experiments]
        return list(dict.fromkeys(row[column] for row in rows))

    @property
    def architectures(self) -> dict[str, str]:
        """The architecture of each backbone, by its role."""
        return {role: each["architecture"] for role, each in self.config["backbones"].items()}

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

    def sources(self, catalogue: str, *kinds: str) -> list[str]:
        """The entries of `paintings` or `contents` whose source is among `kinds`."""
        entries = self.config[catalogue].items()
        return [name for name, each in entries if each["source"] in kinds]

    def others(self, catalogue: str, *kinds: str) -> str:
        """A wildcard's pattern for all other entries, which are read from a file."""
        apart = self.sources(catalogue, *kinds)
        return "|".join(name for name in self.config[catalogue] if name not in apart) or "none"

    @property
    def package(self) -> dict[str, Any]:
        """The package of the registry that carries a VGG-16, by version and SHA-256."""
        package: dict[str, Any] = self._sources["packages"]["files"]["vgg16"]
        return package

    @property
    def coco(self) -> dict[str, Any]:
        """Where COCO's training images are, and by what they are checked."""
        file = self._sources["coco"]["files"]["train2017"]
        checked = {key: file[key] for key in ("url", "size", "md5", "sha256")}
        return checked | {"mirrors": [file["mirror"]]}

    def download(self, group: str, wildcard: str, digest: str) -> dict[str, Callable[[Any], Any]]:
        """Input functions by parameter: address, size, digest of the file that a wildcard names."""

        def value(key: str) -> Callable[[Any], Any]:
            return lambda wildcards: self._sources[group]["files"][wildcards[wildcard]].get(key)

        values = {key: value(key) for key in ("url", "size", digest)}
        return values | {"lock": lambda wildcards: f"resources/locks/{wildcards[wildcard]}.json"}

    # What claims, page and its head need.

    def of_videos(self, name: str) -> list[str]:
        """The file `name` of every stylised video."""
        return [f"results/style/video/{p}/{v}/{name}" for p, v in self.filmed]

    @property
    def stylised_runs(self) -> list[str]:
        """What was stylised by each painting's network."""
        return [f"results/style/stylised/{painting}/runs.csv" for painting in self.shown]

    @property
    def claims(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """What the claims are decided by: files, and settings."""
        experiments = self.config["experiments"]
        files = {
            "runs": [f"results/style/optimize/{each}/runs.csv" for each in experiments],
            "history": [f"results/style/optimize/{each}/history.csv" for each in experiments],
            "timing": ["results/style/timing/images.csv"],
            "loss_timing": ["results/style/timing/losses.csv"],
            "quality": ["results/style/quality.csv"],
            "stylised_runs": self.stylised_runs,
            "speed": self.of_videos("speed.csv"),
            "properties": self.of_videos("properties.csv"),
            "flicker": self.of_videos("flicker.csv"),
        }
        return files, {
            "architectures": self.architectures,
            "timed": self.main,
            "photographs": self.config["photographs"]["source"],
        }

    @property
    def page(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """What its part of the page shows beside its figures: files, and settings."""
        files = {
            **{name: [f"results/tables/style_{name}.csv"] for name in ("table1", "scores")},
            "stylised": self.stylised_runs,
            "videos": self.of_videos("video.mp4"),
        }
        backbones = self.config["backbones"].values()
        return files, {"weights": sorted({each["weights"] for each in backbones})}

    def facts(self) -> dict[str, str]:
        """What was run, for the head of the study's part of the page."""
        config, networks = self.config, self.config["networks"]
        optimize, schedule = config["optimize"], config["training"]["schedule"]
        backbones = {
            role: f"{each['architecture']} ({each['weights']})"
            for role, each in config["backbones"].items()
        }
        initial = networks["initial_weights"]
        begun = f", from {initial} (shipped)" if initial else ""
        shipped = [f"{name} ({', '.join(self.styles(name))})" for name in networks["shipped"]]
        return {
            "Version 1": f"{len(self.runs)} images, {optimize['evaluations']} evaluations at "
            f"{optimize['size']} pixels where nothing else is said",
            "Backbones": f"{backbones['vgg']}, {backbones['alexnet']}",
            "Loss network of Version 2": backbones["loss"],
            "Trained in this run": f"{', '.join(networks['trained'])}: {schedule['batches']:,} "
            f"batches of {schedule['batch']} at {schedule['size']} pixels{begun}",
            "Shipped with the repository": ", ".join(shipped) or "none used",
            "Photographs": config["photographs"]["source"],
            "Judge of results": backbones["validation"],
        }


def _known(names: Iterable[str], catalogue: Iterable[str], key: str) -> None:
    """Refuse a name that its catalogue in config doesn't define."""
    unknown = sorted(set(names) - set(catalogue))
    if unknown:
        raise ConfigError(
            f"config: {key} names {', '.join(unknown)}; allowed are {', '.join(catalogue)}"
        )
