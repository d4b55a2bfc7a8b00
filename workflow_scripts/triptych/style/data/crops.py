"""Square crops of photographs for training: cut out of archives, folders or the bundled ones.

Every photograph gives one crop, or is left out with a reason: `broken` (it cannot be decoded),
`grey` (all its colours are equal) or `tiny` (its shorter side is below half the crop's).
"""

import io
import logging
import math
import os
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image

from triptych.core.errors import InputError, error_message
from triptych.core.files import is_hidden, not_a_file
from triptych.style.data.image_files import (
    HIDDEN,
    QUALITY,
    SUFFIXES,
    bytes_of,
    image_files,
    is_image_name,
    open_image,
    planes,
    srgb,
    tell_left_out,
)
from triptych.style.data.photographs import embedded_photographs
from triptych.style.data.shards import Crop, Skipped, check_validation, write_shards

logger = logging.getLogger(__name__)

LARGEST = 1200
"""Pixels a side of a photograph from which many crops are cut."""
TURN = 25.0
"""Degrees to either side."""
LIGHT, TINT = 0.6, 0.12
"""Ranges of varied crops: the gamma's in octaves, and a channel's gain."""
GREY_MODES = {"1", "L", "LA", "La", "F"}


@contextmanager
def collection(
    path: str | os.PathLike[str],
) -> Iterator[tuple[Sequence[str], Callable[[str], bytes]]]:
    """The names of the images in a zip file, or in and below a folder, and what reads one's bytes.

    Raises InputError for what is no readable zip file (by its suffix) or folder, or holds no image.
    """
    root = Path(path)
    if root.suffix.lower() != ".zip":
        names = [file.relative_to(root).as_posix() for file in image_files(root, recursive=True)]
        if not names:
            raise InputError(f"{root}: no image in this folder; expected {', '.join(SUFFIXES)}")
        yield names, partial(_file, root)
        return
    try:
        members = zipfile.ZipFile(root)
    except Exception as error:  # zipfile raises many kinds for a damaged file
        raise InputError(
            f"{root}: not a readable zip file ({error}); delete it and download it again"
        ) from error
    with members:
        # Of members of one name the last is read, as unzip does.
        images = sorted({n for n in members.namelist() if is_image_name(PurePosixPath(n))})
        names = [name for name in images if not is_hidden(PurePosixPath(name))]
        tell_left_out(root, {HIDDEN: len(images) - len(names)})
        if not names:
            raise InputError(f"{root}: none of its {len(members.namelist())} members is an image")
        yield names, members.read  # which checks a member's CRC


def _file(root: Path, name: str) -> bytes:
    if odd := not_a_file(root / name):
        raise InputError(odd)
    return (root / name).read_bytes()


def shard_collection(
    path: str | os.PathLike[str], folder: Path, size: int, validation: int, threads: int = 1
) -> None:
    """A centre crop of `size` pixels of every usable image in a zip file or a folder."""

    def crops() -> Iterator[Crop | Skipped]:
        step = 64 * threads  # a bounded window: finished crops wait for the writer in memory
        with ThreadPoolExecutor(threads) as pool:
            for start in range(0, len(names), step):
                yield from pool.map(partial(_cut, read, size), names[start : start + step])

    with collection(path) as (names, read):
        write_shards(crops(), len(names), folder, validation, str(path))


def shard_embedded(
    folder: Path,
    size: int,
    validation: int,
    crops: int,
    seed: int,
    reserved: Sequence[str],
    *,
    generated: float = 0.0,
    picture: Callable[..., np.ndarray] | None = None,
    own: str | None = None,
) -> None:
    """`crops` random crops of the bundled photographs, the last `validation` of `reserved` ones.

    Those for training, of the other photographs and of those in the folder `own` (made smaller
    than LARGEST pixels), are turned and lit by chance. A share of them, `generated`, are instead
    what `picture` paints of a size and a key: uint8 [size, size, 3]. Own images that can't be read
    are named and left out. Raises InputError for a name that isn't there, and a folder of which no
    image can be read.
    """
    photographs = embedded_photographs()
    if own:
        photographs |= _own_photographs(own, photographs)
    training = {name: image for name, image in photographs.items() if name not in reserved}
    if not training or set(reserved) - set(photographs):
        known = ", ".join(sorted(photographs))
        raise InputError(f"reserved are {', '.join(reserved)}; expected some, not all, of {known}")
    apart = {name: photographs[name] for name in reserved} or photographs
    check_validation(crops, validation, "the crops asked for")

    def both() -> Iterator[Crop]:
        cut = random_crops(training, crops - validation, size, seed, 0, varied=True)
        for number in range(crops - validation):
            if picture and int(generated * (number + 1)) > int(generated * number):
                painted = Image.fromarray(picture(size, seed, number))
                yield Crop(f"generated_{number}", as_jpeg(painted))
            else:
                yield next(cut)
        yield from random_crops(apart, validation, size, seed, 1)

    write_shards(both(), crops, folder, validation, "the bundled photographs")


def _own_photographs(folder: str, others: Collection[str]) -> dict[str, Image.Image]:
    """The images of a folder as RGB of at most LARGEST pixels, by names that no other has."""
    photographs: dict[str, Image.Image] = {}
    for path in image_files(folder):
        try:
            image = opaque(open_image(path, at_least=LARGEST))
            image.thumbnail((LARGEST, LARGEST))
        except Exception as error:  # a picture never ends the others' work
            logger.warning("%s is left out: %s", path, error_message(error))
            continue
        taken = path.stem in photographs or path.stem in others
        photographs[path.name if taken else path.stem] = image
    if not photographs:
        raise InputError(f"{folder}: no image in this folder can be read")
    return photographs


def _cut(read: Callable[[str], bytes], size: int, name: str) -> Crop | Skipped:
    """The middle of a photograph, its shorter side scaled to `size`; or why there is none."""
    try:
        # Twice the size is enough for a clean reduction (as Pillow's own thumbnails do it).
        image = open_image(read(name), name, at_least=2 * size)
        if 2 * min(image.size) < size:
            return Skipped(name, "tiny", f"{image.width}x{image.height}")
        if image.mode in GREY_MODES:
            return Skipped(name, "grey", f"mode {image.mode}")
        image, side = opaque(image), min(image.size)
        crop = square(image, (image.width - side) // 2, (image.height - side) // 2, side, size)
        pixels = np.asarray(crop)
        if (pixels == pixels[:, :, :1]).all():
            return Skipped(name, "grey", "equal channels")
        return Crop(name, as_jpeg(crop))
    except Exception as error:  # a picture never ends the others' work
        return Skipped(name, "broken", error_message(error))


def opaque(image: Image.Image) -> Image.Image:
    """An image of `open_image` as RGB of 8 bits; what is transparent shows white."""
    if image.mode == "F":
        return Image.fromarray(bytes_of(planes(image)[0]).transpose(1, 2, 0))
    if not image.has_transparency_data:
        return srgb(image)
    opaque = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    white.paste(srgb(image.convert("RGB")), mask=opaque.getchannel("A"))
    return white.convert("RGB")


def square(image: Image.Image, left: int, top: int, side: int, size: int) -> Image.Image:
    """The square of `side` pixels at (left, top), scaled to `size` pixels."""
    box = (left, top, left + side, top + side)
    return image.resize((size, size), Image.Resampling.BICUBIC, box=box)


def as_jpeg(image: Image.Image) -> bytes:
    """An RGB image as a JPEG file's bytes; the same image gives the same bytes."""
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=QUALITY)
    return stream.getvalue()


def random_crops(
    photographs: dict[str, Image.Image], count: int, size: int, *key: int, varied: bool = False
) -> Iterator[Crop]:
    """`count` crops of `size` pixels of RGB photographs: places, scales and flips by chance.

    The side of the square is drawn log-uniformly from `size` to the photograph's shorter side. With
    `varied` they are also turned and lit by chance. `key` seeds; fewer crops are the beginning of
    more.
    """
    names = sorted(photographs)
    random = np.random.default_rng(key)
    for _ in range(count):
        name = names[random.integers(len(names))]
        image = photographs[name]
        angle = math.radians(random.uniform(-TURN, TURN)) if varied else 0.0
        larger = math.cos(angle) + abs(math.sin(angle))  # of the square around a turned one
        longest = min(image.size)
        least = min(larger * size, longest)
        side = round(np.exp(random.uniform(np.log(least), np.log(longest))))
        left = int(random.integers(image.width - side + 1))
        top = int(random.integers(image.height - side + 1))
        crop = square(image, left, top, side, math.ceil(larger * size))
        if varied:
            crop = crop.rotate(math.degrees(angle), Image.Resampling.BICUBIC)
            corner = (crop.width - size) // 2
            crop = crop.crop((corner, corner, corner + size, corner + size))
            # In another light: a gamma, and a gain for each channel.
            gamma, gains = 2 ** random.uniform(-LIGHT, LIGHT), 1 + random.uniform(-TINT, TINT, 3)
            table = (np.arange(256) / 255) ** gamma * gains[:, None] * 255
            crop = crop.point(np.clip(table.round(), 0, 255).astype(int).ravel().tolist())
        if random.random() < 0.5:
            crop = crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        yield Crop(name, as_jpeg(crop))
