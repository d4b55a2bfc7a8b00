"""Random numbers that are a function of what they are for."""

import hashlib

import torch


def keyed_generator(device: torch.device, *key: int | str) -> torch.Generator:
    """A generator whose stream is a function of `key`, for instance ("train", seed, chunk)."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "big") >> 1)
