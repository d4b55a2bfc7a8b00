"""What stands beside every model: a search in the clips' keywords, which hears nothing.

(The other two baselines need no code of their own: chance has closed forms in `metrics`, and an
untrained model is embedded like a trained one.)
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array

from triptych.audio.scoring.metrics import Floats

_WORD = re.compile(r"[a-z0-9]{2,}")
_ENDING = re.compile(r"(?<=[a-z]{3})(ings?|ers?|ed|es|e|s)$")


def words(text: str) -> list[str]:
    """Lower-case words without their commonest endings: "Dogs, barking" -> ["dog", "bark"]."""
    return [_ENDING.sub("", word) for word in _WORD.findall(text.lower())]


def keyword_scores(queries: Sequence[str], keywords: Sequence[str]) -> Floats:
    """TF-IDF cosine [Q, C] between the words of queries and those of the clips' keywords.

    keywords: [C], `;`-joined as in clips.csv. The inverse document frequencies, ln((1 + n) / (1 +
    n_w)) + 1, are those of the keywords that are searched. A pair without a common word scores 0.
    Raises ValueError where no clip has a keyword.
    """
    documents = [Counter(words(text)) for text in keywords]
    clips_with = Counter(word for document in documents for word in document)
    if not clips_with:
        raise ValueError("no clip has a keyword: there is nothing that a keyword search could find")
    weights = {
        word: np.log((1 + len(documents)) / (1 + count)) + 1 for word, count in clips_with.items()
    }
    asked = _unit_vectors([Counter(words(text)) for text in queries], weights)
    return (asked @ _unit_vectors(documents, weights).T).toarray()


def _unit_vectors(counts: Sequence[Counter[str]], weights: Mapping[str, float]) -> csr_array:
    """Weighted counts [N, words] of the words that have a weight, each row of length 1 or 0."""
    column = {word: index for index, word in enumerate(weights)}
    values: list[float] = []
    columns: list[int] = []
    ends = [0]
    for counted in counts:
        row = {word: n * weights[word] for word, n in counted.items() if word in weights}
        length = np.linalg.norm(list(row.values()))
        values += [float(value / length) for value in row.values()]
        columns += [column[word] for word in row]
        ends.append(len(values))
    return csr_array((values, columns, ends), shape=(len(counts), len(weights)))
