"""Crops written to shards and read back."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from triptych.core.errors import InputError
from triptych.style.data.shards import CROPS, Crop, Shards, Skipped, write_shards


def jpeg(shade: int, size: int = 16) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (size, size), (shade, 255 - shade, 7)).save(stream, "JPEG", quality=95)
    return stream.getvalue()


@pytest.fixture
def written(tmp_path):
    """Twelve crops of shades 0, 20, ..., 220, with two photographs left out among them."""
    results: list[Crop | Skipped] = [Crop(f"{i}.jpg", jpeg(20 * i)) for i in range(12)]
    results.insert(5, Skipped("bad, or not.jpg", "broken", 'it says "no"\nand no more'))
    results.insert(0, Skipped("small.jpg", "tiny", "3x4"))
    write_shards(iter(results), 14, tmp_path, 3, "twelve")
    return tmp_path


def test_crops_come_back_as_pillow_decodes_them(written):
    shards = Shards(written)
    assert (len(shards), shards.size) == (12, 16)
    batch = shards.batch([3, 0, 3, 11])
    assert batch.shape == (4, 3, 16, 16)
    assert batch.dtype == torch.uint8
    for image, number in zip(batch, (3, 0, 3, 11), strict=True):
        pillow = np.asarray(Image.open(io.BytesIO(jpeg(20 * number))))
        # Two JPEG decoders may round differently by one.
        assert np.abs(image.permute(1, 2, 0).numpy().astype(int) - pillow).max() <= 1


@pytest.mark.parametrize("validation", [2, 3, -1])
def test_some_crops_must_be_left_for_training(tmp_path, validation):
    crops = [Crop("a", jpeg(1)), Crop("b", jpeg(2))]
    with pytest.raises(InputError, match=f"are 2, of which {validation} shall be held out"):
        write_shards(iter(crops), 2, tmp_path, validation, "mine")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_crop_is_named(written):
    shards = Shards(written)
    start, end = shards._ends[4:6]
    data = bytearray((written / CROPS).read_bytes())
    data[start:end] = bytes(end - start)
    (written / CROPS).write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"crop 4 \(4\.jpg\) is damaged"):
        Shards(written).batch([4])
