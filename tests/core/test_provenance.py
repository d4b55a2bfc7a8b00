"""Code digests follow imports and content, not file times; fingerprints follow params and data."""

import os
import shutil

import pytest

from triptych.core.provenance import LIBRARY, fingerprint, read_code
from triptych.studies import NAMES


@pytest.fixture
def library(tmp_path):
    """study/script.py imports package.used, which imports package.deep; not package.other."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "used.py").write_text("from package import deep\nVALUE = deep.VALUE\n")
    (package / "deep.py").write_text("VALUE = 1\n")
    (package / "other.py").write_text("VALUE = 2\n")
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "script.py").write_text("import os\nfrom package.used import VALUE\n")
    return tmp_path


def digest(library):
    return read_code(library).digests["study/script.py"]


def test_editing_a_module_that_is_imported_indirectly_changes_the_digest(library):
    before = digest(library)
    (library / "package" / "deep.py").write_text("VALUE = 3\n")
    assert digest(library) != before


@pytest.mark.parametrize("module", ["package/other.py", "unrelated.py"])
def test_editing_a_module_that_is_not_imported_changes_nothing(library, module):
    before = digest(library)
    (library / module).write_text("VALUE = 'another'\n")
    assert digest(library) == before


def test_comments_formatting_and_file_times_do_not_count(library):
    before = digest(library)
    (library / "package" / "deep.py").write_text("# a comment\nVALUE   =  1\n")
    os.utime(library / "study" / "script.py", (1, 1))
    assert digest(library) == before


def test_a_fingerprint_changes_with_params_and_with_the_bytes_of_the_data(tmp_path):
    data = tmp_path / "data"
    data.write_bytes(b"one")
    first = fingerprint({"a": 1, "b": [2]}, [data])
    assert fingerprint({"b": [2], "a": 1}, [data]) == first
    assert fingerprint({"a": 2, "b": [2]}, [data]) != first
    data.write_bytes(b"two")
    assert fingerprint({"a": 1, "b": [2]}, [data]) != first


def test_what_was_parsed_once_gives_the_same_digests_and_an_edit_others(tmp_path):
    shutil.copytree(LIBRARY, tmp_path / "code", ignore=shutil.ignore_patterns("__pycache__"))
    known = tmp_path / "trees.json"
    first = read_code(tmp_path / "code", known)
    assert read_code(tmp_path / "code", known) == first == read_code(tmp_path / "code")
    edited = tmp_path / "code/triptych/rl/training/learner.py"
    edited.write_text(edited.read_text() + "\nX = 1\n")
    changed = read_code(tmp_path / "code", known).digests
    assert changed == read_code(tmp_path / "code").digests
    assert {name for name in changed if changed[name] != first.digests[name]} >= {"rl/train.py"}
    known.write_text("{")  # another disk was full
    assert read_code(tmp_path / "code", known).digests == changed


def test_the_pages_digest_follows_what_the_studies_say_of_a_config(tmp_path):
    """The page tells what it would take to test a claim, which follows from their workflows."""
    (tmp_path / "report").mkdir()
    shutil.copy(LIBRARY / "report" / "page.py", tmp_path / "report")
    shutil.copytree(LIBRARY / "triptych", tmp_path / "triptych")
    followed = set(read_code(tmp_path).files)
    assert {f"triptych/{name}/workflow.py" for name in NAMES} <= followed
    assert "triptych/audio/inputs.py" in followed
