"""Simple clauses: read, and said in another tense or as a noun phrase."""

import re
from dataclasses import dataclass
from functools import lru_cache

from triptych.audio.captions import verbs

_PROGRESSIVE = re.compile(
    r"^(?P<who>.+?) (?P<be>is|are) (?P<adverb>\w+ly )?(?P<verb>\w+ing)\b(?P<rest>.*)$"
)
_HAS_AUXILIARY = re.compile(
    r"^(?!there\b)\w[\w' -]*? (?:is|are|was|were|has|have|can|goes|gets|makes|comes|keeps|seems)\b"
)
_PRONOUN = re.compile(
    r"\b(?:it|its|itself|they|them|their|he|him|his|she|her|this|that|these|those|others?|another|"
    r"again|still|also|too|then|same|one|first|finally)\b"
)
_NOT_LAST = re.compile(
    r"(?:an?|the|of|in|on|at|by|to|with|from|and|or|as|into|onto|over|under|for|very|more|some|many|"
    r"several|loud|soft|high|low|heavy|constant|different|various|is|are|was|were|be|being|not|"
    r"that|which|who|while|when)$"
)
JOINED = re.compile(r"^(?:while|as|after|before|when|with|in|on|at|from|then|there|this)\b")
_SINGULAR = ("a", "an", "one", "the", "another")
_KNOWN = ("the", "it", "they", "he", "she", "his", "her", "its", "their", "everyone")
_PERSONS = ("someone", "somebody", "something")
INNER = re.compile(
    r",| (?:and|or|but|while|as|then|before|after|until|when|that|which|who|because) "
)
_PASSIVE = re.compile(
    r"^(?P<who>.+?) (?P<be>is|are) (?:being )?(?P<done>(?:\w+ly )?(?P<verb>\w+)\b.*)$"
)


@dataclass(frozen=True)
class Clause:
    """A simple clause: who, the verb's base, what comes after, an adverb before the verb."""

    who: str
    base: str
    rest: str
    adverb: str
    number: str
    text: str = ""

    @property
    def fixed(self) -> bool:
        """Whether another verb hangs on this one's form: sings and whistles."""
        parts = re.split(r"\b(?:and|or|but),? |, ", self.rest)[1:]
        return any(
            word in verbs.BY_THIRD or word in verbs.BASES or word.endswith("ing")
            for part in parts
            for word in part.split()[:2]
        )

    def simple(self) -> str:
        """A dog barks loudly."""
        if self.fixed:
            return self.text
        verb = verbs.third_person(self.base) if self.number == "one" else self.base
        return f"{self.who} {self.adverb}{verb}{self.rest}"

    def progressive(self) -> str:
        """A dog is barking loudly."""
        if self.fixed:
            return self.text
        be = "is" if self.number == "one" else "are"
        return f"{self.who} {be} {self.adverb}{verbs.gerund(self.base)}{self.rest}"

    def absolute(self) -> str | None:
        """A dog barking loudly."""
        if self.fixed and not _PROGRESSIVE.match(self.text):
            return None
        return f"{self.who} {self.adverb}{verbs.gerund(self.base)}{self.rest}"

    def existential(self) -> str | None:
        """There is a dog barking loudly; only of somebody or something not known before."""
        first, absolute = self.who.split()[0], self.absolute()
        if absolute is None or first in _KNOWN:
            return None
        return f"there {'is' if self.number == 'one' else 'are'} {absolute}"


@lru_cache(maxsize=4096)
def parse_clause(text: str) -> Clause | None:
    """Read "a dog (is barking|barks) ...", or None where it is not that simple."""
    match = _PROGRESSIVE.match(text)
    if match and match["verb"] in verbs.BY_GERUND:
        who, adverb, rest = match["who"], match["adverb"] or "", match["rest"]
        if _has_verb(who) or JOINED.match(who):
            return None
        number = "one" if match["be"] == "is" else "many"
        return Clause(who, verbs.BY_GERUND[match["verb"]], rest, adverb, number, text)
    words = text.split(" ")
    for place in range(1, min(len(words), 9)):
        word, before = words[place], " ".join(words[:place])
        after = words[place + 1] if place + 1 < len(words) else ""
        if word in verbs.AUXILIARIES or "," in before or word in ("while", "as", "when", "that"):
            return None
        base = verbs.BY_THIRD.get(word) or (word if word in verbs.BASES else None)
        if base is None or after in verbs.AUXILIARIES or _NOT_LAST.match(words[place - 1]):
            continue
        if after in verbs.BY_THIRD or (after in verbs.BASES and word != base):
            continue
        adverb = ""
        if words[place - 1].endswith("ly") and place > 1:
            before, adverb = " ".join(words[: place - 1]), words[place - 1] + " "
        found = verbs.number_of(before)
        if found == ("many" if word == base else "one"):
            rest = "".join(" " + each for each in words[place + 1 :])
            return Clause(before, base, rest, adverb, found, text)
    return None


def _has_verb(text: str) -> bool:
    words = text.split()
    return any(
        word in verbs.AUXILIARIES or (number and word in verbs.BY_THIRD)
        for number, word in enumerate(words)
        if word not in ("sounds", "steps", "drops", "waves", "breaks")
    )


def is_clause(text: str) -> bool:
    """Whether the text has a subject and a verb, as far as can be told without a parser."""
    return _HAS_AUXILIARY.match(text) is not None or parse_clause(text) is not None


def as_clause(text: str) -> str | None:
    """The text if it is a clause; "birds singing" as "birds are singing"; None otherwise."""
    if is_clause(text):
        return text
    words = text.split(" ")
    if words[0] in ("they", "it", "he", "she") or words[0] in verbs.BY_GERUND:
        return None
    for place in range(1, min(len(words), 7)):
        who = " ".join(words[:place])
        base = verbs.BY_GERUND.get(words[place].strip(","))
        number = verbs.number_of(who)
        if base and number and not _NOT_LAST.match(words[place - 1]) and "," not in who:
            rest = "".join(" " + each for each in words[place + 1 :])
            be = "is" if number == "one" else "are"
            who, adverb = (
                (" ".join(words[: place - 1]), words[place - 1] + " ")
                if place > 1 and words[place - 1].endswith("ly")
                else (who, "")
            )
            return f"{who} {be} {adverb}{words[place]}{rest}"
    return None


def simple(text: str) -> str:
    """In the simple present where the verb is known, as after "after"."""
    clause = parse_clause(text)
    return clause.simple() if clause else text


def other_tense(text: str) -> str:
    """ "A dog barks" for "a dog is barking" and the reverse; as it stands if not understood."""
    clause = parse_clause(text)
    if clause is None:
        return text
    return clause.simple() if _PROGRESSIVE.match(text) else clause.progressive()


def absolute(text: str) -> str | None:
    """ "A dog barking" for a clause that is understood."""
    clause = parse_clause(text)
    return clause.absolute() if clause else None


def leans(text: str) -> bool:
    """Whether the text refers to something said before it."""
    return _PRONOUN.search(text) is not None


def passive(text: str) -> list[str]:
    """ "A tap is turned on": being turned on, and the sound of it."""
    match = _PASSIVE.match(text)
    if not match or not verbs.is_participle(match["verb"]) or _has_verb(match["who"]):
        return []
    who, be, done = match["who"], match["be"], match["done"]
    frames = [f"{who} {be} being {done}", f"{who} {be} {done}"]
    if not leans(who) and not INNER.search(text):
        frames += [f"this is the sound of {who} being {done}",
                   f"the sound of {who} being {done} is present",
                   f"one can make out the sound of {who} being {done}"]  # fmt: skip
    if who.split()[0] not in _KNOWN:
        frames.append(f"there {be} {who} being {done}")
    return frames


def named(text: str) -> list[str]:
    """A caption that is no sentence: "heavy static on a radio"."""
    words = text.split()
    first = 1 if words[0] in _PERSONS else 2
    verb_like = (words[0] in _SINGULAR or words[0] in _PERSONS) and any(
        word.endswith("s") and not word.endswith(("ss", "us")) for word in words[first:5]
    )
    if verb_like or INNER.search(text.replace(" and ", " ")) or leans(text) or JOINED.match(text):
        return []
    if any(word in verbs.AUXILIARIES or word in verbs.PAST for word in words):
        return []
    if re.match(r"(?:a |the |an )?(?:sounds?|noises?) of\b", text):
        bare = re.sub(r"^.*?(?:sounds?|noises?) of ", "", text)
        return [
            f"there is the sound of {bare}",
            f"this is the sound of {bare}",
            f"the sound of {bare} is present",
        ]
    return [f"there is the sound of {text}", f"this is the sound of {text}",
            f"the sound of {text} is present", f"one can make out the sound of {text}"]  # fmt: skip
