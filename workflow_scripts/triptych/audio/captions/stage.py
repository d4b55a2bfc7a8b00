"""Write new captions for a data set's captions.

They come from a language model's server or from a file: the authors' published captions, or those
of the demo's scenes in the same layout.
"""

import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from triptych.audio.captions.rules import Rejected, Written, choose, normalised
from triptych.audio.captions.settings import WITHOUT_ANSWER, caption_prompt, instruction
from triptych.audio.data.tables import read_table
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, write_csv

logger = logging.getLogger(__name__)

PUBLISHED_MODELS = {"authors": "gpt-3.5-turbo", "template": "template"}
"""Authors of the captions that come in a file, by back end."""
TABLE_1_CAPTION = "A person is making noise by tapping their fingernails on a solid surface."
FEWEST_FOUND = 0.5
"""If a smaller share of the file's captions is among the data set's, it is of another one."""
JUDGED = 20
"""Answers after which a model is judged by `least_yield`."""
UNPUBLISHED = "not among the published captions"

StrPath = str | os.PathLike[str]
Captions = dict[tuple[str, str], list[str]]


@dataclass(frozen=True)
class Item:
    """A caption to be rephrased: `position` is its number (0..4) at its clip."""

    clip: str
    position: int
    caption: str
    keywords: tuple[str, ...]


def write_captions(
    clips: StrPath,
    captions: StrPath,
    settings: Mapping[str, Any],
    splits: Collection[str],
    outputs: Mapping[str, StrPath],
    published: StrPath | None = None,
    stop: Callable[[], str | None] = lambda: None,
) -> None:
    """Write the new captions of the clips of `splits`, in the order of the tables.

    clips, captions: the data set's tables. settings: audio.captions of the config. published: the
    file from which the back ends authors and template take captions. outputs: paths of variations,
    unfiltered (before any rule), rejected, usage (CSV) and example (JSON). Raises InputError, and
    Stopped when `stop` gives a reason.
    """
    items = read_items(clips, captions, splits)
    if settings["backend"] == "openai":
        written, model, costs = by_service(items, settings, stop)
        check_yield(written, settings)
    else:
        assert published is not None
        written = published_captions(items, read_published(published), settings)
        costs, model = {}, PUBLISHED_MODELS[settings["backend"]]
    usage = {
        "backend": settings["backend"],
        "model": model,
        "requests": 0,
        "cached": 0,
        "repaired": 0,
        "rejected": sum(len(answered.rejected) for answered in written),
        "input_tokens": 0,
        "output_tokens": 0,
        "cost": 0.0,
        "currency": settings["prices"]["currency"],
        "captions": sum(len(answered.variations) for answered in written),
        **costs,
    }
    write_csv(pd.DataFrame([usage]), outputs["usage"])
    _write_tables(items, written, outputs)
    _write_example(items, written, usage, settings["variations"], Path(outputs["example"]))
    _report(written, settings["variations"], outputs["rejected"])


class YieldTooLow(InputError):
    """Too few of the requested captions are good."""


def by_service(
    items: Sequence[Item], settings: Mapping[str, Any], stop: Callable[[], str | None]
) -> tuple[list[Written], str, dict[str, float]]:
    """Ask a server for the captions of all items, once more where an answer broke the rules.

    Returns them with the model that answered, and what they cost: tokens and cost are of all
    answers used, whenever they were paid. Raises ServiceError, BudgetReached, YieldTooLow and
    Stopped.
    """
    # Imported here: the client takes a second, and the other back ends don't need it.
    from triptych.audio.captions.asking import Asker
    from triptych.audio.captions.service import Answer, Request

    count, longest = settings["variations"], settings["longest_words"]
    parameters = {
        name: value for name, value in settings["parameters"].items() if value is not None
    }
    asker = Asker(settings, stop)

    def request(item: Item, attempt: int = 0) -> Request:
        prompt = caption_prompt(item.caption, item.keywords, count)
        return Request(settings["model"], parameters, prompt, attempt)

    def chosen(item: Item, attempts: int = 1) -> Written:
        answers = [asker.answers[request(item, attempt).key] for attempt in range(attempts)]
        texts = [(answer.text, answer.finish_reason) for answer in answers]
        return choose(texts, item.caption, count, longest)

    items_by_key = {request(item).key: item for item in items}
    judged: list[Written] = []

    def judge(sent: Request, answer: Answer) -> None:
        judged.append(chosen(items_by_key[sent.key]))
        if len(judged) >= JUDGED:
            check_yield(judged, settings)

    asker.ask(map(request, items), judge)
    written = [chosen(item) for item in items]
    bad = [
        index
        for index, answered in enumerate(written)
        if answered.rejected and not asker.answers[request(items[index]).key].missing
    ]
    if bad:
        logger.info("%d of %d answers broke the rules; asking again", len(bad), len(items))
        asker.ask(request(items[index], 1) for index in bad)
    for index in bad:
        written[index] = chosen(items[index], 2)
    answers = asker.answers.values()
    models = sorted({answer.model or settings["model"] for answer in answers})
    base = settings["model"].rsplit("/", 1)[-1].lower()  # versions stand behind it
    if not all(model.rsplit("/", 1)[-1].lower().startswith(base) for model in models):
        logger.warning(
            "audio.captions.model %s was asked, and %s answered",
            settings["model"],
            ", ".join(models),
        )
    costs = {
        "requests": asker.requested,
        "cached": asker.cached,
        "repaired": sum(not written[index].rejected for index in bad),
        "input_tokens": sum(answer.input_tokens for answer in answers),
        "output_tokens": sum(answer.output_tokens for answer in answers),
        "cost": round(asker.spent, 6),
    }
    return written, ", ".join(models), costs


def check_yield(written: Sequence[Written], settings: Mapping[str, Any]) -> None:
    """Raise YieldTooLow if less than the share `least_yield` of a model's captions is good."""
    total = settings["variations"] * len(written)
    good, least = sum(len(item.variations) for item in written), settings["least_yield"]
    if good >= least * total:
        return
    # Lines; where there are none, the answer.
    bad = [text for item in written for text in item.rejected[1:] or item.rejected][:4]
    examples = "; ".join(f"{text.problem}: {text.answer[:100]!r}" for text in bad)
    raise YieldTooLow(
        f"{good} of {total} captions are good, less than audio.captions.least_yield ({least:.0%}) "
        f"allows. What was wrong: {examples}. Choose another audio.captions.model or other "
        f"parameters; an answer that is cut off (length) needs a higher max_completion_tokens."
    )


def _report(written: Sequence[Written], count: int, rejected: StrPath) -> None:
    """Log how many captions there are, and what was left out and why, before anything trains."""
    good = sum(len(item.variations) for item in written)
    logger.info("%d new captions for %d captions", good, len(written))
    problems = [text.problem for item in written for text in item.rejected]
    if unpublished := problems.count(UNPUBLISHED):
        logger.warning(
            "%d of %d captions are %s: never swapped", unpublished, len(written), UNPUBLISHED
        )
    if good < (total := count * (len(written) - unpublished)):
        # What misses some begins with their number, and each of its lines stands there too.
        rules = Counter(
            "without an answer" if WITHOUT_ANSWER in problem else problem.split(" (")[0]
            for problem in problems
            if WITHOUT_ANSWER in problem or not (problem == UNPUBLISHED or problem[0].isdigit())
        )
        reasons = "; ".join(f"{number} {rule}" for rule, number in rules.most_common())
        logger.warning("%d of %d new captions are good (%s): %s", good, total, reasons, rejected)


def read_items(clips: StrPath, captions: StrPath, splits: Collection[str]) -> list[Item]:
    """The captions to be rephrased, with their clips' keywords."""
    chosen = read_table(clips)
    chosen = chosen[chosen["split"].isin(list(splits))]
    keywords = {
        clip: tuple(word.strip() for word in words.split(";") if word.strip())
        for clip, words in zip(chosen["clip"], chosen["keywords"], strict=True)
    }
    table = read_table(captions)
    table = table[table["clip"].isin(list(keywords))]
    return [
        Item(clip, int(position), caption, keywords[clip])
        for clip, position, caption in zip(
            table["clip"], table["position"], table["caption"], strict=True
        )
    ]


def _write_tables(
    items: Sequence[Item], written: Sequence[Written], outputs: Mapping[str, StrPath]
) -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {"variations": [], "unfiltered": [], "rejected": []}
    for item, answered in zip(items, written, strict=True):
        key = (item.clip, item.position)
        rows["variations"] += [(*key, *row) for row in enumerate(answered.variations, start=1)]
        rows["unfiltered"] += [(*key, *row) for row in enumerate(answered.unfiltered, start=1)]
        rows["rejected"] += [(*key, bad.problem, bad.answer) for bad in answered.rejected]
    for name, table in rows.items():
        columns = ("problem", "answer") if name == "rejected" else ("variation", "caption")
        frame = pd.DataFrame(table, columns=["clip", "position", *columns])
        write_csv(frame, outputs[name])


def _write_example(
    items: Sequence[Item],
    written: Sequence[Written],
    usage: Mapping[str, Any],
    count: int,
    path: Path,
) -> None:
    """Table 1's caption if it was asked for, else the first with keywords and most captions; and
    the numbers of all captions, for Table 1's note."""
    item, answered = min(
        zip(items, written, strict=True),
        key=lambda pair: (
            -len(pair[1].variations),
            pair[0].caption.strip() != TABLE_1_CAPTION,
            not pair[0].keywords,
        ),
    )
    record = {
        "backend": usage["backend"],
        "model": usage["model"],
        "instruction": instruction(item.keywords, count).strip(),
        "caption": item.caption,
        "keywords": list(item.keywords),
        "response": list(answered.variations),
        "asked": len(items),
        "without": sum(not (each.unfiltered or each.variations) for each in written),
        "new": sum(len(each.unfiltered) for each in written),
        "good": usage["captions"],
    }
    with atomic_path(path) as temporary:
        text = json.dumps(record, ensure_ascii=False, indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")


def read_published(path: StrPath) -> Captions:
    """New captions by (file name, caption), from records with `path`, `caption` and `variations`.
    Raises InputError where none is understood.
    """
    captions: Captions = {}
    text = Path(path).read_text(encoding="utf-8-sig").strip()
    try:
        lines = [] if text.startswith("[") else text.splitlines()
        for record in map(json.loads, lines) if lines else json.loads(text):
            if record.get("variations"):
                key = _file_key(record["path"]), normalised(record["caption"])
                captions.setdefault(key, []).extend(record["variations"])
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        captions = {}
    if not captions:
        raise InputError(
            f"{path} holds no records with path, caption and variations in JSON, as the "
            "authors' variations.json does. Delete it and run again."
        )
    return captions


def published_captions(
    items: Sequence[Item], published: Captions, settings: Mapping[str, Any]
) -> list[Written]:
    """The first `count` good captions of each item; those that break the rules are listed.

    A file may hold captions of some splits alone. Raises InputError when more than half of it is
    of no item.
    """
    count, longest_words = settings["variations"], settings["longest_words"]
    keys = [(_file_key(item.clip), normalised(item.caption)) for item in items]
    if (found := len(published.keys() & keys)) < FEWEST_FOUND * min(len(published), len(keys)):
        raise InputError(
            f"{found} of the {len(published)} captions in the file of published captions are among "
            f"the {len(items)} asked for; is it for another data set (audio.captions.backend: "
            "authors needs Clotho)?"
        )
    written = []
    for key, item in zip(keys, items, strict=True):
        if (variations := published.get(key)) is None:
            written.append(Written(rejected=(Rejected(UNPUBLISHED, ""),)))
            continue
        chosen = choose([("\n\n".join(variations), "stop")], item.caption, count, longest_words)
        # As its authors' code trains on them: a list as it stands, a text line by line.
        listed = tuple(variations[:count]) if len(variations) > 1 else chosen.unfiltered
        written.append(Written(chosen.variations, chosen.rejected[1:], listed))
    return written


def _file_key(name: str) -> str:
    """A file's name without folders, case, suffix and what versions spell differently."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    sound = PurePosixPath(base).suffix.lower() in (".wav", ".flac", ".mp3", ".ogg")
    stem = base.rsplit(".", 1)[0] if sound else base
    return "".join(letter for letter in stem.lower() if letter.isalnum())
