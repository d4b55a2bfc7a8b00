"""Networks by name: those that the repository ships, and those that the workflow trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.core.errors import InputError
from triptych.style.image_files import NOT_READ, SUFFIXES

if TYPE_CHECKING:
    from triptych.style.feedforward.network import TransformationNetwork

CHECKOUT = Path(__file__).resolve().parents[3]
SHIPPED, TRAINED = Path("resources/style/networks"), Path("results/style/networks")


@dataclass(frozen=True)
class Entry:
    """A network's file; `kind` is "shipped" or the variant that was trained."""

    painting: str
    kind: str
    path: Path

    @property
    def name(self) -> str:
        """The name that is this network's alone."""
        return f"{self.painting}@{self.kind}"


def catalogue() -> list[Entry]:
    """All networks of the working directory's checkout and of the library's own, by name."""
    found: dict[Path, Entry] = {}
    for root in dict.fromkeys((Path.cwd(), CHECKOUT)):
        for path in sorted((root / SHIPPED).glob("*.safetensors")):
            found.setdefault(path.resolve(), Entry(path.stem, "shipped", path))
        for path in sorted((root / TRAINED).glob("*/*/network.safetensors")):
            painting, kind = path.parts[-3:-1]
            if kind != "shipped":  # else two networks would bear one name
                found.setdefault(path.resolve(), Entry(painting, kind, path))
    # Shipped ones first: a bare name means them where both exist.
    return sorted(found.values(), key=lambda e: (e.painting, e.kind != "shipped", e.kind))


def find_network(style: str) -> tuple[Path, str]:
    """The network's file, and a sentence that says which one it is.

    style: a painting's name, `name@kind` ("swirls@shipped", "swirls@plain"), or a file. A bare
    name is the shipped network's where there is one. Raises InputError for what is neither.
    """
    if Path(style).suffix and Path(style).is_file():
        if Path(style).suffix.lower() in SUFFIXES | NOT_READ:
            raise InputError(
                f"{style} is an image, where a network is expected: add --optimize to paint "
                "towards it, or train a network for it"
            )
        return Path(style), f"network {style}"
    entries = catalogue()
    matches = [entry for entry in entries if style in (entry.painting, entry.name)]
    if not matches:
        known = ", ".join(entry.name for entry in entries) or "none yet: run make demo"
        raise InputError(
            f"{style} is neither a file nor a network's name; there are {known}. For a painting "
            "of your own use --optimize, or train a network for it"
        )
    chosen, others = matches[0], matches[1:]
    which = "shipped with Triptych" if chosen.kind == "shipped" else f"trained here ({chosen.kind})"
    sentence = f"network {chosen.name}, {which}: {chosen.path}"
    if others:
        sentence += f" (not used: {', '.join(other.name for other in others)})"
    return chosen.path, sentence


def described(entry: Entry) -> dict[str, Any]:
    """A row about one network: name, origin, batches, width, file."""
    from triptych.style.feedforward.network_files import load_network

    network, record = load_network(entry.path)
    return {
        "name": entry.name,
        "origin": record.get("origin", entry.kind),
        "batches": record.get("batches", record.get("batch", "")),
        "width": network.architecture.width,
        "file": str(entry.path),
    }


def network_named(style: str) -> tuple["TransformationNetwork", dict[str, Any], str]:
    """`find_network`'s file loaded: the network, its record and the sentence."""
    from triptych.style.feedforward.network_files import load_network

    path, sentence = find_network(style)
    network, record = load_network(path)
    return network, record, sentence
