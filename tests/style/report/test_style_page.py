"""The style study's part of the page, and films on it."""

from pathlib import Path

import pandas as pd
from test_page import Elements, page
from triptych.style.report.page import page_video

from triptych.report.page import Section

PUBLISHED = Path(__file__).parents[3] / "resources" / "published"


def film(tmp_path, size) -> Path:
    path = tmp_path / "great_wave" / "plain" / "video.mp4"
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes(size))
    return path


def test_a_small_film_plays_in_the_page_without_any_request(tmp_path):
    video = page_video(film(tmp_path, 1000))
    elements = Elements(page(sections=[Section("v", "Video", "", videos=[video])]))
    tags = [attrs for tag, attrs in elements.seen if tag == "video"]
    assert len(tags) == 1 and "controls" in tags[0]
    assert tags[0]["src"].startswith("data:video/mp4;base64,")
    policy = next(attrs["content"] for tag, attrs in elements.seen if "http-equiv" in attrs)
    assert "media-src data:" in policy and "default-src 'none'" in policy
    assert "Great wave, trained in this run" in elements.text


def test_the_papers_seconds_and_claims_are_listed_once():
    seconds = pd.read_csv(PUBLISHED / "style_table1_seconds.csv")
    assert list(seconds["image_size"]) == [256, 512, 1024]
    # The printed speed-ups are quotients of the printed seconds, cut to whole numbers.
    low = (seconds["v1_alexnet_s"] / seconds["v2_s"]).astype(int)
    high = (seconds["v1_vgg_s"] / seconds["v2_s"]).round().astype(int)
    assert (low - seconds["speedup_low"]).abs().max() <= 1
    assert (high - seconds["speedup_high"]).abs().max() <= 1
    assert not pd.read_csv(PUBLISHED / "style_claims.csv")["id"].duplicated().any()
