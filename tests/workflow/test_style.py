"""The style study under Snakemake, at a tiny size."""

import pytest
from tiny_checkout import COLD

pytestmark = pytest.mark.slow

TARGETS = ["style_presets", "results/style/networks/mosaic/plain/network.safetensors"]


@pytest.fixture(scope="module")
def styled(new_checkout, tmp_path_factory):
    checkout = new_checkout(tmp_path_factory.mktemp("styled"))
    checkout.snakemake(*TARGETS)
    return checkout


def test_nothing_is_to_be_done_after_a_run(styled):
    assert styled.stale(*TARGETS) == set()


@pytest.mark.long
def test_a_run_again_makes_the_same_images_and_networks(styled, fresh):
    fresh.snakemake(*TARGETS, python=COLD)
    patterns = ("optimize/*/images/*.png", "networks/**/*.safetensors", "photographs/**/*.bin")
    found = [path for pattern in patterns for path in (fresh.root / "results/style").glob(pattern)]
    assert len(found) == 6
    for path in found:
        assert path.read_bytes() == (styled.root / path.relative_to(fresh.root)).read_bytes(), path


def test_editing_the_optimizer_of_version_1_makes_its_pictures_anew(styled):
    path = styled.root / "workflow_scripts/triptych/style/optimise/lbfgs.py"
    text = path.read_text()
    path.write_text(text + "\nEDITED = 1\n")
    assert styled.stale(*TARGETS) == {"style_optimize", "style_presets"}
    path.write_text(text)
