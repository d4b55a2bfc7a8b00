"""Where clips' sound lies: a folder of files, or WavCaps' archives, which stay as they are."""

import os
import shutil
import tempfile
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from triptych.audio.data.decoding import AudioProblem
from triptych.audio.data.sound_bytes import SUFFIXES
from triptych.audio.data.split_zip import DamagedMember, SplitZip
from triptych.core.errors import InputError
from triptych.core.files import PARTIAL

ARCHIVES = "Zip_files"
"""The folder of WavCaps' repository that holds `{part}/{part}.zip` with its other parts beside."""


class Folder:
    """A folder of sound files, by their paths in it. Asked by several threads at once."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Raises InputError when there is no such folder."""
        self._folder = Path(folder)
        self._listed: dict[Path, dict[str, Path]] = {}
        if not self._folder.is_dir():
            raise InputError(f"{folder}: there is no such folder of sound files")

    def find(self, path: str) -> Path | None:
        """The file of a path in the folder, or of its name in another form of Unicode (macOS writes
        accents as characters of their own), without blanks at its ends, as some tables have
        Clotho's, or with another sound format's suffix."""
        file = self._folder / path
        if file.is_file():
            return file
        *inner, name = PurePosixPath(path).parts or ("",)
        here = self._folder
        for part in inner:
            plain = here / part
            here = plain if plain.is_dir() else self._names(here).get(_composed(part), plain)
        names, posix = self._names(here), PurePosixPath(name)
        stem = posix.stem if posix.suffix.lower() in SUFFIXES else name  # "take.3" has no suffix
        spellings = [spelling for part in (name, stem) for spelling in (part, part.strip())]
        found = next((names[s] for s in map(_composed, spellings) if s in names), None)
        return found if found and found.is_file() else None

    def _names(self, folder: Path) -> dict[str, Path]:
        """Entries of a folder by name, and its sound files by name without suffix, too."""
        if folder not in self._listed:
            entries = sorted(folder.iterdir()) if folder.is_dir() else []
            sounds = [entry for entry in entries if entry.suffix.lower() in SUFFIXES]
            self._listed[folder] = {
                **{_composed(entry.stem.strip()): entry for entry in reversed(sounds)},
                **{_composed(entry.stem): entry for entry in reversed(sounds)},
                **{_composed(entry.name): entry for entry in entries},
            }
        return self._listed[folder]

    @contextmanager
    def local(self, path: str, scratch: Path) -> Iterator[Path]:
        """The file itself. Raises AudioProblem where there is none."""
        file = self.find(path)
        if file is None:
            raise AudioProblem(f"{self._folder / path}: there is no such file")
        yield file

    def state(self, path: str) -> str:
        """The size of a sound in bytes, which changes when the sound does; "" if there is none."""
        file = self.find(path)
        return str(file.stat().st_size) if file else ""


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


class WavCapsArchives:
    """WavCaps' archives, by the paths in them: `[...]/{part}_flac/{name}`.

    An archive is opened when a path first names its part, and refused (InputError) when a part of
    it is absent or short.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder) / ARCHIVES
        self._opened: dict[str, tuple[SplitZip, dict[str, str]]] = {}
        self._opening = threading.Lock()

    @contextmanager
    def local(self, path: str, scratch: Path) -> Iterator[Path]:
        """A copy in `scratch`, checked. Raises AudioProblem where it is damaged or absent."""
        archive, name = self._find(path)
        if name is None:
            raise AudioProblem(f"{path} is not in the archives of {self._folder}")
        # A file can be sought in, and the checksum comes first.
        with tempfile.NamedTemporaryFile(
            dir=scratch, prefix=PARTIAL, suffix=PurePosixPath(path).suffix
        ) as file:
            try:
                for chunk in archive.stream(name):
                    file.write(chunk)
            except DamagedMember as problem:
                raise AudioProblem(str(problem)) from None
            file.flush()
            try:
                yield Path(file.name)
            except AudioProblem as problem:  # of the recording, not of a copy that is gone
                raise AudioProblem(str(problem).replace(file.name, path)) from None

    def state(self, path: str) -> str:
        """Size and checksum, as the archive tells them."""
        archive, name = self._find(path)
        about = None if name is None else archive.members[name]
        return "" if about is None else f"{about.file_size}-{about.CRC}"

    def _find(self, path: str) -> tuple[SplitZip, str | None]:
        part = PurePosixPath(path).parent.name.removesuffix("_flac")
        with self._opening:
            if part not in self._opened:
                file = self._folder / part / f"{part}.zip"
                if not part or not file.is_file():
                    raise InputError(
                        f"{path} belongs into the archive {file}, which isn't there; fetch it "
                        "with its parts, or leave that part of WavCaps out (audio.sources)"
                    )
                archive = SplitZip(file)
                names = {PurePosixPath(name).name: name for name in archive.members}
                self._opened[part] = archive, names
        archive, names = self._opened[part]
        return archive, names.get(PurePosixPath(path).name)


AudioSource = Folder | WavCapsArchives


def open_audio(folder: str | os.PathLike[str]) -> AudioSource:
    """The archives of a folder in the layout of WavCaps' repository, or else a folder's files."""
    return WavCapsArchives(folder) if (Path(folder) / ARCHIVES).is_dir() else Folder(folder)


def move_folder(source: Path, target: Path) -> None:
    """Give a finished folder its place, perhaps on another disk. Raises InputError where one is."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        if any(target.iterdir()):
            raise InputError(f"{target} is there already and not empty; delete it to make it again")
        target.rmdir()  # Snakemake may have made it
    shutil.move(source, target)
