"""The small model's text side: a query is matched with known phrases by MiniLM, which is frozen.

A phrase stands for the kinds of sound that it may mean, and a kind for the direction in which its
computed scenes differ most from all others, relative to how they differ among themselves
(Fisher's linear discriminant). Nothing is learnt by steps.
"""

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from makers.sounds.catalogue import KINDS
from makers.sounds.learning import embed_measured
from makers.sounds.mixing import Measured
from makers.sounds.wording import meanings, present
from triptych.audio.models.minilm import Phrases, minilm_folder
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.text_files import read_config

BATCH = 2048


@torch.inference_mode()
def matched(
    model: RetrievalModel, scenes: Measured, sharpness: float, ridge: float
) -> RetrievalModel:
    """A model with the audio side of `model`, by which a text is matched with phrases.

    sharpness: what the softmax over phrases multiplies cosines by;  ridge: what is added to the
    variance within kinds, of unit vectors. Scenes of one kind alone count; a kind without any is
    the mean of all. Raises InputError where MiniLM can't be had.
    """
    model = model.cpu().eval()
    phrases = meanings()
    folder = minilm_folder()
    table = read_config(folder)
    config = {
        "model_type": "phrases",
        "hidden_size": len(phrases),
        "sharpness": sharpness,
        "vocab_size": table["vocab_size"],
        "pad_token_id": table["pad_token_id"],
    }
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    text = SentenceEncoder(config, tokenizer, 0.0)
    made = RetrievalModel(model.settings, model.audio, text)
    made.project_audio.load_state_dict(model.project_audio.state_dict())
    made.temperature.copy_(model.temperature)

    alone = [row for row, kinds in enumerate(scenes.kinds) if len(kinds) == 1]
    heard = torch.cat([embed_measured(model, each) for each in scenes.numbers[alone].split(BATCH)])
    kinds = torch.tensor([scenes.kinds[row][0] for row in alone])
    of_kinds = discriminants(heard, kinds, len(KINDS), ridge)
    means = torch.from_numpy(present([sorted(each) for each in phrases.values()])).float()
    matching, last = text.model, made.project_sentence[-1]
    assert isinstance(matching, Phrases) and isinstance(last, nn.Linear)
    for at in range(0, len(phrases), 256):
        tokens = text.tokenize(list(phrases)[at : at + 256])
        found = matching.sentence(tokens["input_ids"], tokens["attention_mask"])
        matching.keys[at : at + 256] = found
    last.weight.copy_((means / means.sum(1, keepdim=True) @ of_kinds).T)
    last.bias.zero_()
    return made.eval()


def discriminants(vectors: Tensor, kinds: Tensor, many: int, ridge: float) -> Tensor:
    """Unit vectors [many, D], each towards a kind and away from what all kinds vary in.

    vectors: [N, D];  kinds: [N], below `many`
    """
    overall = vectors.mean(0)
    means = torch.stack(
        [
            vectors[kinds == kind].mean(0) if (kinds == kind).any() else overall
            for kind in range(many)
        ]
    )
    within = torch.cov((vectors - means[kinds]).T) + ridge * torch.eye(vectors.shape[1])
    towards = torch.linalg.solve(within, (means - means.mean(0)).T).T
    return functional.normalize(towards, dim=1)
