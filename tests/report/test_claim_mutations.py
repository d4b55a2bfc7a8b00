"""What a verdict may depend on: each input is changed in turn, and the claims that rest on it."""

import re
from dataclasses import replace

import pytest
from claim_mutations import INPUTS, MUTATIONS, Mutation
from paper_runs import Run, contrary_run, paper_run, verdicts

from triptych.audio.report import labels as audio
from triptych.report.verdicts import NOT_REPRODUCED, REPRODUCED, SEEN
from triptych.rl.report import labels as rl
from triptych.style.report import labels as style

LABELS = [
    table
    for labels in (style, audio, rl)
    for name, table in vars(labels).items()
    if name.endswith("_LABELS")
]


@pytest.fixture(scope="module")
def paper() -> Run:
    return paper_run()


@pytest.fixture(scope="module")
def contrary() -> Run:
    return contrary_run()


@pytest.fixture(scope="module")
def found(paper):
    return verdicts(paper)


def test_the_papers_own_run_reproduces_every_claim(found):
    assert {name: each.verdict for name, each in found.items()} == dict.fromkeys(found, REPRODUCED)
    assert len(found) == 34


@pytest.fixture
def labels():
    """The plots' tables of labels, put back in their order (in which figures are drawn)."""
    before = [dict(each) for each in LABELS]
    yield LABELS
    for table, entries in zip(LABELS, before, strict=True):
        table.clear()
        table.update(entries)


@pytest.mark.parametrize("change", ["added", "renamed", "removed"])
def test_no_label_of_a_plot_decides_a_verdict(paper, found, labels, change):
    """An entry more, other words for all, none at all: the verdicts stay."""
    for table in labels:
        if change == "added":
            table["another"] = "Another"
        elif change == "renamed":
            table.update({key: f"what a plot calls {key}" for key in table})
        else:
            table.clear()
    assert {name: each.verdict for name, each in verdicts(paper).items()} == {
        name: each.verdict for name, each in found.items()
    }


def test_models_are_known_by_their_weights_and_not_by_what_a_config_calls_them(paper):
    renamed = {
        **paper.audio,
        **{
            kind: {name: {**each, "label": f"mine {name}"} for name, each in models.items()}
            for kind, models in paper.audio.items()
            if kind in ("audio_models", "text_models")
        },
    }
    run = replace(paper, audio=renamed)
    assert {each.verdict for each in verdicts(run, prefix="audio").values()} == {REPRODUCED}


def test_a_run_as_large_as_the_papers_can_contradict_every_claim(contrary, found):
    verdict = {name: each.verdict for name, each in verdicts(contrary).items()}
    assert verdict == dict.fromkeys(found, NOT_REPRODUCED)


def test_every_input_of_every_claim_is_changed_by_some_mutation(found):
    assert set(INPUTS) == set(found)
    tried = {(claim, each.input) for each in MUTATIONS for claim in each.claims}
    wanted = {(claim, name) for claim, names in INPUTS.items() for name in names}
    assert not wanted - tried


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: f"{each.input}: {each.name}")
def test_a_changed_input_leaves_no_claim_decided_and_says_why(
    paper: Run, contrary: Run, mutation: Mutation
) -> None:
    study = mutation.claims[0].split("-")[0]
    run = (paper, contrary)[MUTATIONS.index(mutation) % 2]  # by turns: a verdict takes a second
    decided = verdicts(mutation.of(run), prefix=study)
    for claim in mutation.claims:
        verdict = decided[claim]
        assert verdict.verdict == mutation.verdict, (claim, verdict.reason)
        assert re.search(mutation.reason, verdict.reason, re.IGNORECASE), verdict.reason


@pytest.mark.parametrize(
    "mutation", [each for each in MUTATIONS if each.verdict == SEEN], ids=lambda each: each.name
)
def test_what_is_seen_on_other_data_has_a_direction_and_an_interval(
    paper: Run, contrary: Run, mutation: Mutation
) -> None:
    study = mutation.claims[0].split("-")[0]
    for run, direction in ((paper, "As the paper says"), (contrary, "Otherwise than the paper")):
        decided = verdicts(mutation.of(run), prefix=study)
        for claim in mutation.claims:
            assert decided[claim].reason.startswith(direction)
            assert re.search(r"\[[-+0-9.]+, [-+0-9.]+\]", decided[claim].interval)
