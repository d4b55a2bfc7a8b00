"""Figures that need no download: how much of the content is kept, how much of the style is met.

Images are float32 [3, H, W], RGB in [0, 1], of any sizes. Two figures compare a result with its
content (structure, edges) and two with its painting (texture, colours).
"""

import logging
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from triptych.style.data.backbone import Backbone
from triptych.style.data.image_files import luma
from triptych.style.data.images import read_image, resize, resize_to
from triptych.style.losses import position_gram, style_term

logger = logging.getLogger(__name__)

SSIM_SIGMA, SSIM_WINDOW = 1.5, 11
"""Window of Wang et al. 2004, section III-B; scikit-image's ends at 3.5 sigma, as theirs does."""

BAND = 256
"""Rows of an image whose similarity is computed at once."""

FLAT = 1e-6
"""Gradients that vary less are the rounding of a flat image."""

KEYS = ("version", "experiment", "run", "content", "painting")
MEASURES = ("ssim_luma", "edge_correlation", "gram_distance", "colour_distance")
"""The columns of quality.csv"""


def ssim_luma(image: Tensor, content: Tensor) -> float:
    """Structural similarity of brightness, 1 for equal images (Wang et al. 2004): the mean over all
    places of the window inside the image. The content is resized to the image.
    """
    from skimage.metrics import structural_similarity  # 0.3 s of import

    x, y = (plane.numpy(force=True) for plane in _lumas(image, content))
    # Band by band, with the rows that its windows reach: a whole large image fills gigabytes.
    reach = SSIM_WINDOW - 1
    total = 0.0
    for first in range(0, len(x) - reach, BAND):
        bands = (plane[first : first + BAND + reach] for plane in (x, y))
        mean = structural_similarity(
            *bands,
            gaussian_weights=True,
            sigma=SSIM_SIGMA,
            use_sample_covariance=False,
            data_range=1.0,
        )
        total += float(mean) * min(BAND, len(x) - reach - first)
    return total / (len(x) - reach)


def edge_correlation(image: Tensor, content: Tensor) -> float:
    """Pearson correlation of the magnitudes of the Sobel gradients of brightness.

    The content is resized to the image. NaN where one of them has the same gradient everywhere.
    """
    x, y = (_gradient_magnitude(plane).flatten() for plane in _lumas(image, content))
    if min(float(x.std()), float(y.std())) < FLAT:
        return float("nan")
    return float(torch.corrcoef(torch.stack((x, y)))[0, 1])


def _lumas(image: Tensor, content: Tensor) -> tuple[Tensor, Tensor]:
    """Brightness [H, W] of both in float64, at the size of the first."""
    same_size = resize_to(content, image.shape[-2], image.shape[-1])
    return luma(image.double()), luma(same_size.to(image).double())


def _gradient_magnitude(plane: Tensor) -> Tensor:
    """Gradients of [H, W] by Sobel's filters, without the outermost pixels: [H - 2, W - 2]."""
    smooth, slope = plane.new_tensor([1.0, 2.0, 1.0]) / 4, plane.new_tensor([-1.0, 0.0, 1.0]) / 2
    filters = torch.stack((torch.outer(smooth, slope), torch.outer(slope, smooth)))
    gradients = functional.conv2d(plane[None, None], filters[:, None])[0]
    return gradients.square().sum(0).sqrt()


@torch.no_grad()
def gram_distance(
    image: Tensor, painting: Tensor, backbone: Backbone, layers: Sequence[str]
) -> float:
    """Mean over layers of ||G - A||² / ||A||², G and A the Gram matrices (Eq. 4) over positions of
    image and painting. 0 is the painting's own texture, 1 that of a black image.

    backbone: one that the image was not made with, whose distance was not what was lowered.
    """
    of_image, of_painting = backbone(image[None], layers), backbone(painting[None], layers)
    terms = [
        style_term(position_gram(of_image[name]), position_gram(of_painting[name]), "relative")
        for name in layers
    ]
    return float(torch.cat(terms).mean())


def colour_distance(image: Tensor, painting: Tensor, projections: int, seed: int) -> float:
    """Sliced Wasserstein-1 distance of the pixels' colours, in [0, 1] units of RGB.

    The mean, over random directions in colour space, of the exact distance of the projected
    colours (Rabin et al. 2011, "Wasserstein barycenter and its application to texture mixing").
    """
    directions = np.random.default_rng(seed).standard_normal((projections, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    pixels = [picture.detach().cpu().float().flatten(1).numpy() for picture in (image, painting)]
    n, m = (flat.shape[1] for flat in pixels)
    # The area between the two quantile functions, which are steps at k / n and k / m, in whole
    # numbers of 1 / (n m): the stretches on which both are level, and each one's sample there.
    halves = (np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    ends = np.sort(np.concatenate(halves), kind="stable")  # merges the sorted halves
    lengths, places = np.diff(ends, prepend=0) / (n * m), ((ends - 1) // m, (ends - 1) // n)
    distances = []
    for direction in directions.astype(np.float32):  # one by one: a large image's fill gigabytes
        levels = (np.sort(direction @ of)[at] for of, at in zip(pixels, places, strict=True))
        distances.append(np.abs(np.subtract(*levels)) @ lengths)
    return float(np.mean(distances))


def measure(
    image: Tensor,
    content: Tensor,
    painting: Tensor,
    backbone: Backbone,
    *,
    layers: Sequence[str],
    projections: int,
    seed: int,
) -> dict[str, float]:
    """All four figures of a result, by the names of quality.csv's columns; of the painting at the
    image's shorter side, whatever size its file has.

    layers: of the backbone, whose Gram matrices are compared; projections, seed: of the directions
    in colour space that the sliced distance averages over
    """
    painting = resize(painting, min(image.shape[-2:]))
    return {
        "ssim_luma": ssim_luma(image, content),
        "edge_correlation": edge_correlation(image, content),
        "gram_distance": gram_distance(image, painting, backbone, layers),
        "colour_distance": colour_distance(image, painting, projections, seed),
    }


Measured = tuple[Path, dict[Hashable, Any]]
"""An image to be measured, and its columns of KEYS."""


def quality_table(
    images: Iterable[Measured],
    contents: Mapping[str, Path],
    paintings: Mapping[str, Path],
    backbone: Backbone,
    **settings: Any,
) -> pd.DataFrame:
    """Measures of images (`optimised_images`, `stylised_images`): a row each of KEYS and MEASURES.

    contents, paintings: image files by name; settings: those of `measure`
    """
    files = {"content": contents, "painting": paintings}

    @cache
    def source(kind: str, name: str) -> Tensor:
        return read_image(files[kind][name])

    rows = []
    for path, keys in images:
        content, painting = (source(kind, keys[kind]) for kind in files)
        rows.append(keys | measure(read_image(path), content, painting, backbone, **settings))
    return pd.DataFrame(rows, columns=[*KEYS, *MEASURES])


def optimised_images(table: str | Path) -> Iterator[Measured]:
    """Images of Version 1 by their runs.csv, beside which the folder `images` lies.

    A run that left no image is passed over, unless it finished.
    """
    table = Path(table)
    runs = pd.read_csv(table, dtype=str, keep_default_na=False).assign(version=1)
    for keys, status in zip(runs[[*KEYS]].to_dict("records"), runs["status"], strict=True):
        path = table.parent / "images" / f"{keys['run']}.png"
        if status != "finished" and not path.exists():
            logger.info("%s left no image: not measured", path)
            continue
        yield path, keys


def stylised_images(table: str | Path) -> Iterator[Measured]:
    """Images of Version 2 by their runs.csv, beside which they lie."""
    table = Path(table)
    runs = pd.read_csv(table, dtype=str, keep_default_na=False)
    runs = runs.assign(version=2, experiment="", run=runs["painting"] + "-" + runs["content"])
    for keys in runs[[*KEYS]].to_dict("records"):
        yield table.parent / f"{keys['content']}.png", keys
