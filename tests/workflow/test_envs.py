"""The conda environments pin what the lock pins, and hold what the scripts import."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "workflow_scripts"
ENVS = sorted((ROOT / "envs").glob("*.yaml"))
# Module names that differ from their distribution's.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "markdown_it": "markdown-it-py",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


def pins(text):
    return dict(re.findall(r"^\s*(?:- )?([a-z0-9._-]+)==([^\s\\;]+)", text, re.MULTILINE))


def test_an_environment_pins_what_the_lock_pins():
    lock = pins((ROOT / "requirements-dev.lock").read_text())
    for path in ENVS:
        found = pins(path.read_text())
        assert found and {name: lock.get(name) for name in found} == found
        assert "python=3.11" in path.read_text() and "://" not in path.read_text()


def rule_blocks():
    """Name and text of every rule that has a script."""
    for path in (ROOT / "rules").glob("*.smk"):
        for block in re.split(r"\n(?=rule )", path.read_text())[1:]:
            if "script:" in block:
                yield re.match(r"rule (\w+):", block).group(1), block


def imported(script):
    """Top-level names that a script and the library modules it reaches import when they load."""
    names, waiting, seen = set(), [LIBRARY / (script.replace("_", "/", 1) + ".py")], set()
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        for node in ast.parse(path.read_text()).body:
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for module in modules:
                if module.startswith("triptych"):
                    waiting.append(LIBRARY / (module.replace(".", "/") + ".py"))
                else:
                    names.add(module.split(".")[0])
    return names


def environments():
    """The environment of every script: as its rule says, or the entry of its product, or report."""
    entries = "\n".join(path.read_text() for path in (ROOT / "rules").glob("*_report.smk"))
    product = re.compile(r'^ *table\(\s*"(\w+)",(?:(?!^ *\)$).)*?env="(\w+)"', re.M | re.S)
    scripts = {path for path in LIBRARY.glob("*/*.py") if path.parent.name != "triptych"}
    named = dict.fromkeys((f"{path.parent.name}_{path.stem}" for path in scripts), "report")
    rules = {
        rule: re.search(r'"\.\./envs/(\w+)\.yaml"', block).group(1) for rule, block in rule_blocks()
    }
    assert rules.keys() <= named.keys()
    return {**named, **dict(product.findall(entries)), **rules}


def test_every_script_has_an_environment_that_holds_its_imports():
    for rule, environment in environments().items():
        held = pins((ROOT / "envs" / f"{environment}.yaml").read_text())
        for name in imported(rule) - set(sys.stdlib_module_names):
            assert DISTRIBUTIONS.get(name, name) in held, (rule, environment, name)
