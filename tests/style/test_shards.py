"""Crops written to shards and read back."""

import csv
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from triptych.core.errors import InputError
from triptych.style.inputs.shards import Crop, ShardFiles, Shards, Skipped, write_shards


def jpeg(shade: int, size: int = 16) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (size, size), (shade, 255 - shade, 7)).save(stream, "JPEG", quality=95)
    return stream.getvalue()


def files(folder: Path) -> ShardFiles:
    return ShardFiles(folder / "crops.bin", folder / "index.csv", folder / "skipped.csv")


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture
def written(tmp_path: Path) -> ShardFiles:
    """Twelve crops of shades 0, 20, ..., 220, with two photographs left out among them."""
    results: list[Crop | Skipped] = [Crop(f"{i}.jpg", jpeg(20 * i)) for i in range(12)]
    results.insert(5, Skipped("bad, or not.jpg", "broken", 'it says "no"\nand no more'))
    results.insert(0, Skipped("small.jpg", "tiny", "3x4"))
    write_shards(iter(results), 14, files(tmp_path), 3, "twelve")
    return files(tmp_path)


def test_crops_come_back_as_pillow_decodes_them(written: ShardFiles) -> None:
    shards = Shards(written.crops, written.index)
    assert (len(shards), shards.size) == (12, 16)
    batch = shards.batch([3, 0, 3, 11])
    assert batch.shape == (4, 3, 16, 16)
    assert batch.dtype == torch.uint8
    for image, number in zip(batch, (3, 0, 3, 11), strict=True):
        pillow = np.asarray(Image.open(io.BytesIO(jpeg(20 * number))))
        # Two JPEG decoders may round differently by one.
        assert np.abs(image.permute(1, 2, 0).numpy().astype(int) - pillow).max() <= 1


def test_the_last_crops_are_held_out(written: ShardFiles) -> None:
    shards = Shards(written.crops, written.index)
    assert shards.training == range(9)
    assert shards.held_out == range(9, 12)
    assert [row["split"] for row in table(Path(written.index))] == ["training"] * 9 + [
        "held_out"
    ] * 3


def test_the_index_finds_each_file_without_the_library(written: ShardFiles) -> None:
    data = Path(written.crops).read_bytes()
    for number, row in enumerate(table(Path(written.index))):
        start = int(row["offset"])
        assert row["crop"] == str(number)
        assert row["source"] == f"{number}.jpg"
        assert data[start : start + int(row["bytes"])] == jpeg(20 * number)


def test_what_was_left_out_is_listed_with_its_reason(written: ShardFiles) -> None:
    assert table(Path(written.skipped)) == [
        {"source": "small.jpg", "reason": "tiny", "detail": "3x4"},
        {"source": "bad, or not.jpg", "reason": "broken", "detail": 'it says "no"\nand no more'},
    ]


def test_indices_may_be_tensors_and_must_exist(written: ShardFiles) -> None:
    shards = Shards(written.crops, written.index)
    assert torch.equal(shards.batch(torch.tensor([1, 2])), shards.batch(range(1, 3)))
    for outside in (12, -1):
        with pytest.raises(IndexError, match=f"crop {outside} of 12"):
            shards.batch([outside])


def test_several_threads_may_read_at_once(written: ShardFiles) -> None:
    shards = Shards(written.crops, written.index)
    one_by_one = [shards.batch([i]) for i in range(12)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda i: shards.batch([i]), list(range(12)) * 20))
    assert all(torch.equal(image, one_by_one[i % 12]) for i, image in enumerate(together))


def test_nothing_usable_is_an_error_that_counts_the_reasons(tmp_path: Path) -> None:
    skipped = [
        Skipped("a", "grey", "mode L"),
        Skipped("b", "broken", "cut"),
        Skipped("c", "grey", ""),
    ]
    with pytest.raises(InputError, match=r"none of its 3 images.*1 broken, 2 grey.*first: a: grey"):
        write_shards(iter(skipped), 3, files(tmp_path), 0, "my folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("held_out", [2, 3, -1])
def test_some_crops_must_be_left_for_training(tmp_path: Path, held_out: int) -> None:
    crops = [Crop("a", jpeg(1)), Crop("b", jpeg(2))]
    with pytest.raises(InputError, match=f"are 2, of which {held_out} shall be held out"):
        write_shards(iter(crops), 2, files(tmp_path), held_out, "mine")
    assert list(tmp_path.iterdir()) == []


def test_a_break_in_the_middle_leaves_what_was_there(written: ShardFiles, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def breaking() -> Iterator[Crop]:
        yield Crop("a", jpeg(1))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shards(breaking(), 2, files(tmp_path), 0, "mine")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_files_that_do_not_belong_together_are_refused(written: ShardFiles, tmp_path: Path) -> None:
    data = Path(written.crops).read_bytes()
    Path(written.crops).write_bytes(data[:-1])
    with pytest.raises(InputError, match="don't belong together"):
        Shards(written.crops, written.index)


@pytest.mark.parametrize("kind", ["no index", "no crops", "another table", "empty"])
def test_absent_and_foreign_files_are_refused(written: ShardFiles, kind: str) -> None:
    if kind == "no index":
        Path(written.index).unlink()
    elif kind == "no crops":
        Path(written.crops).unlink()
    elif kind == "another table":
        Path(written.index).write_text("a,b\n1,2\n")
    else:
        Path(written.crops).write_bytes(b"")
    with pytest.raises(InputError, match="make both anew"):
        Shards(written.crops, written.index)


def test_a_damaged_crop_is_named(written: ShardFiles) -> None:
    shards = Shards(written.crops, written.index)
    start, end = shards._spans[4]
    data = bytearray(Path(written.crops).read_bytes())
    data[start:end] = bytes(end - start)
    Path(written.crops).write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"crop 4 \(4\.jpg\) is damaged"):
        Shards(written.crops, written.index).batch([4])


def test_a_crop_of_another_size_is_noticed(tmp_path: Path) -> None:
    write_shards(iter([Crop("a", jpeg(1)), Crop("b", jpeg(2, 8))]), 2, files(tmp_path), 0, "mine")
    with pytest.raises(InputError, match=r"crop 1 \(b\) is damaged"):
        Shards(tmp_path / "crops.bin", tmp_path / "index.csv").batch([0, 1])


def test_file_names_that_are_no_text_do_not_stop_the_writer(tmp_path: Path) -> None:
    name = b"caf\xe9.jpg".decode("utf-8", "surrogateescape")
    write_shards(iter([Crop(name, jpeg(1))]), 1, files(tmp_path), 0, "mine")
    assert table(tmp_path / "index.csv")[0]["source"] == "caf\\udce9.jpg"
