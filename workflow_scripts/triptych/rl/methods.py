"""The pruning criteria and the algorithms: one file each, described here without PyTorch.

Criteria are the files of pruning/criteria, algorithms those of algorithms/. Their plain constants
are the fields below; looks (LABEL, COLOUR, DASH, MARKER) are read by report/labels.py alone.
"""

from dataclasses import dataclass
from pathlib import Path

from triptych.method_files import read_constants

INFRASTRUCTURE = True

CRITERIA_FOLDER = Path(__file__).parent / "pruning" / "criteria"
ALGORITHMS_FOLDER = Path(__file__).parent / "algorithms"
DENSE = "dense"
"""The method of runs that aren't pruned."""


@dataclass(frozen=True)
class Criterion:
    """A pruning criterion.

    batch: key of `rl.pruning` that says how many transitions it scores weights with; empty where it
    sees no data. is_control: whether it is something to compare criteria with. changes_masks:
    whether its masks change while the networks train.
    """

    batch: str = ""
    is_control: bool = False
    changes_masks: bool = False


@dataclass(frozen=True)
class Described:
    """An algorithm's file, its section of `rl` in the config, and the algorithms that its training
    contains."""

    file: str
    section: str
    contains: tuple[str, ...] = ()


CRITERIA = {
    name: Criterion(
        batch=constants.get("BATCH", ""),
        is_control=constants.get("CONTROL", False),
        changes_masks=constants.get("CHANGES_MASKS", False),
    )
    for name, constants in read_constants(CRITERIA_FOLDER).items()
}
"""By the names that configs use, in the order of tables and figures."""
METHODS = (DENSE, *CRITERIA)
CONTROLS = tuple(name for name, criterion in CRITERIA.items() if criterion.is_control)

ALGORITHMS = {
    constants["NAME"]: Described(
        file=file,
        section=constants.get("SECTION", file),
        contains=constants.get("CONTAINS", ()),
    )
    for file, constants in read_constants(ALGORITHMS_FOLDER).items()
}
"""By the names that configs use, in the order of tables and figures."""
PAPER_ALGORITHMS = ("BCQ", "BC")

OBSERVATIONS = ("raw", "normalised")
"""How networks may see observations (networks/sampling.py)."""


def networks_name(widths: str, algorithm: str) -> str:
    """Name of networks in tables: their set of widths, and their algorithm if not BCQ or BC."""
    return widths if algorithm in PAPER_ALGORITHMS else f"{widths}, {algorithm}"
