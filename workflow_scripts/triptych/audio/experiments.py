"""The experiment table of the audio study: every trained model is a row."""

from collections.abc import Iterable, Mapping
from typing import Any

from triptych.audio.training.settings import MACHINE

CAPTIONS = ("human", "gpt")
MODELS = "results/audio/models"
"""Where the folder of every model lies."""

Pair = tuple[str, ...]
"""An audio model and a text model."""
Run = dict[str, Any]
"""A row of the experiment table."""


def audio_runs(config: Mapping[str, Any]) -> list[Run]:
    """All trained models of the study: one row a model, a parent before its children.

    config: its section `audio`. `run` is a label such as
    "passt_n-bert_base/leak_free/finetuned/gpt-seed0" and the folder below MODELS; `parent` the
    folder that a fine-tuned run starts from; `captions` "human" or "gpt" there; `main` marks the
    pair of the ablation and of Figure 2. Table 2 is run on the corpus `evaluated` and, from the
    first seed alone, on `replicated`; the main pair pretrained on `leaky`; what Section 4 submits
    on `submitted`. Raises ValueError naming the key and the allowed values for a name that is not
    defined.
    """
    pairs: list[Pair] = [(audio, text) for audio, text in config["pairs"]]
    for kind, names in zip(("audio_models", "text_models"), zip(*pairs, strict=True), strict=True):
        for name in names:
            _check("pairs", name, kind, config[kind])
    main, *members = map(tuple, [config["main"], *config["ensemble"]["members"]])
    for key, pair in [("main", main), *(("ensemble.members", member) for member in members)]:
        _check(key, list(pair), "pairs", [list(pair) for pair in pairs])
    for key in ("evaluated", "replicated", "leaky", "submitted"):
        if config.get(key) is not None:
            _check(key, config[key], "corpora", config["corpora"])
    seeds = config["finetuning"]["seeds"]

    rows = _table2(pairs, main, config["evaluated"], seeds)
    if config.get("replicated") is not None:
        rows += _table2(pairs, main, config["replicated"], seeds[:1])
    if config.get("leaky") is not None:
        rows.append(_row(main, config["leaky"], "pretrained", "", seeds[0]))
    if (submitted := config.get("submitted")) is not None:
        chosen = list(dict.fromkeys([*members, main]))
        rows += [_row(pair, submitted, "pretrained", "", seeds[0]) for pair in chosen]
        rows += [_row(pair, submitted, "finetuned", "gpt", seeds[0]) for pair in chosen]
        rows.append(_row(main, submitted, "finetuned", "human", seeds[0]))
    distinct: dict[str, Run] = {}
    for row in rows:
        distinct.setdefault(row["run"], {**row, "main": row["pair"] == pair_name(main)})
    return list(distinct.values())


def _check(key: str, value: Any, of: str, allowed: Iterable[Any]) -> None:
    """Raise ValueError where a key of the config names what another one doesn't define."""
    if value not in allowed:
        names = ", ".join(map(str, allowed))
        raise ValueError(f"audio.{key} names {value!r}; expected one of audio.{of}: {names}")


def pair_name(pair: Pair) -> str:
    return "-".join(pair)


def _table2(pairs: list[Pair], main: Pair, corpus: str, seeds: list[int]) -> list[Run]:
    """Every pair pretrained, then fine-tuned with GPT captions from the first seed; the main pair
    from every seed with both kinds of captions."""
    rows = [_row(pair, corpus, "pretrained", "", seeds[0]) for pair in pairs]
    for pair in pairs:
        if pair == main:
            rows += [_row(pair, corpus, "finetuned", c, s) for c in CAPTIONS for s in seeds]
        else:
            rows.append(_row(pair, corpus, "finetuned", "gpt", seeds[0]))
    return rows


def training_of(config: Mapping[str, Any], corpus: str, stage: str) -> dict[str, Any]:
    """Settings of a stage (pretraining or finetuning) on a corpus, without `machine_of`: common
    values, the stage's own, and the corpus' precision where it names one. config: the section
    `audio`.
    """
    stages = config["stages"]
    of_corpus = config["corpora"][corpus]
    overrides = {key: of_corpus[key] for key in ("precision",) if key in of_corpus}
    known = {**stages["common"], **stages[stage], **overrides}
    return {key: value for key, value in known.items() if key not in MACHINE}


def machine_of(config: Mapping[str, Any], stage: str) -> dict[str, Any]:
    """Settings of a stage that change no number, as resources of its rule, which are texts or whole
    numbers. config: the section `audio`."""
    known = {**config["stages"]["common"], **config["stages"][stage]}
    return {
        "workers": known["workers"],
        "checkpoint_minutes": str(known["checkpoint_minutes"]),
    }


def _row(pair: Pair, corpus: str, stage: str, captions: str, seed: int) -> Run:
    name = pair_name(pair)
    pretrained = f"{name}/{corpus}/pretrained"
    run = {
        "pretrained": pretrained,
        "finetuned": f"{name}/{corpus}/finetuned/{captions}-seed{seed}",
    }[stage]
    return {
        "run": run,
        "folder": f"{MODELS}/{run}",
        "stage": stage,
        "audio_model": pair[0],
        "text_model": pair[1],
        "pair": name,
        "corpus": corpus,
        "captions": captions,
        "seed": seed,
        "parent": "" if stage == "pretrained" else f"{MODELS}/{pretrained}",
    }
