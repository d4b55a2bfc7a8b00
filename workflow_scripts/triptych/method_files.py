"""Methods that are files: a folder whose modules are one method each, found by listing it.

A module names its settings in plain constants, so that planning reads them without importing it
(and PyTorch with it).
"""

import ast
from functools import cache
from pathlib import Path
from typing import Any

INFRASTRUCTURE = True

LAST = 1000
"""Place of a method whose file has no PLACE: behind those that have one, by name."""


@cache
def read_constants(folder: Path) -> dict[str, dict[str, Any]]:
    """Plain constants of each module in a folder, by its name: `NAME = "literal"` and the like.

    The modules are ordered by their constant PLACE, then by name. They are not imported.
    """
    paths = [path for path in folder.glob("*.py") if not path.name.startswith("_")]
    found = {path.stem: _constants(path) for path in paths}
    return dict(sorted(found.items(), key=lambda item: (item[1].get("PLACE", LAST), item[0])))


def _constants(path: Path) -> dict[str, Any]:
    """Literals that a module assigns to names in capitals at its top level."""
    found: dict[str, Any] = {}
    for statement in ast.parse(path.read_text(encoding="utf-8"), filename=str(path)).body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            (target,) = statement.targets
            if isinstance(target, ast.Name) and target.id.isupper():
                try:
                    found[target.id] = ast.literal_eval(statement.value)
                except ValueError:  # computed, so that planning has no use for it
                    continue
    return found
