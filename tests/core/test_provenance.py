"""Digests of code follow what computes; fingerprints follow parameters, data and code by name."""

import json
import os
from pathlib import Path

import pytest

from triptych.core.provenance import (
    PLAN,
    Code,
    CodeChanged,
    check_code,
    fingerprint,
    link_to,
    named_files,
    planned_code,
)

SCRIPT = "study/script.py"
MODULE = '''
"""What it computes."""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from package.other import VALUE as ANNOTATED

logger = logging.getLogger(__name__)

LABEL = "Deep"
VALUE = 1
"""A number."""


def compute(x: int) -> int:
    """Its square."""
    if x < 0:
        raise ValueError(f"{x} is negative")
    logger.info("computing %d", x)
    return x * x
'''


@pytest.fixture
def library(tmp_path):
    """study/script.py imports package.used, which imports package.deep within a function."""
    files = {
        "package/__init__.py": '"""Nothing."""\n',
        "package/used.py": "def value():\n    from package import deep\n    return deep.VALUE\n",
        "package/deep.py": MODULE,
        "package/other.py": "VALUE = 2\n",
        "package/logs.py": "from package.other import VALUE\nINFRASTRUCTURE = True\n",
        "package/methods/one.py": "from package.deep import VALUE\n",
        "package/methods/two.py": "VALUE = 2\n",
        SCRIPT: "import os\nfrom package.logs import VALUE\nfrom package.used import value\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def digests(library, *methods):
    return Code(library).digests(SCRIPT, methods)


def edit(library, old, new, file="package/deep.py"):
    text = (library / file).read_text()
    assert old in text
    (library / file).write_text(text.replace(old, new, 1))


def test_modules_that_compute_are_followed_through_imports_and_infrastructure_is_not(library):
    assert list(digests(library)) == ["package/deep.py", "package/used.py", SCRIPT]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("What it computes.", "Computes."),
        ("A number.", "One."),
        ("Its square.", "The square."),
        ('"Deep"', '"Deeper"'),
        ("computing %d", "now %d"),
        ("{x} is negative", "negative: {x}"),
        ("    return x * x", "    # squared\n    return  x*x"),
        ("package.other import VALUE", "package.used import value"),
    ],
)
def test_what_changes_no_number_changes_no_digest(library, old, new):
    before = digests(library)
    edit(library, old, new)
    os.utime(library / "package/used.py", (1, 1))
    assert digests(library) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("VALUE = 1", "VALUE = 3"),
        ("return x * x", "return x + x"),
        ("x < 0", "x <= 0"),
        ("raise ValueError", "raise TypeError"),
    ],
)
def test_an_edit_of_code_changes_its_module_alone(library, old, new):
    before = digests(library)
    edit(library, old, new)
    after = digests(library)
    assert {file for file in before if before[file] != after[file]} == {"package/deep.py"}


def test_a_method_counts_where_it_is_named(library):
    named = digests(library, "package.methods.one")
    assert {*named} == {*digests(library), "package/methods/one.py"}
    edit(library, "VALUE = 2", "VALUE = 3", "package/methods/two.py")
    assert digests(library, "package.methods.one") == named
    edit(library, "import VALUE", "import VALUE as V", "package/methods/one.py")
    assert digests(library, "package.methods.one") != named


def test_a_users_own_module_counts_with_what_lies_beside_it(library, tmp_path_factory, monkeypatch):
    own = tmp_path_factory.mktemp("own")
    (own / "mine.py").write_text("import json\nimport near\n")
    (own / "near.py").write_text("VALUE = 1\n")
    monkeypatch.setenv("PYTHONPATH", str(own))
    assert {"mine.py", "near.py"} == {*digests(library, "mine")} - {*digests(library)}
    before = digests(library, "mine")
    (own / "near.py").write_text("VALUE = 2\n")
    assert digests(library, "mine") != before
    assert digests(library, "torch") == digests(library)  # an installed package


@pytest.fixture
def template(library, tmp_path_factory, monkeypatch):
    """A package in the layout of Gymnasium's template, beside a module and a model."""
    own = tmp_path_factory.mktemp("own")
    files = {
        "robots/__init__.py": "register(id='R-v0', entry_point='robots.envs:Robot')\n",
        "robots/envs/__init__.py": "from .robot import Robot\n",
        "robots/envs/robot.py": "from ..core import GAIN\nfrom . import helper\nLABEL = 1.0\n",
        "robots/envs/helper.py": "PLACE = (0.0, 1.0)\n",
        "robots/core.py": "GAIN = 2\n",
        "robots/assets/arm.bin": "mass 1",
        "plain.py": "register(id='P-v0', entry_point='robots.envs:Robot')\nMODEL = 'arm.xml'\n",
        "arm.xml": "<mujoco/>",
        "relative.py": "import importlib\nINFRASTRUCTURE = True\nCOLOUR = 3\n",
    }
    for name, text in files.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(own))
    return own


@pytest.mark.parametrize(
    ("module", "file", "new"),
    [
        ("robots", "robots/envs/robot.py", "LABEL = -1.0\n"),
        ("robots", "robots/envs/helper.py", "PLACE = (1.0, 1.0)\n"),
        ("robots", "robots/core.py", "GAIN = -2\n"),
        ("robots", "robots/assets/arm.bin", "mass 2"),
        ("robots.envs", "robots/core.py", "GAIN = -2\n"),
        ("plain", "robots/envs/helper.py", "PLACE = 2\n"),
        ("plain", "arm.xml", "<mujoco model='b'/>"),
        ("relative", "relative.py", "INFRASTRUCTURE = True\nCOLOUR = 4\n"),
        ("robots", "robots/broken.py", "def ("),
    ],
)
def test_an_edit_anywhere_in_a_users_package_changes_its_digests(
    library, template, module, file, new
):
    before = digests(library, module)
    (template / "robots/envs/run.log").write_text("what a run leaves counts nowhere")
    assert digests(library, module) == before
    (template / file).write_text(new)
    after = digests(library, module)
    assert {name for name in after if before.get(name) != after[name]} == {file}
    own = {name: after[name] for name in after.keys() - digests(library)}
    assert file in own
    check_code(own)
    (template / file).write_text("PLACE = 7")
    with pytest.raises(CodeChanged, match=rf"^{file} changed"):
        check_code(own)


def test_a_package_that_is_installed_as_it_lies_counts(library, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("source")
    (folder / "editable_robots").mkdir()
    (folder / "editable_robots/__init__.py").write_text("GAIN = 1\n")
    monkeypatch.syspath_prepend(folder)
    before = digests(library, "editable_robots")
    (folder / "editable_robots/__init__.py").write_text("GAIN = 2\n")
    assert digests(library, "editable_robots") != before


def test_a_file_that_options_name_counts_by_its_bytes(library, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meshes").mkdir()
    for name in ("model.txt", "meshes/arm.stl", "other.txt"):
        (tmp_path / name).write_text("1")
    more = [{"folder": "meshes"}, "text", 3, "x" * 5000, ".", "results", str(tmp_path.parent)]
    (tmp_path / "results").mkdir()
    (tmp_path / "results/made.csv").write_text("1")
    named = named_files({"model": "model.txt", "more": more})
    assert named == [Path("model.txt"), Path("meshes/arm.stl")]
    (library / "robot").mkdir()
    (library / "robot/arm.xml").write_text("<mujoco/>")
    monkeypatch.setenv("PYTHONPATH", str(library))
    (beside,) = named_files({"xml_file": "robot/arm.xml"})
    assert str(beside) in digests(library, beside)
    before = digests(library, *named)
    for name, counts in (("other.txt", False), ("model.txt", True)):
        (tmp_path / name).write_text("2")
        assert (digests(library, *named) != before) == counts


def test_a_job_of_changed_code_fails_by_the_modules_name():
    planned = Code().digests("rl/train.py")
    check_code(planned)
    planned["triptych/rl/algorithms/bcq.py"] = "another"
    with pytest.raises(
        CodeChanged, match=r"^workflow_scripts/triptych/rl/algorithms/bcq\.py changed"
    ):
        check_code(planned)


def test_a_clusters_job_takes_the_digests_of_its_plan_unless_what_it_reads_has_changed(
    tmp_path, monkeypatch
):
    config = tmp_path / "config.yaml"
    config.write_text("a")
    monkeypatch.delenv(PLAN, raising=False)
    planned_code([config], main=True)
    plan = json.loads(os.environ[PLAN])
    plan["code"]["rl/train.py"] = "planned"
    monkeypatch.setenv(PLAN, json.dumps(plan))
    assert planned_code([config], main=False).digests("rl/train.py")["rl/train.py"] == "planned"
    config.write_text("b")
    with pytest.raises(CodeChanged, match=r"config\.yaml changed"):
        planned_code([config], main=False)


def test_a_fingerprint_names_what_differs(tmp_path):
    data = tmp_path / "data"
    data.write_bytes(b"one")
    first = fingerprint({"a": 1, "b": [2], "checkpoint": "x", "code": {"m.py": "0"}}, [data])
    moved = fingerprint({"b": [2], "a": 1, "checkpoint": "y", "code": {"m.py": "1"}}, [data])
    assert moved.values == first.values and moved.code == {"m.py": "1"}
    assert moved.digest != first.digest
    data.write_bytes(b"two")
    second = fingerprint({"a": 2, "b": [2]}, [data])
    assert {name for name in first.values if first.values[name] != second.values[name]} == {
        "a",
        str(data),
    }


def test_a_link_follows_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "one", "two"):
        (tmp_path / name).mkdir(exist_ok=True)
        assert link_to(tmp_path / name, "below/link") == "below/link"
        assert Path("below/link").resolve() == tmp_path / name
    assert [path.name for path in (tmp_path / "below").iterdir()] == ["link"]
