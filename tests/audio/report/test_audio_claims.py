"""Verdicts on the audio report's claims: runs made to satisfy, to break or not to test them."""

import pytest
import synthetic_audio as made
from paper_runs import paper_run, reading_once, said, without

from triptych.audio.report.claims import gain
from triptych.report.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, SEEN, UNDECIDED

MAIN = {"audio_model": "passt_n", "text_model": "roberta_large", "corpus": "clean"}
GPT = {"stage": "finetuned", "captions": "gpt", "seed": "0"}


def rows(frame, keys):
    return frame[list(keys)].isin({key: [value] for key, value in keys.items()}).all(axis=1)


def as_good_as(source, **keys):
    """The rows of `keys` with the ranks of the rows of `source`."""

    def change(ranks):
        ranks.loc[rows(ranks, keys), "rank"] = ranks.loc[rows(ranks, source), "rank"].to_numpy()
        return ranks

    return change


def human_as_before(ranks):
    for seed in ("0", "1", "2"):
        tuned = {**MAIN, "stage": "finetuned", "captions": "human", "seed": seed}
        ranks = as_good_as({**MAIN, "stage": "pretrained"}, **tuned)(ranks)
    return ranks


def overlap_as_good(ranks):
    for text in ("bert_base", "bert_large", "roberta_base", "roberta_large"):
        keys = {"text_model": text, "corpus": "clean", **GPT}
        ranks = as_good_as({"audio_model": "passt_s", **keys}, audio_model="passt_n", **keys)(ranks)
    return ranks


def one_better(*columns):
    def change(subsets):
        subsets.loc[subsets.index[subsets["removed"] == 1][0], list(columns)] = 0.01
        return subsets

    return change


ENSEMBLE = {"system": "ensemble", "audio_model": "published"}
SMALL_BERT = {**MAIN, **GPT, "text_model": "bert_base"}
TWIN = {**MAIN, **GPT, "audio_model": "passt_n_mlp"}
LAST = {"epoch": 5, "captions": "gpt", "seed": "1"}
BROKEN = [
    (
        *("audio-best-single", "audio_queries", said("rank", 1, **SMALL_BERT)),
        "PaSST-N + bert-base is best.",
    ),
    (
        *("audio-gpt-helps", "audio_history", said("validation_loss", 9.0, **LAST)),
        "not lower in 1 of 3 runs",
    ),
    (
        *("audio-larger-text", "audio_queries"),
        said("rank", 90, audio_model="passt_s", text_model="bert_large", corpus="clean", **GPT),
        "PaSST-S + bert-large minus PaSST-S + bert-base lies below 0",
    ),
    ("audio-ensemble", "audio_queries", said("rank", 90, **ENSEMBLE), "lies below 0"),
    (
        *("audio-ensemble-members", "audio_subsets", one_better("difference", "difference_low")),
        "1 of 257 other ensembles",
    ),
    ("audio-recall-gain", "audio_queries", said("rank", 90, **MAIN, **GPT), "lies below 0"),
    ("audio-baseline-gain", "audio_queries", said("rank", 9, **ENSEMBLE), "lies below 0"),
    ("audio-2022-gain", "audio_queries", said("rank", 3, **ENSEMBLE), "below the stated +11.5"),
    ("audio-linear-projection", "audio_queries", said("rank", 1, **TWIN), "lies above 0"),
    (
        *("audio-data-clotho", "audio_asked", lambda frame: frame[::2]),
        "captions of the leaderboard split 500, stated 1,000",
    ),
    *(
        (f"audio-data-{name}", "audio_captions", said("caption", "a dog barks at two"), "words")
        for name in ("audiocaps", "wavcaps")
    ),
]
UNCLEAR = [
    ("audio-finetune-helps", "audio_queries", human_as_before, "holds 0"),
    ("audio-no-overlap", "audio_queries", overlap_as_good, "holds 0"),
    ("audio-ensemble", "audio_queries", as_good_as({**MAIN, **GPT}, **ENSEMBLE), "best single"),
    ("audio-ensemble-members", "audio_subsets", one_better("difference"), "1 of 257 other"),
]
FOUND = [
    (
        *("audio-ensemble", "audio_queries", lambda f: f[f["clip"] < "clotho/evaluation/scene 09"]),
        "on the whole evaluation split (145 here)",
    ),
    ("audio-best-single", "audio_counts", without(split="FreeSound"), "WavCaps (0 here)"),
    ("audio-best-single", "audio_counts", said("leaked", 1), "are kept out (9 here)"),
    ("audio-best-single", "audio_manifest", lambda f: f[::2], "Clotho's captions (0.50 here)"),
    ("audio-best-single", "audio_manifest", lambda f: f[::2], "new captions (48,000 here)"),
    (
        *("audio-gpt-helps", "audio_usage", lambda f: f.assign(backend="openai", model="llama")),
        "by gpt-3.5-turbo (llama here)",
    ),
    ("audio-gpt-helps", "audio_usage", said("backend", "template"), "not by a template"),
    ("audio-ensemble", "audio_queries", without(audio_model="published"), "query by query"),
    (
        "audio-2022-gain",
        "audio_published",
        without(source="Xu et al. 2022 [3]"),
        "number of others",
    ),
    *(
        (f"audio-data-{name}", "audio_clips", lambda f: f[::2], "nine tenths of")
        for name in made.WORDS
    ),
    ("audio-data-clotho", "audio_clips", without(split="challenge"), "number (missing: challenge)"),
]
"""What only a run can know."""


@pytest.fixture(scope="module")
def run():
    """The run, whose ranks and half a million captions are read once for all tests that change
    none."""
    with reading_once():
        yield paper_run("audio")


def test_the_papers_own_run_reproduces_every_claim(run):
    verdicts = run.verdicts("audio")
    assert {each.verdict for each in verdicts.values()} == {REPRODUCED}
    assert "members by validation" in verdicts["audio-ensemble"].measured  # decides nothing
    assert verdicts["audio-larger-text"].measured.count("minus") == 4
    assert "PaSST-S15" not in verdicts["audio-no-overlap"].measured  # of another segment length


@pytest.mark.parametrize(
    ("word", "claim", "name", "change", "reason"),
    [*((NOT_REPRODUCED, *each) for each in BROKEN), *((UNDECIDED, *each) for each in UNCLEAR)],
)
def test_what_contradicts_a_claim_refutes_it_and_what_holds_0_decides_nothing(
    run, word, claim, name, change, reason
):
    verdict = run.changed(name, change).verdicts("audio", claim)[claim]
    assert verdict.verdict == word
    assert reason.lower() in verdict.reason.lower()


@pytest.mark.parametrize(("claim", "name", "change", "reason"), FOUND)
def test_what_a_run_lacks_in_spite_of_its_config_is_found(run, claim, name, change, reason):
    verdict = run.changed(name, change).verdicts("audio", claim)[claim]
    assert verdict.verdict in (NOT_TESTABLE, SEEN)
    assert reason in verdict.reason


def test_on_other_recordings_something_is_seen_and_no_published_number_is_met(run):
    scenes = run
    for name in made.WORDS:
        scenes = scenes.configured(f"audio.sources.{name}.source", "synthesised")
    verdicts = scenes.verdicts("audio")
    assert verdicts["audio-finetune-helps"].verdict == SEEN
    assert verdicts["audio-finetune-helps"].seen == "agrees, with other recordings"
    gains = verdicts["audio-baseline-gain"]
    assert gains.verdict == NOT_TESTABLE and "compared with nothing" in gains.measured


def test_a_difference_is_paired_by_query_and_its_interval_is_of_clips(run):
    scores = run.tables("audio")
    first = scores.runs("finetuned_gpt", ("passt_n", "roberta_large")).mean(axis=1)
    second = scores.single(("passt_n", "bert_base"))
    difference = gain(first, second)
    assert difference.estimate == pytest.approx((first - second.reindex(first.index)).mean())
    of_clips = (first - second).groupby(level="clip").mean()
    width = difference.high - difference.low
    assert width == pytest.approx(2 * 1.96 * of_clips.std() / 1045**0.5, rel=0.05)
