"""One painting's network put to a list of photographs: the images, and a row about each."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import describe_device
from triptych.core.progress import Progress
from triptych.style.feedforward.fast import PreparedNetwork
from triptych.style.feedforward.network_files import load_network
from triptych.style.feedforward.stylize import (
    checked_precision,
    middle,
    plan_for,
    precision_error,
    stylise,
)
from triptych.style.images import read_image, write_image

logger = logging.getLogger(__name__)

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
    "tiled",
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
    memory_bytes: float | None = None,
) -> pd.DataFrame:
    """Write `folder`/{content}.png for every photograph; rows of COLUMNS, in their order.

    A content's name is its file's; `seconds` are the network's alone, the image being on its
    device; `origin` is "shipped" for the variant of that name and else "trained". precision: a
    name, or "auto", which is checked on the first photograph; the column has what it stood for.
    `psnr_to_float32` (decibels, in a part of at most 512 pixels a side) says what that costs,
    infinite for nothing.
    """
    network, record = load_network(network_path)
    network = network.to(device)
    chosen = checked_precision(network, read_image(contents[0]).to(device), precision)
    prepared = PreparedNetwork(network, chosen)
    prepared(torch.zeros(1, 3, 64, 64, device=device))  # the first call of all is slow
    rows = []
    with Progress(f"stylised: {painting}", len(contents), "images") as progress:
        for path in contents:
            name = Path(path).stem
            image = read_image(path).to(device)
            result, seconds = _timed(prepared, image, memory_bytes)
            write_image(Path(folder) / f"{name}.png", result)
            height, width = image.shape[1:]
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
                    "precision": chosen,
                    "tiled": plan_for(prepared, height, width, memory_bytes).tiled,
                    "device": describe_device(device),
                    "variant": variant,
                    "psnr_to_float32": precision_error(network, middle(image, 512), chosen).psnr,
                }
            )
            progress.advance()
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _timed(
    network: PreparedNetwork, image: Tensor, memory_bytes: float | None
) -> tuple[Tensor, float]:
    began = time.perf_counter()
    result = stylise(network, image, memory_bytes=memory_bytes)
    if result.is_cuda:
        torch.cuda.synchronize(result.device)
    return result, time.perf_counter() - began
