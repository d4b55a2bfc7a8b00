"""Made-up but plausible results of the style study, for tests alone."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from synthetic import crossed

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
            large = (row["backbone"], row["size"]) == ("alexnet", 1024)
            row |= {"batch": 1, "device": device, "status": "diverged" if large else "finished"}
            if experiment == "optimizers":
                row["status"] = OPTIMIZERS[row["optimizer"], row["rates"]][1]
            history = _history(row, evaluations)
            last = history.iloc[-1]
            row |= {f"{name}_loss_final": last[name] for name in ("content", "style", "total")}
            row |= {"evaluations_done": len(history), "seconds": last["seconds"]}
            row |= {"relative_loss_final": last["total"] / history["total"].iloc[0]}
            runs.append(row)
            histories.append(history)
        experiments[experiment] = (pd.DataFrame(runs), pd.concat(histories, ignore_index=True))
    return experiments


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
    frame = crossed(
        backbone=["alexnet", "vgg", "network"], size=sizes, image=range(images), repeat=range(2)
    )
    network = frame["backbone"] == "network"
    frame = frame[network | (frame["repeat"] == 0)].assign(
        **{"version": 1 + network, "settings": "notebook", "evaluations": evaluations},
        **{"evaluations_stated": stated, "batch": 1, "device": device, "threads": threads},
        precision="float32",
    )
    frame.loc[network, ["settings", "evaluations", "evaluations_stated"]] = ["", 0, 0]
    pixel = frame["backbone"].map({"alexnet": 2e-8, "vgg": 1e-7, "network": 2.2e-7})
    count = frame["evaluations"].clip(lower=1)
    noise = np.random.default_rng(1).uniform(0.95, 1.05, len(frame))
    seconds = pixel * frame["size"] ** 2 * count * noise
    return frame.assign(seconds=seconds, evaluations_done=frame["evaluations"])


def timing_losses(*, repeats=6, shift: dict[str, float] | None = None, device=CPU) -> pd.DataFrame:
    """timing/losses.csv: equal but for what a round shares, plus `shift` by content loss."""
    random = np.random.default_rng(2)
    frame = crossed(repeat=range(repeats), content_loss=["l1", "smooth_l1", "huber", "mse"])
    machine = random.normal(0, 0.05, repeats).repeat(4) + random.normal(0, 0.01, 4 * repeats)
    slower = frame["content_loss"].map(shift or {}).fillna(0.0)
    return frame.assign(seconds=2.0 + machine + slower, evaluations=40, size=128, device=device)


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
    runs = pd.concat([runs for runs, _ in experiments.values()], ignore_index=True)
    used = runs["optimizer"].where(runs["experiment"] == "optimizers")
    first = runs[["experiment", "run", "content", "painting"]].assign(
        version=1,
        ssim_luma=runs["initialisation"]
        .map(ENDS)
        .mask(used == "sgd", 0.05)
        .mask(used == "adam", 0.8),
        gram_distance=(0.2 + 0.01 * runs.index.to_series() / 30).mask(used == "adam", 0.5),
    )
    second = crossed(painting=PAINTINGS[:2], content=CONTENTS).assign(
        version=2, experiment="", run="", ssim_luma=[0.75, 0.755] * 2, gram_distance=0.4
    )
    frame = pd.concat([first, second], ignore_index=True)
    return frame.assign(edge_correlation=frame["ssim_luma"] + 0.1, colour_distance=0.05)


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


def speed(*, batches=((1, 20.0), (8, 26.0)), repeats=5, device=CPU) -> pd.DataFrame:
    """video/{painting}/{variant}/speed.csv: mean frames per second by batch."""
    frame = crossed(repeat=range(repeats), batch=[batch for batch, _ in batches])
    noise = np.random.default_rng(4).uniform(0.97, 1.03, len(frame))
    rate = frame["batch"].map(dict(batches)) * noise
    frame = frame.assign(frames=16, seconds=16 / rate, frames_per_second=rate)
    return frame.assign(device=device, threads=2)


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
