"""Make text models: fetched from the Hugging Face hub, or from scratch without PyTorch."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from triptych.audio.data.hub import download_hub, list_hub
from triptych.audio.data.tables import read_table
from triptych.audio.models.sentence_encoders import FILES
from triptych.audio.models.text_files import clean_caption, read_config
from triptych.core.download import DownloadError
from triptych.core.errors import InputError

StrPath = str | os.PathLike[str]

TOKENIZER_CLASSES = {"words": "BertTokenizer", "bytes": "RobertaTokenizer"}
"""What the transformers library calls them."""


def write_scratch_model(
    folder: str | os.PathLike[str], config: Mapping[str, Any], pieces: str, captions: Iterable[str]
) -> None:
    """Write a small text model without weights, its tokenizer trained on `captions`.

    The same captions in whatever order give the same bytes. config: of the network, its
    `vocab_size` about how many tokens. Raises ValueError for other pieces than `words` and `bytes`.
    """
    folder = Path(folder)
    tokenizer = train_tokenizer(pieces, config["vocab_size"], map(clean_caption, captions))
    tables = {
        "tokenizer_config.json": {"tokenizer_class": TOKENIZER_CLASSES[pieces]},
        "config.json": {**config, "vocab_size": tokenizer.get_vocab_size()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, table in tables.items():
        (folder / name).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def train_tokenizer(pieces: str, vocabulary: int, captions: Iterable[str]) -> Tokenizer:
    """A tokenizer of about `vocabulary` tokens: BERT's of "words", RoBERTa's of "bytes"."""
    split = [caption.split() for caption in captions]
    if pieces == "words":
        return _word_pieces(vocabulary, Counter(word for words in split for word in words))
    spaced = (f" {word}" for words in split for word in words[1:])
    return _byte_pairs(vocabulary, Counter([*(words[0] for words in split if words), *spaced]))


def _word_pieces(vocabulary: int, words: Counter[str]) -> Tokenizer:
    """BERT's. Letters are given beforehand: the library's order of them changes by process."""
    letters = sorted(set("".join(words)))
    vocabulary_start = BERT_SPECIAL + letters + [f"##{letter}" for letter in letters]
    draft = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    draft.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=vocabulary_start, show_progress=False
    )
    draft.train_from_iterator(words.elements(), trainer)

    tokenizer = Tokenizer(models.WordPiece(draft.get_vocab(), unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(BERT_SPECIAL)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def _byte_pairs(vocabulary: int, words: Counter[str]) -> Tokenizer:
    """RoBERTa's. All but the first word of a caption begin with the space before them."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=ROBERTA_SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(words.elements(), trainer)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    return tokenizer


def write_text_model(
    folder: StrPath,
    settings: Mapping[str, Any],
    captions: Sequence[StrPath] = (),
    manifest: StrPath | None = None,
) -> None:
    """Make the text model that a config's entry describes.

    settings: `source`; for "scratch" `config` and `pieces` as `write_scratch_model` takes them, and
    the captions (tables with `clip` and `caption`) of the clips that the corpus of `manifest`
    trains on make the tokenizer; for "hub" class (its `model_type`), repository, revision, and
    perhaps sha256 of the weights and pooling. Raises DownloadError, and InputError for a model of
    another class.
    """
    if settings["source"] == "hub":
        _write_hub_model(Path(folder), settings)
        return
    assert manifest is not None
    listed = read_table(manifest)
    trained = set(listed[listed["role"] == "train"]["clip"])
    texts = [
        caption
        for table in map(read_table, captions)
        for caption in table[table["clip"].isin(trained)]["caption"]
    ]
    write_scratch_model(folder, settings["config"], settings["pieces"], texts)


def _write_hub_model(folder: Path, settings: Mapping[str, Any]) -> None:
    """Fetch a text model at one commit's 40 digits: configuration, tokenizer and safetensors.

    Files wait in `<folder>-<revision>.part`, from where a later attempt goes on.
    """
    repository, revision = settings["repository"], settings["revision"]
    sha256, pooling = settings.get("sha256"), settings.get("pooling", "first")
    part = folder.with_name(f"{folder.name}-{revision}.part")
    listed = {file.path: file for file in list_hub("models", repository, revision, part)}
    if missing := [name for name in FILES if name not in listed]:
        raise InputError(
            f"{repository} at {revision} has no {', '.join(missing)}. Choose a revision that "
            f"has {', '.join(FILES)}."
        )
    listed_sha256 = listed["model.safetensors"].sha256
    if sha256 not in (None, listed_sha256):
        raise DownloadError(
            f"{repository} at {revision}: expected model.safetensors with sha256 {sha256}, the hub "
            f"has {listed_sha256}. Check HF_ENDPOINT and resources/sources.yaml."
        )
    for name in FILES:
        # `download_hub` gives a file its name when it is whole and right.
        if not (part / name).exists():
            download_hub(listed[name], part / name)
    config = read_config(part)
    if config["model_type"] != settings["class"]:
        raise InputError(
            f"{repository}: its class is {config['model_type']}, the config says "
            f"{settings['class']}"
        )
    if pooling != "first":
        table = json.dumps({**config, "pooling": pooling}, indent=1)
        (part / "config.json").write_text(table + "\n", encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    part.rename(folder)
