"""Figures that need no download: how much of the content is kept, how much of the style is met.

Images are float32 [3, H, W], RGB in [0, 1], of any sizes. Two figures compare a result with its
content (structure, edges) and two with its painting (texture, colours).
"""

import logging
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from triptych.core.errors import InputError
from triptych.style.data.backbone import Backbone
from triptych.style.data.images import luma, read_image, resize, resize_to
from triptych.style.optimise.losses import position_gram, style_term

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


@dataclass(frozen=True)
class QualitySettings:
    """How results are compared with their paintings."""

    layers: tuple[str, ...]
    """Layers of the held-out backbone whose Gram matrices are compared"""
    projections: int
    """Directions in colour space that the sliced distance averages over"""
    seed: int
    """Of these directions"""


def ssim_luma(image: Tensor, content: Tensor) -> float:
    """Structural similarity of brightness, 1 for equal images (Wang et al. 2004).

    Mean over all places where the 11 x 11 Gaussian window lies inside the image. The content is
    resized to the image. InputError for an image smaller than the window.
    """
    from skimage.metrics import structural_similarity  # 0.3 s of import

    if min(image.shape[-2:]) < SSIM_WINDOW:
        raise InputError(
            f"an image of {image.shape[-2]} x {image.shape[-1]} pixels is too small for SSIM: "
            f"give one of at least {SSIM_WINDOW} x {SSIM_WINDOW}"
        )
    x, y = (plane.numpy(force=True) for plane in _lumas(image, content))
    # Band by band, with the rows that its windows reach: a whole large image fills gigabytes.
    reach = SSIM_WINDOW - 1
    total = 0.0
    for first in range(0, len(x) - reach, BAND):
        bands = (each[first : first + BAND + reach] for each in (x, y))
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
    """Of [H, W], by Sobel's filters, without the outermost pixels: [H - 2, W - 2]."""
    smooth, slope = plane.new_tensor([1.0, 2.0, 1.0]) / 4, plane.new_tensor([-1.0, 0.0, 1.0]) / 2
    filters = torch.stack((torch.outer(smooth, slope), torch.outer(slope, smooth)))
    gradients = functional.conv2d(plane[None, None], filters[:, None])[0]
    return gradients.square().sum(0).sqrt()


@torch.no_grad()
def gram_distance(
    image: Tensor, painting: Tensor, backbone: Backbone, layers: tuple[str, ...]
) -> float:
    """Mean over layers of ||G - A||² / ||A||², G and A the Gram matrices of image and painting.

    Gram matrices (Eq. 4) are divided by the number of positions, so that the images may differ
    in size; relative to the painting, so that no layer outweighs the others. 0 is the painting's
    own texture and 1 what a black image of dead filters has. Give a backbone that the image was
    not made with: that one's distance is what the optimisation lowered.
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
    colours; half the shift, about, of two images that differ by a shift of all colours
    (Rabin et al. 2011, "Wasserstein barycenter and its application to texture mixing").
    """
    directions = np.random.default_rng(seed).standard_normal((projections, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # One direction at a time: all of them of a large image would fill many gigabytes.
    first, second = (_projected(each, directions) for each in (image, painting))
    return float(wasserstein(first, second).mean())


def _projected(image: Tensor, directions: np.ndarray) -> Iterator[np.ndarray]:
    """[H W] float32 for each of `directions` [P, 3]."""
    pixels = image.detach().cpu().float().flatten(1).numpy()
    return (direction @ pixels for direction in directions.astype(np.float32))


def wasserstein(first: Iterable[np.ndarray], second: Iterable[np.ndarray]) -> np.ndarray:
    """Wasserstein-1 distances [P] of the samples [P, n] and [P, m], row by row, exactly.

    The area between the two quantile functions, which are steps at k / n and k / m. The rows may
    come one by one.
    """
    distances, steps = [], None
    for a, b in zip(first, second, strict=True):
        steps = steps or _quantile_steps(len(a), len(b))
        lengths, of_first, of_second = steps
        distances.append(np.abs(np.sort(a)[of_first] - np.sort(b)[of_second]) @ lengths)
    return np.array(distances)


def _quantile_steps(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The stretches on which both quantile functions are level: lengths, and which of the n and m
    sorted samples each function has there."""
    # Whole numbers, in units of 1 / (n m): the steps of both functions coincide exactly. A stable
    # sort merges the two sorted halves; where steps coincide, a stretch of no length is left.
    halves = (np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    ends = np.sort(np.concatenate(halves), kind="stable")
    inside = ends - 1  # a level in each stretch between two steps
    return np.diff(ends, prepend=0) / (n * m), inside // m, inside // n


def measure(
    image: Tensor,
    content: Tensor,
    painting: Tensor,
    backbone: Backbone,
    settings: QualitySettings,
) -> dict[str, float]:
    """All four figures of a result, by the names of quality.csv's columns.

    The painting is brought to the image's shorter side first: strokes are compared at the size
    that they have beside the image, whatever size the painting's file has.
    """
    painting = resize(painting, min(image.shape[-2:]))
    return {
        "ssim_luma": ssim_luma(image, content),
        "edge_correlation": edge_correlation(image, content),
        "gram_distance": gram_distance(image, painting, backbone, settings.layers),
        "colour_distance": colour_distance(image, painting, settings.projections, settings.seed),
    }


def quality_table(
    optimised: Iterable[str | Path],
    stylised: Iterable[str | Path],
    contents: Mapping[str, Path],
    paintings: Mapping[str, Path],
    backbone: Backbone,
    settings: QualitySettings,
) -> pd.DataFrame:
    """One row for each stylised image, with the columns of KEYS and MEASURES.

    optimised, stylised: the runs.csv of Version 1, whose images lie in the folder images beside
    it, and of Version 2, whose images lie beside it. contents, paintings: image files by name.
    A run that diverged is measured by the last good state that it left; one that left no image is
    passed over. Raises InputError for a finished one without.
    """

    files = {"content": contents, "painting": paintings}

    @cache
    def source(kind: str, name: str) -> Tensor:
        if name not in files[kind]:
            known = ", ".join(sorted(files[kind])) or "none"
            raise InputError(f"the {kind} {name!r} is not among those given: {known}")
        return read_image(files[kind][name])

    rows = []
    for path, named in [*_optimised(optimised), *_stylised(stylised)]:
        content, painting = (source(kind, named[kind]) for kind in files)
        rows.append(named | measure(read_image(path), content, painting, backbone, settings))
    return pd.DataFrame(rows, columns=[*KEYS, *MEASURES])


def _optimised(tables: Iterable[str | Path]) -> Iterator[tuple[Path, dict[Hashable, Any]]]:
    """Images of Version 1, and the columns of KEYS of each."""
    for table in map(Path, tables):
        runs = pd.read_csv(table, dtype=str, keep_default_na=False).assign(version=1)
        for named, status in zip(runs[[*KEYS]].to_dict("records"), runs["status"], strict=True):
            path = table.parent / "images" / f"{named['run']}.png"
            if status != "finished" and not path.exists():
                logger.info("%s left no image: not measured", path)
                continue
            yield path, named


def _stylised(tables: Iterable[str | Path]) -> Iterator[tuple[Path, dict[Hashable, Any]]]:
    """Images of Version 2, and the columns of KEYS of each."""
    for table in map(Path, tables):
        runs = pd.read_csv(table, dtype=str, keep_default_na=False)
        runs = runs.assign(version=2, experiment="", run=runs["painting"] + "-" + runs["content"])
        for named in runs[[*KEYS]].to_dict("records"):
            yield table.parent / f"{named['content']}.png", named
