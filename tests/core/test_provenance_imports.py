"""A job compares each module that it imports with what Snakemake planned with."""

import os
import shutil
import subprocess
import sys

import pytest

from triptych.core.provenance import (
    LIBRARY,
    PLAN,
    Code,
    CodeChanged,
    digests_of_run,
    read_code,
    write_plan,
)

JOB = """
from triptych.core.provenance import CodeChanged, check_against_plan
from triptych.early import VALUE
def run():
    check_against_plan()
    print("checked")
    {then}
try:
    run()
    print(VALUE)
except CodeChanged as error:
    print(error)
"""
LATER = "from pathlib import Path; Path({late!r}).write_text('VALUE = 5\\n'); import triptych.late"
CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import triptych.early'])"


@pytest.fixture
def library(tmp_path):
    """A library that watches imports, with one module imported early and one late."""
    core = tmp_path / "triptych" / "core"
    core.mkdir(parents=True)
    shutil.copy(LIBRARY / "triptych" / "__init__.py", core.parent)
    for name in ("provenance.py", "files.py"):
        shutil.copy(LIBRARY / "triptych" / "core" / name, core)
    (core / "__init__.py").touch()
    (core.parent / "early.py").write_text("VALUE = 1\n")
    (core.parent / "late.py").write_text("VALUE = 2\n")
    return tmp_path


def run(library, then="pass", edit=None, preamble=""):
    """What a job says that was planned, whose file `edit` changed before it started."""
    script = library / "study" / "job.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(JOB.format(then=then))
    plan = write_plan(library / "plans", read_code(root=library), [])
    if edit:
        file, text = edit
        (library / file).write_text(text)
    started = library / "tmp1a2b.job.py"
    started.write_text(preamble + script.read_text())
    done = subprocess.run(
        [sys.executable, str(started)],
        env={**os.environ, "PYTHONPATH": str(library), PLAN: plan},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def test_a_job_of_the_planned_code_runs(library):
    assert run(library) == "checked\n1\n"


def test_an_edited_module_is_named_before_anything_is_done(library):
    said = run(library, edit=("triptych/early.py", "VALUE = 3\n"))
    assert "workflow_scripts/triptych/early.py was changed after Snakemake had read it" in said
    assert "checked" not in said


def test_a_module_that_is_edited_while_the_job_runs_and_imported_then_ends_it(library):
    said = run(library, then=LATER.format(late=str(library / "triptych/late.py")))
    assert said.startswith("checked\nworkflow_scripts/triptych/late.py was changed")


def test_a_process_that_the_job_starts_compares_too(library):
    edited = f"__import__('pathlib').Path({str(library / 'triptych/early.py')!r})"
    said = run(library, then=f"{edited}.write_text('VALUE = 7\\n'); {CHILD}")
    assert "triptych/early.py was changed" in said


def test_a_script_that_was_edited_is_named(library):
    script = str(library / "study" / "job.py")
    marked = f"__real_file__ = __file__; __file__ = {script!r};\n"
    marked += "######## snakemake preamble end #########\n"
    assert run(library, preamble=marked) == "checked\n1\n"
    said = run(library, preamble=marked, edit=("study/job.py", JOB.format(then="print(2)")))
    assert "workflow_scripts/study/job.py was changed" in said


def test_an_edit_within_a_second_of_the_same_length_is_not_missed(library):
    """Python alone would run the bytecode of the text before."""
    for value in (1, 2):
        (library / "triptych/early.py").write_text(f"VALUE = {value}\n")
        os.utime(library / "triptych/early.py", (1e9, 1e9))
        assert run(library) == f"checked\n{value}\n"


def test_a_clusters_job_takes_the_digests_of_its_plan_unless_what_it_reads_has_changed(
    tmp_path, monkeypatch
):
    config = tmp_path / "config.yaml"
    config.write_text("a")
    plan = write_plan(tmp_path / "plans", Code({"rl/train.py": "abc"}, {}), [config])
    monkeypatch.setenv(PLAN, plan)
    assert digests_of_run([config], False, "") == {"rl_train": "abc"}
    config.write_text("b")
    with pytest.raises(CodeChanged, match=r"config\.yaml was changed"):
        digests_of_run([config], False, "")
