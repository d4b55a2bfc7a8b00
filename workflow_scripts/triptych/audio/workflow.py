"""The audio section of a config as its rules use it: rows, settings, files of several jobs."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from triptych.audio.captions.settings import check_captions
from triptych.audio.experiments import MODELS, Run, audio_runs, pair_name, training_of
from triptych.audio.inputs import Inputs, hub_address
from triptych.audio.models import sentence_encoders
from triptych.audio.models.entries import encoder_names
from triptych.audio.models.sentence_encoders import FILES, hub_model, sentence_encoder
from triptych.audio.models.settings import ModelSettings
from triptych.audio.training.settings import MACHINE
from triptych.core.config import ConfigError

NEUTRAL_KEYS = (
    # Speed, and what a run leaves behind for looking at.
    *(f"audio.stages.*.{key}" for key in MACHINE),
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
EQUIVALENT_VALUES = {"audio.sources.audiocaps.source": ("path", "mp3")}
"""Values of a key that count as the same scale: the same recordings, from another copy."""

SPLITS = ("development", "validation", "evaluation")
STAGES = ("pretraining", "finetuning")


class Workflow:
    """The section `audio` of a config as rules use it. Raises ConfigError for other values."""

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["audio"]
        self.inputs = Inputs(self.config, sources["audio"])
        self._labels: dict[str, dict[str, str]] = {}
        self._audio_models = self._read_models(
            "audio_models",
            lambda entry, name: ModelSettings.from_config(entry, self.config["model"]),
        )
        self.text_settings = self._read_models("text_models", self._text_model)
        try:
            check_captions(self.config["captions"], self.inputs.sources["clotho"])
            self.runs = audio_runs(self.config)
        except ValueError as error:
            raise ConfigError(f"config: {error}") from error
        evaluated, leaky = self.config["evaluated"], self.config["leaky"]
        self.main = main = pair_name(self.config["main"])
        self.published = self._read_published()
        self.corpora = list(dict.fromkeys(run["corpus"] for run in self.runs))
        self.submitted = self._runs(corpus=[self.config["submitted"]])
        self.scored = self._runs(corpus=[evaluated, self.config["replicated"]])
        self.finetuned_main = self._runs(stage=["finetuned"], pair=[main], corpus=[evaluated])
        both = [evaluated, leaky]
        self.compared_for_leaks = self._runs(stage=["pretrained"], pair=[main], corpus=both)
        # The search page's model: the main pair, fine-tuned with new captions, of the first seed.
        self.page_run = next(run for run in self.finetuned_main if run["captions"] == "gpt")
        stages = self.config["stages"]
        self.longest_seconds = {**stages["common"], **stages["pretraining"]}["longest_seconds"]
        self.exclusions = {name: self.config["corpora"][name]["exclude"] for name in self.corpora}
        named = "results/submissions/{author}_{institute}_task6b_submission_{n}_output.csv"
        numbers = (1, 2, 3, 4) if self.submitted else ()
        self.submissions = [named.format(n=n, **self.config["submission"]) for n in numbers]

    def _read_models(self, kind: str, read: Callable[[Mapping[str, Any], str], Any]) -> Any:
        """The settings of the config's models, by their names."""
        models: dict[str, Any] = {}
        labels: dict[str, str] = {}
        for name, entry in self.config[kind].items():
            try:
                models[name] = read(entry, name)
            except ValueError as error:
                raise ConfigError(f"config: audio.{kind}.{name}{error}") from error
            label = entry.get("label", name)
            if label in labels.values():
                raise ConfigError(f"config: audio.{kind}: the label {label!r} stands twice")
            labels[name] = label
        self._labels[kind] = labels
        return models

    def _runs(self, **values: Collection[str | None]) -> list[Run]:
        """Rows of the experiment table whose keys have one of these values each."""
        return [
            run for run in self.runs if all(run[key] in allowed for key, allowed in values.items())
        ]

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

    def _text_model(self, entry: Mapping[str, Any], name: str) -> dict[str, Any]:
        """The parameters of the rule that makes a text model, and its number of weights."""
        if entry["source"] == "hub":
            known = self.inputs.files["text_models"].get(name, {})
            model = hub_model(entry, known)
            return {"source": "hub", **model, "parameters": known.get("parameters", 0)}
        scratch = sentence_encoder(entry)
        return {
            "source": "scratch",
            "config": scratch.config(),
            "pieces": scratch.pieces,
            "parameters": scratch.parameters,
        }

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
        return lambda wildcards: self._runs(
            stage=[stage], pair=[wildcards.pair], corpus=[wildcards.corpus]
        )

    def variations(self, corpus: str) -> str:
        """The file of the new captions that models of a corpus are fine-tuned with."""
        kind = self.config["corpora"][corpus].get("new_captions", "checked")
        name = "unfiltered" if kind == "unfiltered" else "variations"
        return f"results/audio/captions/{name}.csv"

    def models(self, runs: Iterable[Run]) -> list[str]:
        """The folders that hold the models of some rows, as their rules make them."""
        folders = (f"{MODELS}/{run['pair']}/{run['corpus']}/{run['stage']}" for run in runs)
        return list(dict.fromkeys(folders))

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
            entries |= {weights: passt} if "url" in passt else {}
        entries |= self._hub_models({run["text_model"] for run in self.runs})
        return dict(sorted(entries.items()))

    @property
    def published_downloads(self) -> dict[str, dict[str, Any]]:
        """Entries that scoring the published checkpoints downloads, by name."""
        known = self.inputs.files
        entries = {n: e for n, e in self.inputs.fetched().items() if n in known["clotho"]}
        for name in self.published:
            for number, url in enumerate(known["checkpoints"][name]["urls"], start=1):
                entries[f"{name}, part {number}"] = {"url": url}
        return entries | self._hub_models({text for _, text in self.published.values()})

    def _hub_models(self, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Entries of the files of text models that are downloaded, by name."""
        models = {name: self.text_settings[name] for name in sorted(names)}
        return {
            f"{name}, {file}": {"url": hub_address(model["repository"], model["revision"], file)}
            for name, model in models.items()
            if model["source"] == "hub"
            for file in FILES
        }

    def audio_weights(self, wildcards: Any) -> str | list[str]:
        """The published weights that a pair's audio model starts from, if it does."""
        entry = self.config["audio_models"][wildcards.pair.split("-")[0]]
        name = entry.get("weights", "none")
        return [] if name == "none" else f"results/audio/weights/{name}.safetensors"

    @property
    def claims(self) -> dict[str, list[str]]:
        """Files that decide the claims."""
        corpus, datasets = self.config["evaluated"], self.inputs.datasets
        scores = ("queries", "history", "ensembles", "subsets")
        return {
            **{name: [f"results/audio/{name}.csv"] for name in scores},
            "counts": [f"results/audio/corpora/{corpus}/counts.csv"],
            "manifest": [f"results/audio/corpora/{corpus}/manifest.csv"],
            "clips": [f"results/audio/data/{name}/clips.csv" for name in datasets],
            "captions": [f"results/audio/data/{name}/captions.csv" for name in datasets],
            "asked": ["results/audio/data/clotho/queries.csv"],
            "published": ["resources/published/audio_table2.csv"],
            "variations": [self.variations(corpus)],
            "unfiltered": ["results/audio/captions/unfiltered.csv"],
            "usage": ["results/audio/captions/usage.csv"],
        }

    @property
    def trained(self) -> dict[str, Any]:
        """What the evaluated corpus' models are trained on, and in which precisions."""
        corpus = self.config["evaluated"]
        chosen = self.config["corpora"][corpus]
        stages = [training_of(self.config, corpus, name) for name in STAGES]
        return {
            "exclude": chosen["exclude"],
            "audiocaps_captions": chosen.get("audiocaps_captions", "all"),
            "precisions": [stage["precision"] for stage in stages],
        }

    @property
    def study(self) -> dict[str, Any]:
        """The values of the config that tables, figures and claims need."""
        config = self.config
        return {
            "pairs": {pair_name(pair): self._pair(*pair) for pair in config["pairs"]},
            "main": self.main,
            **{key: config[key] for key in ("evaluated", "replicated", "leaky")},
            "first_seed": str(config["finetuning"]["seeds"][0]),
            "sources": self.inputs.sources,
            "backend": config["captions"]["backend"],
        }

    def _pair(self, audio_model: str, text_model: str) -> dict[str, Any]:
        """The fields of a `report.rows.PairModel`."""
        audio, text = self._audio_models[audio_model], self.text_settings[text_model]
        weights = self.config["audio_models"][audio_model].get("weights", "none")
        return {
            "audio": self._labels["audio_models"][audio_model],
            "text": self._labels["text_models"][text_model],
            "weights": [
                "" if weights == "none" else weights,
                text_model if text["source"] == "hub" else "",
            ],
            "segment_seconds": audio.segment_seconds,
            "overlap": audio.audio.overlap,
            "text_kind": self.config["text_models"][text_model]["class"],
            "text_parameters": text["parameters"],
            "projection_hidden": audio.projection_hidden,
        }

    def facts(self) -> dict[str, str]:
        """Facts for the head of the study's part of the page."""
        config = self.config
        common = config["stages"]["common"]
        pretraining, finetuning = ({**common, **config["stages"][name]} for name in STAGES)

        def labels(kind: str, position: int) -> str:
            names = dict.fromkeys(pair[position] for pair in config["pairs"])
            return ", ".join(self._labels[kind][name] for name in names)

        counts = Counter(run["stage"] for run in self.runs).most_common()
        return {
            "Data": ", ".join(f"{name} ({source})" for name, source in self.inputs.sources.items()),
            "Audio models": labels("audio_models", 0),
            "Text models": labels("text_models", 1),
            "Trained models": ", ".join(f"{count} {stage}" for stage, count in counts),
            "Epochs": f"{pretraining['epochs']} of pretraining, {finetuning['epochs']} of "
            f"fine-tuning, batches of {pretraining['batch']}",
            "New captions": config["captions"]["backend"],
            "Left out of training": ", ".join(
                f"{corpus}: {exclude}" for corpus, exclude in self.exclusions.items()
            ),
        }
