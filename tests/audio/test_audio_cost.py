"""What the audio study costs, against closed forms, published sizes and published hours."""

from pathlib import Path

import pytest
import yaml
from audio_counts import audio_counted, encoder, front_end_counted, text_counted
from close_forms import assert_near
from counting import shaped, shapes_only

from triptych.audio.cost import heard_work, job_cost, rows
from triptych.audio.data_sizes import WAVCAPS, clips_of, rephrased
from triptych.audio.models.sentence_encoders import (
    PUBLISHED_TEXT,
    BertSettings,
    RobertaSettings,
)
from triptych.audio.models.settings import ModelSettings
from triptych.core.config import merged
from triptych.core.cost import GPUS

ROOT = Path(__file__).parents[2]
MAIN = {"pair": "passt_n-roberta_large", "corpus": "leak_free"}


@pytest.fixture(scope="module")
def paper(paper_config):
    return paper_config["audio"]


def transformer(tokens, dim, layers):
    """Operations of so many blocks: four products of dim x dim, two of dim x 4 dim, attention."""
    return layers * (2 * tokens * 12 * dim**2 + 4 * tokens**2 * dim)


def settings(paper, name):
    """Of a model of the demo's or of the paper's."""
    return ModelSettings.from_config(paper["audio_models"][name], paper["model"], 0.2)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(("name", "segments"), [("mini_n", 64), ("mini_s", 1), ("passt_n", 3)])
def test_passt_is_as_counted(paper, name, segments, training, precision):
    sizes = settings(paper, name)
    counted = audio_counted(sizes, segments, training, precision)
    counted += front_end_counted(sizes.segment_samples).together(segments)
    assert_near(heard_work(sizes, segments, training, precision == "bf16"), counted)
    with shapes_only():
        numbers = sum(each.numel() for each in shaped(sizes.audio.network).parameters())
    assert sizes.audio.parameters == numbers


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("size", "captions", "tokens"),
    [
        (BertSettings(128, 1000, 1, 4), 64, 14),
        (RobertaSettings(256, 5000, 3, 8), 5, 32),
        (PUBLISHED_TEXT["bert_base"], 32, 32),
    ],
)
def test_sentence_encoders_are_as_counted(size, captions, tokens, training, precision):
    assert_near(
        size.work(tokens, captions, training, precision == "bf16"),
        text_counted(size, captions, tokens, training, precision),
    )
    with shapes_only():
        numbers = sum(each.numel() for each in encoder(size).parameters())
    assert size.parameters == numbers


def test_a_segment_counts_as_a_transformer_of_its_tokens(paper):
    tokens = 8 * 62 + 2
    # Of the last block, only two tokens leave; the front end is small beside all that.
    last = 2 * (2 * tokens * 768**2 + 2 * 10 * 768**2) + 4 * 2 * tokens * 768
    patches = 2 * 8 * 62 * 256 * 768
    expected = transformer(tokens, 768, 11) + last + patches
    work = heard_work(settings(paper, "passt_n"), 1, False, False)
    assert work.operations == pytest.approx(expected, rel=0.01)


def test_patchout_makes_a_training_step_cheaper_than_three_whole_passes(paper):
    model = settings(paper, "passt_s15")
    tokens = 8 * 69 + 2  # of 12 x 149
    work = heard_work(model, 1, True, False)
    assert work.operations == pytest.approx(3 * transformer(tokens, 768, 11.3), rel=0.03)


def test_half_precision_moves_fewer_bytes_for_as_many_operations(paper):
    model = settings(paper, "passt_n")
    half, whole = (heard_work(model, 100, True, kind) for kind in (True, False))
    assert half.operations == whole.operations
    assert half.traffic < whole.traffic


def test_weights_are_read_once_a_batch_and_activations_once_a_segment(paper):
    model = settings(paper, "passt_n")
    one, two, three = (heard_work(model, segments, True, True) for segments in (1, 2, 3))
    assert two.operations == 2 * one.operations
    assert three.traffic - two.traffic == pytest.approx(two.traffic - one.traffic, rel=1e-3)
    weights = 2 * one.traffic - two.traffic  # what a batch of none would take
    assert weights > 85e6 * (4 + 2)  # read in float32, written in bf16


@pytest.mark.parametrize(
    ("name", "dim", "layers"), [("bert_base", 768, 12), ("roberta_large", 1024, 24)]
)
def test_a_caption_counts_as_a_transformer_of_which_the_last_layer_makes_one_token(
    name, dim, layers
):
    # Of the last layer: keys and values of all 32 tokens; the rest, attention too, of the first.
    last = 2 * (32 * 2 + 2 + 8) * dim**2 + 4 * 32 * dim
    forward = transformer(32, dim, layers - 1) + last
    assert PUBLISHED_TEXT[name].work(32, 1, False, False).operations == pytest.approx(
        forward, rel=0.01
    )
    assert PUBLISHED_TEXT[name].work(32, 1, True, False).operations == pytest.approx(
        3 * forward, rel=0.01
    )


def test_models_are_as_large_as_the_files_on_the_hub(paper, sources):
    files = sources["audio"]["text_models"]["files"]
    assert settings(paper, "passt_n").audio.parameters == 86_122_270
    for name in ("bert_base", "roberta_base"):
        own = PUBLISHED_TEXT[name].parameters
        # The files hold the pooler or the head as well.
        assert 0.97 < 4 * own / files[name]["size"] <= 1


def test_one_pretraining_takes_half_the_hours_that_its_authors_publish_or_more(paper, sources):
    # Their baseline of 2025 with PaSST-N and RoBERTa on all three data sets: 34 h 44 on one A40,
    # which computes padding, and embeds each clip once for each of its captions.
    cost = job_cost(paper, sources, "audio_pretrain", MAIN)
    hours = cost.seconds(GPUS["a40"], 1.0) / 3600
    assert 0.45 < hours / 34.73 < 1


def test_every_run_of_a_pair_is_fine_tuned_in_its_job(paper, sources):
    main = job_cost(paper, sources, "audio_finetune", MAIN)
    other = job_cost(paper, sources, "audio_finetune", {**MAIN, "pair": "passt_n-roberta_base"})
    assert main.disk == pytest.approx(
        6 * 4 * (86_122_270 + PUBLISHED_TEXT["roberta_large"].parameters)
    )
    assert main.operations > 6 * other.operations
    assert len(rows(paper)) == 64


def test_wavcaps_has_the_clips_and_hours_that_it_is_published_with(paper):
    assert sum(part.count for part in WAVCAPS.values()) == 403_050
    assert sum(part.total_seconds for part in WAVCAPS.values()) / 3600 == pytest.approx(
        7_568, rel=0.002
    )
    fewer = merged(paper, {"sources": {"wavcaps": {"parts": ["SoundBible"]}}})
    assert list(clips_of(fewer, "wavcaps")) == ["SoundBible"]
    assert clips_of(merged(paper, {"sources": {"wavcaps": {"source": "none"}}}), "wavcaps") == {}


def test_captions_of_the_authors_are_free_and_new_ones_are_not(paper, sources):
    assert rephrased(paper) == 19_195 + 2 * 5_225  # the submitted models train on all splits
    assert job_cost(paper, sources, "audio_caption", {}).money == 0
    asked = merged(paper, {"captions": {"backend": "openai"}})
    # About 170 tokens in and 95 out for each.
    expected = 29_645 * (170 * 0.5 + 95 * 1.5) / 1e6
    assert job_cost(asked, sources, "audio_caption", {}).money == pytest.approx(expected, rel=0.1)


def test_downloads_of_wavcaps_are_about_as_large_as_the_hub_says(paper, sources):
    parts = [job_cost(paper, sources, "audio_download_wavcaps", {"part": part}) for part in WAVCAPS]
    assert sum(cost.download for cost in parts) == pytest.approx(941e9, rel=0.01)
    assert all(cost.about for cost in parts)


def test_the_demos_jobs_can_be_costed_too(sources):
    demo = yaml.safe_load((ROOT / "config.yaml").read_text())["audio"]
    pair = {"pair": "mini_n-mini_roberta", "corpus": "leak_free"}
    costs = [job_cost(demo, sources, rule, pair) for rule in ("audio_pretrain", "audio_finetune")]
    assert all(cost.operations > 0 and not cost.ahead for cost in costs)
