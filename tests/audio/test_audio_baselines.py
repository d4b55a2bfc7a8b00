"""The search in keywords."""

import math

import numpy as np
import pytest

from triptych.audio.scoring.baselines import keyword_scores, words

KEYWORDS = ["dog;bark;field-recording", "rain;roof;field-recording", "dogs;rain;H4n"]


def test_words_lose_case_punctuation_and_their_commonest_endings():
    assert words("Dogs, barking!") == words("dog bark") == ["dog", "bark"]
    assert words("a bee;raining") == ["bee", "rain"]


def test_scores_are_cosines_of_weighted_counts_worked_out_by_hand():
    scores = keyword_scores(["A dog in the rain"], KEYWORDS)
    common = math.log(4 / 3) + 1  # smoothed inverse document frequency: in two of three clips
    rare = math.log(4 / 2) + 1
    # dog, bark, field, record; rain, roof, field, record; dog, rain, h4n
    lengths = [math.hypot(common, rare, common, common)] * 2 + [math.hypot(common, common, rare)]
    query = math.hypot(common, common)
    expected = [common**2, common**2, 2 * common**2] / (np.array(lengths) * query)
    assert scores[0] == pytest.approx(expected)


def test_a_word_that_stands_twice_counts_twice():
    scores = keyword_scores(["rain"], ["rain;rain;bird", "bird"])
    rain, bird = math.log(3 / 2) + 1, 1  # in one of two clips, in both
    assert scores == pytest.approx(np.array([[2 * rain / math.hypot(2 * rain, bird), 0]]))


def test_a_query_without_a_keyword_leaves_all_clips_equal():
    assert (keyword_scores(["a violin"], KEYWORDS) == 0).all()


def test_clips_without_any_keyword_cannot_be_searched():
    with pytest.raises(ValueError, match="no clip has a keyword"):
        keyword_scores(["rain"], ["", ""])
