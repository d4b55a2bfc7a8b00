"""Tables and figures of the style study: the paper's, and what goes beyond them."""

CONTENTS = STYLE.config["stylised"]["contents"]
LARGE = STYLE.config["stylised"]["large"]
PAINTED = f"results/style/stylised/{STYLE.main}"
PAINTING = f"results/style/paintings/{STYLE.main}.png"

ON_PAGE["style_films"] = STYLE.of_videos("video.mp4")
ON_PAGE["style_pictures"] = STYLE.pictures


table(
    "style_table1",
    timing=["results/style/timing/images.csv"],
    published=shipped("resources/published/style_table1_seconds.csv"),
    paper=shipped("config/paper/style.yaml"),
    params={
        "architectures": STYLE.architectures,
        "width": STYLE.config["network"]["width"],
    },
)
figure(
    "style_figure1",
    runs="results/style/optimize/paintings/runs.csv",
    images="results/style/optimize/paintings/images",
    stylised_runs=[f"{PAINTED}/runs.csv"],
    stylised=f"{PAINTED}/{CONTENTS[0]}.png",
    quality=[
        "results/style/quality/optimize/paintings.csv",
        f"results/style/quality/stylised/{STYLE.main}.csv",
    ],
    content=f"results/style/contents/{CONTENTS[0]}.png",
    painting=PAINTING,
)
figure("style_figure2", **figure_inputs("backbones"))
figure("style_figure3", **figure_inputs("backbones"))
figure(
    "style_figure4",
    timing=["results/style/timing/losses.csv"],
    runs=style_experiments("runs.csv", STYLE.shown_with("losses")),
    history=style_experiments("history.csv", STYLE.shown_with("losses")),
)
figure("style_figure5", **figure_inputs("optimizers"))
figure("style_figure6", **figure_inputs("optimizers"))
figure("style_figure7", **figure_inputs("paintings"))
figure(
    "style_figure8",
    result=f"{PAINTED}/{LARGE}.png",
    content=f"results/style/contents/{LARGE}.png",
    painting=PAINTING,
    stylised_runs=[f"{PAINTED}/runs.csv"],
)
figure(
    "style_styles",
    stylised_runs=STYLE.stylised_runs,
    stylised=expand(
        "results/style/stylised/{painting}/{content}.png",
        painting=STYLE.shown,
        content=STYLE.shown_contents,
    ),
    paintings=expand("results/style/paintings/{name}.png", name=STYLE.shown),
    params={"contents": CONTENTS},
)
figure("style_presets", **figure_inputs("presets"))
figure(
    "style_initialisations",
    **figure_inputs("initialisations"),
    quality=expand(
        "results/style/quality/optimize/{name}.csv",
        name=STYLE.shown_with("initialisations"),
    ),
)
figure(
    "style_training",
    losses=style_trained("losses.csv"),
    selection=style_trained("selection.csv"),
    samples=style_trained("samples.png"),
)
table("style_scores", quality=STYLE.quality, stylised_runs=STYLE.stylised_runs)
summary(
    "style_summary",
    painted=expand(f"{PAINTED}/{{name}}.png", name=CONTENTS),
    contents=expand("results/style/contents/{name}.png", name=CONTENTS),
    painting=PAINTING,
    stylised=STYLE.stylised_runs,
    runs="results/style/optimize/paintings/runs.csv",
    images="results/style/optimize/paintings/images",
    table1="results/tables/style_table1.csv",
    timing="results/style/timing/images.csv",
    selection=style_trained("selection.csv"),
    paper=shipped("config/paper/style.yaml"),
    params={
        "backbones": {
            role: [backbone["architecture"], backbone["weights"]]
            for role, backbone in STYLE.config["backbones"].items()
        },
        "sources": sorted(
            {
                STYLE.config["paintings"][name]["source"]
                for name in STYLE.names("painting")
            }
        ),
    },
)
