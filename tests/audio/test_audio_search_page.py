"""The search page: its choice of queries, its pictures and sounds, and that it stands alone."""

import re

import numpy as np
import pandas as pd
import pytest

from triptych.audio.embedding_files import Split
from triptych.audio.scoring.metrics import columns_of, ranks, similarities
from triptych.audio.search.page import choose_queries, search_page
from triptych.audio.search.pictures import ROWS, spectrogram

CLIPS, CAPTIONS = 30, 5
RUN = {"audio_model": "a<i>", "text_model": "t", "stage": "finetuned", "captions": "gpt"}


def tone(hertz: float, seconds: float = 1.0) -> np.ndarray:
    time = np.arange(round(32000 * seconds)) / 32000
    return (0.5 * np.sin(2 * np.pi * hertz * time)).astype(np.float32)


def test_a_tone_is_a_line_at_its_height():
    for hertz in (300.0, 2000.0, 9000.0):
        power = spectrogram(tone(hertz)).mean(axis=1)
        mel = 1127 * np.log1p(hertz / 700)
        highest = 1127 * np.log1p(15000 / 700)
        expected = mel / highest * (ROWS + 1) - 1
        assert abs(power.argmax() - expected) <= 1


def test_queries_are_a_third_each_of_hits_near_misses_and_misses():
    of_ranks = np.array([1] * 40 + list(range(2, 11)) * 4 + list(range(11, 31)))
    clips = [f"clip{i}" for i in range(len(of_ranks))]
    chosen = of_ranks[choose_queries(of_ranks, clips, 12)]
    assert (chosen == 1).sum() == ((chosen > 1) & (chosen <= 10)).sum() == 4
    assert chosen.max() == 30 and chosen.tolist() == sorted(chosen)


class Sounds:
    """Every clip a tone."""

    def frames(self, clip: str) -> int:
        return 12 * 32000

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> np.ndarray:
        assert (start, frames) == (0, 10 * 32000)
        return tone(500.0, 10.0)


@pytest.fixture(scope="module")
def split() -> Split:
    random = np.random.default_rng(3)
    audio = random.standard_normal((CLIPS, 8))
    text = np.repeat(audio, CAPTIONS, axis=0)
    text = text + 1.5 * random.standard_normal(text.shape)
    clips = [f"clotho/evaluation/{i}.wav" for i in range(CLIPS)]
    return Split(
        clips=np.array(clips),
        audio=(audio / np.linalg.norm(audio, axis=1, keepdims=True)).astype(np.float32),
        captions=np.array([f"caption {q} <b>" for q in range(CLIPS * CAPTIONS)]),
        query_clips=np.repeat(clips, CAPTIONS),
        text=(text / np.linalg.norm(text, axis=1, keepdims=True)).astype(np.float32),
    )


@pytest.fixture(scope="module")
def page(split) -> str:
    clips = pd.DataFrame(
        {
            "clip": split.clips,
            "file_name": [f" rain & {i}.wav" for i in range(CLIPS)],
            "keywords": [f"rain;roof{i}" for i in range(CLIPS)],
        }
    )
    captions = pd.DataFrame({"clip": split.query_clips, "caption": split.captions})
    return search_page(
        split,
        clips,
        captions,
        Sounds(),
        queries=6,
        run=RUN,
        scale="made-up",
    )


CLIP = r'<li class="clip([^"]*)".*?class="rank"[^>]*>(\d+)<'
"""Classes of a clip, and its rank."""


def test_each_query_shows_its_ten_best_and_the_true_one_wherever_it_is(page, split):
    columns = columns_of(split.query_clips, split.clips)
    of_ranks = ranks(similarities(split.text, split.audio), columns)
    sections = page.split('<section class="query" id="q')[1:]
    assert len(sections) == 6
    lengths = []
    for section in sections:
        query = int(section.partition('"')[0])
        clips = re.findall(CLIP, section, re.DOTALL)
        assert [int(rank) for kinds, rank in clips if "true" in kinds] == [of_ranks[query]]
        expected = list(range(1, 11)) + ([of_ranks[query]] if of_ranks[query] > 10 else [])
        assert [int(rank) for _, rank in clips] == expected
        lengths.append(len(clips))
    assert 11 in lengths


def test_the_page_asks_for_nothing(page):
    assert "<script" not in page and "<link" not in page
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    outside = [address for address in addresses if not address.startswith(("data:", "#"))]
    assert outside == ["report.html"]
    assert not re.search(r"https?://|@import|url\(", page)


def test_text_is_escaped_and_everything_is_there(page):
    assert "caption 0 <b>" not in page and "<b>" not in page
    assert "<code>a&lt;i&gt;</code> with" in page and "rain &amp; " in page
    assert page.count("<audio controls") == page.count('alt="Spectrogram')
    assert 'preload="none"' in page
