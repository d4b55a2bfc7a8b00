"""Claims and the page, from the tidy files of all studies."""

REPORT_FIGURES = [*STYLE.FIGURES, *AUDIO.FIGURES, *RL.FIGURES]


rule report_claims:
    """Verdicts on the papers' claims: results/claims.csv."""
    input:
        style_runs=STYLE.of_experiments("runs.csv"),
        style_history=STYLE.of_experiments("history.csv"),
        style_timing=["results/style/timing/images.csv"],
        style_loss_timing=["results/style/timing/losses.csv"],
        style_quality=["results/style/quality.csv"],
        style_stylised_runs=STYLE.stylised_runs,
        style_speed=STYLE.of_videos("speed.csv"),
        style_properties=STYLE.of_videos("properties.csv"),
        audio_queries="results/audio/queries.csv",
        audio_history="results/audio/history.csv",
        audio_ensembles="results/audio/ensembles.csv",
        audio_counts=f"results/audio/corpora/{AUDIO.config['evaluated']}/counts.csv",
        audio_manifest=f"results/audio/corpora/{AUDIO.config['evaluated']}/manifest.csv",
        audio_captions=AUDIO.data("captions.csv"),
        audio_variations="results/audio/captions/variations.csv",
        audio_usage="results/audio/captions/usage.csv",
        scores=RL.files("scores.csv", trained=True),
        trained_layers=RL.files("layers.csv", trained=True),
        layers=RL.files("layers.csv", trained=False),
        sizes=RL.files("sizes.csv", trained=False),
        latency=[RL.latency],
        datasets=RL.datasets,
    output:
        report(
            "results/claims.csv",
            caption="../resources/captions/report_claims.rst",
            category="Claims",
            labels={"product": "Claims", "shows": "verdict on each"},
        ),
    log:
        "results/logs/report_claims/report_claims.log",
    benchmark:
        "results/benchmarks/report_claims/report_claims.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        last_evaluations=RL.config["evaluation"]["last"],
        rl_precision=RL.config["training"]["precision"],
        style_architectures=STYLE.architectures,
        style_timed=STYLE.main,
        audio_study=AUDIO.study,
        audio_trained=AUDIO.trained,
        scale=SCALE,
        code=code("report_claims"),
    script:
        "../workflow_scripts/report_claims.py"


rule report_page:
    """The page that shows everything: results/report.html."""
    input:
        figures=expand("results/figures/{name}.svg", name=REPORT_FIGURES),
        captions=expand("resources/captions/{name}.rst", name=REPORT_FIGURES),
        style_table1="results/tables/style_table1.csv",
        style_breakeven="results/tables/style_breakeven.csv",
        style_targets="results/tables/style_targets.csv",
        style_scores="results/tables/style_scores.csv",
        style_stylised_runs=STYLE.stylised_runs,
        style_parity=STYLE.parity,
        style_properties=STYLE.of_videos("properties.csv"),
        style_videos=STYLE.of_videos("video.mp4"),
        audio_table1="results/tables/audio_table1.csv",
        audio_table2="results/tables/audio_table2.csv",
        audio_leaks="results/tables/audio_leaks.csv",
        audio_beyond="results/tables/audio_beyond.csv",
        audio_usage="results/audio/captions/usage.csv",
        audio_clips=AUDIO.data("clips.csv"),
        search="results/search.html",
        submissions=AUDIO.submissions,
        table1="results/tables/rl_table1.csv",
        scores="results/tables/rl_scores.csv",
        latency="results/tables/rl_inference.csv",
        layers=RL.files("layers.csv"),
        datasets=RL.datasets,
        claims="results/claims.csv",
        published_claims="resources/published/claims.csv",
        differences="docs/differences.md",
        colophon="docs/colophon.md",
        templates=expand(
            "workflow_scripts/triptych/present/templates/{file}",
            file=["page.html.j2", "style.css"],
        ),
    output:
        "results/report.html",
    log:
        "results/logs/report_page/report_page.log",
    benchmark:
        "results/benchmarks/report_page/report_page.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        title="Machine-learning papers, reproduced by one workflow",
        subtitle=(
            "A rehearsal: every rule has run, on made-up inputs. No number below means anything."
            if SCALE == "rehearsal"
            else "Three of them. Every number below was computed by this run."
        ),
        scale=SCALE,
        studies={
            "style": {
                "title": "Style transfer of images and videos",
                "paper": "*Style Transfer of Images and Videos* (Shen and Wang, 2022)",
                "facts": STYLE.facts(),
            },
            "audio": {
                "title": "Text-to-audio retrieval",
                "paper": "*CP-JKU's submission to Task 6b of the DCASE2023 challenge: audio "
                "retrieval with PaSST and GPT-augmented captions* (Primus, Koutini and Widmer, "
                "2023)",
                "facts": AUDIO.facts(),
            },
            "rl": {
                "title": "Single-shot pruning for offline RL",
                "paper": "*Single-Shot Pruning for Offline Reinforcement Learning* "
                "(Arnob, Ohib, Plis and Precup, 2021)",
                "facts": RL.facts(),
            },
        },
        latency_task=RL.config["latency"]["task"],
        audio_study=AUDIO.study,
        packages=[
            "torch",
            "tokenizers",
            "opencv-python-headless",
            "av",
            "mujoco",
            "gymnasium",
            "numpy",
            "numba",
            "snakemake",
            "python",
        ],
        provenance="results/provenance",
        code=code("report_page"),
    script:
        "../workflow_scripts/report_page.py"


rule report_manifest:
    """What the run made, and from what: results/manifest.json, for `triptych verify`."""
    input:
        page="results/report.html",
        claims="results/claims.csv",
        submissions=AUDIO.submissions,
    output:
        "results/manifest.json",
    log:
        "results/logs/report_manifest/report_manifest.log",
    benchmark:
        "results/benchmarks/report_manifest/report_manifest.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=240,
    params:
        provenance="results/provenance",
        config=config,
        scale=SCALE,
        code=code("report_manifest"),
    script:
        "../workflow_scripts/report_manifest.py"
