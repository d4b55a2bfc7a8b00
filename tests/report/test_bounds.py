"""Each value that decides a verdict, made wrong in turn: some verdict or prediction changes.

The values are found, not listed: every constant of the modules of claims, part by part. Runs near
the bounds (edges.py) show what a wrong one does.
"""

import ast
import importlib
import inspect
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import edges
import pytest
from paper_runs import TABLES_OF, claims, paper_run, reading_once

import triptych
from triptych.report import claims as shared
from triptych.report.claims import Unmet, judge
from triptych.studies import NAMES

LIBRARY = Path(triptych.__file__ or "").parent
DECIDES_NOTHING = {"MOST_NAMED", "PHOTOGRAPH"}
"""Of sentences alone: how many missing things they name, and pixels far from those needed."""
WRONG = 1.5
"""Factor by which a number is made wrong, either way."""


def modules(study: str) -> list[Any]:
    """The modules of a study's claims, and the shared one."""
    files = sorted((LIBRARY / study / "report").glob("claims*.py"))
    named = [importlib.import_module(f"triptych.{study}.report.{file.stem}") for file in files]
    return [*named, shared]


def constants(module: Any) -> Iterator[str]:
    """Names of the constants that a module's own lines define."""
    for line in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        targets = getattr(line, "targets", [getattr(line, "target", None)])
        for target in targets if isinstance(line, ast.Assign | ast.AnnAssign) else ():
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and name.id.isupper():
                    yield name.id


def wrong(value: Any) -> Iterator[Any]:
    """A constant with one part made wrong, for each part and way. Sentences decide nothing."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from {math.ceil(WRONG * value), math.floor(value / WRONG)} - {value}
    elif isinstance(value, float):
        yield from (WRONG * value, value / WRONG)
    elif isinstance(value, str):
        yield from [f"{value}x"] if re.fullmatch(r"[\w.-]+", value) else []
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            others = [f"{part}x"] if isinstance(part, str) else wrong(part)
            for other in others:
                changed = [*value[:place], other, *value[place + 1 :]]
                yield changed if isinstance(value, list) else tuple(changed)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: other} for other in wrong(part))
            for other in wrong(key):
                yield {other if name == key else name: entry for name, entry in value.items()}


def used(function: Any, known: set[Any]) -> set[str]:
    """Names that a function of the claims' modules uses, itself or by others there."""
    function = inspect.unwrap(function)
    if function in known or not inspect.isfunction(function):
        return set()
    known.add(function)
    codes, names = [function.__code__], set()
    while codes:
        code = codes.pop()
        names |= set(code.co_names) | set(code.co_freevars)
        codes += [part for part in code.co_consts if inspect.iscode(part)]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    inside = [part for cell in cells if isinstance(cell, tuple) for part in cell]
    others = [*map(function.__globals__.get, names), *cells, *inside]
    here = [each for each in others if ".report.claims" in getattr(each, "__module__", "")]
    return names.union(*(used(other, known) for other in here))


def users(study: str) -> dict[str, list[str]]:
    """The claims that use each constant."""
    read = TABLES_OF[study]
    found: dict[str, list[str]] = {}
    for claim in claims(study):
        known: set[Any] = set()
        for function in (claim.needs, claim.judge, read, shared.judge, *MEMBERS):
            for name in used(function, known):
                found.setdefault(name, []).append(claim.id)
    return found


MEMBERS = (Unmet.of.__func__, Unmet.decided.fget)  # type: ignore[attr-defined]


def values(study: str) -> list[Any]:
    """Study, name, value and wrong value of each constant that some claim uses."""
    found, by_claim = {}, users(study)
    for module in modules(study):
        for name in constants(module):
            value = getattr(module, name)
            decides = name in by_claim and name not in DECIDES_NOTHING
            for other in wrong(value) if decides else ():
                found[name, repr(other)] = pytest.param(study, name, value, other)
    return [*found.values()]


@cache
def runs(study: str) -> list[Any]:
    """A study's runs, the paper's own first: claim, plan, tables, run and what was said."""
    base, own = paper_run(study), {claim.id: claim for claim in claims(study)}
    with reading_once():
        return [
            (claim, plan, tables, run, said(claim, plan, tables))
            for names, run in [
                (tuple(own), base),
                *edges.of(study, base),
                *edges.became(study, base),
            ]
            for plan, tables in [(run.plan(study), run.tables(study))]
            for claim in (own[name] for name in names)
        ]


def said(claim: Any, plan: Any, tables: Any) -> tuple[str, str]:
    """Prediction and verdict of a claim."""
    (verdict,) = judge([claim], plan, tables)
    return Unmet.of(claim.needs(plan)).decided, f"{verdict.verdict}, {verdict.seen}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("study", "name", "value", "other"), [value for study in NAMES for value in values(study)]
)
def test_a_value_made_wrong_changes_a_verdict_or_a_prediction(
    monkeypatch, study, name, value, other
):
    by_it = set(users(study)[name])
    cases = [case for case in runs(study) if case[0].id in by_it]
    for module in modules(study):
        if repr(vars(module).get(name)) == repr(value):
            monkeypatch.setattr(module, name, other)
    assert noticed(study, cases, name), f"{name} = {other}: all is as with {value}"


def noticed(study: str, cases: list[Any], name: str) -> bool:
    """Whether something is said otherwise, or fails; of tables read anew where that uses it."""
    read = TABLES_OF[study]
    anew = name in used(read, set())
    try:
        with reading_once():
            return any(
                said(claim, plan, run.tables(study) if anew else tables) != words
                for claim, plan, tables, run, words in cases
            )
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return True
