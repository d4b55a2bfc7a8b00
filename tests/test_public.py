"""What a public home shows: hosted CI."""

import re
import tomllib
from pathlib import Path

import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(path):
    return yaml.safe_load((ROOT / path).read_text())


def test_hosted_ci_calls_targets_that_exist_on_pythons_that_are_allowed():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    allowed = SpecifierSet(PROJECT["requires-python"])
    jobs = read(".github/workflows/ci.yml")["jobs"]
    called = [
        step["run"].split()[1] for job in jobs.values() for step in job["steps"] if "run" in step
    ]
    assert sorted(called) == ["demo", "lint", "test"] and set(called) <= targets
    for name in ("test", "demo"):
        pythons = jobs[name]["strategy"]["matrix"]["python"]
        assert pythons == ["3.11", "3.13"] and all(python in allowed for python in pythons)
