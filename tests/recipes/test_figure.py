"""A figure added as CONTRIBUTING.md says is drawn, captioned, and in its study's document."""

import pandas as pd
import pytest
from recipes import follow
from tiny_checkout import copy_checkout

pytestmark = pytest.mark.slow


def test_a_figure_is_a_script_an_entry_and_a_line_of_the_document(tmp_path):
    checkout = copy_checkout(tmp_path)
    touched = follow("A figure", checkout.root)
    assert list(touched.values()) == [True, False, False]
    scores = {"task": "hopper", "method": ["dense", "snip"], "ratio_to_dense": [None, 0.9]}
    (tmp_path / "results/tables").mkdir(parents=True)
    pd.DataFrame(scores).to_csv(tmp_path / "results/tables/rl_scores.csv", index=False)
    checkout.snakemake("rl_kept", "--allowed-rules", "rl_kept")
    assert (tmp_path / "results/figures/rl_kept.svg").stat().st_size > 1000
    (page,) = (job for job in checkout.jobs("rl_page") if job["rule_name"] == "rl_page")
    assert "results/figures/rl_kept.svg" in page["input"]
    assert "\n\n:: fold figure rl_kept\n\n" in (tmp_path / "report/rl.md").read_text()
