"""New captions by a language model, rehearsed with a server on this machine that answers as one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

sys.path.append(str(Path(__file__).parents[1] / "audio"))

from chat_server import KEY
from chat_server import serving as answering

VARIATIONS = "results/audio/captions/variations.csv"
"""What the rule audio_caption makes, here first by the server and then from the authors' file."""


@contextmanager
def chat_overlay(path: Path) -> Iterator[dict[str, str]]:
    """Write to `path` what is to be laid over the config, and yield the environment for it."""
    with answering() as server:
        captions = {"backend": "openai", "base_url": server.url}
        path.write_text(yaml.safe_dump({"audio": {"captions": captions}}), encoding="utf-8")
        yield {"OPENAI_API_KEY": KEY}
        if not server.prompts:
            raise AssertionError("no caption was asked for")
