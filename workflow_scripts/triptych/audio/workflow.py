"""The audio section of a config as its rules use it: rows, settings, files of several jobs."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from triptych.audio.captions.settings import check_captions
from triptych.audio.experiments import Run, audio_runs, pair_name, training_of
from triptych.audio.inputs import Inputs, hub_address
from triptych.audio.models import sentence_encoders
from triptych.audio.models.entries import encoder_names
from triptych.audio.models.sentence_encoders import hub_model, sentence_encoder
from triptych.audio.models.settings import ModelSettings
from triptych.core.config import ConfigError
from triptych.report.files import products

CHANGES_NOTHING = (
    # Speed, and what a run leaves behind for looking at.
    *(f"audio.stages.*.{key}" for key in ("workers", "checkpoint_minutes")),
    "audio.stages.*.chunk",
    "audio.search_page.*",
    "audio.submission.*",
    # How a language model is reached and paid.
    "audio.captions.base_url",
    "audio.captions.open_requests",
    "audio.captions.timeout_seconds",
    "audio.captions.attempts",
    "audio.captions.prices.*",
    "audio.captions.budget",
    "audio.captions.cache",
    # Where sound lies: FLAC gives the same samples as int16.
    "audio.sources.audiocaps.path",
    "audio.sources.*.shards",
    "audio.keep_downloads",
)
"""Patterns of the keys whose values change no number."""
COUNT_AS_ONE = {"audio.sources.audiocaps.source": ("path", "mp3")}
"""Values of a key that count as the same scale: the same recordings, from another copy."""

SPLITS = ("development", "validation", "evaluation")


class Workflow:
    """The section `audio` of a config as rules use it. Raises ConfigError for other values."""

    figures = ("audio_figure2", "audio_training", "audio_beyond")
    TABLES = ("audio_table1", "audio_table2", "audio_leaks")

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["audio"]
        self.inputs = Inputs(self.config, sources["audio"])
        self._audio_models = self._read_models("audio_models", self._audio_model)
        self.text_settings = self._read_models("text_models", self._text_model)
        try:
            check_captions(self.config["captions"], self.inputs.sources["clotho"])
            self.runs = audio_runs(self.config)
        except ValueError as error:
            raise ConfigError(f"config: {error}") from error
        submitted, evaluated = self.config["submitted"], self.config["evaluated"]
        self.main = pair_name(self.config["main"])
        self.published = self._read_published()
        self.corpora = list(dict.fromkeys(run["corpus"] for run in self.runs))
        self.submitted = [run for run in self.runs if run["corpus"] == submitted]
        scored = {evaluated, self.config["replicated"]}
        self.scored = [run for run in self.runs if run["corpus"] in scored]
        of_main = [run for run in self.runs if run["pair"] == self.main]
        self.finetuned_main = [
            run for run in of_main if (run["stage"], run["corpus"]) == ("finetuned", evaluated)
        ]
        self.pretrained_main = [
            run for run in of_main if (run["stage"], run["corpus"]) == ("pretrained", evaluated)
        ]
        self.compared_for_leaks = [
            run
            for run in of_main
            if run["stage"] == "pretrained" and run["corpus"] in (evaluated, self.config["leaky"])
        ]
        # The search page's model: the main pair, fine-tuned with new captions, of the first seed.
        self.page_run = next(
            run
            for run in self.runs
            if (run["pair"], run["corpus"], run["captions"]) == (self.main, evaluated, "gpt")
        )
        stages = self.config["stages"]
        self.longest_seconds = {**stages["common"], **stages["pretraining"]}["longest_seconds"]
        self.exclusions = {
            corpus: corpus_settings["exclude"]
            for corpus, corpus_settings in self.config["corpora"].items()
            if corpus in self.corpora
        }
        named = "results/submissions/{author}_{institute}_task6b_submission_{n}_output.csv"
        numbers = (1, 2, 3, 4) if submitted is not None else ()
        self.submissions = [named.format(n=n, **self.config["submission"]) for n in numbers]
        report_files = products(self.figures, self.TABLES)
        self.products = sorted({*report_files, *self.submissions, "results/search.html"})

    def _read_models(self, kind: str, read: Callable[[str, Mapping[str, Any]], Any]) -> Any:
        """The settings of the config's models, by their names."""
        models, labels = {}, self._labels(kind)
        for name, entry in self.config[kind].items():
            try:
                models[name] = read(name, entry)
            except ValueError as error:
                raise ConfigError(f"config: audio.{kind}.{name}{error}") from error
            if list(labels.values()).count(labels[name]) > 1:
                raise ConfigError(f"config: audio.{kind}: the label {labels[name]!r} stands twice")
        return models

    def _read_published(self) -> dict[str, list[str]]:
        """Checkpoints of others that are scored, each with the pair of models that it is."""
        published: dict[str, list[str]] = self.config["published"]
        for name, pair in published.items():
            known = self.inputs.files["checkpoints"]
            if name not in known:
                raise ConfigError(f"config: audio.published.{name}: expected {', '.join(known)}")
            if pair[0] not in self._audio_models or pair[1] not in self.text_settings:
                raise ConfigError(
                    f"config: audio.published.{name}: {pair} names no audio_models and text_models"
                )
        return published

    def _audio_model(self, name: str, entry: Mapping[str, Any]) -> ModelSettings:
        model = self.config["model"]
        return ModelSettings.from_config(entry, model)

    def _text_model(self, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of the rule that makes a text model, and its number of weights."""
        known = self.inputs.files["text_models"].get(name, {})
        if entry["source"] == "hub":
            parameters = known.get("parameters", 0)
            return {"source": "hub", **hub_model(entry, known), "parameters": parameters}
        model = sentence_encoder(entry)
        return {
            "source": "scratch",
            "config": model.config(),
            "pieces": model.pieces,
            "parameters": model.parameters,
        }

    def _labels(self, key: str) -> dict[str, str]:
        """Labels of the models; the default is the model's key."""
        return {name: entry.get("label", name) for name, entry in self.config[key].items()}

    def encoders(self, wildcards: Any) -> list[str]:
        """The modules of a pair's encoders, which count in the digests of its jobs."""
        of_checkpoint = self.published.get(wildcards.get("checkpoint"))
        audio, text = of_checkpoint or wildcards.pair.split("-")
        modules = [type(self._audio_models[audio].audio).__module__]
        kind = self.config["text_models"][text]["class"]
        if kind in encoder_names(sentence_encoders.__name__):
            modules.append(f"{sentence_encoders.__name__}.{kind}")
        return modules

    def rows(self, stage: str) -> Callable[[Any], list[Run]]:
        """Input function: the rows of one stage, pair and corpus."""
        return lambda wildcards: [
            run
            for run in self.runs
            if (run["stage"], run["pair"], run["corpus"])
            == (stage, wildcards.pair, wildcards.corpus)
        ]

    def variations(self, corpus: str) -> str:
        """The file of the new captions that models of a corpus are fine-tuned with."""
        kind = self.config["corpora"][corpus].get("new_captions", "checked")
        name = "unfiltered" if kind == "unfiltered" else "variations"
        return f"results/audio/captions/{name}.csv"

    def models(self, runs: Iterable[Run]) -> list[str]:
        """The folders that hold the models of some rows, as their rules make them."""
        return list(
            dict.fromkeys(
                f"results/audio/models/{run['pair']}/{run['corpus']}/{run['stage']}" for run in runs
            )
        )

    def untrained(self, wildcards: Any) -> bool:
        """Whether the model as it begins is kept as a baseline: that of the main pair."""
        return bool(wildcards.pair == self.main and wildcards.corpus == self.config["evaluated"])

    @property
    def rephrased(self) -> list[str]:
        """Splits that new captions are written for: all that a fine-tuned model trains on."""
        corpora = {run["corpus"] for run in self.runs if run["captions"] == "gpt"}
        settings = [self.config["corpora"][corpus] for corpus in corpora]
        trained = {split for corpus in settings for split in corpus["splits"]}
        return [split for split in SPLITS if split in trained]

    @property
    def downloads(self) -> dict[str, dict[str, Any]]:
        """Entries of resources/sources.yaml that this run downloads, by name."""
        entries = self.inputs.fetched()
        for name in {run["audio_model"] for run in self.runs}:
            weights = self.config["audio_models"][name].get("weights")
            passt = self.inputs.files["passt"].get(weights, {})
            entries |= {weights: passt} if passt.get("url") else {}
        for name in {run["text_model"] for run in self.runs}:
            model = self.text_settings[name]
            if model["source"] == "hub":
                revision = model["revision"]
                url = hub_address(model["repository"], revision, "model.safetensors")
                entries[name] = {"url": url}
        return dict(sorted(entries.items()))

    def audio_weights(self, wildcards: Any) -> str | list[str]:
        """The published weights that a pair's audio model starts from, if it does."""
        entry = self.config["audio_models"][wildcards.pair.split("-")[0]]
        name = entry.get("weights", "none")
        return [] if name == "none" else f"results/audio/weights/{name}.safetensors"

    @property
    def claims(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """Files and settings that decide the claims."""
        corpus = f"results/audio/corpora/{self.config['evaluated']}"
        files = {
            **{
                name: [f"results/audio/{name}.csv"]
                for name in ("queries", "history", "ensembles", "subsets")
            },
            **{name: [f"{corpus}/{name}.csv"] for name in ("counts", "manifest")},
            "clips": [f"results/audio/data/{name}/clips.csv" for name in self.inputs.datasets],
            "captions": [
                f"results/audio/data/{name}/captions.csv" for name in self.inputs.datasets
            ],
            "asked": ["results/audio/data/clotho/queries.csv"],
            "published": ["resources/published/audio_table2.csv"],
            "variations": [self.variations(self.config["evaluated"])],
            "unfiltered": ["results/audio/captions/unfiltered.csv"],
            "usage": ["results/audio/captions/usage.csv"],
        }
        return files, {"study": self.study, "trained": self.trained}

    @property
    def page(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """Files and settings of its part of the page, figures apart."""
        tables = ("table1", "table2", "leaks", "beyond")
        files = {
            **{name: [f"results/tables/audio_{name}.csv"] for name in tables},
            "search": ["results/search.html"],
            "submissions": self.submissions,
        }
        return files, {"study": self.study}

    @property
    def study(self) -> dict[str, Any]:
        """The values of the config that tables, figures and claims need."""
        config = self.config
        audio, text = self._labels("audio_models"), self._labels("text_models")
        return {
            "audio_models": {
                name: {
                    "label": audio[name],
                    "weights": config["audio_models"][name].get("weights", "none"),
                    "segment_seconds": settings.segment_seconds,
                    "overlap": settings.audio.overlap,
                    "projection_hidden": settings.projection_hidden,
                }
                for name, settings in self._audio_models.items()
            },
            "text_models": {
                name: {
                    "label": text[name],
                    "kind": config["text_models"][name]["class"],
                    "source": config["text_models"][name]["source"],
                    "weights": settings["parameters"],
                }
                for name, settings in self.text_settings.items()
            },
            **{key: config[key] for key in ("main", "evaluated", "replicated", "leaky")},
            "first_seed": config["finetuning"]["seeds"][0],
            "sources": self.inputs.sources,
            "backend": config["captions"]["backend"],
        }

    @property
    def trained(self) -> dict[str, Any]:
        """Training settings of the models that the claims compare."""
        corpus = self.config["evaluated"]
        chosen, stages = self.config["corpora"][corpus], ("pretraining", "finetuning")
        return {
            "exclude": chosen["exclude"],
            "audiocaps_captions": chosen.get("audiocaps_captions", "all"),
            "precisions": [training_of(self.config, corpus, name)["precision"] for name in stages],
        }

    def facts(self) -> dict[str, str]:
        """Facts for the head of the study's part of the page."""
        config = self.config
        common = config["stages"]["common"]
        stages = {name: {**common, **values} for name, values in config["stages"].items()}

        def labels(kind: str, position: int) -> str:
            names = dict.fromkeys(pair[position] for pair in config["pairs"])
            return ", ".join(self._labels(kind)[name] for name in names)

        counts = Counter(run["stage"] for run in self.runs).most_common()
        return {
            "Data": ", ".join(f"{name} ({source})" for name, source in self.inputs.sources.items()),
            "Audio models": labels("audio_models", 0),
            "Text models": labels("text_models", 1),
            "Trained models": ", ".join(f"{count} {stage}" for stage, count in counts),
            "Epochs": f"{stages['pretraining']['epochs']} of pretraining, "
            f"{stages['finetuning']['epochs']} of fine-tuning, batches of "
            f"{stages['pretraining']['batch']}",
            "New captions": config["captions"]["backend"],
            "Left out of training": ", ".join(
                f"{corpus}: {exclude}" for corpus, exclude in self.exclusions.items()
            ),
        }
