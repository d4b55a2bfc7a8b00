"""Tables and figures of the audio study, from its tidy files."""

STUDY = {"study": AUDIO.study}
COUNTS = [f"results/audio/corpora/{name}/counts.csv" for name in AUDIO.corpora]
REMOVED = [f"results/audio/corpora/{name}/removed.csv" for name in AUDIO.corpora]
SYSTEMS = shipped("resources/published/audio_table2.csv")

summary("audio_summary", table2="results/tables/audio_table2.csv")
table("audio_table1", example="results/audio/captions/example.json")
table(
    "audio_table2",
    metrics="results/audio/metrics.csv",
    queries="results/audio/queries.csv",
    ensembles="results/audio/ensembles.csv",
    published=SYSTEMS,
    params=STUDY,
)
figure(
    "audio_figure2",
    models=AUDIO.models(AUDIO.finetuned_main),
    params={**STUDY, "runs": module_param(AUDIO.finetuned_main)},
)
figure("audio_training", history="results/audio/history.csv", params=STUDY)
table(
    "audio_leaks",
    models=AUDIO.models(AUDIO.compared_for_leaks),
    clips=AUDIO_CLIPS,
    removed=REMOVED,
    counts=COUNTS,
    params={
        **STUDY,
        "runs": module_param(AUDIO.compared_for_leaks),
        "exclusions": dict(sorted(AUDIO.exclusions.items())),
    },
    env="audio",
)

if AUDIO.published:  # config/published.yaml
    ASKED["audio_published"] = AUDIO.published_downloads
    table(
        "audio_published",
        asked=ancient(asked("audio_published")),
        models=expand("results/audio/published/{name}", name=AUDIO.published),
        clips="results/audio/data/clotho/clips.csv",
        captions="results/audio/data/clotho/captions.csv",
        shards="results/audio/shards/clotho",
        published=SYSTEMS,
        params={
            "names": list(AUDIO.published),
            "longest_seconds": AUDIO.longest_seconds,
            "device": config["device"],
        },
        env="audio",
        threads=8,
        gpu=GPU,
    )

# The page links to these.
ON_PAGE["audio_links"] = ["results/search.html", *AUDIO.submissions]
