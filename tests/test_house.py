"""What holds for all of the library's code."""

import ast
import importlib.util
from graphlib import TopologicalSorter
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
LIBRARY = Path(__file__).parents[1] / "workflow_scripts" / "triptych"
LONGEST = 70
"""Lines of a function, with its signature and docstring: about a screen."""


def test_no_function_is_longer_than_a_screen():
    long = [
        f"{file.relative_to(LIBRARY)}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for file in sorted(LIBRARY.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= LONGEST
    ]
    assert not long, f"over {LONGEST} lines; split them along their seams:\n" + "\n".join(long)


def house():
    """docs/house.py, which reads imports."""
    spec = importlib.util.spec_from_file_location("house", DOCS / "house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_imports_run_one_way():
    """Scripts, studies, what shows them, what all share; no study imports another."""
    allowed = {"core": set(), "report": {"core"}}
    allowed |= {study: {"core", "report"} for study in ("rl", "style", "audio")}
    allowed["demo"] = {"core", "rl", "style", "audio"}
    allowed["init"] = {"core"}
    allowed["plan"] = {"core", "report", "studies"}
    allowed["gpu"] = {"core", "plan", "rl", "style", "audio"}
    found: dict[str, set[str]] = {}
    for one, other in house().imports():
        found.setdefault(one, set()).add(other)
    assert {part: found.get(part, set()) - seen for part, seen in allowed.items()} == {
        part: set() for part in allowed
    }
    TopologicalSorter(found).prepare()  # raises CycleError, by the parts' names


def test_the_drawing_of_the_house_is_of_this_house():
    """Draw it anew by `make house`."""
    assert (DOCS / "house.svg").read_text() == house().drawing()


def undocumented(file):
    """Public functions, classes and methods of a file without a docstring, by line and name."""
    waiting = list(ast.parse(file.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If | ast.Try):
            waiting += node.body
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        if not ast.get_docstring(node):
            yield f"{file.relative_to(LIBRARY)}:{node.lineno} {node.name}"
        if isinstance(node, ast.ClassDef):
            waiting += node.body


def test_whatever_is_public_says_what_it_is():
    """With shapes, units, errors and sources where there are any."""
    found = [each for file in sorted(LIBRARY.rglob("*.py")) for each in undocumented(file)]
    assert not found, "without a docstring:\n" + "\n".join(found)
