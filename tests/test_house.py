"""What holds for all of the library's code."""

import ast
from graphlib import TopologicalSorter
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


ORDER = {
    "core": 0,
    "method_files": 0,
    "report": 1,
    "rl": 2,
    "style": 2,
    "audio": 2,
    "demo": 3,
    "studies": 4,
    "scale": 5,
    "page": 6,
    "planning": 6,
    "apps": 7,
    "cli": 8,
}
"""What may import what: only packages with a lower number, and a package itself."""


def imported(file):
    """The modules of the library that a file imports, at the top or within a function."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.split(".")[0] == "triptych":
                yield name


def module_graph():
    """{module: modules that it imports}, of files; packages' empty __init__ left out."""
    files = {
        ".".join(file.relative_to(LIBRARY.parent).with_suffix("").parts): file
        for file in LIBRARY.rglob("*.py")
        if file.name != "__init__.py"
    }
    return {name: set(imported(file)) & files.keys() - {name} for name, file in files.items()}


def test_imports_run_one_way():
    """core, report, the studies, demo, their list, apps; no study imports another."""
    wrong = []
    for module, others in module_graph().items():
        part = module.split(".")[1]
        for other in others:
            of = other.split(".")[1]
            if of != part and ORDER[of] >= ORDER[part]:
                wrong.append(f"{module} imports {other}")
    assert not wrong, "\n".join(sorted(wrong))


def test_no_circle_file_by_file():
    TopologicalSorter(module_graph()).prepare()  # raises CycleError with the modules' names


def test_a_folder_holds_fifteen_files_at_most():
    folders = [LIBRARY, *(path for path in LIBRARY.rglob("*") if path.is_dir())]
    full = {
        str(folder.relative_to(LIBRARY)): count
        for folder in folders
        if (count := len([f for f in folder.glob("*.py") if f.name != "__init__.py"])) > 15
    }
    assert not full


OTHERS_READ = {"hits.html.j2": "triptych serve"}
"""Files beside modules that no rule reads, and what does."""


def test_a_file_beside_the_modules_is_an_input_of_a_rule():
    """The digest of a rule's code is of modules alone."""
    rules = "".join(path.read_text("utf-8") for path in LIBRARY.parents[1].glob("rules/*.smk"))
    others = {
        path.name
        for path in LIBRARY.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert {name for name in others if f'{name}"' not in rules} == set(OTHERS_READ)


SHORT = 6
"""Lines of a function that its name may say all of."""


def undocumented(file):
    """Public functions, classes and methods of a file without a docstring, by line and name; none
    of the functions that are short."""
    waiting = list(ast.parse(file.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If | ast.Try):
            waiting += node.body
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        short = node.end_lineno - node.lineno < SHORT and not isinstance(node, ast.ClassDef)
        if not short and not ast.get_docstring(node):
            yield f"{file.relative_to(LIBRARY)}:{node.lineno} {node.name}"
        if isinstance(node, ast.ClassDef):
            waiting += node.body


def test_whatever_is_public_and_not_short_says_what_it_is():
    """With shapes, units, errors and sources where there are any."""
    found = [each for file in sorted(LIBRARY.rglob("*.py")) for each in undocumented(file)]
    assert not found, "without a docstring:\n" + "\n".join(found)
