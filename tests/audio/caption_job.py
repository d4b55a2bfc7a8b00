"""The caption stage as a process of its own, to be killed by tests: folder, server's address."""

import sys
from pathlib import Path

from triptych.audio.captions.stage import write_captions
from triptych.core.stopping import StopRequest

TABLE = {
    "backend": "openai",
    "model": "gpt-3.5-turbo",
    "base_url": None,
    "parameters": {},
    "variations": 5,
    "longest_words": 20,
    "least_yield": 0.5,
    "open_requests": 4,
    "timeout_seconds": 5,
    "attempts": 4,
    "prices": {"input": 0.5, "output": 1.5, "currency": "USD"},
    "budget": 20.0,
    "cache": "",
}


def run(folder, stop=lambda: None, splits=("development",), published=None, **changes) -> None:
    """The stage on the tables in `folder`, its outputs there too."""
    outputs = {name: folder / f"{name}.csv" for name in ("variations", "unfiltered", "rejected")}
    outputs |= {"usage": folder / "usage.csv", "example": folder / "example.json"}
    table = {**TABLE, "cache": str(folder / "cache"), **changes}
    clips, captions = folder / "clips.csv", folder / "captions.csv"
    write_captions(clips, captions, table, splits, outputs, published=published, stop=stop)


if __name__ == "__main__":
    request = StopRequest()
    run(Path(sys.argv[1]), lambda: request.reason, base_url=sys.argv[2])
