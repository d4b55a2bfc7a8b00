"""Stylising images: sizes, memory, precision, colours."""

import re

import pytest
import torch
from random_networks import image, network
from skimage.color import rgb2ycbcr

from triptych.core import device, memory
from triptych.core.errors import InputError
from triptych.style.data.image_files import keep_colours, shape_along
from triptych.style.network import stylize
from triptych.style.network.fast import PreparedNetwork, Stage
from triptych.style.network.stylize import (
    checked_precision,
    images_at_once,
    pass_bytes,
    stylise,
)

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def plain():
    return network(palette=True)


@pytest.mark.parametrize("size", [(16, 16), (33, 50), (17, 90)])
def test_a_result_is_the_network_s_clamped(plain, size):
    picture = image(*size)
    expected = plain(picture[None])[0].clamp(0, 1)
    assert expected.min() == 0 and expected.max() == 1
    torch.testing.assert_close(stylise(plain, picture), expected, rtol=0, atol=1e-4)


def test_an_image_that_memory_does_not_hold_is_refused_with_a_size_that_fits(plain, monkeypatch):
    prepared = PreparedNetwork(plain)
    limit = pass_bytes(prepared, 150, 200)
    monkeypatch.setattr(stylize, "free_memory", lambda _: 1.25 * limit)
    assert images_at_once(prepared, 150, 200) == 1
    with pytest.raises(InputError, match=r"400x300 pixels .*--size \d+ fits") as refused:
        stylise(plain, image(300, 400))
    size = int(re.search(r"--size (\d+)", str(refused.value))[1])
    assert 100 < size <= 150 and pass_bytes(prepared, *shape_along(300, 400, size)) <= limit


def test_a_precision_that_errs_gives_way_to_float32_in_one_sentence(plain, monkeypatch, caplog):
    """A kernel that is wrong in bf16, as oneDNN's for AMX was: 13 to 16 dB from float32."""
    monkeypatch.setattr(device, "_best", lambda *_: ("bf16", "a processor in a test"))
    monkeypatch.setattr(device, "_chosen", [])
    picture = image(40, 48)
    assert checked_precision(plain, picture, "auto") == "bf16"
    convolve = Stage.convolve

    def wrong(stage, padded):
        result = convolve(stage, padded)
        garbled = stage.norm is None and padded.dtype == torch.bfloat16
        return result.flip(-1) if garbled else result

    monkeypatch.setattr(Stage, "convolve", wrong)
    with caplog.at_level("INFO"):
        assert checked_precision(plain, picture, "auto") == "float32"
        assert checked_precision(plain, picture, "auto") == "float32"
        assert checked_precision(plain, picture, "bf16") == "bf16"
    (said,) = (each for each in caplog.messages if "float32" in each)
    assert "bf16 gives way: on a part of the image" in said and "30 dB are expected" in said


def test_kept_colours_are_those_of_the_photograph():
    photograph, result = (0.4 + 0.2 * torch.rand(3, 9, 7) for _ in range(2))
    kept = keep_colours(photograph, result)
    theirs, ours = (
        torch.from_numpy(rgb2ycbcr(x.permute(1, 2, 0).double().numpy())) for x in (photograph, kept)
    )
    luma = torch.from_numpy(rgb2ycbcr(result.permute(1, 2, 0).double().numpy()))[..., 0]
    torch.testing.assert_close(ours[..., 0], luma, rtol=0, atol=0.05)
    torch.testing.assert_close(ours[..., 1:], theirs[..., 1:], rtol=0, atol=0.05)


def test_free_memory_is_the_smallest_of_the_kernel_s_and_the_groups(monkeypatch):
    files = {
        "/proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:  5000 kB",
        "/proc/self/cgroup": "0::/slice/unit",
        "/sys/fs/cgroup/slice/memory.max": "2000000",
        "/sys/fs/cgroup/slice/memory.current": "1500000",
        "/sys/fs/cgroup/slice/memory.stat": "active_file 100000\ninactive_file 200000\nanon 7",
        "/sys/fs/cgroup/slice/unit/memory.max": "max",
        "/sys/fs/cgroup/slice/unit/memory.current": "1",
    }
    monkeypatch.setattr(memory, "lines_of", lambda path: files.get(str(path), "").splitlines())
    assert memory.free_memory(CPU) == 800_000
    files.clear()
    assert memory.free_memory(CPU) == float("inf")
