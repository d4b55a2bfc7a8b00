"""Runs the report's scripts as the rules run them, in the current folder."""

from pathlib import Path

import stand_in
from stand_in import Named

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "resources" / "published"
TABLES, FIGURES = Path("results/tables"), Path("results/figures")

STYLE_FIGURES = (
    *(f"style_figure{n}" for n in range(1, 9)),
    "style_styles",
    "style_sizes",
    "style_presets",
    "style_initialisations",
    "style_training",
    "style_checkpoints",
    "style_motion",
)
STYLE_TABLES = ("style_table1", "style_scores", "style_targets", "style_breakeven")
ARCHITECTURES = {
    "alexnet": "narrow_alexnet",
    "vgg": "narrow_vgg",
    "validation": "narrow_alexnet",
}


AUDIO_FIGURES = ("audio_figure2", "audio_beyond")
AUDIO_TABLES = ("audio_table1", "audio_table2", "audio_ensembles", "audio_leaks")
TRAINED = {"exclude": "strict", "precisions": ["float32", "float32"]}
EXCLUSIONS = {"clean": "strict", "leaky": "none"}


def run(script, given, output=(), named=None, **params):
    """Run one script with these inputs, outputs and params, at demo scale.

    output: files without a name; named: a file, or a list of them, by name.
    """
    named = {name: _paths(files) for name, files in (named or {}).items()}
    every = [*map(str, output), *(path for files in named.values() for path in _each(files))]
    stand_in.run(script, given, Named(*every, **named), **{"scale": "demo", **params})
    for path in every:
        assert Path(path).stat().st_size > 0


def _paths(files):
    return str(files) if isinstance(files, str | Path) else list(map(str, files))


def _each(files):
    return [files] if isinstance(files, str) else files


def figure_files(name):
    """What a script of a figure writes."""
    return [*(FIGURES / f"{name}.{kind}" for kind in ("svg", "pdf", "png")), TABLES / f"{name}.csv"]


def table_files(name):
    """What a script of a table writes."""
    return [TABLES / f"{name}.{kind}" for kind in ("csv", "md", "tex")]


def run_style_scripts(files, *, architectures=None, width=16, scale="demo"):
    """Run every script of the style study's figures and tables.

    files: as `synthetic_style.write_results` returns them.
    """
    pictures = {name: files[name] for name in ("contents", "paintings")}

    def draw(name, given, **params):
        run(name, given, figure_files(name), **{"scale": scale, **params})

    def write(name, given, **params):
        run(name, given, table_files(name), **{"scale": scale, **params})

    def of(experiment, *kinds):
        return {kind: files[f"{experiment}_{kind}"] for kind in kinds}

    def both(kind):
        return [files[f"{experiment}_{kind}"] for experiment in ("backbones", "optimizers")]

    published = str(PUBLISHED / "style_table1_seconds.csv")
    write(
        "style_table1",
        {"timing": files["timing"], "published": published},
        architectures=architectures or ARCHITECTURES,
        width=width,
    )
    run(
        "style_draw_optimisation",
        {
            **{kind: both(kind) for kind in ("runs", "history", "images")},
            **pictures,
        },
        named={
            **{f"figure{n}": figure_files(f"style_figure{n}") for n in (2, 3, 5, 6)},
            "times": "results/style/timing/targets.csv",
            "targets": table_files("style_targets"),
        },
        parts=[0.5, 0.2],
        scale=scale,
    )
    draw("style_figure4", {"timing": files["losses"], **of("losses", "runs", "history")})
    large = {"content": files["contents"][1], "painting": files["paintings"][1]}
    chosen = {"stylised_runs": files["stylised_runs"]}
    gallery = ("paintings", "sizes")
    run(
        "style_draw_gallery",
        {
            **{kind: [files[f"{each}_{kind}"] for each in gallery] for kind in ("runs", "images")},
            **pictures,
        },
        named={"figure7": figure_files("style_figure7"), "sizes": figure_files("style_sizes")},
        scale=scale,
    )
    draw("style_figure8", {**large, "result": files["stylised"][-1], **chosen})
    draw("style_presets", {**of("presets", "runs", "history", "images"), **pictures})
    run(
        "style_draw_results",
        {
            **{
                f"{experiment}_{kind}": files[f"{experiment}_{kind}"]
                for experiment in ("paintings", "initialisations")
                for kind in ("runs", "images")
            },
            **{name: files[name] for name in ("quality", "stylised_runs", "stylised")},
            **pictures,
        },
        named={
            "styles": figure_files("style_styles"),
            "figure1": figure_files("style_figure1"),
            "initialisations": figure_files("style_initialisations"),
            "scores": table_files("style_scores"),
        },
        contents=["lake"],
        painting="swirls",
        scale=scale,
    )
    trained = {name: files[name] for name in ("selection", "samples", "sheets")}
    run(
        "style_draw_networks",
        {**trained, "losses": files["trained"], "shipped": files["shipped_sheets"]},
        named={
            "training": figure_files("style_training"),
            "checkpoints": figure_files("style_checkpoints"),
        },
        scale=scale,
    )
    draw("style_motion", {kind: files[kind] for kind in ("strips", "flicker", "speed")})
    costs = {"trained": files["trained"], "shipped": files["shipped"]}
    write("style_breakeven", {**costs, "table1": str(TABLES / "style_table1.csv")})


def style_claim_inputs(files):
    """The style study's inputs of report_claims."""
    experiments = [name.removesuffix("_runs") for name in files if name.endswith("_history")]
    experiments = [name.removesuffix("_history") for name in experiments]
    return {
        "style_runs": [files[f"{name}_runs"] for name in experiments],
        "style_history": [files[f"{name}_history"] for name in experiments],
        "style_timing": files["timing"],
        "style_loss_timing": files["losses"],
        "style_quality": files["quality"],
        "style_stylised_runs": files["stylised_runs"],
        "style_speed": files["speed"],
        "style_properties": files["properties"],
        "style_flicker": files["flicker"],
    }


def style_page_inputs(files):
    """The style study's inputs of report_page, but for figures and captions."""
    tables = {name: str(TABLES / f"{name}.csv") for name in STYLE_TABLES}
    return {
        **tables,
        "style_stylised": files["stylised_runs"],
        "style_parity": files["parity"],
        "style_properties": files["properties"],
        "style_videos": files["videos"],
    }


def run_audio_scripts(files, study, *, scale="demo"):
    """Run every script of the audio study's figures and tables.

    files, study: as `synthetic_audio.write_results` and `settings` return them.
    """

    def of(*names):
        return {name: files[name] for name in names}

    both = {"study": study, "scale": scale}
    run("audio_table1", of("example"), table_files("audio_table1"), scale=scale)
    printed = {"published": str(PUBLISHED / "audio_table2.csv")}
    run(
        "audio_draw_scores",
        {
            **of("metrics", "ensembles", "subsets", "history", "queries", "removed", "counts"),
            "clips": files["clotho"],
            **printed,
        },
        named={
            "table2": table_files("audio_table2"),
            "ensembles": table_files("audio_ensembles"),
            "figure2": figure_files("audio_figure2"),
            "leaks": table_files("audio_leaks"),
            "beyond": [*figure_files("audio_beyond"), *table_files("audio_beyond")[1:]],
        },
        exclusions=EXCLUSIONS,
        **both,
    )


def audio_claim_inputs(files):
    """The audio study's inputs of report_claims."""
    names = ("queries", "history", "ensembles", "subsets", "manifest", "captions", "variations")
    names += ("usage", "clips", "asked", "unfiltered")
    return {
        **{f"audio_{name}": files[name] for name in names},
        "audio_published": str(PUBLISHED / "audio_table2.csv"),
        "audio_counts": files["counts"][0],
    }


def audio_page_inputs(files):
    """The audio study's inputs of report_page, but for figures and captions."""
    tables = {name: str(TABLES / f"{name}.csv") for name in (*AUDIO_TABLES, "audio_beyond")}
    return {**tables, "audio_usage": files["usage"], "audio_clips": files["clips"]}
