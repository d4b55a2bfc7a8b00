"""Draw README's three pictures, 800 x 800 pixels each, to be read at 400, and styles.jpg.

`make docs` draws scores against sparsity from docs/results. The other two show files that are not
in the repository; with a folder, `python docs/front_page.py FOLDER` draws them from

- painted.csv: photograph, optimised, painting (files);
- found.csv: query, score, file, name_shown, right (1 or 0), of what `triptych search` found.

`python docs/front_page.py --demo results` draws styles.jpg, the demo's Figure 7, from its pictures;
`python docs/front_page.py --networks FILE LEFT TOP` draws networks.jpg, parts of bundled
photographs and of that one from there on, in every style that is shipped. The shown one is
palapeli-data's cincinnati-bridge.jpg of Debian (Derek Jensen, public domain), 720 pixels wide.
"""

import sys
from collections import defaultdict
from pathlib import Path

import av
import matplotlib
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image, ImageOps

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))

from triptych.report.palette import STYLE  # noqa: E402
from triptych.report.statistics import ratio_interval  # noqa: E402
from triptych.rl.report.labels import TASK_LABELS  # noqa: E402
from triptych.style.data.photographs import embedded_photographs  # noqa: E402
from triptych.style.network.mixtures import styles_of  # noqa: E402
from triptych.style.network.network_files import load_network  # noqa: E402

IMAGES = ROOT / "docs/images"
NETWORK = ROOT / "resources/style/networks/several_styles.safetensors"
RUN, EXPERT_RUN = (
    ROOT / f"docs/results/{name}/tables" for name in ("pruning-95", "pruning-halfcheetah")
)
"""BC on three tasks, and on data of a better HalfCheetah, which takes that task's place."""
COLOURS = {"hopper": "#1b6ca8", "walker2d": "#c8553d", "halfcheetah": "#4b8b3b"}
SIZE, DPI, RATE = 4.0, 200, 32000
LOOK = {
    **STYLE,
    "font.size": 12,
    "axes.labelsize": 12,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
}


def _published(table: str) -> pd.DataFrame:
    """Rows of a table, each task's of the run with the best data."""
    rows = pd.read_csv(RUN / table)
    return pd.concat([rows[rows["task"] != "halfcheetah"], pd.read_csv(EXPERT_RUN / table)])


def draw_pruning() -> None:
    """SNIP's share of the dense score against sparsity, and on raw observations, with intervals."""
    rows = pd.concat([_published(f"rl_figure{n}.csv") for n in (1, 2)])
    snip = rows[(rows["method"] == "snip") & (rows["algorithm"] == "BC")].drop_duplicates(
        ["task", "sparsity_percent"]
    )
    levels = sorted(snip["sparsity_percent"].unique())
    seeds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in (
        _published("rl_sensors.csv").query("name.isna() and observations == 'raw'").itertuples()
    ):
        seeds[row.task, row.method].append(row.value)
    figure = Figure(figsize=(SIZE, SIZE), layout="constrained")
    axes = figure.subplots()
    axes.axhline(1, color="#1f2933", linewidth=1)
    axes.text(-0.28, 1.06, "dense", fontsize=11)
    for number, (task, colour) in enumerate(COLOURS.items()):
        of_task = snip[snip["task"] == task].set_index("sparsity_percent").loc[levels]
        places = np.arange(len(levels)) + 0.14 * (number - 1)
        ratio, low, high = (
            of_task[f"ratio_{name}"].to_numpy() for name in ("to_dense", "low", "high")
        )
        axes.errorbar(
            places,
            ratio,
            (ratio - low, high - ratio),
            color=colour,
            marker="o",
            capsize=3,
            label=TASK_LABELS[task],
        )
        raw = ratio_interval(seeds[task, "snip"], seeds[task, "dense"])
        place = levels.index(95.0) + 0.14 * (number - 1)
        axes.errorbar(
            [place],
            [raw.estimate],
            [[raw.estimate - raw.low], [raw.high - raw.estimate]],
            color=colour,
            marker="o",
            markerfacecolor="white",
            capsize=3,
        )
    axes.text(
        levels.index(95.0) - 0.3, 0.3, "raw\nobservations", ha="right", va="center", fontsize=11
    )
    axes.set_xticks(range(len(levels)), [f"{level:g}%" for level in levels])
    axes.set_ylim(-0.04, 1.2)
    axes.set_xlabel("weights pruned by SNIP before training")
    axes.set_ylabel("share of the dense score")
    axes.legend(loc="center left", bbox_to_anchor=(0, 0.62), fontsize=11)
    figure.savefig(IMAGES / "front-pruning.png", dpi=DPI, metadata={"Software": None})


def draw_style(folder: Path) -> None:
    """A photograph, and below it what it becomes; the painting in a corner."""
    row = pd.read_csv(folder / "painted.csv").iloc[0]
    side, gap = int(SIZE * DPI), 8
    height = (side - gap) // 2
    canvas = Image.new("RGB", (side, side), "white")
    for top, file in ((0, row.photograph), (height + gap, row.optimised)):
        whole = Image.open(folder / file).convert("RGB")
        picture = ImageOps.fit(whole, (side, height), Image.Resampling.LANCZOS, 0, (0.5, 0.0))
        canvas.paste(picture, (0, top))
    painting = Image.open(folder / row.painting).convert("RGB")
    painting = ImageOps.fit(painting, (160, 112), Image.Resampling.LANCZOS)
    canvas.paste(ImageOps.expand(painting, 4, "white"), (side - 176, height - 128))
    canvas.save(IMAGES / "front-style.jpg", quality=88)


def draw_demo(results: Path) -> None:
    """A photograph and what the demo optimises it to, two by two."""
    style = results / "style"
    names = ("swirls", "waves", "mosaic")
    painted = [style / f"optimize/paintings/images/{name}.png" for name in names]
    with Image.open(painted[0]) as first:
        width, height = (3 * side // 2 for side in first.size)
    gap = 6
    canvas = Image.new("RGB", (2 * width + gap, 2 * height + gap), "white")
    for place, file in enumerate([style / "contents/china.png", *painted]):
        picture = Image.open(file).convert("RGB")
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
        canvas.paste(picture, (place % 2 * (width + gap), place // 2 * (height + gap)))
    canvas.save(IMAGES / "styles.jpg", quality=90)


def draw_networks(file: str, *corner: str) -> None:
    """A row a photograph, painted by the network in every style; parts of them, pixel by pixel."""
    bundled = {name: image.convert("RGB") for name, image in embedded_photographs().items()}
    bundled[file] = Image.open(file).convert("RGB")
    parts = (
        ("astronaut", (96, 20)),
        ("rocket", (150, 60)),
        ("china", (40, 8)),
        ("china", (380, 170)),
        ("chelsea", (90, 30)),
        (file, (int(corner[0]), int(corner[1]))),
    )
    networks = [load_network(NETWORK, style)[0] for style in styles_of(NETWORK)]
    side, gap = 252, 4
    step = side + gap
    size = (step * (1 + len(networks)) - gap, step * len(parts) - gap)
    canvas = Image.new("RGB", size, "white")
    for row, (name, (left, top)) in enumerate(parts):
        photograph = torch.from_numpy(np.array(bundled[name])).permute(2, 0, 1)[None] / 255
        with torch.no_grad():
            painted = [network(photograph)[0].clamp(0, 1) for network in networks]
        for column, pixels in enumerate([photograph[0], *painted]):
            whole = Image.fromarray((255 * pixels).round().byte().permute(1, 2, 0).numpy())
            part = whole.crop((left, top, left + side, top + side))
            canvas.paste(part, (column * step, row * step))
    canvas.save(IMAGES / "networks.jpg", quality=88)


def draw_search(folder: Path) -> None:
    """Two queries with their first hits: name, score and spectrogram, right ones framed."""
    rows = pd.read_csv(folder / "found.csv")
    queries = list(rows.groupby("query", sort=False))
    shown = max(len(hits) for _, hits in queries)
    figure = Figure(figsize=(SIZE, SIZE))
    for line, (query, hits) in enumerate(queries):
        top = 1 - line / 2
        figure.text(0.02, top - 0.05, f"“{query}”", fontsize=14, fontweight="bold", va="center")
        for place, hit in enumerate(hits.itertuples()):
            box = (0.02 + place * 0.98 / shown, top - 0.36, 0.9 / shown, 0.25)
            axes = figure.add_axes(box)
            axes.imshow(
                _spectrogram(folder / hit.file), origin="lower", aspect="auto", cmap="magma"
            )
            axes.set(xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set(visible=bool(hit.right), color="#2e7d4f", linewidth=3)
            axes.set_xlabel(f"{hit.name_shown}\n{hit.score:.2f}", fontsize=10.5, labelpad=3)
    figure.savefig(IMAGES / "front-search.jpg", dpi=DPI, pil_kwargs={"quality": 88})


def _spectrogram(file: Path) -> NDArray[np.float64]:
    """The first three seconds in decibels below the loudest, [129, frames]."""
    mono = av.AudioResampler(format="flt", layout="mono", rate=RATE)
    with av.open(file) as sound:
        blocks = [b.to_ndarray()[0] for f in sound.decode(audio=0) for b in mono.resample(f)]
    waveform = np.concatenate(blocks)[: 3 * RATE]
    frames = np.lib.stride_tricks.sliding_window_view(waveform, 1024)[::256] * np.hanning(1024)
    power = np.abs(np.fft.rfft(frames)) ** 2
    decibels = 10 * np.log10(power.T[:256] + 1e-10)
    return np.clip(decibels, decibels.max() - 70, None)


if __name__ == "__main__":
    with matplotlib.rc_context(LOOK):
        if sys.argv[1:2] == ["--demo"]:
            draw_demo(Path(sys.argv[2]))
        elif sys.argv[1:2] == ["--networks"]:
            draw_networks(*sys.argv[2:])
        elif len(sys.argv) > 1:
            draw_style(Path(sys.argv[1]))
            draw_search(Path(sys.argv[1]))
        else:
            draw_pruning()
