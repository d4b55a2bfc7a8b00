"""Files of Wikimedia Commons, which wants to know who asks."""

import logging
import os
from collections.abc import Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from triptych.core.download import DownloadError, download
from triptych.core.errors import InputError
from triptych.style.data.image_files import size_of
from triptych.style.data.missing import write_missing

logger = logging.getLogger(__name__)


def user_agent(contact: str) -> str:
    """User-Agent header as Wikimedia's policy asks for: name and contact.

    Raises InputError without a contact.
    """
    if not contact:
        raise InputError(
            "style.contact is empty. Wikimedia answers 403 or 429 to programs that don't say whom "
            "to write to: set it to your e-mail address or a web page of yours (https://...). Or "
            "take an image of your own, with source: path."
        )
    try:
        release = version("triptych")
    except PackageNotFoundError:  # run from a checkout
        release = "unreleased"
    return f"Triptych/{release} ({contact}) python-requests/{version('requests')}"


def download_picture(
    url: str,
    path: str | os.PathLike[str],
    contact: str,
    pixels: Sequence[int] | None = None,
    **settings: Any,
) -> None:
    """Fetch a file of Wikimedia into `path`, introduced by `contact`, as `download` does.

    pixels: height and width that it must have at least. Where it can't be had, or is smaller, a
    picture that says so is written in its place (`data.missing`), and the log says how to try
    again. Raises InputError without a contact.
    """
    agent = user_agent(contact)
    try:
        download(url, path, user_agent=agent, check=partial(_check, pixels), **settings)
    except (DownloadError, InputError) as problem:
        reason = " ".join(str(problem).split())
        write_missing(path, Path(path).name, reason)
        logger.warning(
            "%s is missing, and the run goes on without it: %s. Delete %s to try again, or take a "
            "picture of your own with source: path",
            Path(path).name,
            reason,
            path,
        )


def _check(pixels: Sequence[int] | None, path: Path) -> None:
    """Raise InputError for a file that is no image, or has fewer than these pixels."""
    height, width = size_of(path)
    if pixels is not None and (height < pixels[0] or width < pixels[1]):
        raise InputError(
            f"it has {width}x{height} pixels, and {pixels[1]}x{pixels[0]} are asked for; a "
            "photograph is never enlarged"
        )
