"""What a server of captions is asked with: an address without secrets, and secrets shown nowhere.

The address stands in the config and hence in many files; a key or login is read from the
environment.
"""

import base64
import os
from dataclasses import dataclass, field

from triptych.core.errors import InputError

KEY_VARIABLE = "OPENAI_API_KEY"
LOGIN_VARIABLE = "OPENAI_LOGIN"
SHORTEST_SECRET = 12
"""Shorter keys are placeholders for servers that want none; they are words a caption may hold."""
SHORTEST_PASSWORD = 6
"""Likewise; but passwords are shorter than keys."""


def check_address(base_url: str | None) -> None:
    """Raise ValueError, which doesn't show it, for an address with anything secret in it.

    Snakemake keeps a rule's parameters in its metadata, and the provenance of results does too.
    """
    if base_url is None:
        return
    if "@" in base_url:
        raise ValueError(
            "audio.captions.base_url holds a user or a password, which would reach files. Take "
            f"them out, and export {LOGIN_VARIABLE}=user:password in the environment instead"
        )
    if "?" in base_url or "#" in base_url:
        raise ValueError(
            "audio.captions.base_url holds a ? or #, behind which no path can follow. Give the "
            f"address alone; a key belongs in the environment, as {KEY_VARIABLE}"
        )
    if not base_url.startswith(("http://", "https://")):
        raise ValueError("audio.captions.base_url must begin with http:// or https://")


@dataclass(frozen=True)
class Credentials:
    """A key, or a user and password, sent as HTTP's basic authentication in its place."""

    key: str = field(repr=False)
    login: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls) -> "Credentials":
        """Read them; raises InputError, which never shows them."""
        login = os.environ.get(LOGIN_VARIABLE, "").strip()
        if not login:
            return cls(_read_key())
        if ":" not in login or not login.isprintable():
            raise InputError(f"{LOGIN_VARIABLE} is no user:password")
        return cls("none", login)

    @property
    def headers(self) -> dict[str, str] | None:
        """What overrides the header that the client makes of the key."""
        return {"Authorization": f"Basic {self._encoded}"} if self.login else None

    @property
    def _encoded(self) -> str:
        return base64.b64encode(self.login.encode()).decode()

    @property
    def _secrets(self) -> list[str]:
        secrets = [self.key] if len(self.key) >= SHORTEST_SECRET else []
        password = self.login.partition(":")[2]
        if self.login:
            secrets += [self._encoded, self.login]
        return secrets + ([password] if len(password) >= SHORTEST_PASSWORD else [])

    def redacted(self, text: str) -> str:
        """The text without them, should a server send them back."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return text

    def are_in(self, text: str) -> bool:
        """Whether a text holds one of them, however short."""
        return any(secret in text for secret in (*self._secrets, self.login or self.key) if secret)


def _read_key() -> str:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise InputError(
            "audio.captions.backend openai needs a key in the environment: export "
            f"{KEY_VARIABLE}=... (for a server that wants none, any word). It belongs in no file "
            "of this project."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"{KEY_VARIABLE} holds characters that no key has; was it copied whole?")
    return key
