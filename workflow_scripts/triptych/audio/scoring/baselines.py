"""What stands beside every model: a search in the clips' keywords, which hears nothing.

(The other two baselines need no code of their own: chance has closed forms in `metrics`, and an
untrained model is embedded like a trained one.)
"""

import re
from collections.abc import Sequence

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
    from sklearn.feature_extraction.text import TfidfVectorizer  # 1.1 s of import

    if not any(map(words, keywords)):
        raise ValueError("no clip has a keyword: there is nothing that a keyword search could find")
    vectorizer = TfidfVectorizer(analyzer=words)
    clips = vectorizer.fit_transform(keywords)
    return (vectorizer.transform(queries) @ clips.T).toarray()
