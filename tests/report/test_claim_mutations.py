"""What a verdict may depend on: each input is changed in turn, and the claims that rest on it."""

import pytest
from paper_runs import Run, paper_run, verdicts

from triptych.report import style
from triptych.report.claims import REPRODUCED

LABELS = sorted(name for name in vars(style) if name.endswith("_LABELS"))


@pytest.fixture(scope="module")
def paper() -> Run:
    return paper_run()


@pytest.fixture(scope="module")
def found(paper):
    return verdicts(paper)


def test_the_papers_own_run_reproduces_every_claim(found):
    assert {name: each.verdict for name, each in found.items()} == dict.fromkeys(found, REPRODUCED)
    assert len(found) == 20


@pytest.mark.parametrize("change", ["added", "renamed", "removed"])
def test_no_label_of_a_plot_decides_a_verdict(paper, found, monkeypatch, change):
    """An entry more, other words for all, none at all: the verdicts stay."""
    for name in LABELS:
        labels = getattr(style, name)
        if change == "added":
            monkeypatch.setitem(labels, "another", "Another")
            continue
        for key in list(labels):
            if change == "renamed":
                monkeypatch.setitem(labels, key, f"what a plot calls {key}")
            else:
                monkeypatch.delitem(labels, key)
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
    run = Run(paper.frames, audio=renamed)
    assert {each.verdict for each in verdicts(run, prefix="audio").values()} == {REPRODUCED}
