"""What steadying a film gives and takes: flicker, and the contrast of fine strokes, on pans."""

from typing import Any

import cv2
import numpy as np

from triptych.apps.pictures import STEADY
from triptych.core.device import choose_device
from triptych.style.data.photographs import embedded_photographs
from triptych.style.network.network_files import load_network
from triptych.style.video.flicker import Flicker
from triptych.style.video.steadying import Steadied
from triptych.style.video.transfer import network_stylist

FRAMES = 16


def compare_films(network: str, styles: list[str]) -> list[dict[str, Any]]:
    """Rows of each style's pans by a pixel a frame, as painted and steadied: compared ("pan of a
    photograph, style"), side, flicker (warped error, levels) and contrast (standard deviation of
    the last frame's Laplacian over that as painted)."""
    rows = []
    for style in styles:
        device = choose_device("auto")
        stylist = network_stylist(load_network(network, style)[0], device)
        for name in ("china", "coffee"):
            photograph = np.asarray(embedded_photographs()[name].convert("RGB"))
            pan = np.stack([photograph[60:300, n + 40 : n + 360] for n in range(FRAMES)])
            painted = stylist(pan)
            films = {"steady 0": painted, f"steady {STEADY:g}": _steadied(pan, painted)}
            for side, film in films.items():
                row: dict[str, Any] = {"compared": f"pan of {name}, {style}", "side": side}
                row["flicker"] = _flicker(pan, film)
                row["contrast"] = _contrast(film[-1]) / _contrast(painted[-1])
                rows.append(row)
    return rows


def _steadied(film: np.ndarray, painted: np.ndarray) -> np.ndarray:
    return Steadied(lambda _: painted, STEADY)(film)


def _flicker(film: np.ndarray, painted: np.ndarray) -> float:
    measure = Flicker()
    for pair in zip(film, painted, strict=True):
        measure.add(*pair)
    return 255 * float(measure.table()["stylised_error"].mean())


def _contrast(frame: np.ndarray) -> float:
    return float(cv2.Laplacian(frame.astype(np.float32), cv2.CV_32F).std())
