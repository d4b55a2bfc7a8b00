"""Crops cut out of archives, folders and the bundled photographs."""

import csv
import io
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from triptych.style.data.crops import random_crops, shard_collection, shard_embedded
from triptych.style.data.shards import Shards

RANDOM = np.random.default_rng(0)


def photograph(width: int, height: int) -> Image.Image:
    """Smooth colours that differ from place to place."""
    small = RANDOM.integers(0, 256, (5, 6, 3), dtype=np.uint8)
    return Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, form: str = "JPEG", **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def column(path: Path, *names: str) -> list[tuple[str, ...]]:
    with path.open(newline="") as lines:
        return [tuple(row[name] for name in names) for row in csv.DictReader(lines)]


GOOD = {
    "train2017/000000000009.jpg": encoded(photograph(640, 480)),
    "train2017/000000000025.jpg": encoded(photograph(300, 900)),
    "train2017/000000000030.jpg": encoded(photograph(64, 70)),
    "train2017/000000000034.png": encoded(photograph(90, 80).convert("RGBA"), "PNG"),
    "train2017/000000000036.jpg": encoded(photograph(3000, 2000)),
}
WHOLE = encoded(photograph(200, 200))
BAD = {
    "train2017/000000000001.jpg": (b"<html>not found</html>", "broken"),
    "train2017/000000000002.jpg": (WHOLE[: len(WHOLE) // 3], "broken"),
    "train2017/000000000003.jpg": (b"", "broken"),
    "train2017/000000000010.jpg": (encoded(photograph(90, 90).convert("L")), "grey"),
    "train2017/000000000011.png": (
        encoded(photograph(90, 90).convert("L").convert("RGB"), "PNG"),
        "grey",
    ),
    "train2017/000000000012.jpg": (encoded(photograph(200, 31)), "tiny"),
    "train2017/000000000099.png": (encoded(Image.new("I;16", (90, 90), 900), "PNG"), "grey"),
}
OTHERS = {"train2017/": b"", "__MACOSX/a.jpg": WHOLE, "readme.txt": b"x", ".thumb/a.jpg": WHOLE}


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    """A zip as COCO's, in an order that isn't that of the names, with bad files among the good, and
    with an earlier file of the same name as the last."""
    path = tmp_path_factory.mktemp("coco") / "train2017.zip"
    members = {**GOOD, **{name: data for name, (data, _) in BAD.items()}, **OTHERS}
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(max(GOOD), WHOLE)
        for name in sorted(members, reverse=True):
            archive.writestr(name, members[name])
    return path


def test_an_archive_gives_a_crop_of_each_usable_image(coco, tmp_path):
    shard_collection(coco, tmp_path, size=64, validation=2)
    shards = Shards(tmp_path)
    assert shards.sources == sorted(GOOD)
    assert shards.validation == range(3, 5)
    batch = shards.batch(range(5))
    assert batch.shape == (5, 3, 64, 64)
    for crop, name in zip(batch, sorted(GOOD), strict=True):
        # The same by another way: the middle square averaged over areas by OpenCV.
        pixels = np.asarray(Image.open(io.BytesIO(GOOD[name])).convert("RGB"))
        side = min(pixels.shape[:2])
        top, left = ((length - side) // 2 for length in pixels.shape[:2])
        middle = np.ascontiguousarray(pixels[top : top + side, left : left + side])
        expected = cv2.resize(middle, (64, 64), interpolation=cv2.INTER_AREA).astype(int)
        assert np.abs(crop.permute(1, 2, 0).numpy() - expected).mean() < 2


def test_unusable_images_are_listed_and_not_fatal(coco, tmp_path, caplog):
    with caplog.at_level("INFO"):
        shard_collection(coco, tmp_path, size=64, validation=0)
    listed = column(tmp_path / "skipped.csv", "source", "reason")
    assert listed == [(name, reason) for name, (_, reason) in sorted(BAD.items())]
    assert "left out: 2, hidden" in caplog.text
    assert "5 crops for training, 0 held out; skipped: 3 broken, 3 grey, 1 tiny" in caplog.text


def test_a_folder_is_a_source_with_its_folders_below(tmp_path):
    for name in ("b.jpg", "sub/a.jpg"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(encoded(photograph(100, 80)))
    (tmp_path / "in" / "c.jpg").write_bytes(b"broken")
    (tmp_path / "in" / "gone.jpg").symlink_to("nowhere")
    (tmp_path / "in" / "notes.txt").write_text("")
    shard_collection(tmp_path / "in", tmp_path, size=64, validation=1)
    shards = Shards(tmp_path)
    assert shards.sources == ["b.jpg", "sub/a.jpg"]
    left_out = column(tmp_path / "skipped.csv", "source", "reason")
    assert left_out == [("c.jpg", "broken"), ("gone.jpg", "broken")]


def test_random_crops_are_parts_of_their_photographs_never_enlarged():
    """In an image that tells by its colours where a pixel was, every crop's scale can be read."""
    rows, columns = np.mgrid[0:200, 0:240].astype(np.uint8)
    image = Image.fromarray(np.dstack([rows, columns, np.full_like(rows, 90)]))
    sides, flips = [], []
    for crop in random_crops({"a": image}, 60, 32, 7):
        pixels = np.asarray(Image.open(io.BytesIO(crop.jpeg))).astype(float)
        down = pixels[-2, 4:-4, 0].mean() - pixels[1, 4:-4, 0].mean()
        across = pixels[4:-4, -2, 1].mean() - pixels[4:-4, 1, 1].mean()
        sides.append(down * 32 / 29)
        flips.append(across < 0)
        assert abs(abs(across) - down) < 4  # square
    assert 30 <= min(sides) < 45
    assert 150 < max(sides) <= 202
    assert 15 < sum(flips) < 45


def test_neither_threads_nor_repetition_change_a_byte(coco, tmp_path):
    for name, threads in (("a", 1), ("b", 3), ("c", 1)):
        shard_collection(coco, tmp_path / name, size=64, validation=1, threads=threads)
    for name in ("crops.bin", "index.csv", "skipped.csv"):
        first, *others = ((tmp_path / run / name).read_bytes() for run in "abc")
        assert others == [first, first]


def test_bundled_own_and_painted_pictures_give_crops_and_the_reserved_are_apart(tmp_path):
    def picture(size: int, *key: int) -> np.ndarray:
        return np.full((size, size, 3), 3 * key[1], np.uint8)

    own = tmp_path / "own"
    own.mkdir()
    Image.new("RGB", (1500, 1300), (255, 0, 0)).save(own / "red.png")
    Image.new("I;16", (200, 200), 65_535).save(own / "white.png")
    (own / "broken.png").write_bytes(b"broken")
    shard_embedded(
        tmp_path,
        48,
        validation=6,
        crops=86,
        seed=1,
        reserved=["coffee", "rocket"],
        generated=0.25,
        picture=picture,
        own=str(own),
    )
    shards = Shards(tmp_path)
    assert (len(shards), shards.size, len(shards.validation)) == (86, 48, 6)
    sources = np.array(shards.sources)
    assert set(sources[shards.validation]) <= {"coffee", "rocket"}
    assert not set(sources[shards.training]) & {"coffee", "rocket"}
    assert len(set(sources[shards.training])) > 24
    white = next(number for number in shards.training if sources[number] == "white")
    assert shards.batch([white]).numpy().max() > 128  # 16 bits count as they do elsewhere
    painted = [number for number in shards.training if sources[number].startswith("generated")]
    assert painted == list(range(3, 80, 4))
    assert int(shards.batch([7])[0, 0, 5, 5]) == pytest.approx(21, abs=2)
    crop = shards.batch([shards.sources.index("red")])[0]
    assert crop[0].float().mean() > 10 * crop[1:].float().mean()
    assert column(tmp_path / "skipped.csv", "source") == []
