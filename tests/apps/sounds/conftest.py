"""What the tests of search share."""

import signal

import pytest


@pytest.fixture(autouse=True)
def handlers():
    """The commands catch SIGINT and SIGTERM; the tests' process is to keep its own."""
    kept = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    for number, handler in kept:
        signal.signal(number, handler)
