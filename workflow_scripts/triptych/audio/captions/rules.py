"""What a new caption may be: one sentence in English about a sound, within the rules of the prompt.

A rule may cost a good caption now and then; what it lets in is trained on. English has no
dictionary here: it must show by its own small words, and a single small word of another language,
which English captions don't hold (die, pour, chat), is too many.
"""

import re
import unicodedata
from collections.abc import Sequence

SHORTEST_WORDS = 3

_REFUSAL = re.compile(
    r"^(?:unfortunately|apologies|i'm sorry|i am sorry|sorry\b|i apologi[sz]e|as an ai\b|"
    r"i (?:cannot|can't|am unable))|"
    r"\b(?:language model|as an ai|unable to (?:help|assist|comply|generate|provide)|"
    r"(?:can(?:no|')t|cannot) (?:help|assist|comply|generate|provide|fulfill)|"
    r"against (?:my|the) (?:policy|policies|guidelines)|content policy|"
    r"(?:not |im)possible to (?:describe|tell|determine|say|rephrase|generate)|"
    r"(?:not|no \w+ (?:was|is|were)) (?:given|provided))\b",
    re.IGNORECASE,
)

# The prompt forbids "heard" and "recorded"; their like are the other words by which a caption
# speaks of listening instead of the sound. "inaudible" (mumbling) and "record" (vinyl) say
# something about the sound and may stay.
_BANNED = re.compile(
    r"\b(?:heard|hear|hears|overheard|overhear|overhears|recorded|recording|recordings|audible|"
    r"audibly|listener|listeners)\b",
    re.IGNORECASE,
)
_DEVICE = re.compile(
    r"\b(?:microphones?|mics?|hydrophones?|dictaphones?|tascam|edirol|olympus|zoom h\d\w*|"
    r"h[1-6]n?|dr-?\d{2}|sm-?5[78]|r-?0[59])\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:\d{1,2}[:.]\d{2}|\d{1,2}\s*(?:[ap]\.?m\b|o'?clock)|(?:19|20)\d\d)", re.IGNORECASE
)

# A caption tells of sounds; who writes one tells of captions, of rules and of oneself.
_ABOUT_THE_TASK = re.compile(
    r"\b(?:captions?|captioning|sentences?|keywords?|tags?|(?:re|para)phras\w+|descriptions?|"
    r"prompts?|instructions?|guidelines?|requirements?|constraints?|synonyms?|wording|variations?|"
    r"outputs?|the (?:user|index|original|above|following|task|request|rules?|answer)|"
    r"(?:\d+|under|than|many|twenty|these|same|forbidden|banned) words|words? (?:count|limit)|"
    r"word choice|subject-verb\S*|active voice|passive voice|double-check|too long|too short|"
    r"names? of (?:a |any )?(?:person|people|cit(?:y|ies)|countr(?:y|ies)|places?)\w*)\b",
    re.IGNORECASE,
)
_TO_ONESELF = re.compile(
    r"\b(?:i|i'(?:m|ll|d|ve)|we|we'(?:re|ll|d|ve)|let's|let us|let me|my|me|you|your|you're|yours|"
    r"please)\b",
    re.IGNORECASE,
)
_THINKING = re.compile(
    r"^(?:(?:wait|hmm+|ok|okay|alright|but wait|so the|sure|certainly|thus|therefore|however|"
    r"for example|need to|must|should|avoid|ensure|make sure|identify|use|keep|mention|include|"
    r"write|generate|vary|replace|change|consider|focus|describe|note|remember|check|combine|add|"
    r"think|try|do not|don't|emphasi[sz]e|swap|reorder|start (?:with|each|by)|draft|end of)\b|"
    r"(?:well|actually|maybe|perhaps|yes|no|good|great|also|done)[,.!])",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(r"\b(?:mr|mrs|ms|dr|st|vs|etc|e\.g|i\.e|a\.m|p\.m)\.", re.IGNORECASE)
_QUOTES = "\"'\u2018\u2019\u201c\u201d"
_SENTENCE_ENDS = re.compile(rf"[.!?…]+[{_QUOTES})]*\s+(?=[\w{_QUOTES}(])|[.!?…](?=[A-Z])")
_MARKUP = re.compile(r"[\[\](){}<>|=*_#\\/`~^@→\"\u201c\u201d◁▷]|https?:|:|\s-\s\w+\W*$")
_ENDS_OPEN = re.compile(
    r"(?:\b(?:a|an|the|and|or|but|(?<!a )(?<!little )while|with|as|from|into|their|his|its|of|for|"
    r"because|when)|,|\.\.\.|…)\W*$",
    re.IGNORECASE,
)
_LABELLED = (
    ("refusal", _REFUSAL),
    ("banned word", _BANNED),
    ("device name", _DEVICE),
    ("time", _TIME),
    ("speaks of the task", _ABOUT_THE_TASK),
    ("speaks to somebody", _TO_ONESELF),
    ("a thought or an order", _THINKING),
    ("markup or a label", _MARKUP),
)


def words_of(caption: str) -> list[str]:
    """Lower-case words; "high-pitched" is one, "don't" is one."""
    return re.findall(r"[^\W_]+(?:['\u2019-][^\W_]+)*", caption.lower())


def problem_of(caption: str, longest_words: int) -> str | None:
    """Why a text may not be trained on, or None. Names of places and persons are not looked for."""
    caption = caption.replace("\u2019", "'")
    words = words_of(caption)
    if _REFUSAL.search(caption):
        return "refusal"
    if len(set(words)) < SHORTEST_WORDS:
        return f"too short ({len(words)} words)"
    if len(words) > longest_words:
        return f"too long ({len(words)} words)"
    for what, rule in _LABELLED:
        found = rule.search(caption)
        if found:
            return f"{what} ({found[0].strip()})"
    if _SENTENCE_ENDS.search(_ABBREVIATION.sub("", caption)):
        return "more than one sentence"
    if caption.rstrip().endswith("?"):
        return "a question"
    if _ENDS_OPEN.search(caption):
        return "ends in the middle"
    if _is_list(caption):
        return "a list of words"
    sign = foreign_sign(words)
    return None if sign is None else "not an English sentence" + (f" ({sign})" if sign else "")


def _is_list(caption: str) -> bool:
    """Whether a text is keywords: of one word or two between commas, most of them of one."""
    lengths = [len(words_of(part)) for part in caption.split(",")]
    return len(lengths) > 2 and max(lengths) <= 2 and lengths.count(1) > len(lengths) / 2


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL = _words("""
    an the and or but while when with without from by into onto through along across around
    behind before after against near inside outside during until then than that which who
    there it its they their someone something another each several some few two three in on is
    as of at for over under are were was be has have both more up down off out like sounds noise
    gives once twice away loud quiet somewhere dog car bird people
""")
"""Frequent in captions. A sentence in English has one, or a word that ends like a verb."""
_FOREIGN = _words("""
    der das dem den des ein eine einen einem einer und oder ist sind wird nicht von im auf aus
    bei nach durch unter während ihr zwei hund straße le de la les une du et est dans avec sur
    sous que qui près deux chien el los las una unas con por mientras cerca dos perro del il
    di sono nel che vicino cane um uma são com enquanto na da em het een zijn op naar terwijl
    hond og som på med av det är och ett hund się że bir ve iki ja az egy yang dan di ang ng gør
    vejen ketika
""")
"""Small words of other languages, which no English caption holds."""


def foreign_sign(words: Sequence[str]) -> str | None:
    """What shows that lower-case words are no English sentence: a word, or "" for no sign of
    English; None if they are one. It is no dictionary, and lets other languages through, too."""
    for word in words:
        if word in _FOREIGN or not all(map(_is_latin, word)):
            return word
    endings = ("ing", "ed", "ly", "s") if words[:1] == ["a"] else ("ing", "ed", "ly")
    english = any(word in _SMALL or word.endswith(endings) for word in words)
    return None if english else ""


def _is_latin(letter: str) -> bool:
    return not letter.isalpha() or unicodedata.name(letter, "").startswith("LATIN")
