"""Contact sheets: a photograph in every style, to choose by."""

import argparse
import logging
from collections.abc import Callable
from copy import copy
from math import ceil

from PIL import Image
from safetensors import SafetensorError

from triptych.apps.pictures.catalogue import catalogue
from triptych.apps.pictures.stylizer import PAINTING, Stylizer
from triptych.apps.pictures.work_list import Item
from triptych.core.errors import InputError
from triptych.style.data.enlarging import resized
from triptych.style.data.image_files import (
    ABOUT,
    Planes,
    bytes_of,
    check_target,
    open_image,
    planes,
    shape_along,
    write_planes,
)
from triptych.style.metadata import marked
from triptych.style.network.contact_sheet import contact_sheet

logger = logging.getLogger(__name__)


class ContactSheets(Stylizer):
    """Paints a sheet of each photograph: the photograph, and it in the style of every network."""

    def __init__(
        self, options: argparse.Namespace, engine: Callable[[argparse.Namespace], Stylizer]
    ) -> None:
        """engine: that of the options for one style. Raises InputError if no network is usable."""
        super().__init__(options)
        self._engines: dict[str, Stylizer] = {}
        for entry in catalogue():
            one = copy(options)
            one.style = entry.name
            try:
                self._engines[entry.name.removesuffix("@shipped")] = engine(one)
            except (InputError, SafetensorError, OSError, ValueError, KeyError) as problem:
                logger.warning(f"{entry.name} is left out: {problem}")
        if not self._engines:
            raise InputError("there is no network to paint with; run make demo")

    def paint(self, item: Item) -> None:
        """Write a photograph's sheet, whose pictures have PAINTING or `--size` pixels along the
        shorter side. Raises InputError for what is no photograph or doesn't fit the format."""
        side = self.options.size or PAINTING
        image = open_image(item.source, at_least=side, shorter=side)
        photograph, alpha = planes(image)
        if self.options.size or min(image.size) > side:
            sides = shape_along(image.height, image.width, side)
            photograph, alpha = resized(photograph, alpha, *sides)
        pictures = [photograph]
        for engine in self._engines.values():
            engine.begin(item)
            pictures.append(engine.stylised(photograph[None], alpha)[0])
        captions = [item.source.name, *self._engines]
        text = max(12, min(photograph.shape[1:]) // 24)
        columns = ceil(len(pictures) ** 0.5)
        cells = [_on_white(picture, alpha) for picture in pictures]
        sheet, _ = planes(contact_sheet(cells, captions, columns, text))
        check_target(item.target, *sheet.shape[1:])
        with item.results.new(item.target) as path:
            write_planes(path, sheet, about=marked(image.info.get(ABOUT, {})))


def _on_white(picture: Planes, alpha: Planes | None) -> Image.Image:
    shown = picture if alpha is None else picture * alpha + (1 - alpha)
    return Image.fromarray(bytes_of(shown).transpose(1, 2, 0))
