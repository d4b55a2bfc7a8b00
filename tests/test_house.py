"""What holds for all of the library's code."""

import ast
from pathlib import Path

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
