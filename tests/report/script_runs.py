"""Runs the report's scripts as the rules run them, in the current folder."""

from pathlib import Path

import stand_in
from stand_in import Named

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "resources" / "published"
TABLES, FIGURES = Path("results/tables"), Path("results/figures")

STYLE_FIGURES = (
    *(f"style_figure{n}" for n in range(1, 9)),
    "style_presets",
    "style_initialisations",
    "style_training",
    "style_checkpoints",
    "style_motion",
)
STYLE_TABLES = ("style_table1", "style_scores", "style_targets", "style_breakeven")
ARCHITECTURES = {"alexnet": "narrow_alexnet", "vgg": "narrow_vgg"}


AUDIO_FIGURES = ("audio_figure2", "audio_beyond")
AUDIO_TABLES = ("audio_table1", "audio_table2", "audio_leaks")
EXCLUSIONS = {"clean": "strict", "leaky": "none"}


def run(script, given, output, **params):
    """Run one script with these inputs, outputs and params, at demo scale."""
    stand_in.run(script, given, Named(*map(str, output)), **{"scale": "demo", **params})
    for path in output:
        assert Path(path).stat().st_size > 0


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
    chosen = {"stylised_runs": files["stylised_runs"]}

    def draw(name, given, **params):
        run(name, given, figure_files(name), **{"scale": scale, **params})

    def write(name, given, **params):
        run(name, given, table_files(name), **{"scale": scale, **params})

    def of(experiment, *kinds):
        return {kind: files[f"{experiment}_{kind}"] for kind in kinds}

    published = str(PUBLISHED / "style_table1_seconds.csv")
    write(
        "style_table1",
        {"timing": files["timing"], "published": published},
        architectures=architectures or ARCHITECTURES,
        width=width,
    )
    pair = {"content": "lake", "painting": "swirls"}
    second = {"stylised": files["stylised"], "quality": files["quality"], **chosen}
    draw("style_figure1", {**of("paintings", "runs", "images"), **pictures, **second}, **pair)
    draw("style_figure2", of("backbones", "runs", "history"))
    draw("style_figure3", {**of("backbones", "runs", "images"), **pictures})
    draw("style_figure4", {"timing": files["losses"], **of("losses", "runs", "history")})
    draw("style_figure5", of("optimizers", "runs", "history"))
    draw("style_figure6", {**of("optimizers", "runs", "images"), **pictures})
    draw("style_figure7", {**of("paintings", "runs", "images"), **pictures})
    large = {"content": files["contents"][1], "painting": files["paintings"][1]}
    draw("style_figure8", {**large, "result": files["stylised"][-1], **chosen})
    draw("style_presets", {**of("presets", "runs", "history", "images"), **pictures})
    draw(
        "style_initialisations",
        {**of("initialisations", "runs", "images"), **pictures, "quality": files["quality"]},
    )
    trained = {"losses": files["trained"], "selection": files["selection"]}
    draw("style_training", {**trained, "samples": files["samples"]})
    sheets = {"trained": files["sheets"], "shipped": files["shipped_sheets"]}
    draw("style_checkpoints", {**sheets, "selection": files["selection"]})
    draw("style_motion", {kind: files[kind] for kind in ("strips", "flicker", "speed")})
    write("style_scores", {"quality": files["quality"], **chosen})
    write("style_targets", {"targets": files["targets"]})
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
    }


def style_page_inputs(files):
    """The style study's inputs of report_page, but for figures and captions."""
    tables = {name: str(TABLES / f"{name}.csv") for name in STYLE_TABLES}
    return {
        **tables,
        "style_stylised_runs": files["stylised_runs"],
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
        "audio_table2",
        {**of("metrics", "ensembles"), **printed},
        table_files("audio_table2"),
        **both,
    )
    run("audio_figure2", of("history", "metrics"), figure_files("audio_figure2"), **both)
    run(
        "audio_leaks",
        {**of("metrics", "queries", "removed", "counts"), "clips": files["clotho"]},
        table_files("audio_leaks"),
        exclusions=EXCLUSIONS,
        **both,
    )
    beyond = [*figure_files("audio_beyond"), *table_files("audio_beyond")[1:]]
    run("audio_beyond", of("metrics"), beyond, **both)


def audio_claim_inputs(files):
    """The audio study's inputs of report_claims."""
    return {f"audio_{name}": files[name] for name in ("queries", "history", "ensembles")}


def audio_page_inputs(files):
    """The audio study's inputs of report_page, but for figures and captions."""
    tables = {name: str(TABLES / f"{name}.csv") for name in (*AUDIO_TABLES, "audio_beyond")}
    return {**tables, "audio_usage": files["usage"], "audio_clips": files["clips"]}
