"""Made-up but plausible frames of the audio study, for tests alone.

They have the columns of the files that the rules write. Ranks are drawn so that a system has about
the mAP@10 that `STRENGTH` gives it; metrics follow from them.
"""

import hashlib
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd

from triptych.audio.report.rows import KEYS, AudioStudy
from triptych.audio.workflow import Workflow
from triptych.core.config import merged, read_yaml
from triptych.scale import shipped

ROOT = Path(__file__).parents[2]

LEAKED = 12
RUN_KEYS = [key for key in KEYS if key != "system"]
DEMO_PAIRS = [*product(("mini_n", "mini_s"), ("mini_bert", "mini_roberta"))]
PAPER_PAIRS = [
    *product(("passt_n", "passt_s"), ("bert_base", "roberta_base")),
    *product(("passt_n", "passt_s", "passt_s15"), ("bert_large", "roberta_large")),
]
STRENGTH = {  # chance that a query's clip ranks high, by what a system is
    "untrained": 0.02,
    "keywords": 0.12,
    "pretrained": 0.30,
    "finetuned_human": 0.38,
    "finetuned_gpt": 0.44,
    "ensemble_selected": 0.52,
    "ensemble_published": 0.54,
}
BONUS = {
    "passt_n": 0.05,
    "passt_n_mlp": 0.02,
    "mini_n": 0.05,
    "roberta_large": 0.08,
    "bert_large": 0.05,
}


def study(*, paper: bool = False, **changes) -> AudioStudy:
    """The study as the scripts read it."""
    config = shipped("paper" if paper else "demo", ROOT)
    pairs = {"pairs": [*map(list, PAPER_PAIRS if paper else DEMO_PAIRS)]}
    sources = read_yaml(ROOT / "resources/sources.yaml")
    own = Workflow(merged(config, {"audio": pairs}), sources).study
    return AudioStudy.read(**{**own, "evaluated": "clean", "leaky": "leaky", **changes})


TWIN = ("passt_n_mlp", "roberta_large")
"""The best pair with a hidden layer in its projections."""


def runs(*, paper: bool = False, seeds=(0, 1, 2), twin=False, replicated=False) -> pd.DataFrame:
    """Keys of every scored system: models, ensembles, and the keyword baseline.

    twin: with a pair of non-linear projections; replicated: Table 2 a second time, "as_published".
    """
    pairs = [*(PAPER_PAIRS if paper else DEMO_PAIRS), *([TWIN] if twin else [])]
    main = ("passt_n", "roberta_large") if paper else ("mini_n", "mini_roberta")
    rows = []
    for pair in pairs:
        rows.append(("pretrained", *pair, "clean", "", "0", "model"))
        kinds = [("gpt", seeds[0])]
        if pair == main:
            kinds = [(captions, seed) for captions in ("human", "gpt") for seed in seeds]
        rows += [("finetuned", *pair, "clean", c, str(s), "model") for c, s in kinds]
    rows.append(("pretrained", *main, "leaky", "", "0", "model"))
    rows.append(("untrained", *main, "clean", "", "0", "model"))
    rows += [("", name, "", "clean", "", "", "ensemble") for name in ("published", "selected")]
    if replicated:
        again = [row for row in rows if row[3] == "clean" and row[0] != "untrained"]
        rows += [(*row[:3], "as_published", *row[4:]) for row in again if row[5] in ("", "0")]
    rows.append(("", "keywords", "", "", "", "", "baseline"))
    return pd.DataFrame(rows, columns=KEYS)


def strength(row) -> float:
    """The chance that a query's clip ranks high."""
    kind = {"baseline": row["audio_model"], "ensemble": f"ensemble_{row['audio_model']}"}.get(
        row["system"], row["stage"]
    )
    if kind == "finetuned":
        kind = f"finetuned_{row['captions']}"
    bonus = BONUS.get(row["audio_model"], 0) + BONUS.get(row["text_model"], 0)
    leaks = 0.06 if row["corpus"] in ("leaky", "as_published") else 0.0
    return STRENGTH[kind] + (0 if kind == "untrained" else bonus) + leaks


def clip_names(split: str, clips: int) -> list[str]:
    return [f"clotho/{split}/scene {i:04d}.wav" for i in range(clips)]


def queries(of_runs: pd.DataFrame, *, clips=60, captions=5, strengths=strength) -> pd.DataFrame:
    """queries.csv: a clip is as hard for one system as for another, but for noise of each."""
    frames = []
    for split in ("validation", "evaluation"):
        names = np.repeat(clip_names(split, clips), captions)
        hard = np.random.default_rng(7).uniform(0, 1, clips).repeat(captions)
        for _, row in of_runs.iterrows():
            random = np.random.default_rng(_seed(split, *map(str, row)))
            draw = 0.7 * hard + 0.3 * random.uniform(0, 1, len(names))
            share = float(strengths(row))
            rank = np.where(
                draw < share,
                1 + np.floor(4 * (draw / share) ** 2),
                5 + np.floor(random.uniform(0, 1, len(names)) * (clips - 5)),
            ).astype(int)
            precision = np.where(rank <= 10, 1 / rank, 0.0)
            found = {"query": np.arange(len(names)), "clip": names, "rank": rank}
            found |= {"average_precision": precision}
            named = {key: row[key] for key in KEYS}
            frames.append(pd.DataFrame({**named, "split": split, **found}))
    return pd.concat(frames, ignore_index=True)


def _seed(*key: str) -> int:
    return int.from_bytes(hashlib.sha256("/".join(key).encode()).digest()[:4], "big")


def metrics(of_queries: pd.DataFrame, *, clips=60, synthesised=True) -> pd.DataFrame:
    """metrics.csv of these ranks, with half of the clips unseen where they are synthesised."""
    rank = of_queries["rank"]
    shares = {"map_at_10": np.where(rank <= 10, 1 / rank, 0.0)}
    shares |= {f"r_at_{most}": rank <= most for most in (1, 5, 10)}
    parts = [of_queries.assign(subset="all", **shares)]
    if synthesised:
        odd = of_queries["clip"].str.extract(r"(\d+)\.wav$")[0].astype(int) % 2 == 1
        parts.append(parts[0].assign(subset=odd.map({True: "unseen", False: "seen"})))
    keys = [*KEYS, "split", "subset"]
    groups = pd.concat(parts).groupby(keys, sort=False)
    frame = groups[[*shares]].mean().assign(queries=groups.size()).reset_index()
    frame = frame.melt([*keys, "queries"], [*shares], "metric", "value", ignore_index=False)
    frame = frame.sort_index(kind="stable").assign(relevance="single", clips=clips)
    frame = frame.assign(low=0.9 * frame["value"], high=1.1 * frame["value"])
    chance = {"map_at_10": sum(1 / rank for rank in range(1, 11)) / clips}
    chance |= {f"r_at_{most}": most / clips for most in (1, 5, 10)}
    expected = frame[frame["audio_model"] == "keywords"].assign(audio_model="chance")
    expected = expected.assign(value=expected["metric"].map(chance), low=np.nan, high=np.nan)
    return pd.concat([frame, expected], ignore_index=True)


def ensembles(of_runs: pd.DataFrame) -> pd.DataFrame:
    """ensembles.csv: of the published ensemble at most eight members, two chosen."""
    tuned = of_runs[(of_runs["captions"] == "gpt") & (of_runs["seed"] == "0")]
    pair = tuned["audio_model"] + "-" + tuned["text_model"]
    tuned = tuned.assign(member=pair + "/" + tuned["corpus"] + "/finetuned/gpt-seed0")
    members = tuned[~pair.isin(["-".join(other) for other in (*PAPER_PAIRS[2:4], TWIN)])]
    chosen = members.groupby("corpus").head(2).assign(name="selected")
    frame = pd.concat([members.assign(name="published"), chosen], ignore_index=True)
    return frame[["corpus", "name", "member"]]


def subsets(of_ensembles: pd.DataFrame) -> pd.DataFrame:
    """subsets.csv: every model less costs 0.5 points, every one of two more 0.2."""
    members = int((of_ensembles["name"] == "published").sum())
    sizes = [(gone, 0) for gone in range(members) for _ in range(comb(members, gone))]
    sizes += [(0, 1), (0, 1), (0, 2)]
    rows = pd.DataFrame(sizes, columns=["removed", "added"]).assign(corpus="clean")
    rows["difference"] = -0.005 * rows["removed"] - 0.002 * rows["added"]
    return rows.assign(
        map_at_10=0.42 + rows["difference"],
        place=rows["difference"].rank(ascending=False, method="min").astype(int),
        difference_low=rows["difference"] - 0.006,
        difference_high=rows["difference"] + 0.006,
    )


def history(of_runs: pd.DataFrame, *, epochs=None) -> pd.DataFrame:
    """history.csv of every trained model: human captions overfit sooner than new ones."""
    epochs = epochs or {"pretrained": 4, "finetuned": 5}
    frames = []
    models = of_runs[(of_runs["system"] == "model") & (of_runs["stage"] != "untrained")]
    for _, row in models.iterrows():
        epoch = np.arange(1, epochs[row["stage"]] + 1)
        random = np.random.default_rng(_seed("history", *map(str, row)))
        rise = 0.012 if row["captions"] == "human" else 0.004
        loss = 1.30 - 0.12 * (1 - np.exp(-epoch / 1.2)) + rise * epoch
        validation = loss + random.uniform(-0.006, 0.006, len(epoch))
        score = 0.35 + 0.04 * (1 - np.exp(-epoch)) + random.uniform(-0.01, 0.01, len(epoch))
        of_epoch = {"epoch": epoch, "step": 10 * epoch, "train_loss": loss - 0.1 * epoch}
        of_epoch |= {"validation_loss": validation, "validation_map_at_10": score}
        of_epoch |= {"learning_rate": 1e-5, "chosen": (epoch == 3).astype(int)}
        frames.append(pd.DataFrame({**{key: row[key] for key in RUN_KEYS}, **of_epoch}))
    return pd.concat(frames, ignore_index=True)


def example(*, backend="template", model="") -> dict:
    """captions/example.json."""
    return {
        "backend": backend,
        "model": model,
        "instruction": "I will give a description of an audio recording and tags associated with "
        "the audio recording. Generate 5 audio captions describing the sound events. Do not use "
        "“heard”, “recorded”. ",
        "caption": "A dog barks twice while rain falls.",
        "keywords": ["dog", "thunder", "field-recording", "rain"],
        "response": [
            "A dog barks two times as rain falls.",
            "Rain falls and thunder rolls while a dog barks.",
            "While it rains, a dog barks twice.",
            "The barking of a dog sounds through the thundering rain.",
            "Two barks of a dog come through falling rain.",
        ],
        "asked": 19_195,
        "without": 12,
        "new": 95_915,
        "good": 71_000,
    }


def counts(*, exclude="strict") -> pd.DataFrame:
    """corpora/{corpus}/counts.csv."""
    out = exclude != "none"
    rows = [
        ("clotho", "development", 180, 0, int(out), 180 - out, 0 if out else 1, 0),
        ("clotho", "validation", 60, 0, 0, 0, 0, 0),
        ("clotho", "evaluation", 60, 0, 0, 0, 0, 0),
        ("clotho", "challenge", 30, 0, 0, 0, 0, 0),
        ("audiocaps", "train", 80, 0, 0, 80, 0, 4),
        ("wavcaps", "AudioSet_SL", 40, 1, 0, 39, 0, 4),
        ("wavcaps", "FreeSound", 90, 0, LEAKED * out, 90 - LEAKED * out, LEAKED * (not out), 0),
    ]
    columns = ["dataset", "split", "listed", "unreadable", "excluded", "train", "leaked"]
    return pd.DataFrame(rows, columns=[*columns, "repeated"])


PUBLISHED_CLIPS = {
    ("clotho", "development"): 3839,
    ("clotho", "evaluation"): 1045,
    ("audiocaps", "train"): 49_838,
    ("audiocaps", "val"): 495,
    ("audiocaps", "test"): 975,
    ("wavcaps", "AudioSet_SL"): 108_317,
    ("wavcaps", "BBC_Sound_Effects"): 31_201,
    ("wavcaps", "FreeSound"): 262_300,
    ("wavcaps", "SoundBible"): 1_232,
}
WORDS = {
    "clotho": [8, 11, 11, 12, 20],
    "audiocaps": [9, 10, 10, 10, 10],
    "wavcaps": [7, 8, 8, 8, 8],
}
"""Of five captions in a row: means of 9.8 and 7.8 where the report states them."""


def trained_on() -> dict[str, pd.DataFrame]:
    """What the models of a run at paper scale were trained on: every published recording, but for
    3% of FreeSound's that leak, with one caption of every clip but Clotho's."""
    counts, clips, captions, listed_clips = [], [], [], []
    for (dataset, split), listed in PUBLISHED_CLIPS.items():
        out = listed * 3 // 100 if split == "FreeSound" else 0
        train = 0 if split == "evaluation" else listed - out
        counts.append((dataset, split, listed, 0, out, train, 0, 0))
        named = [f"{dataset}/{split}/{i}" for i in range(listed)]
        clips += [(clip, "train") for clip in named[:train]]
        captions += [clip for clip in named for _ in range(5 if dataset == "clotho" else 1)]
        seconds = np.linspace(15, 30, listed) if dataset == "clotho" else np.nan
        listed_clips.append(
            pd.DataFrame({"clip": named, "dataset": dataset, "split": split, "seconds": seconds})
        )
    of_clotho = listed_clips[1]
    for split, count in (("validation", 1045), ("challenge", 1000)):
        named = [f"clotho/{split}/{i}" for i in range(count)]
        listed_clips.append(of_clotho.head(count).assign(clip=named, split=split))
        captions += [clip for clip in named for _ in range(5) if split == "validation"]
    columns = ["dataset", "split", "listed", "unreadable", "excluded", "train", "leaked"]
    described = pd.DataFrame({"clip": captions})
    dataset = described["clip"].str.split("/").str[0]
    place = described.groupby(dataset).cumcount() % 5
    sentences = {
        (name, i): "word " * n for name, words in WORDS.items() for i, n in enumerate(words)
    }
    described["caption"] = [sentences[key] for key in zip(dataset, place, strict=True)]
    human = described[described["clip"].str.startswith("clotho/development/")]
    new = pd.concat([human] * 5, ignore_index=True)
    return {
        "audio_counts": pd.DataFrame(counts, columns=[*columns, "repeated"]),
        "audio_manifest": pd.DataFrame(clips, columns=["clip", "role"]),
        "audio_captions": described,
        "audio_variations": new,
        "audio_usage": pd.DataFrame({"backend": ["authors"], "model": [""]}),
        "audio_clips": pd.concat(listed_clips, ignore_index=True),
        "audio_asked": pd.DataFrame({"caption": ["a sound"] * 1000}),
        "audio_unfiltered": new,
    }
