"""The rules that take more than 10 seconds at demo scale, or nearly, each with an output of a job.

tests/workflow/test_resources.py compares the list with resources/costs.csv.
"""

SLOW_RULES = {
    "style_cut_contents": "results/style/contents/china.png",
    "style_prepare_photographs": "results/style/photographs/embedded/crops.bin",
    "style_optimize": "results/style/optimize/losses/runs.csv",
    "style_train": "results/style/networks/mosaic/plain/network.safetensors",
    "style_stylize": "results/style/stylised/waves/runs.csv",
    "style_quality": "results/style/quality/optimize/paintings.csv",
    "style_video": "results/style/video/waves/shipped/frames.mkv",
    "style_time": "results/style/timing/images.csv",
    "audio_synthesise": "results/audio/synthesised",
    "audio_text_model": "results/audio/text/mini_roberta",
    "audio_pretrain": "results/audio/models/mini_n-mini_roberta/leak_free/pretrained",
    "audio_finetune": "results/audio/models/mini_n-mini_roberta/leak_free/finetuned",
    "rl_collect": "results/rl/hopper/collected.hdf5",
    "rl_prune": "results/rl/hopper/narrow/measured-paper/masks.safetensors",
    "rl_train": "results/rl/hopper/narrow/bcq-paper/policies.safetensors",
    "rl_latency": "results/rl/hopper/latency.csv",
    "rl_draw_scores": "results/tables/rl_scores.csv",
}

RESUMING = (
    "style_optimize",
    "style_train",
    "audio_pretrain",
    "audio_finetune",
    "rl_train",
)
"""Those of them that go on from a checkpoint; the others begin again."""

SECONDS = {
    "style_optimize": {"runs.csv": ["seconds"], "history.csv": ["seconds"]},
    "style_train": {"losses.csv": ["seconds"]},
    "style_stylize": {"runs.csv": ["seconds"]},
    "style_video": {"speed.csv": ["seconds", "frames_per_second"]},
    "style_time": {"images.csv": ["seconds"], "losses.csv": ["seconds"]},
    "rl_latency": {"latency.csv": ["microseconds_median", "microseconds_minimum"]},
}
"""Columns of measured time, by rule and file: no two runs have the same."""
