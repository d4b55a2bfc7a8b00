"""Files of Wikimedia Commons, which wants to know who asks."""

import os
import re
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from triptych.core.download import download
from triptych.core.errors import InputError

CONTACT = re.compile(
    r"[^\s@()<>,;]+@[^\s@()<>,;]+\.[^\s@()<>,;.]+|https?://[^\s()<>,;]+\.[^\s()<>,;]+"
)
"""An e-mail address or the address of a web page, and nothing that could end a header."""


def user_agent(contact: str) -> str:
    """User-Agent header as Wikimedia's policy asks for: name and contact.

    Raises InputError when `contact` is neither an e-mail address nor a web page.
    """
    if not CONTACT.fullmatch(contact) or not contact.isascii():
        raise InputError(
            f"style.contact is {contact!r}. Wikimedia answers 403 or 429 to programs that don't "
            "say whom to write to: set it to your e-mail address or a web page of yours "
            "(https://...). Or take an image of your own, with source: path."
        )
    try:
        release = version("triptych")
    except PackageNotFoundError:  # run from a checkout
        release = "unreleased"
    return f"Triptych/{release} ({contact}) python-requests/{version('requests')}"


def download_picture(url: str, path: str | os.PathLike[str], contact: str, **settings: Any) -> None:
    """Fetch a file of Wikimedia into `path`, introduced by `contact`, as `download` does."""
    download(url, path, user_agent=user_agent(contact), **settings)
