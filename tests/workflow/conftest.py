"""Copies of the checkout in which a tiny version of a study has run once.

The whole workflow with its page is too long for a test; the demo runs it.
"""

import shutil

import pytest
from tiny_checkout import Checkout, copy_checkout


@pytest.fixture(scope="session")
def planned_in(tmp_path_factory):
    """A checkout in which nothing runs and nobody changes a file, for dry runs."""
    return copy_checkout(tmp_path_factory.mktemp("planned"))


@pytest.fixture
def fresh(tmp_path):
    """A checkout in which nothing has run."""
    return copy_checkout(tmp_path)


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory):
    """The checkout in which the offline-RL study has run; not to be changed."""
    checkout = copy_checkout(tmp_path_factory.mktemp("finished"))
    checkout.snakemake("rl")
    return checkout


@pytest.fixture
def finished(finished_once, tmp_path):
    """A copy of the finished checkout, file times kept, for a test to change."""
    shutil.copytree(finished_once.root, tmp_path / "checkout", symlinks=True)
    return Checkout(tmp_path / "checkout")
