"""Made-up but plausible results of the style study, for tests alone."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from triptych.style.optimise.choices import experiment_runs

CONTENTS = ("lake", "tower")
PAINTINGS = ("swirls", "waves", "mosaic")
CPU = "Some Processor 9000, 2 cores"
GPU = "NVIDIA H200"
OPTIMIZERS = {
    # optimizer, rates: where the loss ends, and whether the run finishes
    ("lbfgs", "authors"): (2e-3, "finished"),
    ("adam", "authors"): (5e-2, "finished"),
    ("sgd", "authors"): (4.0, "finished"),
    ("lbfgs", "tuned"): (2e-3, "finished"),
    ("adam", "tuned"): (3e-3, "finished"),
    ("sgd", "tuned"): (2e-2, "diverged"),
}
ENDS = {"content": 0.62, "noise": 0.21, "style": 0.15}
SHARED = {
    "content": CONTENTS[0],
    "painting": PAINTINGS[0],
    "backbone": "vgg",
    "preset": "tuned",
    "rates": "authors",
    "optimizer": "lbfgs",
    "content_loss": "mse",
    "initialisation": "content",
    "size": 512,
    "precision": "float32",
}
VARIED = {
    "backbones": {"backbone": ["vgg", "alexnet"]},
    "losses": {"content_loss": ["l1", "smooth_l1", "huber", "mse"]},
    "optimizers": {"optimizer": ["lbfgs", "adam", "sgd"], "rates": ["authors", "tuned"]},
    "initialisations": {"initialisation": ENDS},
    "presets": {"preset": ["paper", "authors", "tuned"]},
    "paintings": {"painting": PAINTINGS, "content": CONTENTS},
    "sizes": {"backbone": ["vgg", "alexnet"], "size": [128, 512, 1024]},
}
BACKBONES = {
    "vgg": {"architecture": "vgg19", "weights": "imagenet"},
    "alexnet": {"architecture": "alexnet", "weights": "imagenet"},
}


def photograph(name: str, size: tuple[int, int]) -> Image.Image:
    """Coarse coloured shades of so many pixels (width, height), different for each name."""
    shades = np.random.default_rng(sum(map(ord, name))).integers(0, 256, (4, 5, 3), np.uint8)
    return Image.fromarray(shades).resize(size, Image.Resampling.BICUBIC)


def pictures(folder: Path, names: Iterable[str]) -> list[Path]:
    """A small picture for each name, `folder`/name.png."""
    paths = [folder / f"{name}.png" for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        photograph(path.stem, (32, 24)).save(path)
    return paths


def runs_and_histories(
    evaluations: int = 700, device: str = GPU
) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """runs.csv and history.csv of every experiment, by VGG-19 and AlexNet."""
    rows = experiment_runs(
        SHARED | {"evaluations": evaluations},
        {name: {"vary": varied} for name, varied in VARIED.items()},
        BACKBONES,
    )
    experiments = {}
    for experiment in VARIED:
        runs, histories = [], []
        for row in (row for row in rows if row["experiment"] == experiment):
            row |= {"batch": 1, "device": device, "status": _status(row)}
            history = _history(row, evaluations)
            last = history.iloc[-1]
            row |= {f"{name}_loss_final": last[name] for name in ("content", "style", "total")}
            row |= {"evaluations_done": len(history), "seconds": last["seconds"]}
            row |= {"relative_loss_final": last["total"] / history["total"].iloc[0]}
            runs.append(row)
            histories.append(history)
        experiments[experiment] = (pd.DataFrame(runs), pd.concat(histories, ignore_index=True))
    return experiments


def _status(row: dict[str, Any]) -> str:
    if row["experiment"] == "optimizers":
        return OPTIMIZERS[row["optimizer"], row["rates"]][1]
    return "diverged" if (row["backbone"], row["size"]) == ("alexnet", 1024) else "finished"


def _history(row: dict[str, Any], evaluations: int) -> pd.DataFrame:
    random = np.random.default_rng(sum(map(ord, row["run"])))
    step = np.arange(1, evaluations + 1)
    end = {"alexnet": 0.006, "vgg": 0.003}[row["backbone"]]
    if row["experiment"] == "optimizers":
        end = OPTIMIZERS[row["optimizer"], row["rates"]][0]
    relative = end + (1 - end) * np.exp(-9 * (step - 1) / evaluations)
    if row["optimizer"] == "sgd":
        relative *= np.exp(0.9 * np.sin(step) * (step > 1))
    else:
        relative *= np.exp(random.normal(0, 0.01, len(step)) * (step > 1))
    if row["status"] == "diverged":
        step, relative = step[: evaluations // 2], relative[: evaluations // 2]
    content = 0.4 * relative * (step > 1)
    first = 17.0
    return pd.DataFrame(
        {
            **{"experiment": row["experiment"], "run": row["run"], "evaluation": step},
            "content": first * content,
            "style": first * (relative - content - 1e-4),
            "total_variation": first * 1e-4,
            "total": first * relative,
            "seconds": 0.02 * step,
        }
    )


def timing_images(
    *, sizes=(64, 128, 256), images=4, evaluations=20, stated=700, device=CPU, threads=2
) -> pd.DataFrame:
    """timing/images.csv: seconds in proportion to pixels, with a little noise."""
    random = np.random.default_rng(1)
    rows = []
    kinds = (("alexnet", 2e-8, "notebook"), ("vgg", 1e-7, "notebook"), ("network", 2.2e-7, ""))
    for backbone, per_pixel, settings in kinds:
        for size in sizes:
            for image in range(images):
                for repeat in range(2 if backbone == "network" else 1):
                    network = backbone == "network"
                    count = 0 if network else evaluations
                    seconds = per_pixel * size**2 * max(count, 1) * random.uniform(0.95, 1.05)
                    named = (2 if network else 1, backbone, size, image, repeat)
                    said = (count, count, settings, 0 if network else stated, 1, device)
                    rows.append((*named, seconds, *said, threads, "float32"))
    columns = ["version", "backbone", "size", "image", "repeat", "seconds", "evaluations"]
    columns += ["evaluations_done", "settings", "evaluations_stated", "batch", "device"]
    return pd.DataFrame(rows, columns=[*columns, "threads", "precision"])


def timing_losses(*, repeats=6, shift: dict[str, float] | None = None, device=CPU) -> pd.DataFrame:
    """timing/losses.csv: equal but for what a round shares, plus `shift` by content loss."""
    random = np.random.default_rng(2)
    rows = []
    for repeat in range(repeats):
        machine = random.normal(0, 0.05)
        for name in ("l1", "smooth_l1", "huber", "mse"):
            seconds = 2.0 + machine + random.normal(0, 0.01) + (shift or {}).get(name, 0.0)
            rows.append((name, repeat, seconds, 40, 128, device))
    columns = ["content_loss", "repeat", "seconds", "evaluations", "size", "device"]
    return pd.DataFrame(rows, columns=columns)


def stylised_runs(
    painting: str, origin: str, *, size=(128, 96), width=16, seconds=0.1, device=CPU
) -> pd.DataFrame:
    """stylised/{painting}/runs.csv: each content at (width, height) `size`."""
    return pd.DataFrame(
        {
            **{"painting": painting, "content": list(CONTENTS), "origin": origin, "width": width},
            "batches": 9000 if origin == "shipped" else 200,
            **{"height": size[1], "width_px": size[0], "seconds": [seconds, 1.1 * seconds]},
            **{"precision": "float32", "device": device},
            "psnr_to_float32": np.inf,
        }
    )


def quality(experiments: dict[str, tuple[pd.DataFrame, pd.DataFrame]]) -> pd.DataFrame:
    """quality.csv of all runs of Version 1 and of every stylised image."""
    rows = []
    for runs, _ in experiments.values():
        for _, run in runs.iterrows():
            ssim = ENDS[run["initialisation"]]
            if (run["experiment"], run["optimizer"]) == ("optimizers", "sgd"):
                ssim = 0.05
            style = 0.2 + 0.01 * len(rows) / 30
            if (run["experiment"], run["optimizer"]) == ("optimizers", "adam"):
                ssim, style = 0.8, 0.5
            named = (run["experiment"], run["run"], run["content"], run["painting"])
            rows.append((1, *named, ssim, style))
    for painting in PAINTINGS[:2]:
        for i, content in enumerate(CONTENTS):
            rows.append((2, "", "", content, painting, 0.75 + 0.005 * i, 0.4))
    keys = ["version", "experiment", "run", "content", "painting", "ssim_luma", "gram_distance"]
    frame = pd.DataFrame(rows, columns=keys)
    frame["edge_correlation"] = frame["ssim_luma"] + 0.1
    frame["colour_distance"] = 0.05
    return frame


def properties(frames_per_second=24.0) -> pd.DataFrame:
    """video/{painting}/{variant}/properties.csv."""
    return pd.DataFrame(
        {
            "file": ["source", "frames", "video"],
            "frames_per_second": [24.0, frames_per_second, frames_per_second],
            **{"frames": 48, "width": 256, "height": 144, "duration_seconds": 2.0},
            "variable_frame_times": "false",
            "audio_codec": ["aac", None, "aac"],
            "audio_seconds": [2.0, np.nan, 2.0],
        }
    )


def speed(*, batches={1: 20.0, 8: 26.0}, repeats=5, device=CPU) -> pd.DataFrame:  # noqa: B006
    """video/{painting}/{variant}/speed.csv: mean frames per second by batch."""
    random = np.random.default_rng(4)
    rows = []
    for repeat in range(repeats):
        for batch, rate in batches.items():
            rate = rate * random.uniform(0.97, 1.03)
            rows.append((batch, repeat, 16, 16 / rate, rate, device, 2))
    columns = ["batch", "repeat", "frames", "seconds", "frames_per_second", "device", "threads"]
    return pd.DataFrame(rows, columns=columns)


def flicker(painting: str, variant: str, frames: int, mean: float) -> pd.DataFrame:
    """video/{painting}/{variant}/flicker.csv; a cut leaves a frame without errors."""
    random = np.random.default_rng(5)
    ratio = mean + random.normal(0, 0.15, frames - 1)
    ratio[frames // 2] = np.nan
    return pd.DataFrame(
        {
            **{"painting": painting, "variant": variant, "frame": np.arange(1, frames)},
            **{"source_error": 0.02, "stylised_error": 0.02 * ratio, "ratio": ratio},
            "valid_percent": 93.0,
        }
    )
