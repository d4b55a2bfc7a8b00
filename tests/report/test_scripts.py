"""The scripts of the report, run as the rules run them, from CSV files to the page."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import synthetic

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "resources" / "published"
CAPTIONS = sorted((ROOT / "resources" / "captions").glob("rl_*.rst"))


class Named(list):
    """A list whose entries have names too, as Snakemake's inputs, outputs and params."""

    def __init__(self, *entries, **named):
        super().__init__(entries or named.values())
        self.__dict__.update(named)
        self.items = named.items


def run(script, given, output, **params):
    snakemake = SimpleNamespace(
        rule=script,
        input=Named(**given),
        output=Named(*map(str, output)),
        params=Named(scale="demo", **params),
        log=[f"results/logs/{script}/log.log"],
        wildcards=Named(),
        threads=1,
    )
    runpy.run_path(
        str(ROOT / "workflow_scripts" / f"{script}.py"), init_globals={"snakemake": snakemake}
    )
    for path in output:
        assert Path(path).stat().st_size > 0


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder in which every script has run once, on made-up inputs."""
    folder = tmp_path_factory.mktemp("run")
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    stacks = {
        "scores": synthetic.scores(),
        "layers": synthetic.layers(),
        "sizes": synthetic.sizes(),
        "latency": synthetic.latency(),
        "datasets": synthetic.datasets(),
    }
    files = {}
    for name, frame in stacks.items():
        # Two files each, as stacks and tasks give them.
        half = len(frame) // 2
        files[name] = [f"{name}-a.csv", f"{name}-b.csv"]
        for path, part in zip(files[name], (frame[:half], frame[half:]), strict=True):
            part.to_csv(path, index=False)
    tables, figures = Path("results/tables"), Path("results/figures")

    def drawn(name):
        paths = [figures / f"{name}.{kind}" for kind in ("svg", "pdf", "png")]
        return [*paths, tables / f"{name}.csv"]

    def written(name):
        return [tables / f"{name}.{kind}" for kind in ("csv", "md", "tex")]

    scored = {name: files[name] for name in ("scores", "datasets")}
    published = str(PUBLISHED / "rl_table1_megabytes.csv")
    sized = {"sizes": files["sizes"], "published": published}
    run("rl_figure1", scored, drawn("rl_figure1"), last_evaluations=2)
    run("rl_figure2", scored, drawn("rl_figure2"), last_evaluations=2)
    run("rl_figure3", {"layers": files["layers"]}, drawn("rl_figure3"))
    run("rl_figure4", sized, drawn("rl_figure4"), task="halfcheetah")
    run("rl_curves", {"scores": files["scores"]}, drawn("rl_curves"))
    run("rl_table1", sized, written("rl_table1"), task="halfcheetah")
    run("rl_scores", scored, written("rl_scores"), last_evaluations=2)
    run(
        "rl_inference",
        {"latency": files["latency"]},
        [*drawn("rl_inference"), *written("rl_inference")[1:]],
        task="halfcheetah",
    )
    run(
        "report_claims",
        {**files, "trained_layers": files["layers"]},
        [Path("results/claims.csv")],
        last_evaluations=2,
    )
    Path("differences.md").write_text("- **Physics**: `-v4`.\n")
    Path("colophon.md").write_text("MIT.\n")
    names = (*(f"rl_figure{n}" for n in range(1, 5)), "rl_curves", "rl_inference")
    run(
        "report_page",
        {
            "claims": "results/claims.csv",
            "published_claims": str(PUBLISHED / "claims.csv"),
            "figures": [str(figures / f"{name}.svg") for name in names],
            "captions": list(map(str, CAPTIONS)),
            "table1": str(tables / "rl_table1.csv"),
            "scores": str(tables / "rl_scores.csv"),
            "latency": str(tables / "rl_inference.csv"),
            "layers": files["layers"],
            "datasets": files["datasets"],
            "differences": "differences.md",
            "colophon": "colophon.md",
        },
        [Path("results/report.html")],
        title="A study",
        subtitle="What it is.",
        facts={"Seeds": "5"},
        latency_task="halfcheetah",
        provenance="results/provenance",
        packages=["python", "matplotlib"],
    )
    yield folder
    patch.undo()


def test_the_page_shows_what_the_scripts_made(results):
    html = (results / "results" / "report.html").read_text()
    assert html.count("data:image/svg+xml;base64,") == 6
    for text in ("rl-memory-4x", "0.14297", "rl_figure3", "1.76", "<code>-v4</code>"):
        assert text in html


def test_the_page_times_the_jobs_before_it(results):
    html = (results / "results" / "report.html").read_text()
    assert "rl_figure4" in html[html.index('id="timings"') :]


def test_each_figure_leaves_the_numbers_that_it_draws(results):
    for name in ("rl_figure1", "rl_figure2", "rl_figure3", "rl_figure4", "rl_inference"):
        long = pd.read_csv(results / "results" / "tables" / f"{name}.csv")
        assert {"value", "published", "difference", "unit", "scale"} <= set(long.columns)
        assert long["value"].notna().all()
    assert "grasp" not in set(
        pd.read_csv(results / "results" / "tables" / "rl_figure1.csv")["method"]
    )


def test_claims_on_scores_are_open_and_those_on_masks_decided(results):
    verdicts = pd.read_csv(results / "results" / "claims.csv").set_index("id")["verdict"]
    assert verdicts["rl-bc-95"] == verdicts["rl-bcq-95"] == "not testable at this scale"
    assert set(verdicts.drop(["rl-bc-95", "rl-bcq-95"])) == {"reproduced"}
