"""One painting's network put to a list of photographs: the images, and a row about each."""

import logging
import math
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import choose_precision, describe_device, gives_way
from triptych.core.progress import Progress
from triptych.style.feedforward.fast import PreparedNetwork
from triptych.style.feedforward.network_files import load_network
from triptych.style.feedforward.stylize import (
    LEAST_DECIBELS,
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
) -> pd.DataFrame:
    """Write `folder`/{content}.png for every photograph; rows of COLUMNS, in their order.

    A content's name is its file's; `seconds` are the network's alone, the image being on its
    device; `origin` is "shipped" for the variant of that name and else "trained". precision: a
    name, or "auto", which gives way to float32 at the first photograph whose result is under
    `LEAST_DECIBELS` from float32's; the column has what was computed in. `psnr_to_float32`
    (decibels, in a part of at most 512 pixels a side) says what that costs, infinite for nothing.
    """
    network, record = load_network(network_path, painting)
    network = network.to(device)
    chosen = choose_precision(precision, device, "inference")
    prepared = PreparedNetwork(network, chosen)  # type: ignore[arg-type]
    prepared(torch.zeros(1, 3, 64, 64, device=device))  # the first call of all is slow
    rows = []
    with Progress(f"stylised: {painting}", len(contents), "images") as progress:
        for path in contents:
            name = Path(path).stem
            image = read_image(path).to(device)
            result, seconds = _timed(prepared, image)
            psnr = precision_error(network, middle(image, 512), prepared.precision).psnr
            if precision == "auto" and psnr < LEAST_DECIBELS:  # this one and all after it
                trouble = f"{name} would be {psnr:.0f} dB from float32's result"
                gives_way(prepared.precision, "inference", trouble)
                prepared, psnr = PreparedNetwork(network), math.inf
                result, seconds = _timed(prepared, image)
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
                    "precision": prepared.precision,
                    "tiled": plan_for(prepared, height, width).tiled,
                    "device": describe_device(device),
                    "variant": variant,
                    "psnr_to_float32": psnr,
                }
            )
            progress.advance()
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _timed(network: PreparedNetwork, image: Tensor) -> tuple[Tensor, float]:
    began = time.perf_counter()
    result = stylise(network, image)
    if result.is_cuda:
        torch.cuda.synchronize(result.device)
    return result, time.perf_counter() - began
