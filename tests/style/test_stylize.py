"""Stylising images: sizes, memory, precision, colours."""

import mmap

import pytest
import torch
from random_networks import image, network
from skimage.color import rgb2ycbcr

from triptych.core import device
from triptych.core.errors import InputError
from triptych.style.feedforward import memory
from triptych.style.feedforward.fast import PreparedNetwork, Stage
from triptych.style.feedforward.memory import free_memory, parse_bytes, readable, resident_memory
from triptych.style.feedforward.stylize import (
    checked_precision,
    keep_colours,
    plan_for,
    precision_error,
    stylise,
)
from triptych.style.feedforward.tiling import tiled_bytes

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


@pytest.mark.parametrize("size", [(1, 1), (3, 40), (15, 2)])
def test_tiny_images_keep_their_size(plain, size):
    result = stylise(plain, torch.rand(2, 3, *size))
    assert result.shape == (2, 3, *size)
    assert result.min() >= 0 and result.max() <= 1


def test_images_of_a_batch_don_t_touch_each_other(plain):
    pictures = torch.stack([image(24, 30), torch.rand(3, 24, 30)])
    together = stylise(plain, pictures)
    for picture, result in zip(pictures, together, strict=True):
        assert torch.equal(stylise(plain, picture), result)


def test_little_memory_means_tiles_with_the_same_result(plain):
    picture = image(300, 400)
    prepared = PreparedNetwork(plain)
    limit = tiled_bytes(prepared, 300, 400, "same")
    whole, tiled = plan_for(prepared, 300, 400, 1e9), plan_for(prepared, 600, 800, limit * 2)
    assert not whole.tiled and tiled.tiled and tiled.bytes <= limit * 2
    assert stylise_planned_as_tiles(plain, picture)
    torch.testing.assert_close(
        stylise(plain, picture, memory_bytes=limit), stylise(plain, picture), rtol=0, atol=1e-4
    )


def stylise_planned_as_tiles(plain, picture) -> bool:
    prepared = PreparedNetwork(plain)
    limit = tiled_bytes(prepared, *picture.shape[1:], "same")
    return plan_for(prepared, *picture.shape[1:], limit).tiled


def test_a_large_image_goes_in_tiles_on_a_cpu_by_itself():
    wide = PreparedNetwork(network(width=32))
    assert not plan_for(wide, 512, 512).tiled
    assert plan_for(wide, 2480, 4032, 2e9).tiled
    assert plan_for(wide, 2480, 4032).tiled
    assert plan_for(wide, 2480, 4032, 8e9).tiled is False


def test_still_less_memory_means_half_storage_and_a_warning(caplog):
    wide = PreparedNetwork(network(width=32))
    plan = plan_for(wide, 8192, 8192, 4e9)
    assert plan.tiled and plan.storage == "bf16" and plan.bytes <= 4e9
    assert "kept in bf16" in caplog.text
    assert plan_for(wide, 8192, 8192, 8e9).storage == "same"


def test_no_memory_is_told_with_what_is_needed():
    with pytest.raises(InputError, match=r"8192x8192 pixels takes 3.3 GB in tiles, and 1.0 GB"):
        plan_for(PreparedNetwork(network(width=32)), 8192, 8192, 1e9)


def test_a_network_that_gives_nan_is_told(plain):
    broken = network()
    with torch.no_grad():
        broken.deconv3.conv2d.bias.fill_(float("nan"))
    with pytest.raises(InputError, match="NaN or infinity in float32"):
        stylise(broken, image(20, 20))


def test_other_shapes_are_refused(plain):
    with pytest.raises(InputError, match=r"\[1, 1, 20, 20\]"):
        stylise(plain, torch.rand(1, 1, 20, 20))


def test_the_stated_error_is_the_measured_one(plain):
    picture = image(40, 48)
    exact, half = (stylise(plain, picture, precision=p) * 255 for p in ("float32", "bf16"))
    error = precision_error(plain, picture, "bf16")
    assert error.largest == pytest.approx(float((half - exact).abs().max()), rel=1e-4)
    assert error.mean == pytest.approx(float((half - exact).abs().mean()), rel=1e-4)
    decibels = 20 * torch.log10(255 / (half - exact).square().mean().sqrt())
    assert error.psnr == pytest.approx(float(decibels), rel=1e-4)
    assert f"{error.largest:.1f}" in str(error) and "of 255 levels" in str(error)
    assert precision_error(plain, picture, "float32").psnr == float("inf")


def test_a_precision_that_errs_gives_way_to_float32_in_one_sentence(plain, monkeypatch, caplog):
    """A kernel that is wrong in bf16, as oneDNN's for AMX was: 13 to 16 dB from float32."""
    monkeypatch.setattr(device, "_best", lambda *_: ("bf16", "a processor in a test"))
    monkeypatch.setattr(device, "_chosen", {})
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


@pytest.mark.parametrize(
    ("text", "count"),
    [("2GB", 2e9), ("1500 mb", 1.5e9), ("2GiB", 2**31), ("1.5g", 1.5e9), ("4096", 4096)],
)
def test_amounts_of_memory_are_read_as_people_write_them(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "much", "-1GB", "2TBs"])
def test_what_is_no_amount_of_memory_is_told(text):
    with pytest.raises(InputError, match="expected one such as 2GB"):
        parse_bytes(text)


def test_amounts_are_written_in_fitting_units():
    assert [readable(n) for n in (3.3e9, 4.2e7, 12)] == ["3.3 GB", "42.0 MB", "12 bytes"]


def test_free_memory_is_the_smallest_of_the_kernel_s_and_the_groups(monkeypatch):
    files = {
        "/proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:  5000 kB",
        "/proc/self/cgroup": "5:cpu:/x\n4:memory:/job/step\n0::/slice/unit",
        "/sys/fs/cgroup/slice/memory.max": "2000000",
        "/sys/fs/cgroup/slice/memory.current": "1500000",
        "/sys/fs/cgroup/slice/memory.stat": "active_file 100000\ninactive_file 200000\nanon 7",
        "/sys/fs/cgroup/slice/unit/memory.max": "max",
        "/sys/fs/cgroup/slice/unit/memory.current": "1",
    }
    monkeypatch.setattr(memory, "lines_of", lambda path: files.get(str(path), "").splitlines())
    assert free_memory(CPU) == 800_000
    files["/sys/fs/cgroup/memory/job/memory.limit_in_bytes"] = "900000"
    files["/sys/fs/cgroup/memory/job/memory.usage_in_bytes"] = "400000"
    assert free_memory(CPU) == 500_000
    files.clear()
    assert free_memory(CPU) == float("inf")


@pytest.mark.skipif(not memory.lines_of(memory.Path("/proc/self/statm")), reason="no /proc")
def test_resident_memory_grows_with_what_is_held():
    before = resident_memory()
    held = mmap.mmap(-1, 160_000_000)  # new pages, whatever the process has freed before
    for page in range(0, len(held), mmap.PAGESIZE):
        held[page] = 1
    assert resident_memory() - before > 0.9 * len(held)
