"""The experiment table of the audio study: every trained model is a row."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

COLUMNS = (
    "run",
    "folder",
    "stage",
    "audio_model",
    "text_model",
    "pair",
    "corpus",
    "captions",
    "seed",
    "parent",
    "main",
)
KEYS = ("audio_model", "text_model", "corpus", "stage", "captions", "seed")
"""What names a run in every table."""
CAPTIONS = ("human", "gpt")
MODELS = "results/audio/models"
"""Where the folder of every model lies."""
FINISHED = "finished"
"""Stage of the models of others that stand beside ours."""
EMBEDDED = "results/audio/embeddings"
"""Where the embeddings of their test sets lie."""

Pair = tuple[str, str]


def audio_runs(config: Mapping[str, Any]) -> pd.DataFrame:
    """All trained models of the study: COLUMNS, one row a model, a parent before its children.

    `config` is the section `audio` of the config. `run` is a label such as
    "passt_n-bert_base/leak_free/finetuned/gpt-seed0" and the folder below MODELS; `parent` is the
    folder of the pretrained model that a run starts from, "" for the pretrained ones; `captions`
    is "human" or "gpt" in a fine-tuned run and "" elsewhere; `main` marks the pair of the
    ablation rows and of Figure 2. Pretraining takes the first seed of `finetuning`.

    - corpus `evaluated`: every pair pretrained, then fine-tuned with GPT captions from the first
      seed; the main pair from every seed with both kinds of captions; the main pair distilled
      once for each of `distillation.seeds`.
    - corpus `replicated` (none where it is null): every row of Table 2 once more, so the same from
      the first seed alone and without distillation.
    - corpus `leaky` (none where it is null): the main pair, pretrained.
    - corpus `submitted` (none where it is null): what Section 4 of the report submits, that is
      the ensemble's members and the main pair fine-tuned with GPT captions, and the main pair
      fine-tuned with the human captions and pretrained.

    Raises ValueError naming the key and the allowed values for a name that is not defined.
    """
    pairs = _pairs(config, "pairs", config["pairs"])
    main = _one_of(config["main"], "main", pairs)
    members = [
        _one_of(member, "ensemble.members", pairs) for member in config["ensemble"]["members"]
    ]
    seeds = _seeds(config["finetuning"]["seeds"], "finetuning.seeds")
    if not seeds:
        raise ValueError("audio.finetuning.seeds is empty; give at least one seed, such as [0]")
    distilled = _seeds(config.get("distillation", {}).get("seeds", []), "distillation.seeds")

    evaluated = _corpus(config, "evaluated", config.get("evaluated"))
    rows = _table2(pairs, main, evaluated, seeds)
    rows += [_row(main, evaluated, "distilled", "", seed) for seed in distilled]

    if config.get("replicated") is not None:
        rows += _table2(pairs, main, _corpus(config, "replicated", config["replicated"]), seeds[:1])

    if config.get("leaky") is not None:
        leaky = _corpus(config, "leaky", config["leaky"])
        rows.append(_row(main, leaky, "pretrained", "", seeds[0]))

    if config.get("submitted") is not None:
        submitted = _corpus(config, "submitted", config["submitted"])
        chosen = list(dict.fromkeys([*members, main]))
        rows += [_row(pair, submitted, "pretrained", "", seeds[0]) for pair in chosen]
        rows += [_row(pair, submitted, "finetuned", "gpt", seeds[0]) for pair in chosen]
        rows.append(_row(main, submitted, "finetuned", "human", seeds[0]))

    table = pd.DataFrame(rows, columns=list(COLUMNS)).drop_duplicates("run", ignore_index=True)
    return table.assign(main=table["pair"] == pair_name(main))


def finished_run(name: str) -> dict[str, Any]:
    """What scoring asks of a row, for a finished model of somebody else's.

    It is of no corpus of the study; its embeddings lie in `folder`.
    """
    row = dict.fromkeys(COLUMNS, "")
    folder = f"{EMBEDDED}/{name}"
    return row | {
        "run": f"finished/{name}",
        "folder": folder,
        "stage": FINISHED,
        "audio_model": name,
    }


def run_records(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain dictionaries, for a rule's params and a model's `about`."""
    return [dict(zip(runs.columns, row, strict=True)) for row in runs.to_numpy(object).tolist()]


def pair_name(pair: Pair) -> str:
    """The folder name of an audio model with a text model."""
    return "-".join(pair)


def _table2(pairs: list[Pair], main: Pair, corpus: str, seeds: list[int]) -> list[dict[str, Any]]:
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
    """How a stage trains on a corpus: what all stages have in common, the stage's own values, and
    the corpus' precision where it names one.

    config: the section `audio`; stage: pretraining, finetuning or distillation.
    """
    stages = config["stages"]
    of_corpus = config["corpora"][corpus]
    own = {key: of_corpus[key] for key in ("precision",) if key in of_corpus}
    return {**stages["common"], **stages[stage], **own}


def _row(pair: Pair, corpus: str, stage: str, captions: str, seed: int) -> dict[str, Any]:
    name = pair_name(pair)
    pretrained = f"{name}/{corpus}/pretrained"
    run = {
        "pretrained": pretrained,
        "finetuned": f"{name}/{corpus}/finetuned/{captions}-seed{seed}",
        "distilled": f"{name}/{corpus}/distilled/seed{seed}",
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


def _pairs(config: Mapping[str, Any], key: str, given: Iterable[Sequence[str]]) -> list[Pair]:
    pairs: list[Pair] = []
    for entry in given:
        if isinstance(entry, str) or len(entry) != 2:
            raise ValueError(f"audio.{key} holds {entry!r}; expected [audio model, text model]")
        pair = (entry[0], entry[1])
        for name, kind in zip(pair, ("audio_models", "text_models"), strict=True):
            if name not in config[kind]:
                raise ValueError(
                    f"audio.{key} names {name!r}; expected one of audio.{kind}: "
                    f"{', '.join(config[kind])}"
                )
        if pair in pairs:
            raise ValueError(f"audio.{key} names {list(pair)} twice; expected distinct pairs")
        pairs.append(pair)
    if not pairs:
        raise ValueError(f"audio.{key} is empty; expected at least one [audio model, text model]")
    return pairs


def _one_of(given: Sequence[str], key: str, pairs: list[Pair]) -> Pair:
    for pair in pairs:
        if list(given) == list(pair):
            return pair
    raise ValueError(
        f"audio.{key} names {given!r}; expected one of audio.pairs: "
        f"{', '.join(str(list(pair)) for pair in pairs)}"
    )


def _corpus(config: Mapping[str, Any], key: str, name: Any) -> str:
    if name not in config["corpora"]:
        raise ValueError(
            f"audio.{key} is {name!r}; expected one of audio.corpora: "
            f"{', '.join(config['corpora'])}"
        )
    return str(name)


def _seeds(given: Iterable[Any], key: str) -> list[int]:
    seeds = list(given)
    if len(set(seeds)) < len(seeds) or not all(type(seed) is int for seed in seeds):
        raise ValueError(f"audio.{key} is {seeds}; expected distinct whole numbers")
    return seeds
