"""Verdicts on the audio report's claims: runs made to satisfy, to break or not to test them."""

import pytest
import synthetic_audio as made
from paper_runs import below, paper_run, said, without

from triptych.audio.report import claims_facts
from triptych.audio.report.claims_scores import gain
from triptych.audio.report.rows import AudioStudy
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
MODELS = {f"{each} models" for each in ("ranked", "main", "best", "member")}


def without_weights(audio_model):
    def change(study):
        pairs = dict(study["pairs"])
        for name, pair in pairs.items():
            if name.startswith(f"{audio_model}-"):
                pairs[name] = {**pair, "weights": ["", pair["weights"][1]]}
        return {**study, "pairs": pairs}

    return change


def with_sources(source):
    return lambda study: {**study, "sources": dict.fromkeys(study["sources"], source)}


UNMET = [
    ("audio_queries", lambda f: f[f["clip"] < "clotho/evaluation/scene 0900"], {"unscored clips"}),
    ("audio_queries", without(audio_model="passt_s15"), {"pairs"}),
    ("audio_queries", without(seed=["1", "2"]), {"finetuned_gpt runs", "finetuned_human runs"}),
    ("audio_queries", without(**MAIN, **GPT), {"best runs"}),
    ("audio_history", below("epoch", 5), {"finetuned epochs", "pretrained epochs"}),
    ("audio_counts", without(split="FreeSound"), {"wavcaps recordings"}),
    ("audio_counts", said("leaked", 1), {"leaked"}),
    ("audio_manifest", lambda f: f[::2], {"clotho captions", "wavcaps captions", "new captions"}),
    ("audio_clips", lambda frame: frame[::2], {f"{name} listed" for name in made.WORDS}),
    ("audio_usage", lambda f: f.assign(backend="openai", model="llama"), {"writer"}),
    (
        "audio_ensembles",
        lambda f: f.groupby(["corpus", "name"]).head(5),
        {"member count", "members"},
    ),
    ("audio_subsets", lambda frame: frame[:0], {"smaller ensembles", "larger ensembles"}),
    ("audio.study", with_sources("none"), {f"{name} source" for name in made.WORDS}),
    ("audio.study", without_weights("passt_n"), MODELS | {"pairs"}),
    ("audio.trained", lambda trained: {**trained, "exclude": "another"}, {"policy"}),
]


@pytest.fixture(scope="module")
def run():
    """The run, whose ranks and half a million captions are read once for all tests that change
    none."""
    made = paper_run("audio")
    own = {name.removeprefix("audio_"): frame for name, frame in made.frames.items()}
    counted, read_data = claims_facts.counted, claims_facts.read_data
    names = ("clips", "captions", "asked", "unfiltered")
    lists, known = counted(*(own[name] for name in names)), {}
    evaluation_rows, measured = claims_facts.evaluation_rows, claims_facts.measured
    corpora = [AudioStudy.read(**made.settings["audio"]["study"]).evaluated, ""]
    ranked = evaluation_rows(own["queries"], corpora)
    scores = measured(ranked)

    def ranked_once(frame, of):
        same = frame is own["queries"] and of == corpora
        return ranked if same else evaluation_rows(frame, of)

    def counted_once(*frames):
        same = all(frame is own[name] for frame, name in zip(frames, names, strict=True))
        return lists if same else counted(*frames)

    def read_once(frames, study, trained):
        read = ("counts", "manifest", "captions", "variations", "usage")
        if any(frames[name] is not own[name] for name in read):
            return read_data(frames, study, trained)
        key = repr((study.sources, trained))
        if key not in known:
            known[key] = read_data(frames, study, trained)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims_facts, "evaluation_rows", ranked_once)
        patch.setattr(claims_facts, "measured", lambda q: scores if q is ranked else measured(q))
        patch.setattr(claims_facts, "counted", counted_once)
        patch.setattr(claims_facts, "read_data", read_once)
        yield made


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


@pytest.mark.parametrize(("name", "change", "facts"), UNMET)
def test_what_a_run_lacks_is_read_from_its_files(run, name, change, facts):
    assert facts <= run.changed(name, change).unmet("audio")


def test_on_other_recordings_something_is_seen_and_no_published_number_is_met(run):
    scenes = run.changed("audio.study", with_sources("synthesised"))
    verdicts = scenes.verdicts("audio")
    assert verdicts["audio-finetune-helps"].verdict == SEEN
    assert verdicts["audio-finetune-helps"].seen == "agrees, with other recordings"
    gains = verdicts["audio-baseline-gain"]
    assert gains.verdict == NOT_TESTABLE and "compared with nothing" in gains.measured


def test_a_difference_is_paired_by_query_and_its_interval_is_of_clips(run):
    scores, _ = run.read("audio")
    first = scores.runs("finetuned_gpt", ("passt_n", "roberta_large")).mean(axis=1)
    second = scores.single(("passt_n", "bert_base"))
    difference = gain(first, second)
    assert difference.estimate == pytest.approx((first - second.reindex(first.index)).mean())
    of_clips = (first - second).groupby(level="clip").mean()
    width = difference.high - difference.low
    assert width == pytest.approx(2 * 1.96 * of_clips.std() / 1045**0.5, rel=0.05)
