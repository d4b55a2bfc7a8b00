"""Which files the audio study begins with, by where each data set comes from."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from triptych.audio.experiments import finished_run
from triptych.core.config import ConfigError

SYNTHESISED = "results/audio/synthesised"
DOWNLOADS = "results/audio/downloads"
DOWNLOADED = ("clotho", "audiocaps", "wavcaps", "mp3", "leaks", "captions")
"""Groups of sources.yaml that are downloaded file by file; the others have rules of their own."""
MP3 = "results/audio/sound/mp3"
CLOTHO_SPLITS = ("development", "validation", "evaluation", "retrieval_audio")


class Inputs:
    """Sources, downloads and the tables and sounds made of them, as rules ask for them.

    Functions of wildcards are Snakemake's. Raises ConfigError for sources that don't go together.
    """

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["audio"]
        self.sources = {name: each["source"] for name, each in self.config["sources"].items()}
        self.datasets = [name for name, source in self.sources.items() if source != "none"]
        self._files = {group: each["files"] for group, each in sources["audio"].items()}
        self._check_sources()

    def _check_sources(self) -> None:
        made = [name for name in self.datasets if self.sources[name] == "synthesised"]
        if made and len(made) < len(self.datasets):
            raise ConfigError(
                f"config: audio.sources: {', '.join(made)} would be synthesised and "
                f"{', '.join(sorted(set(self.datasets) - set(made)))} would not; "
                "a data set that you don't have is left out by {source: none}"
            )

    def data(self, name: str) -> list[str]:
        """The table `name` of every data set."""
        return [f"results/audio/data/{dataset}/{name}" for dataset in self.datasets]

    @property
    def shards(self) -> list[str]:
        """The sound of every data set."""
        return [f"results/audio/shards/{dataset}" for dataset in self.datasets]

    def folder(self, dataset: str) -> str:
        """The folder with a data set's tables, in the layout of its source."""
        if self.sources[dataset] == "path":
            path: str = self.config["sources"][dataset]["path"]
            return path
        synthesised = self.sources[dataset] == "synthesised"
        return f"{SYNTHESISED if synthesised else DOWNLOADS}/{dataset}"

    def sound(self, dataset: str) -> str:
        """The folder with a data set's sound: files, or WavCaps' archives."""
        folder = self.folder(dataset)
        inside = {
            ("clotho", "download"): "results/audio/sound/clotho",
            ("audiocaps", "synthesised"): f"{folder}/audio",
            ("audiocaps", "youtube"): "results/audio/sound/audiocaps",
            ("wavcaps", "synthesised"): f"{folder}/audio",
            **{(name, "mp3"): f"{MP3}/{name}" for name in ("audiocaps", "wavcaps")},
        }
        return inside.get((dataset, self.sources[dataset]), folder)

    def sound_of(self, wildcards: Any) -> str:
        """The same for the wildcards' data set."""
        return self.sound(wildcards.dataset)

    def shard_kind(self, wildcards: Any) -> str:
        """How the wildcards' data set is kept for training."""
        kind: str = self.config["sources"][wildcards.dataset]["shards"]
        return kind

    def downloads(self, group: str) -> list[str]:
        """The downloaded files of a group in resources/sources.yaml."""
        return [f"{DOWNLOADS}/{group}/{name}" for name in self._files[group]]

    def tables(self, dataset: str) -> list[str]:
        """What must be there before a data set's clips can be listed."""
        source = self.sources[dataset]
        if source == "synthesised":
            return [SYNTHESISED]
        if source == "path":
            return []
        tables = [each for each in self.downloads(dataset) if each.endswith((".csv", ".json"))]
        if dataset != "wavcaps":
            return tables
        parts = self.config["sources"]["wavcaps"]["parts"]
        return [each for each in tables if any(part in each for part in parts)]

    def recordings(self, dataset: str) -> list[str]:
        """What must be there before a data set's sound can be read."""
        source = self.sources[dataset]
        if (dataset, source) == ("clotho", "download"):
            return [f"results/audio/sound/clotho/{split}" for split in CLOTHO_SPLITS]
        if (dataset, source) == ("audiocaps", "youtube"):
            return ["results/audio/sound/audiocaps"]
        if source == "mp3":
            return [f"{MP3}/{dataset}"]
        if (dataset, source) == ("wavcaps", "download"):
            parts = self.config["sources"]["wavcaps"]["parts"]
            return [f"{DOWNLOADS}/wavcaps/Zip_files/{part}" for part in parts]
        return self.tables(dataset)

    def recordings_of(self, wildcards: Any) -> list[str]:
        """The same for the wildcards' data set."""
        return self.recordings(wildcards.dataset)

    @property
    def leak_folder(self) -> str:
        """Where the lists of clips that overlap with Clotho lie."""
        synthesised = self.sources["clotho"] == "synthesised"
        return f"{SYNTHESISED if synthesised else DOWNLOADS}/leaks"

    def leak_lists(self, wildcards: Any) -> list[str]:
        """What a corpus needs before its leaks can be looked up."""
        if self.exclude(wildcards) == "none":
            return []
        if self.sources["clotho"] == "synthesised":
            return [SYNTHESISED]
        return self.downloads("leaks")

    def exclude(self, wildcards: Any) -> str:
        """What a corpus leaves out."""
        found: str = self.config["corpora"][wildcards.corpus]["exclude"]
        return found

    def splits(self, wildcards: Any) -> list[str]:
        """The splits of Clotho that a corpus trains on."""
        found: list[str] = self.config["corpora"][wildcards.corpus]["splits"]
        return found

    @property
    def relevance(self) -> str | None:
        """The file of multi-positive labels, where the data have one."""
        labels = f"{self.folder('clotho')}/metadata_eval.csv"
        there = self.sources["clotho"] != "path" or os.path.exists(labels)
        return labels if there else None

    @property
    def scenes_folder(self) -> list[str]:
        """What is known of synthesised clips."""
        return [SYNTHESISED] if self.sources["clotho"] == "synthesised" else []

    @property
    def scenes(self) -> str | None:
        """The file that says what a synthesised clip is."""
        return next((f"{folder}/scenes.csv" for folder in self.scenes_folder), None)

    @property
    def published(self) -> str | None:
        """The file that new captions are taken from, where no server is asked for them."""
        return {
            "template": f"{SYNTHESISED}/captions/variations.json",
            "authors": f"{DOWNLOADS}/captions/variations.json",
        }.get(self.config["captions"]["backend"])

    @property
    def published_folder(self) -> str | list[str]:
        """What must be there before that file is."""
        template = self.config["captions"]["backend"] == "template"
        return SYNTHESISED if template else self.published or []

    # Downloads.

    @property
    def downloaded_files(self) -> str:
        """A pattern for the files that are downloaded one by one."""
        return "|".join(sorted({name for group in DOWNLOADED for name in self._files[group]}))

    def download(self, key: str) -> Callable[[Any], Any]:
        """Input function: a value in resources/sources.yaml, for the file that wildcards name."""
        return lambda wildcards: self._files[wildcards.set][wildcards.file].get(key)

    def mirrors(self, wildcards: Any) -> list[str]:
        """Other addresses of that file."""
        mirror = self.download("mirror")(wildcards)
        return [mirror] if mirror else []

    def lock(self, wildcards: Any) -> str:
        """Where that file's size and checksum are kept once it has come."""
        return f"resources/locks/{wildcards.set}-{os.path.basename(wildcards.file)}.json"

    def passt(self, key: str) -> Callable[[Any], Any]:
        """Input function: a value of a published PaSST in resources/sources.yaml."""
        return lambda wildcards: self._files["passt"][wildcards.variant].get(key)

    def finished_source(self, wildcards: Any) -> dict[str, Any]:
        """A finished model in resources/sources.yaml."""
        found: dict[str, Any] = self._files["finished"][wildcards.finished]
        return found

    @property
    def finished(self) -> list[dict[str, Any]]:
        """Rows of the finished models of others that are scored beside ours."""
        known = self._files["finished"]
        if unknown := [name for name in self.config["finished"] if name not in known]:
            raise ConfigError(
                f"config: audio.finished names {unknown[0]!r}; allowed are {', '.join(known)}"
            )
        return [finished_run(name) for name in self.config["finished"]]

    @property
    def finished_models(self) -> dict[str, dict[str, Any]]:
        """What tables must know of them, by their names."""
        both = {"weights": "none", "segment_seconds": 10.0, "overlap": None}
        sources = self._files["finished"]
        return {name: {"label": sources[name]["label"], **both} for name in self.config["finished"]}

    @property
    def text_sources(self) -> dict[str, Any]:
        """Text models in resources/sources.yaml."""
        found: dict[str, Any] = self._files["text_models"]
        return found

    @property
    def finished_names(self) -> str:
        """A pattern for the names of finished models."""
        return "|".join(self._files["finished"])

    def clotho_archive(self, wildcards: Any) -> str:
        """The archive that holds a split's recordings."""
        name = {"retrieval_audio": "retrieval_audio.7z"}.get(
            wildcards.split, f"clotho_audio_{wildcards.split}.7z"
        )
        return f"{DOWNLOADS}/clotho/{name}"

    def mp3_archives(self, wildcards: Any) -> list[str]:
        """The archive, or its parts, that hold the MP3 copy of a data set."""
        kept = {"audiocaps": "AUDIOCAPS", "wavcaps": "WavCaps"}[wildcards.dataset]
        return [each for each in self.downloads("mp3") if os.path.basename(each).startswith(kept)]

    def clotho_files(self, wildcards: Any) -> int | None:
        """How many recordings a split's archive must hold, where that is known."""
        found: dict[str, Any] = self._files["clotho"][
            os.path.basename(self.clotho_archive(wildcards))
        ]
        return found.get("clips")
