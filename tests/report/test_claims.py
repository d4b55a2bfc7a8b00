"""Claims as records: what they need decides whether they are decided, before a run and after."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from paper_runs import claims, paper_run

from triptych.audio.report import labels as audio
from triptych.core.config import merged
from triptych.report.claims import (
    NOT,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    ON_OTHER_DATA,
    REPRODUCED,
    SEEN,
    Claim,
    Finding,
    Lacking,
    Need,
    Verdict,
    verdict_of,
    write_claims,
)
from triptych.rl.report import labels as rl
from triptych.scale import FILES, REHEARSAL, shipped
from triptych.studies import NAMES, foreseen
from triptych.style.report import labels as style

ROOT = Path(__file__).parents[2]
SOURCES = yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text(encoding="utf-8"))
EVERY = [claim for study in NAMES for claim in claims(study)]


def unlike(need: Need) -> object:
    """A fact with which a need isn't met."""
    if need.least is not None:
        return need.least - 1
    if need.most is not None:
        return need.most + 1
    return {"something else"} if need.among or need.every else False


def like(need: Need) -> object:
    """A fact with which a need is met."""
    if need.least is not None or need.most is not None:
        return need.least if need.least is not None else need.most
    names = need.every or need.among
    return set(names) if names is not None else True


def facts_of(claim: Claim) -> dict[str, object]:
    """Facts with which a claim can be tested."""
    facts: dict[str, object] = {}
    for need in claim.needs:  # of two needs of one fact, the stronger
        if need.fact not in facts or not need.met(facts[need.fact]):
            facts[need.fact] = like(need)
    return facts


@pytest.mark.parametrize("claim", EVERY, ids=lambda claim: claim.id)
def test_a_need_that_is_not_met_leaves_a_claim_open_or_seen_elsewhere(claim):
    facts = facts_of(claim)
    assert claim.lacking(facts) == Lacking()
    for need in claim.needs:
        lacking = claim.lacking({**facts, need.fact: unlike(need)})
        assert lacking.decided in ((ON_OTHER_DATA, NOT) if need.elsewhere else (NOT,))
        assert need.what in "; ".join((*lacking.needed, *lacking.elsewhere))
        assert need.what in claim.criterion
        rest = {name: fact for name, fact in facts.items() if name != need.fact}
        assert claim.lacking(rest, planned=True) == Lacking()  # nobody knows yet
        with pytest.raises(KeyError):
            claim.lacking(rest)


@pytest.mark.parametrize("study", NAMES)
def test_every_claim_of_a_paper_has_a_record_in_its_order(study):
    listed = pd.read_csv(ROOT / "resources" / "published" / f"{study}_claims.csv")
    assert [claim.id for claim in claims(study)] == list(listed["id"])


@pytest.mark.parametrize(
    ("lacking", "found", "word", "reason"),
    [
        (Lacking(), Finding("1", "[1, 2]"), REPRODUCED, "Every part"),
        (Lacking(), Finding("1", "[1, 2]", ["it is less"]), NOT_REPRODUCED, "It is less."),
        (Lacking(("needs a GPU",)), Finding("1", "[1, 2]", ["x"]), NOT_TESTABLE, "Needs a GPU."),
        (Lacking(), Finding("1", obstacles=["nothing was there"]), NOT_TESTABLE, "Nothing was"),
        (Lacking((), ("needs COCO",)), Finding("1", "[1, 2]"), SEEN, "As the paper says"),
        (Lacking((), ("needs COCO",)), Finding("1", "[1, 2]", ["x"]), SEEN, "Otherwise than"),
        (Lacking((), ("needs COCO",)), Finding("1"), NOT_TESTABLE, "Needs COCO."),
        (Lacking(), Finding("1", "[1, 2]", elsewhere=["one task"]), SEEN, "one task"),
    ],
)
def test_what_is_lacking_goes_before_what_was_found(lacking, found, word, reason):
    verdict = verdict_of(EVERY[0], lacking, found)
    assert (verdict.verdict, verdict.measured) == (word, "1")
    assert reason in verdict.reason


def test_a_fact_is_told_as_it_is():
    every = Need("kinds", "all kinds", every=("a", "b"))
    assert every.told({"a"}) == "needs all kinds (missing: b)"
    assert Need("n", "5 seeds", least=5).told(2) == "needs 5 seeds (2 here)"
    assert Need("p", "float32", among=("float32",)).told({"bf16"}) == "needs float32 (bf16 here)"
    assert Need("t", "a judge").told(False) == "needs a judge"
    assert Lacking(("a", "b"), ("c",)).text() == "a; b; and 1 more"


def test_no_label_of_a_plot_decides_a_verdict(monkeypatch):
    run = paper_run("style", "rl")
    tables = [
        (labels, name)
        for labels in (style, audio, rl)
        for name in vars(labels)
        if name.endswith("_LABELS")
    ]
    for labels, name in tables:
        table = getattr(labels, name)
        for key in table:
            monkeypatch.setitem(table, key, f"what a plot calls {key}")
    for study in ("style", "rl"):
        assert {each.verdict for each in run.verdicts(study).values()} == {REPRODUCED}


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Lacking]]:
    """By scale, what its config lets one foresee."""
    return {name: foreseen(shipped(name, ROOT), SOURCES) for name in FILES if name != REHEARSAL}


def test_a_larger_scale_decides_what_a_smaller_one_does_and_the_papers_nearly_all(found):
    open_ = {
        scale: {claim for claim, each in lacking.items() if each.decided == NOT}
        for scale, lacking in found.items()
    }
    assert open_["demo"] > open_["overnight"] > open_["evening"]
    assert open_["paper"] == {"audio-linear-projection"}


@pytest.mark.parametrize(
    ("path", "value", "claim", "reason"),
    [
        ("rl.sweeps.bcq.seeds", [0, 1, 2], "rl-bcq-95", "(3 here)"),
        ("rl.mask_statistics.widths", "half", "rl-memory-4x", "paper's widths"),
        ("rl.latency.repeats", 3, "rl-sparse-inference", "5 rounds"),
        ("style.optimize.evaluations", 499, "style-content-init", "499 here"),
        ("style.timing.notebook", 19, "style-speedup", "19 here"),
        ("style.network.width", 16, "style-4k", "16 here"),
        ("device", "cpu", "style-alexnet-faster", "a GPU"),
        ("audio.finetuning.seeds", [0, 1], "audio-gpt-helps", "3 runs"),
        ("audio.evaluated", "challenge", "audio-finetune-helps", "evaluation split"),
    ],
)
def test_a_value_that_a_claim_cannot_do_with_leaves_it_open(path, value, claim, reason):
    for key in reversed(path.split(".")):
        value = {key: value}
    config = merged(shipped("paper", ROOT), {"scale": "custom", **value})
    lacking = foreseen(config, SOURCES)[claim]
    assert lacking.decided == NOT
    assert reason in "; ".join(lacking.needed)


def test_claims_are_written_with_their_scale(tmp_path):
    verdict = Verdict("rl-bc-95", NOT_TESTABLE, "0.5", "[0.4, 0.6]", "Too few seeds.")
    write_claims([verdict], "demo", tmp_path / "claims.csv")
    frame = pd.read_csv(tmp_path / "claims.csv")
    assert list(frame.columns) == ["id", "verdict", "measured", "interval", "scale", "reason"]
    assert frame.loc[0, "scale"] == "demo"


def test_a_rehearsal_reproduces_nothing_and_fails_at_nothing(tmp_path):
    both = [Verdict("one", REPRODUCED, "4.1", "", ""), Verdict("two", NOT_REPRODUCED, "2", "", "")]
    frame = write_claims(both, "rehearsal", tmp_path / "claims.csv")
    assert set(frame["verdict"]) == {NOT_TESTABLE}
    assert frame["reason"].str.contains("made up").all()


def test_a_verdict_is_one_of_four_words():
    with pytest.raises(ValueError, match="rl-bc-95"):
        Verdict("rl-bc-95", "probably", "", "", "")
