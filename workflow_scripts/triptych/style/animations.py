"""Animated GIF, WebP and PNG files: every frame with its duration, and how often they repeat."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageSequence

from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.style.image_files import ANIMATIONS, EXPECTED
from triptych.style.images import OPTIONS

SEE_THROUGH = 255
"""A GIF's colour for what is transparent, where anything is."""


@dataclass(frozen=True)
class Animation:
    """Frames, and how they are shown; as Pillow's images, which take a fourth of a tensor."""

    frames: list[Image.Image]
    durations: list[int]
    """Milliseconds of each frame."""
    loop: int | None
    """As the format counts it: 0 is for ever; None, of a GIF, once."""


def read_animation(path: str | os.PathLike[str]) -> Animation:
    """All frames of a file. Raises InputError for one that is damaged."""
    frames, durations = [], []
    try:
        with Image.open(path) as image:
            for frame in ImageSequence.Iterator(image):
                frames.append(frame.copy())
                durations.append(round(frame.info.get("duration", 0)))
            return Animation(frames, durations, image.info.get("loop"))
    except Exception as error:  # Pillow raises many kinds for a damaged file
        raise InputError(
            f"{Path(path)}: frame {len(frames) + 1} cannot be read "
            f"({type(error).__name__}: {error}). {EXPECTED}"
        ) from error


def write_animation(path: str | os.PathLike[str], animation: Animation) -> None:
    """Write frames of RGB or RGBA as a GIF, WebP or PNG, whichever the suffix says.

    A GIF has 256 colours a frame, and a pixel is seen or isn't. The file appears whole or not at
    all.
    """
    target = Path(path)
    form = ANIMATIONS[target.suffix.lower()]
    images, loop = animation.frames, animation.loop
    options: dict[str, Any] = {"loop": 1 if loop is None else loop, **OPTIONS.get(form, {})}
    if form == "GIF":
        options = {} if loop is None else {"loop": loop}
        see_through = any(image.mode == "RGBA" for image in images)
        if see_through:
            # Each frame is laid on nothing; else one would show through another's holes.
            options |= {"transparency": SEE_THROUGH, "disposal": 2}
        images = [_of_palette(image, see_through) for image in images]
    with atomic_path(target) as temporary:
        images[0].save(
            temporary,
            format=form,
            save_all=True,
            append_images=images[1:],
            duration=animation.durations,
            **options,
        )


def _of_palette(image: Image.Image, see_through: bool) -> Image.Image:
    """One frame in its own 256 colours, or 255 and one to see through."""
    colours = image.convert("RGB").quantize(SEE_THROUGH if see_through else 256)
    if image.mode == "RGBA":
        colours.paste(SEE_THROUGH, mask=image.getchannel("A").point(lambda a: 255 * (a < 128)))
    return colours
