"""Tokenizers of BERT's and RoBERTa's kinds, trained on captions to the same bytes each time."""

from collections import Counter
from collections.abc import Iterable

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def train_tokenizer(pieces: str, vocabulary: int, captions: Iterable[str]) -> Tokenizer:
    """A tokenizer of about `vocabulary` tokens: BERT's of "words", RoBERTa's of "bytes".

    Raises ValueError for other pieces and without captions.
    """
    split = [caption.split() for caption in captions]
    if not any(split):
        raise ValueError("no captions to train a tokenizer on: give at least one")
    if pieces == "words":
        return _word_pieces(vocabulary, Counter(word for words in split for word in words))
    if pieces == "bytes":
        spaced = (f" {word}" for words in split for word in words[1:])
        return _byte_pairs(vocabulary, Counter([*(words[0] for words in split if words), *spaced]))
    raise ValueError(f"a tokenizer of {pieces!r}: expected words or bytes")


def _word_pieces(vocabulary: int, words: Counter[str]) -> Tokenizer:
    """BERT's. The library numbers letters inside words in an order that changes by process, and
    breaks ties by that number; given beforehand, as if they were special, they keep theirs.
    """
    letters = sorted(set("".join(words)))
    given = BERT_SPECIAL + letters + [f"##{letter}" for letter in letters]
    draft = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    draft.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=given, show_progress=False
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
