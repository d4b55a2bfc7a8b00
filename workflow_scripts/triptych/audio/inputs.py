"""Which files the audio study begins with, by where each data set comes from."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from triptych.core.errors import ConfigError

SYNTHESISED = "results/audio/synthesised"
DOWNLOADS = "results/audio/downloads"
SOUND = "results/audio/sound"
COUNTS = "results/inputs/audio/{}.csv"
DOWNLOADED = ("clotho", "audiocaps", "wavcaps", "mp3", "leaks", "captions")
"""Groups of sources.yaml that are downloaded file by file; the others have rules of their own."""
ARCHIVED = {"challenge": "retrieval_audio"}
"""Splits of Clotho whose archive has another name."""


ADVICE = {
    "AUDIOCAPS.zip": "The share link may be gone. Set audio.sources.audiocaps to {source: path, "
    "path: <a folder of yours with train.csv, val.csv, test.csv and the recordings>}, or to "
    "{source: none} to train without it; what doesn't need AudioCaps goes on (docs/own-study.md).",
    "WavCaps_mp3.7z": "The share link may be gone. Set audio.sources.wavcaps.source to download "
    "(the hub's 940 GB), path or none (docs/own-study.md).",
}
"""What to do without files of share links, by their names before the number of a part."""


def advice_if_missing(file: str) -> str:
    """What to do where a file cannot be had; "" where the error says it."""
    return ADVICE.get(re.sub(r"\.\d+$", "", file), "")


def hub_address(repository: str, revision: str, path: str) -> str:
    return f"https://huggingface.co/{repository}/resolve/{revision}/{path}"


class Places(NamedTuple):
    """Where a data set lies: the folder with its tables, the one with its files or WavCaps'
    archives, and what rules must have made before either is read.
    """

    folder: str
    sound: str
    tables: list[str]
    recordings: list[str]


class Inputs:
    """Sources and downloads as rules ask for them. Raises ConfigError where they don't fit."""

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        """config: its section `audio`; sources: the section `audio` of resources/sources.yaml."""
        self._config, self._wavcaps = config, sources["wavcaps"]
        self.files = {group: group_entry["files"] for group, group_entry in sources.items()}
        self.sources = {name: source["source"] for name, source in config["sources"].items()}
        self.datasets = [name for name, source in self.sources.items() if source != "none"]
        synthesised = [name for name in self.datasets if self.sources[name] == "synthesised"]
        if synthesised and len(synthesised) < len(self.datasets):
            raise ConfigError(
                f"config: audio.sources: {', '.join(synthesised)} would be synthesised and "
                f"{', '.join(sorted(set(self.datasets) - set(synthesised)))} would not; "
                "a data set that you don't have is left out by {source: none}"
            )
        self.synthesised = self.sources["clotho"] == "synthesised"
        self.downloaded_files = "|".join(
            sorted({name for group in DOWNLOADED for name in self.files[group]})
        )

    def downloads(self, group: str) -> list[str]:
        return [f"{DOWNLOADS}/{group}/{name}" for name in self.files[group]]

    def fetched(self) -> dict[str, dict[str, Any]]:
        """Entries of resources/sources.yaml that are downloaded, by file; of a part of WavCaps the
        last archive."""
        paths = [path for name in self.datasets for path in self.places(name).tables]
        paths += [
            path
            for name in self.datasets
            if self.sources[name] == "mp3"
            for path in self._mp3_archives(name)
        ]
        if self.sources["clotho"] == "download":
            splits = self._config["sources"]["clotho"]["splits"]
            paths += [self._clotho_archive(ARCHIVED.get(split, split)) for split in splits]
        if any(corpus["exclude"] != "none" for corpus in self._config["corpora"].values()):
            paths += self.downloads("leaks")
        paths.append(self.published_captions or "")
        if self.synthesised:
            return {}
        start = len(f"{DOWNLOADS}/")
        files = [path[start:].split("/", 1) for path in paths if path.startswith(DOWNLOADS)]
        entries = {
            name: {**self.files[group][name], "without": advice_if_missing(name)}
            for group, name in files
        }
        if self.sources["wavcaps"] == "download":
            repository = f"datasets/{self._wavcaps['repository']}"
            for part in self._config["sources"]["wavcaps"]["parts"]:
                path = f"Zip_files/{part}/{part}.zip"
                url = hub_address(repository, self._wavcaps["revision"], path)
                entries[f"{part}.zip"] = {"url": url}
        return entries

    def places(self, dataset: str) -> Places:
        """Where a data set lies, by its source."""
        source = self.sources[dataset]
        if source == "path":
            path = self._config["sources"][dataset]["path"]
            return Places(path, path, [], [])
        if source == "synthesised":
            folder = f"{SYNTHESISED}/{dataset}"
            sound = folder if dataset == "clotho" else f"{folder}/audio"
            return Places(folder, sound, [SYNTHESISED], [SYNTHESISED])
        folder = f"{DOWNLOADS}/{dataset}"
        tables = [path for path in self.downloads(dataset) if path.endswith((".csv", ".json"))]
        parts = self._config["sources"]["wavcaps"]["parts"]
        if dataset == "wavcaps":
            tables = [path for path in tables if any(part in path for part in parts)]
        match dataset, source:
            case "clotho", "download":
                splits = self._config["sources"]["clotho"]["splits"]
                of_splits = [{"challenge": "retrieval"}.get(split, split) for split in splits]
                tables = [path for path in tables if any(name in path for name in of_splits)]
                unpacked = [f"{SOUND}/clotho/{ARCHIVED.get(split, split)}" for split in splits]
                return Places(folder, f"{SOUND}/clotho", tables, unpacked)
            case _, "mp3":
                return Places(folder, f"{SOUND}/mp3/{dataset}", tables, [f"{SOUND}/mp3/{dataset}"])
            case "wavcaps", "download":
                archives = [f"{folder}/Zip_files/{part}" for part in parts]
                return Places(folder, folder, tables, archives)
        return Places(folder, folder, tables, tables)  # of a data set that is left out

    @property
    def own_counts(self) -> list[str]:
        """Counts of data sets that are a user's own. Those of downloads are asked for by their
        archives alone, or a lost count would fetch these again."""
        return [COUNTS.format(name) for name, source in self.sources.items() if source == "path"]

    def counted_before(self, wildcards: Any) -> list[str]:
        """The count that comes before the archive that wildcards name; none before a table."""
        if wildcards.file.endswith((".csv", ".json")):
            return []
        archived = {"AUDIOCAPS.zip": "audiocaps"}.get(wildcards.file, "wavcaps")
        return [COUNTS.format("clotho" if wildcards.set == "clotho" else archived)]

    def leak_lists(self, wildcards: Any) -> list[str]:
        if self._config["corpora"][wildcards.corpus]["exclude"] == "none":
            return []
        return [SYNTHESISED] if self.synthesised else self.downloads("leaks")

    @property
    def published_captions(self) -> str | None:
        """The file that new captions are taken from, where no server is asked for them."""
        return {
            "template": f"{SYNTHESISED}/captions/variations.json",
            "authors": f"{DOWNLOADS}/captions/variations.json",
        }.get(self._config["captions"]["backend"])

    def download(self, key: str) -> Callable[[Any], Any]:
        """Input function: a value in resources/sources.yaml, for the file that wildcards name."""
        return lambda wildcards: self.files[wildcards.set][wildcards.file].get(key)

    def mirrors(self, wildcards: Any) -> list[str]:
        mirror = self.download("mirror")(wildcards)
        return [mirror] if mirror else []

    def archives(self, wildcards: Any) -> list[str]:
        """The archive, or its parts, with the recordings that wildcards name."""
        if wildcards.kind == "mp3":
            return self._mp3_archives(wildcards.part)
        return [self._clotho_archive(wildcards.part)]

    def archived_files(self, wildcards: Any) -> int | None:
        """The number of recordings in that archive, or None if unknown."""
        [group, name] = self.archives(wildcards)[0].split("/")[-2:]
        entry: dict[str, Any] = self.files[group][name]
        return entry.get("clips")

    def _clotho_archive(self, part: str) -> str:
        name = part if part in ARCHIVED.values() else f"clotho_audio_{part}"
        return f"{DOWNLOADS}/clotho/{name}.7z"

    def _mp3_archives(self, dataset: str) -> list[str]:
        prefix = {"audiocaps": "AUDIOCAPS", "wavcaps": "WavCaps"}[dataset]
        return [path for path in self.downloads("mp3") if os.path.basename(path).startswith(prefix)]
