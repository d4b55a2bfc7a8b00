"""What the rules of the style study ask: its rows, where each file lies, what a job needs."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from triptych.core.config import ConfigError
from triptych.report.files import products
from triptych.style.optimisation.experiments import experiment_records, experiment_runs

CHANGES_NOTHING = (
    # What a run leaves behind for looking at, and whom a server may write to.
    *("style.training.schedule.log_every", "style.video.strip", "style.contact"),
)
"""Patterns of the keys whose values change no number."""
COUNT_AS_ONE: dict[str, tuple[str, ...]] = {}
"""Values of a key that make the same numbers."""


class Workflow:
    """The section `style` of a config as rules use it. Functions of wildcards are Snakemake's.

    Raises ConfigError for a name that its catalogue in config doesn't define.
    """

    picture = "style_styles"
    """The figure that stands for the study on the page's first screen."""
    figures = (
        *(f"style_figure{number}" for number in range(1, 9)),
        *("style_styles", "style_sizes", "style_presets", "style_initialisations"),
        *("style_training", "style_checkpoints", "style_motion"),
    )
    TABLES = ("style_table1", "style_scores", "style_targets", "style_breakeven")

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["style"]
        self._sources = sources
        try:
            self._runs = experiment_runs(
                *(self.config[each] for each in ("optimize", "experiments", "backbones"))
            )
        except ValueError as error:
            raise ConfigError(f"config: style.experiments: {error}") from error
        networks = self.config["networks"]
        self.main = networks["main"]
        # The network that results are shown of, for each painting: shipped or trained here.
        self._networks: dict[str, str] = {}
        self.shown: dict[str, str] = {}
        for kind, names in (("shipped", "shipped"), (networks["variants"][0], "trained")):
            for name in networks[names]:
                self._networks |= dict.fromkeys(self.styles(name), name)
                self.shown |= dict.fromkeys(self.styles(name), kind)
        self.trained = [(p, v) for p in networks["trained"] for v in networks["variants"]]
        # Videos are made by the main network, and by each variant of the first one that is
        # trained, so that their flicker can be compared.
        filmed = self.styles(networks["trained"][0])[0]
        first = [(filmed, variant) for variant in networks["variants"]]
        self.filmed = list(dict.fromkeys([(self.main, self.shown.get(self.main)), *first]))
        stylised = self.config["stylised"]
        self.shown_contents = list(dict.fromkeys([*stylised["contents"], stylised["large"]]))
        self._check()
        self.products = products(self.figures, self.TABLES)

    def _check(self) -> None:
        config = self.config
        paintings = [*self._runs["painting"], *self.shown, config["timing"]["painting"]]
        _known(paintings, config["paintings"], "style")
        _known([*self._runs["content"], *self.shown_contents], config["contents"], "style")
        _known([self.main], self.shown, "style.networks.main")

    # Rows.

    @property
    def experiment_table(self) -> Any:
        """Every optimised image of every experiment, a row each."""
        return self._runs

    def rows(self, wildcards: Any) -> list[dict[str, Any]]:
        """The rows of one experiment."""
        return experiment_records(self._runs, wildcards.experiment)

    def losses(self, wildcards: Any) -> dict[str, Any]:
        """The loss settings of a variant: the temporal term counts in its own variant alone."""
        losses: dict[str, Any] = self.config["losses"]
        if wildcards.variant == "temporal":
            return losses
        return {**losses, "temporal_weight": 0.0}

    @property
    def architectures(self) -> dict[str, str]:
        """The architecture of each backbone, by its role."""
        return {role: each["architecture"] for role, each in self.config["backbones"].items()}

    # Files.

    def styles(self, network: str) -> list[str]:
        """The paintings that a network is of: its own, or those that `conditional` names."""
        conditional: dict[str, list[str]] = self.config["networks"]["conditional"]
        return conditional.get(network, [network])

    def network(self, painting: str, variant: str) -> str:
        """A painting's network: shipped with the repository, or trained and chosen by this run."""
        name = self._networks[painting]
        if variant == "shipped":
            return f"resources/style/networks/{name}.safetensors"
        return f"results/style/networks/{name}/{variant}/network.safetensors"

    def paintings_learnt(self, wildcards: Any) -> list[str]:
        """The paintings that a network is trained for."""
        return self.paintings(self.styles(wildcards.painting))

    def lessons(self, wildcards: Any) -> list[str]:
        """Version 1's pictures in each of a network's styles and their index, in turn; or none."""
        if not self.config["lessons"]["pictures"]:
            return []
        return [
            f"results/style/lessons/{painting}/{file}"
            for painting in self.styles(wildcards.painting)
            for file in ("pictures.bin", "index.csv")
        ]

    @property
    def begun(self) -> list[str]:
        """The shipped network of several styles that trainings begin from; none from chance."""
        begin = self.config["networks"]["begin"]
        return [f"resources/style/networks/{begin}.safetensors"] if begin else []

    def network_named(self, wildcards: Any) -> str:
        """The network of the wildcards' painting and variant."""
        return self.network(wildcards.painting, wildcards.variant)

    def network_shown(self, wildcards: Any) -> str:
        """The network that the wildcards' painting is shown by."""
        return self.network(wildcards.painting, self.shown[wildcards.painting])

    def of_trained(self, name: str) -> list[str]:
        """The file `name` of every network that this run trains."""
        return [f"results/style/networks/{p}/{v}/{name}" for p, v in self.trained]

    def of_shipped(self, kind: str) -> list[str]:
        """Logs (csv) or contact sheets (png) of the networks that the repository carries."""
        shipped = self.config["networks"]["shipped"]
        return [f"resources/style/networks/{painting}.{kind}" for painting in shipped]

    def of_videos(self, name: str) -> list[str]:
        """The file `name` of every stylised video."""
        return [f"results/style/video/{p}/{v}/{name}" for p, v in self.filmed]

    @property
    def parity(self) -> list[str]:
        """How far the main network's ONNX file is from it."""
        painting, variant = self.filmed[0]
        return [f"results/style/networks/{painting}/{variant}/parity.csv"]

    def backbone(self, role: str) -> str:
        """The weights of a backbone, by its role in config."""
        backbone = self.config["backbones"][role]
        weights: str = backbone["weights"]
        return {
            "embedded": f"resources/style/{backbone['architecture']}.safetensors",
            "imagenet": f"results/style/weights/{backbone['architecture']}.safetensors",
        }.get(weights, weights)

    def backbones_of(self, wildcards: Any) -> list[str]:
        """The weights of the backbones that an experiment needs."""
        roles = dict.fromkeys(row["backbone"] for row in self.rows(wildcards))
        return [self.backbone(role) for role in roles]

    def contents(self, names: Iterable[str]) -> list[str]:
        """Photographs by name, each once."""
        return [f"results/style/contents/{name}.png" for name in dict.fromkeys(names)]

    def painting(self, name: str) -> str:
        """The file of a painting: shipped with the repository, or prepared by this run."""
        is_shipped = self.config["paintings"][name]["source"] == "shipped"
        return f"{'resources' if is_shipped else 'results'}/style/paintings/{name}.png"

    def paintings(self, names: Iterable[str]) -> list[str]:
        """Paintings by name, each once."""
        return [self.painting(name) for name in dict.fromkeys(names)]

    def contents_of(self, wildcards: Any) -> list[str]:
        """The photographs that an experiment needs."""
        return self.contents(row["content"] for row in self.rows(wildcards))

    def paintings_of(self, wildcards: Any) -> list[str]:
        """The paintings that an experiment needs."""
        return self.paintings(row["painting"] for row in self.rows(wildcards))

    def experiment_contents(self, experiment: str | None = None) -> list[str]:
        """The photographs of one experiment, or of all."""
        return self.contents(self._of(experiment)["content"])

    def experiment_paintings(self, experiment: str | None = None) -> list[str]:
        """The paintings of one experiment, or of all."""
        return self.paintings(self._of(experiment)["painting"])

    def _of(self, experiment: str | None) -> Any:
        return (
            self._runs if experiment is None else self._runs[self._runs["experiment"] == experiment]
        )

    @property
    def all_contents(self) -> list[str]:
        """The photographs of all results, optimised and stylised."""
        return self.contents([*self._runs["content"], *self.shown_contents])

    @property
    def all_paintings(self) -> list[str]:
        """The paintings of all results."""
        return self.paintings([*self._runs["painting"], *self.shown])

    def of_experiments(self, name: str, experiments: Iterable[str] | None = None) -> list[str]:
        """The file or folder `name` of these experiments, or of all."""
        wanted = self.config["experiments"] if experiments is None else experiments
        return [f"results/style/optimize/{each}/{name}" for each in wanted]

    def crops(self, *files: str) -> list[str]:
        """Files of the training photographs, by the source in config."""
        folder = f"results/style/photographs/{self.config['photographs']['source']}"
        return [f"{folder}/{file}" for file in files]

    @property
    def stylised_runs(self) -> list[str]:
        """What was stylised by each painting's network."""
        return [f"results/style/stylised/{painting}/runs.csv" for painting in self.shown]

    @property
    def stylised_images(self) -> list[str]:
        """Every stylised photograph."""
        return [
            f"results/style/stylised/{painting}/{content}.png"
            for painting in self.shown
            for content in self.shown_contents
        ]

    @property
    def large(self) -> dict[str, str]:
        """Figure 8's photograph, painting and result."""
        content = self.config["stylised"]["large"]
        return {
            "result": f"results/style/stylised/{self.main}/{content}.png",
            "content": f"results/style/contents/{content}.png",
            "painting": self.painting(self.main),
        }

    @property
    def claims(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """What the claims are decided by: files, and settings."""
        files = {
            "runs": self.of_experiments("runs.csv"),
            "history": self.of_experiments("history.csv"),
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
        tables = ("table1", "breakeven", "targets", "scores")
        files = {
            **{name: [f"results/tables/style_{name}.csv"] for name in tables},
            "stylised": self.stylised_runs,
            "parity": self.parity,
            "properties": self.of_videos("properties.csv"),
            "videos": self.of_videos("video.mp4"),
        }
        return files, {}

    @property
    def video_source(self) -> dict[str, str]:
        """The user's own video, if config names one; otherwise the film is generated."""
        video = self.config["video"]
        return {"video": video["path"]} if video["source"] == "path" else {}

    # Inputs of the user or of others.

    @property
    def made_here(self) -> list[str]:
        """Photographs that need no file: bundled ones, and generated landscapes."""
        contents = self.config["contents"].items()
        return [name for name, each in contents if each["source"] in ("embedded", "generated")]

    @property
    def other_contents(self) -> str:
        """A pattern for the others, downloaded or the user's own."""
        return _pattern(self.config["contents"], self.made_here)

    def content_source(self, wildcards: Any) -> str:
        """The file that a photograph is read from."""
        content = self.config["contents"][wildcards.content]
        return content.get("path") or f"results/style/downloads/{wildcards.content}"

    def content_size(self, position: int) -> Callable[[Any], int | None]:
        """Input function: height (0) or width (1) that a photograph is cut to, if any is set."""

        def size(wildcards: Any) -> int | None:
            found: list[int | None] = self.config["contents"][wildcards.content].get(
                "size", [None, None]
            )
            return found[position]

        return size

    def painting_source(self, wildcards: Any) -> str:
        """The file that a painting is read from."""
        painting = self.config["paintings"][wildcards.painting]
        return painting.get("path") or f"results/style/downloads/{wildcards.painting}"

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

    def facts(self) -> dict[str, str]:
        """What was run, for the head of the study's part of the page."""
        config = self.config

        def named(role: str) -> str:
            backbone = config["backbones"][role]
            return f"{backbone['architecture']} ({backbone['weights']})"

        schedule = config["training"]["schedule"]
        trained = ", ".join(f"{painting} ({variant})" for painting, variant in self.trained)
        begin = config["networks"]["begin"]
        begun = f", from {begin} (shipped)" if begin else ""
        return {
            "Version 1": f"{len(self._runs)} images, "
            f"{config['optimize']['evaluations']} evaluations at {config['optimize']['size']} "
            "pixels where nothing else is said",
            "Backbones": f"{named('vgg')}, {named('alexnet')}",
            "Loss network of Version 2": named("loss"),
            "Trained in this run": f"{trained}: {schedule['batches']:,} batches of "
            f"{schedule['batch']} at {schedule['size']} pixels{begun}",
            "Shipped with the repository": ", ".join(
                f"{name} ({', '.join(self.styles(name))})" for name in config["networks"]["shipped"]
            )
            or "none used",
            "Photographs": f"{config['photographs']['source']}",
            "Judge of results": named("held_out"),
        }


def _pattern(names: Iterable[str], others: list[str]) -> str:
    """A pattern for the names that aren't among `others`."""
    return "|".join(name for name in names if name not in others) or "none"


def _known(names: Iterable[str], catalogue: Iterable[str], key: str) -> None:
    """Refuse a name that its catalogue in config doesn't define."""
    unknown = sorted(set(names) - set(catalogue))
    if unknown:
        raise ConfigError(
            f"config: {key} names {', '.join(unknown)}; allowed are {', '.join(catalogue)}"
        )
