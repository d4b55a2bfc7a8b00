"""Claims as records: what they need decides whether they are decided, before a run and after."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from paper_runs import claims

from triptych.core.config import merged
from triptych.report.claims import (
    NO,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    SEEN,
    UNDECIDED,
    WITH_SUBSTITUTES,
    AllOf,
    AtLeast,
    AtMost,
    Claim,
    Finding,
    IsTrue,
    OneOf,
    Unmet,
    Verdict,
    verdict_of,
    write_claims,
)
from triptych.scale import FILES, REHEARSAL, shipped
from triptych.studies import NAMES, predictions

ROOT = Path(__file__).parents[2]
SOURCES = yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text(encoding="utf-8"))
NEEDS = {  # with a fact that meets each, and one that doesn't
    AtLeast("seeds", "5 seeds", 5): (5, 4),
    AtMost("tasks", "two tasks at most", 2): (["a", "b"], ["a", "b", "c"]),
    OneOf("precisions", "float32", ("float32",)): ({"float32"}, {"float32", "bf16"}),
    AllOf("kinds", "all kinds", ("a", "b")): ({"a", "b"}, {"a"}),
    IsTrue("gpu", "a GPU", substitute="a processor"): (True, False),
}
OTHERS = (("needs COCO",), ("other photographs",))
OTHER = Unmet((), *OTHERS)
CLAIM = Claim("one", "It is more.", tuple(NEEDS), lambda run: Finding(str(run)))


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need.fact)
def test_a_need_that_is_not_met_leaves_a_claim_open_or_names_its_substitute(need):
    facts = {each.fact: good for each, (good, _) in NEEDS.items()}
    assert CLAIM.unmet(facts) == Unmet()
    unmet = CLAIM.unmet({**facts, need.fact: NEEDS[need][1]})
    assert unmet.decided == (WITH_SUBSTITUTES if need.substitute else NO)
    assert need.what in "; ".join((*unmet.needed, *unmet.replaced))
    assert unmet.substitutes == ((need.substitute,) if need.substitute else ())
    assert need.what in CLAIM.criterion
    del facts[need.fact]
    assert CLAIM.unmet(facts, planned=True) == Unmet()  # nobody knows yet
    with pytest.raises(KeyError):
        CLAIM.unmet(facts)


@pytest.mark.parametrize("study", NAMES)
def test_every_claim_of_a_paper_has_a_record_in_its_order(study):
    listed = pd.read_csv(ROOT / "resources" / "published" / f"{study}_claims.csv")
    assert [claim.id for claim in claims(study)] == list(listed["id"])


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
    verdict = verdict_of(CLAIM, unmet, found)
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
