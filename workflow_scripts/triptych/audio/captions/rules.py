"""Five rules that a new caption must keep, and the choice of captions by them.

What passes is trained on, so a rule may cost a good caption now and then. English is recognised by
its function words, not by a dictionary. Names of places and persons are not looked for.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from triptych.audio.captions.answers import parse_answer

SHORTEST_WORDS = 3


def _any_of(words: str) -> re.Pattern[str]:
    """A pattern of whole words, given as alternatives between blanks; `_` is a blank."""
    alternatives = "|".join(words.split()).replace("_", " ")
    return re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BANNED = _any_of(r"""
    (?:over)?hears? (?:over)?heard recorded recordings? audibl[ey] listeners? microphones? mics?
    hydrophones? dictaphones? tascam edirol olympus zoom_h\d\w* h[1-6]n dr-?\d{2}
    \d{1,2}[:.]\d{2} \d{1,2}\s*(?:[ap]\.?m|o'?clock) (?:19|20)\d\d
""")
"""The prompt's bans: words of listening instead of the sound, recording devices, the time."""
ASIDE = _any_of(r"""
    i i'(?:m|ll|d|ve) we let's let_me my me you your please sorry unfortunately language_model
    captions? sentences? keywords? tags? (?:re|para)phras\w+ descriptions? prompts? instructions?
    guidelines? rules? synonyms? variations? the_(?:task|request|answer) too_(?:long|short)
    unable_to (?:can(?:no|')t|cannot)_(?:help|assist|provide)
""")
"""Words about the task, to the reader or of the writer: refusals, thoughts, notes."""
ORDERS = re.compile(
    r"\A(?:(?:wait|hmm+|ok|okay|sure|certainly|thus|therefore|for example|need to|must|avoid|"
    r"ensure|use|mention|include|write|generate|vary|replace|describe|note|check|think|do not|"
    r"don't|here (?:are|is)|start (?:with|by)|analysis|assistant\w*)\b"
    r"|(?:\S+\s+){0,3}\S*\d\S*"
    r"|\W*(?:[b-hj-z]|i+|i?v|vi*|i?x|(?:a|one|two|three|four|five)(?=\s+an?\s))\s"
    r"|\W*\w+\s*[-\u2013\u2014)]\s)",
    re.IGNORECASE,
)
"""How a thought or an order begins, and a mark that numbering has left behind; so no number stands
among the first words."""
MARKUP = re.compile(r"[\[\](){}<>|=*_#\\/`~^@\"\u201c\u201d\u25b7\u25c1\u2192:]|\s-\s\w+\W*$")
ABBREVIATION = re.compile(r"\b(?:mr|mrs|ms|dr|st|vs|etc|e\.g|i\.e)\.", re.IGNORECASE)
SENTENCE_ENDS = re.compile(r"[.!?\u2026]+['\u2019]?\s+(?=\w)|[.!?\u2026](?=[A-Z])|\?\W*$")
OPEN_END = re.compile(
    r"(?:\b(?:a|an|the|and|or|but|with|from|into|their|its|of|for|because|when)|,|\.\.\.)\W*$",
    re.IGNORECASE,
)
ENGLISH = _words("""
    an the and or but while when with without from by into onto through along across around
    behind before after against near inside outside during until then than that which who
    there it its they their someone somebody something another each several some few two three in on
    is as of at for over under are were was be has have both more up down off out like
    sounds noise once twice away loud quiet somewhere dog car bird people
""")
"""Frequent in captions. An English sentence has one, or a word that ends like a verb."""
FOREIGN = _words("""
    der das dem den des ein eine einen einem einer und oder ist sind wird nicht von im auf
    aus bei nach durch zwei hund le la les une du et est dans avec sur deux chien el los las
    una con por perro del il di sono nel che cane um uma com het een zijn op naar hond og
    som med det ett bir ve az egy yang dan di
    nas nos dos das pela pelo pelas pelos ao aos uns umas pe ce se si cu prin spre
    o os e da na sobre
""")
"""Function words of other languages, which no English caption holds."""


@dataclass(frozen=True)
class Rejected:
    """A text that is not trained on, and why."""

    problem: str
    answer: str


@dataclass(frozen=True)
class Written:
    """The new captions of one caption.

    rejected: what broke a rule, where too few captions are good. unfiltered: the lines of the first
    answer as they stand there, good or bad.
    """

    variations: tuple[str, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    unfiltered: tuple[str, ...] = ()


def words_of(caption: str) -> list[str]:
    """Lower-case words; "high-pitched" is one, "don't" is one."""
    return re.findall(r"[^\W_]+(?:['\u2019-][^\W_]+)*", caption.lower())


def normalised(caption: str) -> str:
    """A caption without case and punctuation, to find repetitions."""
    return " ".join(words_of(caption))


def problem_of(caption: str, longest_words: int) -> str | None:
    """The rule that a text breaks, with what breaks it; None for a caption to be trained on."""
    caption = caption.replace("\u2019", "'")
    words = words_of(caption)
    if len(set(words)) < SHORTEST_WORDS:
        return f"too short ({len(words)} words)"
    if len(words) > longest_words:
        return f"too long ({len(words)} words)"
    for rule, patterns in (
        ("banned word", [BANNED]),
        ("no caption", [ORDERS, ASIDE]),
        ("not one plain sentence", [MARKUP, SENTENCE_ENDS, OPEN_END]),
    ):
        for pattern in patterns:
            text = ABBREVIATION.sub("", caption) if pattern is SENTENCE_ENDS else caption
            if match := pattern.search(text):
                return f"{rule} ({match[0].strip()})"
    return _not_english(words, caption)


def _not_english(words: list[str], caption: str) -> str | None:
    for word in words:
        latin = all(unicodedata.name(c, "").startswith("LATIN") for c in word if c.isalpha())
        if word in FOREIGN or not latin:
            return f"not an English sentence ({word})"
    lengths = [len(words_of(part)) for part in caption.split(",")]
    keywords = len(lengths) > 2 and max(lengths) <= 2
    endings = ("ing", "ed", "ly", "s") if words[0] == "a" else ("ing", "ed", "ly")
    own = words[words[0] == "as" :]  # which Portuguese sentences begin with, too
    if keywords or not any(word in ENGLISH or word.endswith(endings) for word in own):
        return "not an English sentence"
    return None


def choose(
    answers: Sequence[tuple[str, str]], caption: str, count: int, longest_words: int
) -> Written:
    """The first `count` good and distinct captions of the answers (text, finish reason).

    caption: what they rephrase; a repetition of it is bad, and so is the last line of an answer
    that was cut off. If fewer are good, `rejected` begins with how many are missing and lists every
    bad line.
    """
    good: list[str] = []
    bad: list[Rejected] = []
    taken = {normalised(caption)}
    for text, finish_reason in answers:
        lines = parse_answer(text)
        for number, line in enumerate(lines, start=1):
            if finish_reason == "length" and number == len(lines):
                problem: str | None = "cut off"
            else:
                problem = problem_of(line, longest_words)
            if problem is None and normalised(line) in taken:
                problem = "repeats the caption or another"
            if problem is None:
                good.append(line)
                taken.add(normalised(line))
            else:
                bad.append(Rejected(problem, line))
    unfiltered = tuple(parse_answer(answers[0][0])[:count])
    if len(good) >= count:
        return Written(tuple(good[:count]), unfiltered=unfiltered)
    reasons = sorted({reason for _, reason in answers if reason != "stop"})
    missing = f"{len(good)} of {count} captions" + (f" ({', '.join(reasons)})" if reasons else "")
    texts = "\n".join(text for text, _ in answers)
    return Written(tuple(good), (Rejected(missing, texts), *bad), unfiltered)
