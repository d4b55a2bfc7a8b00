"""Synthetic source files of the audio study, in the archives and at the addresses of the real ones.

Clotho's 7z archives, AudioCaps' tables and MP3 copy, WavCaps' records and
zips in parts on a hub, the lists of leaks, the authors' captions, three PaSSTs and four sentence
encoders of true size with random weights.
"""

import shutil
from pathlib import Path

import py7zr
import torch
from audio_tables import (
    all_captions,
    audiocaps_files,
    clotho_files,
    leak_files,
    variations,
    wavcaps_files,
    write_json,
)
from encoder_repositories import ENCODERS, write_encoder, write_listing
from sources import Sources, place, real_sources, stand_in
from split_zip_writer import write_split_zip

from triptych.audio.models.audio_encoders.passt import PUBLISHED
from triptych.audio.models.passt import Passt

INSIDE = "mnt/fast/nobackup/scratch4weeks/xm00178/WavCaps/data/waveforms"
"""Where a part's recordings lie in its archive."""
PART_BYTES = {"FreeSound": 500_000, "AudioSet_SL": 300_000, "BBC_Sound_Effects": 300_000}
"""Of these parts' archives, where the real ones have 5.4 GB; SoundBible's is one file."""


def make_audio(folder: Path, address: str) -> tuple[Sources, dict[str, str]]:
    """Write all of the study's sources below `folder`, which is served at `address`.

    Returns the section `audio` of resources/sources.yaml and the environment for the rules.
    """
    audio = make_audio_tables(folder, address)[0]["audio"]
    _passt(audio["passt"], folder, address)
    _encoders(audio["text_models"], folder)
    return {"audio": audio}, {"HF_ENDPOINT": address}


def make_audio_tables(folder: Path, address: str) -> tuple[Sources, dict[str, str]]:
    """Write tables, recordings, lists and captions: all of `make_audio` but large weights."""
    audio = real_sources()["audio"]
    work = folder / "unpacked"
    _clotho(audio["clotho"], folder, work / "clotho")
    audiocaps_files(work / "audiocaps", work / "mp3" / "AUDIOCAPS.zip")
    _wavcaps(audio["wavcaps"], folder, work / "wavcaps")
    leak_files(work / "leaks")
    write_json(work / "captions" / "variations.json", variations())
    for group in ("clotho", "audiocaps", "mp3", "wavcaps", "leaks", "captions"):
        _serve(audio[group], folder, work / group, address)
    shutil.rmtree(work)
    return {"audio": audio}, {"HF_ENDPOINT": address}


def _serve(group: Sources, folder: Path, made: Path, address: str) -> None:
    """Move what was made to the places of the real files; the entries lead there."""
    for name, entry in group["files"].items():
        if (made / name).exists():
            (made / name).rename(place(folder, entry["url"]))
            group["files"][name] = stand_in(entry, folder, address)


def _clotho(group: Sources, folder: Path, work: Path) -> None:
    for archive, sounds in clotho_files(work).items():
        with py7zr.SevenZipFile(
            work / archive, "w", filters=[{"id": py7zr.FILTER_LZMA2, "preset": 0}]
        ) as packed:
            packed.writeall(sounds, sounds.name)
        if "clips" in group["files"][archive]:
            group["files"][archive]["clips"] = len(list(sounds.iterdir()))


def _wavcaps(group: Sources, folder: Path, work: Path) -> None:
    inside = f"{group['repository']}/resolve/{group['revision']}/Zip_files"
    listed = f"{group['repository']}/tree/{group['revision']}/Zip_files"
    for part, sounds in wavcaps_files(work).items():
        members = {
            f"{INSIDE}/{part}_flac/{name}": path.read_bytes() for name, path in sounds.items()
        }
        archives = folder / "datasets" / inside / part
        size = PART_BYTES.get(part)
        write_split_zip(archives / f"{part}.zip", members, size, deflate=True, wide=bool(size))
        listing = folder / "api" / "datasets" / listed / part
        write_listing(listing, archives, f"Zip_files/{part}/")


def _passt(group: Sources, folder: Path, address: str) -> None:
    for name, settings in PUBLISHED.items():
        torch.manual_seed(len(name))
        path = place(folder, group["files"][name]["url"])
        torch.save(Passt(settings).state_dict(), path)
        group["files"][name] = stand_in(group["files"][name], folder, address)


def _encoders(group: Sources, folder: Path) -> None:
    for seed, (name, encoder) in enumerate(ENCODERS.items()):
        entry = group["files"][name]
        repository, revision = entry["repository"], entry["revision"]
        files = folder / repository / "resolve" / revision
        write_encoder(files, encoder, all_captions(), seed)
        listed = write_listing(folder / "api/models" / repository / "tree" / revision, files)
        known = next(each for each in listed if each["path"] == "model.safetensors")
        for key, value in (("size", known["size"]), ("sha256", known["lfs"]["oid"])):
            if entry[key] is not None:
                entry[key] = value
