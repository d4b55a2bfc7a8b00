"""The scripts of the report, run as the rules run them, from CSV files to the page."""

from pathlib import Path

import pandas as pd
import pytest
import synthetic
import synthetic_audio
import synthetic_style
from browser import CHROMIUM, WITHOUT, browsing
from reading import AXE, FAINT, PICTURES_LOADED, VIOLATIONS, look
from script_runs import (
    ARCHITECTURES,
    AUDIO_FIGURES,
    AUDIO_TABLES,
    FIGURES,
    PUBLISHED,
    ROOT,
    STYLE_FIGURES,
    STYLE_TABLES,
    TABLES,
    TRAINED,
    audio_claim_inputs,
    audio_page_inputs,
    figure_files,
    run,
    run_audio_scripts,
    run_style_scripts,
    style_claim_inputs,
    style_page_inputs,
    table_files,
)

from triptych.studies import NAMES

CAPTIONS = sorted((ROOT / "resources" / "captions").glob("*_*.rst"))
PICTURES = (*STYLE_FIGURES, *AUDIO_FIGURES)
PREVIEWS = ("style_styles", "audio_beyond", "rl_figure1")
RL_FIGURES = (*(f"rl_figure{n}" for n in range(1, 5)), "rl_curves", "rl_inference")
RL_FIGURES += ("rl_sensors", "rl_figure3_counts")
RL_FIGURES += ("rl_figure1_curves", "rl_figure2_curves")


needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One for all tests."""
    with browsing(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder in which every script has run once, on made-up inputs."""
    folder = tmp_path_factory.mktemp("run")
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    stacks = {
        "scores": synthetic.both_ways(synthetic.with_a_variant()),
        "inputs": synthetic.inputs(),
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
    synthetic.latency().to_csv("latency.csv", index=False)
    scored = {name: files[name] for name in ("scores", "inputs", "datasets")}
    published = str(PUBLISHED / "rl_table1_megabytes.csv")
    sized = {"sizes": files["sizes"], "published": published}
    run(
        "rl_draw_scores",
        scored,
        named={
            **{
                name: figure_files(name)
                for n in (1, 2)
                for name in (f"rl_figure{n}", f"rl_figure{n}_curves")
            },
            "curves": figure_files("rl_curves"),
            "sensors": figure_files("rl_sensors"),
            **{
                each: table_files(f"rl_{each}")
                for each in ("scores", "comparisons", "inputs", "variants")
            },
        },
        figures={"rl_figure1": ["snip"], "rl_figure2": ["grasp"]},
        levels={"rl_figure1_curves": "snip", "rl_figure2_curves": "grasp"},
        sensing={"algorithm": "BC", "networks": "paper"},
        variants=synthetic.VARIANTS,
        units={},
        data={},
        observations="normalised",
        last_evaluations=2,
    )
    run(
        "rl_draw_masks",
        {"layers": files["layers"], **sized},
        named={
            **{f"figure{n}": figure_files(f"rl_figure{n}") for n in (3, 4)},
            "counts": figure_files("rl_figure3_counts"),
            "table1": table_files("rl_table1"),
        },
        task="halfcheetah",
        observations="normalised",
    )
    run(
        "rl_inference",
        {"latency": "latency.csv"},
        [*figure_files("rl_inference"), *table_files("rl_inference")[1:]],
        task="halfcheetah",
    )
    style = synthetic_style.write_results(Path("."), side=48)
    run_style_scripts(style)
    audio, about_audio = synthetic_audio.write_results(Path(".")), synthetic_audio.settings()
    run_audio_scripts(audio, about_audio)
    run(
        "report_claims",
        {
            **{f"rl_{name}": paths for name, paths in files.items()},
            "rl_trained_layers": files["layers"],
            **style_claim_inputs(style),
            **audio_claim_inputs(audio),
        },
        [Path("results/claims.csv")],
        settings={
            "style": {
                **{"architectures": ARCHITECTURES, "timed": "waves"},
                "photographs": "embedded",
            },
            "audio": {"study": about_audio, "trained": TRAINED},
            "rl": {
                "last_evaluations": 2,
                "precision": "float32",
                "observations": "normalised",
                "networks": {"BC": "paper", "BCQ": "paper"},
            },
        },
    )
    Path("differences.md").write_text("- **Physics**: `-v4`.\n")
    Path("colophon.md").write_text("MIT.\n")
    run(
        "report_page",
        {
            "claims": "results/claims.csv",
            "published_claims": [str(PUBLISHED / f"{name}_claims.csv") for name in NAMES],
            "figures": [str(FIGURES / f"{name}.svg") for name in (*PICTURES, *RL_FIGURES)],
            "pictures": [str(FIGURES / f"{name}.png") for name in PREVIEWS],
            "captions": list(map(str, CAPTIONS)),
            "rl_table1": str(TABLES / "rl_table1.csv"),
            **{
                f"rl_{each}": str(TABLES / f"rl_{each}.csv")
                for each in ("scores", "comparisons", "inputs")
            },
            "rl_varied": str(TABLES / "rl_variants.csv"),
            "rl_latency": str(TABLES / "rl_inference.csv"),
            "rl_layers": files["layers"],
            "rl_datasets": files["datasets"],
            **style_page_inputs(style),
            **audio_page_inputs(audio),
            "scales": str(PUBLISHED.parent / "scales.csv"),
            "differences": "differences.md",
            "colophon": "colophon.md",
        },
        [Path("results/report.html")],
        title="A study",
        subtitle="What it is.",
        facts={"style": {"Size": "48 px"}, "audio": {"Clips": "60"}, "rl": {"Seeds": "5"}},
        settings={
            "style": {},
            "audio": {"study": about_audio},
            "rl": {
                "latency_task": "halfcheetah",
                "observations": "normalised",
                "variants": synthetic.VARIANTS,
                "units": {},
            },
        },
        provenance="results/provenance",
        packages=["python", "matplotlib"],
    )
    yield folder
    patch.undo()


def test_the_page_shows_what_the_scripts_made(results):
    html = (results / "results" / "report.html").read_text()
    assert html.count("data:image/svg+xml,") == len(PICTURES) + len(RL_FIGURES)
    assert html.count("data:video/mp4;base64,") == 3
    for name in (*PICTURES, *STYLE_TABLES, *AUDIO_TABLES, *RL_FIGURES):
        assert f'id="{name}"' in html
    for text in ("rl-memory-4x", "0.14297", "rl_figure3", "1.76", "<code>-v4</code>"):
        assert text in html


def test_the_page_begins_with_scores_in_words(results):
    html = (results / "results" / "report.html").read_text()
    assert html.index("How far from published?") < html.index("0.530 MB") < html.index("<img")


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everybody_can_read_the_page(results, browser, width, scheme):
    look(browser, results / "results" / "report.html", width, scheme)
    assert browser.value(FAINT) == []
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(PICTURES_LOADED)
    if AXE.exists():
        browser.value(f"{AXE.read_text(encoding='utf-8')};1")
        assert browser.value(VIOLATIONS) == []


@needs_browser
def test_what_is_faint_is_found(browser, tmp_path):
    """#767676 is the lightest grey that AA allows on white."""
    (tmp_path / "page.html").write_text('<p style="color: #767676">a<p style="color: #777">b')
    look(browser, tmp_path / "page.html", 390, "light")
    assert browser.value(FAINT) == ["b: rgb(119, 119, 119) on rgb(255, 255, 255)"]


def test_the_page_times_the_jobs_before_it(results):
    html = (results / "results" / "report.html").read_text()
    assert "rl_draw_masks" in html[html.index('id="timings"') :]


@pytest.mark.parametrize("name", [*PICTURES, *STYLE_TABLES, *AUDIO_TABLES, *RL_FIGURES])
def test_each_product_leaves_the_numbers_that_it_shows(results, name):
    long = pd.read_csv(results / "results" / "tables" / f"{name}.csv")
    assert {"value", "published", "difference", "unit", "scale"} <= set(long.columns)
    assert set(long["scale"]) == {"demo"}
    # What was not measured, and published rows of their own, have no value.
    if name not in ("style_table1", "style_targets", "style_motion", "audio_table2"):
        assert long["value"].notna().all()


def test_a_figure_of_one_method_leaves_the_other_out(results):
    long = pd.read_csv(results / "results" / "tables" / "rl_figure1.csv")
    assert "grasp" not in set(long["method"])


def test_claims_on_scores_and_masks_are_seen_and_those_on_bytes_decided(results):
    """The data are not D4RL's, nor are there as many updates."""
    verdicts = pd.read_csv(results / "results" / "claims.csv").set_index("id")["verdict"]
    of_rl = verdicts[verdicts.index.str.startswith("rl-")]
    decided = of_rl[["rl-memory-4x", "rl-sparse-inference"]]
    assert set(decided) == {"reproduced"}
    assert set(of_rl.drop(decided.index)) == {"seen on other data"}


def test_of_the_style_claims_the_video_alone_can_be_tested_with_other_backbones(results):
    verdicts = pd.read_csv(results / "results" / "claims.csv").set_index("id")["verdict"]
    style = verdicts[verdicts.index.str.startswith("style-")]
    assert style["style-video"] == "reproduced"
    assert set(style.drop("style-video")) == {"not testable at this scale"}


def test_synthesised_sounds_test_no_claim_of_the_audio_report(results):
    verdicts = pd.read_csv(results / "results" / "claims.csv").set_index("id")["verdict"]
    assert set(verdicts[verdicts.index.str.startswith("audio-")]) == {"not testable at this scale"}


def test_every_listed_claim_has_a_verdict_in_the_papers_order(results):
    verdicts = pd.read_csv(results / "results" / "claims.csv")
    listed = pd.concat([pd.read_csv(PUBLISHED / f"{name}_claims.csv") for name in NAMES])
    assert list(verdicts["id"]) == list(listed["id"])
