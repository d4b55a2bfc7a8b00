"""The caption stage as a process of its own, to be killed by tests: folder, server's address."""

import logging
import sys
from pathlib import Path

from triptych.audio.captions.stage import write_captions
from triptych.core.errors import InputError
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


def run(
    folder: Path, stop=lambda: None, splits=("development",), published=None, **changes
) -> None:
    """The stage on the tables in `folder`, its outputs there too."""
    table = {**TABLE, "cache": str(folder / "cache"), **changes}
    write_captions(
        folder / "clips.csv",
        folder / "captions.csv",
        table,
        splits,
        {
            **{
                name: folder / f"{name}.csv"
                for name in ("variations", "unfiltered", "rejected", "usage")
            },
            "example": folder / "example.json",
        },
        published=published,
        stop=stop,
    )


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.DEBUG)
    request = StopRequest()
    try:
        run(Path(sys.argv[1]), lambda: request.reason, base_url=sys.argv[2])
    except InputError as problem:
        print(problem)
        raise
