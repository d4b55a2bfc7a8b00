"""Claims as records: what they need decides whether they are decided, before a run and after."""

from pathlib import Path

import pytest
import yaml

from triptych.core.config import merged
from triptych.report.claims import (
    NO,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    SEEN,
    UNDECIDED,
    WITH_SUBSTITUTES,
    Finding,
    Need,
    Unmet,
    Verdict,
    all_of,
    at_least,
    claim,
    judge,
    no,
    one_of,
    predict,
    verdict_of,
    write_claims,
)
from triptych.scale import FILES, REHEARSAL, shipped
from triptych.studies import predictions

ROOT = Path(__file__).parents[2]
SOURCES = yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text(encoding="utf-8"))
GOOD = (
    at_least("5 seeds", 5, 5),
    no("no other task", []),
    one_of("float32", ["float32"], ("float32",)),
    all_of("all kinds", ("a", "b"), ("a", "b")),
    Need("a GPU", True, substitute="a processor"),
)
BAD = {
    at_least("5 seeds", 4, 5): "needs 5 seeds (4 here)",
    at_least("5 seeds", 4.25, 5): "needs 5 seeds (4.25 here)",
    no("no other task", ["c", "b"]): "needs no other task (b, c here)",
    one_of("float32", [], ("float32",)): "needs float32 (none here)",
    one_of("float32", ["float32", "bf16"], ("float32",)): "needs float32 (bf16, float32 here)",
    all_of("all kinds", {"a"}, ("a", "b")): "needs all kinds (missing: b)",
    all_of("all kinds", {"a"}, "abcde"): "needs all kinds (1 here)",
    Need("a GPU", False, substitute="a processor"): "needs a GPU",
}
OTHERS = (("needs COCO",), ("other photographs",))
OTHER = Unmet((), *OTHERS)


@pytest.mark.parametrize(("need", "message"), BAD.items())
def test_a_need_that_is_not_met_leaves_a_claim_open_or_names_its_substitute(need, message):
    assert Unmet.of(GOOD) == Unmet()
    unmet = Unmet.of([*GOOD, need, need])
    assert unmet.decided == (WITH_SUBSTITUTES if need.substitute else NO)
    assert [*unmet.needed, *unmet.replaced] == [message]
    assert unmet.substitutes == ((need.substitute,) if need.substitute else ())


BOUND = 3


@claim("one", needs=lambda plan: [at_least("2 seeds", plan, 2, "fewer seeds"), GOOD[-1]])
def one(tables) -> Finding:
    """The number is
    at least {BOUND}."""
    low = [] if tables >= BOUND else ["it is less"]
    return Finding(f"{tables}", "[1, 9]", low, needs=[at_least("2 seeds", tables, 2)])


def test_a_judges_docstring_is_the_rule_with_its_bounds():
    assert one.rule == "The number is at least 3."
    counts = "It counts with 2 seeds; a GPU; else it is seen with substitutes."
    assert one.criterion(0) == one.criterion(9) == f"{one.rule} {counts}"


def test_what_a_run_found_of_a_need_counts_not_what_its_config_says():
    assert predict([one], 1)["one"].replaced == ("needs 2 seeds (1 here)",)
    assert [judge([one], 1, found)[0].verdict for found in (5, 2, 1)] == [
        REPRODUCED,
        NOT_REPRODUCED,
        SEEN,
    ]
    (verdict,) = judge([one], 9, 1)
    assert verdict.seen == "disagrees, with fewer seeds"
    assert verdict.reason == "It is less; needs 2 seeds (1 here)."


@pytest.mark.parametrize(
    ("unmet", "found", "word", "told"),
    [
        (Unmet(), Finding("1", "[1, 2]"), REPRODUCED, "Every part"),
        (Unmet(), Finding("1", "[1, 2]", ["it is less"]), NOT_REPRODUCED, "It is less."),
        (Unmet(("needs a GPU",)), Finding("1", "[1, 2]", ["x"]), NOT_TESTABLE, "Needs a GPU."),
        (Unmet(), Finding("1", obstacles=["nothing was there"]), NOT_TESTABLE, "Nothing was"),
        (Unmet(), Finding("1", "[-1, 2]", unclear=["it holds 0"]), UNDECIDED, "It holds 0."),
        (Unmet(), Finding("1", "[1, 2]", ["x"], ["y"]), NOT_REPRODUCED, "X."),
        (OTHER, Finding("1", "[1, 2]"), SEEN, "agrees, with other photographs"),
        (OTHER, Finding("1", "[1, 2]", ["x"], ["y"]), SEEN, "disagrees, with other photographs"),
        (OTHER, Finding("1", "[-1, 2]", [], ["y"]), SEEN, "too noisy, with other photographs"),
        (OTHER, Finding("1"), NOT_TESTABLE, "Needs COCO."),
        (Unmet(("a GPU",), *OTHERS), Finding("1", "[1, 2]"), NOT_TESTABLE, "A GPU; needs COCO."),
        (Unmet(), Finding("1", "[1, 2]", partly=["one task"]), SEEN, "agrees, with fewer cases"),
    ],
)
def test_unmet_needs_go_before_findings(unmet, found, word, told):
    verdict = verdict_of("one", unmet, found)
    assert (verdict.verdict, verdict.measured) == (word, "1")
    assert told in (verdict.seen or verdict.reason)


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Unmet]]:
    """By scale, what its config lets one foresee."""
    return {name: predictions(shipped(name, ROOT), SOURCES) for name in FILES if name != REHEARSAL}


def test_a_larger_scale_decides_what_a_smaller_one_does_and_the_papers_nearly_all(found):
    open_ = {
        scale: {claim for claim, each in unmet.items() if each.decided == NO}
        for scale, unmet in found.items()
    }
    assert open_["demo"] >= open_["overnight"] > open_["evening"]
    # Each has a config of its own.
    assert open_["beyond"] == {"audio-linear-projection", "rl-ours-small-data"}
    # The papers alone lack our controls, other prunings, and pictures of both versions.
    ours = {"rl-ours-sensors", "rl-ours-shuffled", "rl-other-prunings", "style-versions-differ"}
    assert open_["paper"] == open_["beyond"] | ours


@pytest.mark.parametrize(
    ("path", "value", "claim", "decided", "reason"),
    [
        ("rl.sweeps.bcq.seeds", [0, 1, 2], "rl-bcq-95", NO, "(3 here)"),
        ("style.optimize.evaluations", 499, "style-content-init", WITH_SUBSTITUTES, "499 here"),
        ("device", "cpu", "style-alexnet-faster", NO, "a GPU"),
        ("audio.finetuning.seeds", [0, 1], "audio-gpt-helps", NO, "3 runs"),
    ],
)
def test_a_value_that_a_claim_cannot_do_with_decides_nothing(path, value, claim, decided, reason):
    for key in reversed(path.split(".")):
        value = {key: value}
    config = merged(shipped("beyond", ROOT), {"scale": "custom", **value})
    unmet = predictions(config, SOURCES)[claim]
    assert unmet.decided == decided
    assert reason in unmet.text(most=9)


def test_a_rehearsal_reproduces_nothing_and_fails_at_nothing(tmp_path):
    both = [Verdict("one", REPRODUCED, "4.1", "", ""), Verdict("two", NOT_REPRODUCED, "2", "", "")]
    frame = write_claims(both, "rehearsal", tmp_path / "claims.csv")
    assert set(frame["verdict"]) == {NOT_TESTABLE}
    assert frame["reason"].str.contains("made up").all()
