"""Photographs through a trained network: any size, any number, within free memory."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from triptych.core.device import choose_precision, describe_device
from triptych.core.errors import InputError
from triptych.core.memory import OomRetry, free_memory, readable
from triptych.core.progress import Progress
from triptych.style.data.images import read_image, write_image
from triptych.style.data.missing import missing_reason, write_missing
from triptych.style.network.fast import Precision, PreparedNetwork
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import load_network

T = TypeVar("T")

PASS_COPIES = 5
"""Full-resolution copies of the first layer's size that a pass holds at its peak (measured)."""

ADVICE = "Make them smaller (--size), or use --device cpu."

LEAST_DECIBELS = 30.0
"""How near to float32's an image must be: rounding in bf16 leaves 32 and more."""

CHECKED = 256
"""Pixels a side, at most, of what a precision is tried on."""


def stylise(
    network: TransformationNetwork | PreparedNetwork,
    images: Tensor,
    *,
    precision: Precision = "float32",
) -> Tensor:
    """Stylised images in [0, 1] of the shape of `images`, [N, 3, H, W] or [3, H, W] in [0, 1].

    As many at once as the memory at hand allows. A prepared network keeps its own precision. Raises
    InputError for an image that doesn't fit, and when half precision overflows.
    """
    if images.dim() == 3:
        return stylise(network, images[None], precision=precision)[0]
    prepared = network
    if isinstance(prepared, TransformationNetwork):
        prepared = PreparedNetwork(prepared, precision)
    height, width = images.shape[-2:]
    smallest = prepared.architecture.smallest
    down, right = max(0, smallest - height), max(0, smallest - width)
    if down or right:
        images = functional.pad(images, (0, right, 0, down), mode="replicate")
    at_once = images_at_once(prepared, images.shape[-2], images.shape[-1])
    portion = OomRetry(min(at_once, len(images)), "images", ADVICE)
    parts = portion.run(lambda size: [prepared(part) for part in images.split(size)])
    stylised = parts[0] if len(parts) == 1 else torch.cat(parts)
    if not bool(torch.isfinite(stylised.sum())):  # without a copy of a large image
        raise InputError(f"the network gave NaN or infinity in {prepared.precision}; try float32")
    return stylised[..., :height, :width].clamp_(0, 1).to(images)


def pass_bytes(network: PreparedNetwork, height: int, width: int) -> int:
    """Memory of a pass for an image of height x width, beside the image itself."""
    # The image itself in planes, scaled and padded, and the result.
    each = PASS_COPIES * network.architecture.width * network.dtype.itemsize + 36
    return height * width * each


def images_at_once(network: PreparedNetwork, height: int, width: int) -> int:
    """Number of images of height x width in a pass, within most of what is free on the network's
    device. Raises InputError where not one fits."""
    at_hand = 0.8 * free_memory(network.device)
    needed = pass_bytes(network, height, width)
    if needed > at_hand:
        shorter = int(min(height, width) * math.sqrt(max(at_hand, 0) / needed))
        raise InputError(
            f"an image of {width}x{height} pixels takes {readable(needed)} to paint, and "
            f"{readable(at_hand)} may be used: --size {max(1, shorter)} fits, or leave "
            "--style-scale out, which paints it smaller"
        )
    # A CPU has nothing to gain from images side by side, but caches to lose.
    return 1 if network.device.type == "cpu" else int(at_hand // needed)


def decibels_to_float32(
    network: TransformationNetwork, image: Tensor, precision: Precision
) -> float:
    """Peak signal-to-noise ratio, in decibels, of a precision's clamped result on `image` [3, H, W]
    against float32's; infinite for no difference."""
    if precision == "float32":
        return math.inf
    exact = stylise(network, image)
    difference = (stylise(network, image, precision=precision) - exact).double().abs() * 255
    return float(-10 * torch.log10((difference.square().mean() / 255**2).float()))


def checked_precision(network: TransformationNetwork, image: Tensor, asked_for: str) -> Precision:
    """The precision for images like `image` [3, H, W]; "auto" gives way to float32 where, on the
    middle of the image, its result is under `LEAST_DECIBELS` from float32's."""

    def wrong(precision: str) -> str | None:
        part = middle(image, CHECKED)
        decibels = decibels_to_float32(network, part, precision)  # type: ignore[arg-type]
        if decibels >= LEAST_DECIBELS:
            return None
        return (
            f"on a part of the image it is {decibels:.0f} dB from float32, and "
            f"{LEAST_DECIBELS:.0f} dB are expected"
        )

    device = next(network.parameters()).device
    return choose_precision(asked_for, device, "inference", wrong)  # type: ignore[return-value]


def middle(image: Tensor, side: int) -> Tensor:
    """The middle of [..., H, W], at most `side` pixels each way."""
    height, width = image.shape[-2:]
    top, left = max(0, height - side) // 2, max(0, width - side) // 2
    return image[..., top : top + side, left : left + side]


COLUMNS = (
    "painting",
    "content",
    "origin",
    "width",
    "batches",
    "height",
    "width_px",
    "seconds",
    "precision",
    "device",
    "variant",
    "psnr_to_float32",
)


def stylise_files(
    network_path: str | Path,
    contents: Sequence[str | Path],
    folder: str | Path,
    *,
    painting: str,
    variant: str,
    precision: str,
    device: torch.device,
) -> pd.DataFrame:
    """Write `folder`/{content}.png for every photograph; rows of COLUMNS, in their order.

    `seconds` are the network's alone. precision: a name, or "auto", checked on the first photograph
    (`checked_precision`). `psnr_to_float32` (decibels, in a part of at most 512 pixels a side) is
    infinite where nothing is lost. A missing photograph's result is missing, too, and has no row.
    """
    network, record = load_network(network_path, painting)
    network = network.to(device)
    prepared: PreparedNetwork | None = None
    rows = []
    with Progress(f"stylised: {painting}", len(contents), "images") as progress:
        for path in contents:
            name = Path(path).stem
            if reason := missing_reason(path):
                write_missing(Path(folder) / f"{name}.png", name, reason)
                continue
            image = read_image(path).to(device)
            if prepared is None:
                prepared = PreparedNetwork(network, checked_precision(network, image, precision))
                prepared(torch.zeros(1, 3, 64, 64, device=device))  # the first call of all is slow
            result, seconds = timed(partial(stylise, prepared, image), device)
            write_image(Path(folder) / f"{name}.png", result)
            height, width = image.shape[1:]
            part = middle(image, 512)
            rows.append(
                {
                    "painting": painting,
                    "content": name,
                    "origin": "shipped" if variant == "shipped" else "trained",
                    "width": network.architecture.width,
                    "batches": record.get("batches"),
                    "height": height,
                    "width_px": width,
                    "seconds": seconds,
                    "precision": prepared.precision,
                    "device": describe_device(device),
                    "variant": variant,
                    "psnr_to_float32": decibels_to_float32(network, part, prepared.precision),
                }
            )
            progress.advance()
    return pd.DataFrame(rows, columns=list(COLUMNS))


def timed(call: Callable[[], T], device: torch.device) -> tuple[T, float]:
    """Result and seconds of a call, with a GPU's queue emptied before and after."""
    waited = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    waited()
    began = time.perf_counter()
    result = call()
    waited()
    return result, time.perf_counter() - began
