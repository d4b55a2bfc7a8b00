"""Photographs and films through a network in PyTorch: any size, any device, half precision."""

import argparse
import logging

import torch
from torch import Tensor

from triptych.apps import chosen_device
from triptych.apps.pictures import STEADY
from triptych.apps.pictures.catalogue import find_network
from triptych.apps.pictures.stylizer import Stylizer, painted_side
from triptych.apps.pictures.work_list import Item
from triptych.style.data.image_files import Planes
from triptych.style.metadata import PAINTED
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network_files import load_network
from triptych.style.network.stylize import (
    checked_precision,
    decibels_to_float32,
    middle,
    stylise,
)
from triptych.style.video.steadying import Steadied
from triptych.style.video.transfer import stylise_to_mp4, stylist_of

logger = logging.getLogger(__name__)


class NetworkStylizer(Stylizer):
    """A trained network in PyTorch: one pass an image."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.device = chosen_device(options)
        path, style, sentence = find_network(options.style)
        network, record = load_network(path, style)
        self.network = network.to(self.device)
        self.least = network.architecture.smallest
        self.prepared: PreparedNetwork | None = None
        self.shorter = painted_side(options, record.get("painting_size"))
        self._begun = False
        """Whether an image of this input was painted, which may be a film of many batches."""
        logger.info(sentence)

    def begin(self, item: Item) -> None:
        super().begin(item)
        self._begun = False

    def render(self, photographs: Planes) -> Planes:
        images = torch.from_numpy(photographs).to(self.device)
        prepared = self._prepared_for(images[0])
        self._begun = True
        results: Planes = stylise(prepared, images).cpu().numpy()
        return results

    def film(self, item: Item) -> str:
        """Stylise a video, frame by frame, as mp4 with its sound; return what of it is missing."""

        def painted(frames: Tensor) -> Tensor:
            return torch.from_numpy(self.stylised(frames.numpy()))

        stylist = stylist_of(painted, torch.device("cpu"))
        if share := STEADY if self.options.steady is None else self.options.steady:
            stylist = Steadied(stylist, share)
        with item.results.new(item.target) as path:
            return stylise_to_mp4(item.source, path, stylist, comment=f"painted by {PAINTED}")

    def _prepared_for(self, image: Tensor) -> PreparedNetwork:
        """The network in the precision that was asked for.

        "auto" is checked on each image and on a film's first frame, until one makes it give way to
        float32. How far half precision is from it is printed for the first.
        """
        before, precision = self.prepared, self.options.precision
        fixed = self._begun or precision != "auto"
        if before is not None and (fixed or before.precision == "float32"):
            return before
        precision = checked_precision(self.network, image, precision)
        if before is not None and precision == before.precision:
            return before
        self.prepared = PreparedNetwork(self.network, precision)
        if precision != "float32":
            decibels = decibels_to_float32(self.network, middle(image, 512), precision)
            logger.info(f"precision {precision}: {decibels:.0f} dB from float32")
        return self.prepared
